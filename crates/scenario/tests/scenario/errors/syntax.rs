//! Invalid TOML, and files of any length.

use super::{BASE, Case, check, sentence};

#[rustfmt::skip]
const SYNTAX: &[Case] = &[
    ("rate = \"20mbit\"", "rate = 20mbit",
     "base.toml:8: not valid TOML: string values must be quoted, expected literal string"),
    ("rate = \"20mbit\"", "rate = \"20mbit",
     "base.toml:8: not valid TOML: invalid basic string, expected `\"`"),
    ("rate = \"20mbit\"", "rate \"20mbit\"",
     "base.toml:8: not valid TOML: key with no value, expected `=`"),
    ("seed = 1", "seed = 1\nseed = 2",
     "base.toml:5: not valid TOML: duplicate key"),
    ("[[flows]]", "[flows]\ncc = \"reno\"\n[flows]",
     "base.toml:15: not valid TOML: duplicate key; write [[flows]] above each group of flows"),
    ("[link.bottleneck]", "[link.bottleneck",
     "base.toml:7: not valid TOML: unclosed table, expected `]`"),
];

#[test]
fn syntax_errors_name_what_was_expected() {
    check(SYNTAX);
}

#[test]
fn what_is_long_is_quoted_in_part() {
    let long = "x".repeat(1_000_000);
    let said = sentence(BASE, &[("link.bottleneck.rate", &long)]);
    assert!(
        said.len() < 2000 && said.contains("is not a rate; write a number and its unit, such as \"2mbit\""),
        "{said}"
    );
    let said = sentence(&format!("{long} = 1\n{BASE}"), &[]);
    assert!(said.len() < 2000 && said.contains("unknown key; valid keys: name, duration"), "{said}");
    let wide = "\u{1f600}".repeat(100_000);
    assert!(sentence(BASE, &[("link.bottleneck.delay", &wide)]).contains("is not a time"));
}

/// Reading takes time in proportion to the length of the file. The test measures no time, but quadratic time would make
/// it very slow.
#[test]
fn large_files_are_read() {
    let many = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let unknown = many(30_000, &|n| format!("key{n} = 1\n"));
    let said = sentence(&format!("{unknown}{BASE}"), &[]);
    assert_eq!(said.lines().count(), 51);
    assert!(said.ends_with("\nand 29950 more mistakes like these"), "{}", said.lines().last().unwrap());
    let flows = many(20_000, &|_| "[[flows]]\ncc = \"reno\"\n".into());
    assert_eq!(sentence(&format!("{BASE}{flows}"), &[]), "no mistake was found");
    let seeds = many(20_000, &|n| format!("{n},\n"));
    assert_eq!(sentence(&format!("{BASE}\n[sweep]\nseed = [{seeds}]\n"), &[]), "no mistake was found");
}
