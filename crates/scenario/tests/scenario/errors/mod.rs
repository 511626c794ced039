//! Checks that every mistake gets one sentence with file, line, key and the valid values.

mod contradictions;
mod hosts;
mod impairments;
mod keys;
mod lte;
mod mesh;
mod overrides;
mod sweeps;
mod syntax;
mod values;
mod workloads;

use std::path::Path;
use unbloat_scenario::load_text;

/// A valid file; each case replaces one piece of it.
const BASE: &str = r#"name = "base"
duration = "60s"
warmup = "10s"
seed = 1
profile = "linux"

[link.bottleneck]
rate = "20mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "500kb" }
loss = "0%"

[[flows]]
cc = "cubic"
count = 2
"#;

/// A piece of the base file, its replacement, and the resulting error sentence, in which `LINK_KEYS` stands for the keys
/// of a link.
type Case = (&'static str, &'static str, &'static str);

fn sentence(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    match load_text(text, "base.toml", Path::new(""), &overrides) {
        Ok(_) => "no mistake was found".into(),
        Err(error) => error.to_string(),
    }
}

/// Returns an expected sentence with the keys of a link filled in.
fn filled_in(expected: &str) -> String {
    let keys: Vec<_> = model::schema::keys_of("link.NAME").map(|key| key.name).collect();
    expected.replace("LINK_KEYS", &keys.join(", "))
}

fn check(cases: &[Case]) {
    for (piece, replacement, expected) in cases {
        assert!(BASE.contains(piece), "{piece:?} does not occur in the base");
        let text = BASE.replacen(piece, replacement, 1);
        assert_eq!(sentence(&text, &[]), filled_in(expected), "{piece:?} was replaced by {replacement:?}");
    }
}

#[test]
fn the_base_itself_is_right() {
    assert_eq!(sentence(BASE, &[]), "no mistake was found");
}

#[test]
fn a_missing_file_is_named() {
    let error = unbloat_scenario::load(Path::new("no/such.toml"), &[]).unwrap_err();
    assert_eq!(error.to_string(), "no/such.toml: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn every_mistake_is_told_once_in_the_order_of_the_file() {
    let text = BASE.replace("\"cubic\"", "7").replace("seed = 1", "sed = 1").replace("20mbit", "20");
    let text = text + "[sweep]\n\"flows.0.count\" = [1, 2, 3]\n";
    let sentences = sentence(&text, &[]);
    let starts: Vec<_> = sentences.lines().map(|line| &line[..line.len().min(30)]).collect();
    let expected =
        ["base.toml:4: sed: unknown key ", "base.toml:8: link.bottleneck.r", "base.toml:14: flows.0.cc: must"];
    assert_eq!(starts, expected);
}
