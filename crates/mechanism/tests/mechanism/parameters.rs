//! Parameters: how they describe themselves, and what a scenario may write.

use crate::harness::{UserFiles, library, load, socket, with_params};
use model::{MechanismSource, ParamValue};
use unbloat_mechanism::{About, Description};

fn text(text: &str) -> ParamValue {
    ParamValue::Text(text.into())
}

fn number(number: i64) -> ParamValue {
    ParamValue::Integer(number)
}

fn described(name: &str) -> Description {
    library().describe(&MechanismSource::Builtin(name.into())).expect("a description")
}

#[test]
fn every_mechanism_describes_itself() {
    let list = library().list().expect("a list");
    let names: Vec<_> = list.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, library().names(), "one for each file, by name");
    assert!(names.is_sorted() && ["bbr", "cubic", "reno"].iter().all(|known| names.contains(known)), "{names:?}");
    for description in &list {
        assert!(description.summary.ends_with('.') && description.summary.len() < 130, "{}", description.summary);
        assert!(description.prose.contains("\n\nFrom "), "{} names no source", description.name);
        assert!(description.prose.contains("Departures"), "{} names no departures", description.name);
        assert!(description.parameters.iter().all(|p| !p.meaning.is_empty()));
    }
    assert_eq!(described("reno").summary, "one segment more each round trip, half the window at a loss.");
}

#[test]
fn a_parameter_says_what_it_is() {
    let description = described("cubic_plus");
    let of = |name: &str| description.parameters.iter().find(|p| p.name == name).expect(name);
    let theta = of("theta");
    assert_eq!((theta.default(), theta.lowest(), theta.highest()), ("90%".into(), "1%".into(), "100%".into()));
    assert_eq!(of("beta").default(), "717/1024");
    assert_eq!(of("hystart_ack_delta").default(), "2ms");
    assert_eq!(of("period").highest(), "10s");
    assert_eq!(of("gate_slow_start").default(), "true");
    assert_eq!(of("gate_slow_start").kind(), "true or false");
    assert_eq!(of("theta").meaning, "window that a serious verdict leaves");
}

#[test]
fn a_range_begins_with_its_least_value_and_ends_with_its_largest() {
    for description in library().list().expect("a list") {
        for one in &description.parameters {
            assert_eq!([one.at(0.0), one.at(1.0)], [one.lowest(), one.highest()], "{} {}", description.name, one.name);
        }
    }
    let description = described("cubic_plus");
    let period = description.parameters.iter().find(|one| one.name == "period").expect("it has one");
    let nanos = period.at(0.5).parse::<model::units::Nanos>().expect("a time");
    assert!(nanos > model::units::Nanos::from_micros(1) && nanos < model::units::Nanos::from_secs(1), "{nanos}");
}

#[test]
fn every_way_to_write_a_value() {
    for (name, value) in [
        ("theta", text("90%")),
        ("theta", text("0.9")),
        ("beta", text("80%")),
        ("beta", text("0.8")),
        ("beta", text("819/1024")),
        ("beta", number(819)),
        ("period", text("100ms")),
        ("period", text("0.6ms")),
        ("period", text("1s")),
        ("period", number(0)),
        ("hystart_low_window", number(20)),
        ("hystart_low_window", text("20p")),
        ("hystart", ParamValue::Bool(false)),
        ("eps_shift", number(8)),
    ] {
        with_params("cubic_plus", &[(name, value)]);
    }
}

#[test]
fn a_value_reaches_the_mechanism() {
    let ssthresh = |value| with_params("cubic", &[("beta", value)]).ssthresh(&mut socket(1024, 10));
    assert_eq!(ssthresh(text("80%")), 819);
    assert_eq!(ssthresh(text("0.8")), 819);
    assert_eq!(ssthresh(number(600)), 600);
}

/// The error of loading a mechanism with a value that does not fit.
fn complaint(name: &str, value: ParamValue) -> String {
    let error = load(MechanismSource::Builtin("cubic_plus".into()), &[(name, value)]).err().expect("an error");
    assert_eq!(error.about, Some(About::Parameter(name.to_string())));
    error.to_string()
}

#[test]
fn values_that_do_not_fit_are_refused_in_a_sentence() {
    for (name, value, sentence) in [
        ("period", number(100), "cubic_plus cannot be set up: period must be a time such as \"100ms\", not 100"),
        (
            "period",
            text("100"),
            "cubic_plus cannot be set up: period needs a time, and \"100\" needs a unit; units of a time: ns, us, \
                ms, s",
        ),
        (
            "period",
            text("5kb"),
            "cubic_plus cannot be set up: period needs a time, and \"5kb\" is not a time; units: ns, us, ms, s",
        ),
        ("period", text("11s"), "cubic_plus cannot be set up: period must be from 0 to 10s, not \"11s\""),
        ("period", text("100ns"), "cubic_plus cannot be set up: period must be a multiple of 1us, not \"100ns\""),
        ("theta", number(90), "cubic_plus cannot be set up: theta must be a share such as \"90%\", not 90"),
        ("theta", text("0%"), "cubic_plus cannot be set up: theta must be from 1% to 100%, not \"0%\""),
        (
            "beta",
            text("717/1000"),
            "cubic_plus cannot be set up: beta must be a share such as \"70%\" or \"717/1024\", not \"717/1000\"",
        ),
        (
            "beta",
            number(1),
            "cubic_plus cannot be set up: beta needs a share: 1 may mean 100% or 1/1024; write one of them",
        ),
        ("hystart", number(1), "cubic_plus cannot be set up: hystart must be true or false, not 1"),
        (
            "eps_shift",
            ParamValue::Bool(true),
            "cubic_plus cannot be set up: eps_shift must be a whole number, not true",
        ),
        ("eps_shift", number(-1), "cubic_plus cannot be set up: eps_shift must be from 0 to 31, not -1"),
    ] {
        assert_eq!(complaint(name, value), sentence);
    }
}

#[test]
fn an_unknown_parameter_gets_the_one_that_was_meant_and_a_sorted_list() {
    let sentence = complaint("thresold", text("30ms"));
    assert!(
        sentence.starts_with("cubic_plus has no parameter thresold (did you mean threshold?); valid: "),
        "{sentence}"
    );
    let listed = sentence.split_once("valid: ").expect("a list").1;
    let names: Vec<_> = listed.split("), ").map(|each| each.split(' ').next().expect("a name")).collect();
    assert!(names.len() > 3 && names.is_sorted(), "{names:?}");
    assert!(
        sentence.contains("theta (1% to 100%; 90%)") && sentence.contains("hystart (true or false; true)"),
        "{sentence}"
    );
    let error = load(MechanismSource::Builtin("reno".into()), &[("alpha", number(1))]).err().expect("an error");
    assert_eq!(error.to_string(), "reno has no parameters, so no parameter alpha");
}

#[test]
fn plain_globals_of_a_users_file_are_parameters() {
    let files = UserFiles::new("globals");
    let path = files.write(
        "globals.bpf.c",
        r#"#include "vmlinux.h"
           #include <bpf/bpf_helpers.h>
           #include <bpf/bpf_tracing.h>
           const volatile __u32 start = 7; /* const volatile __u32 commented; */
           const volatile bool twice;
           volatile const int below = -3;
           const volatile unsigned long long far = 0;
           typedef unsigned short mine;
           const volatile mine mystery = 1;
           static const __u32 fixed = 1;
           SEC("struct_ops") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked)
           { ((struct tcp_sock *)sk)->snd_ssthresh = start + below + (twice ? acked : 0) + (__u32)far; }
           SEC("struct_ops") __u32 BPF_PROG(keep, struct sock *sk) { return fixed; }
           SEC(".struct_ops") struct tcp_congestion_ops globals = {
               .cong_avoid = (void *)grow, .ssthresh = (void *)keep, .undo_cwnd = (void *)keep, .name = "globals" };
           char _license[] SEC("license") = "GPL";"#,
    );
    let description = library().describe(&MechanismSource::File(path.clone())).expect("a description");
    let mut names: Vec<_> = description.parameters.iter().map(|p| format!("{p}")).collect();
    names.sort();
    assert_eq!(names[0], "below (-2147483648 to 2147483647; -3)");
    assert_eq!(names[1], "far (0 to 9223372036854775807; 0)");
    assert_eq!(names[2..], ["mystery (0 to 65535; 1)", "start (0 to 4294967295; 7)", "twice (true or false; false)"]);

    let grown = |params: &[(&str, ParamValue)]| {
        let control = load(MechanismSource::File(path.clone()), params).unwrap_or_else(|e| panic!("{e}"));
        let mut sk = socket(10, 5);
        control.cong_avoid(&mut sk, 0, 100);
        sk.snd_ssthresh
    };
    assert_eq!(grown(&[]), 4);
    assert_eq!(grown(&[("start", number(4_000_000_000)), ("below", number(-5))]), 3_999_999_995);
    let too_low = load(MechanismSource::File(path.clone()), &[("start", number(-1))]).err().expect("an error");
    assert!(too_low.to_string().ends_with("start must be from 0 to 4294967295, not -1"), "{too_low}");
    assert_eq!(grown(&[("twice", ParamValue::Bool(true)), ("far", number(1000))]), 1104);
    let error = load(MechanismSource::File(path.clone()), &[("fixed", number(2))]).err().expect("an error");
    assert!(error.to_string().contains("has no parameter fixed; valid: "), "{error}");
}
