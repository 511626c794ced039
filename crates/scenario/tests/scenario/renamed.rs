//! Keys under their old names: they mean what they meant, and a warning says what they are called now.

use std::path::Path;
use unbloat_scenario::{Experiment, load_text};

const BASE: &str = r#"duration = "10s"
[link.bottleneck]
rate = "20mbit"
delay = "10ms"
queue = { limit = "500kb" }
[[flows]]
cc = "cubic"
"#;

fn load(more: &str, overrides: &[(&str, &str)]) -> Experiment {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    load_text(&format!("{BASE}{more}"), "a.toml", Path::new(""), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn scenarios(experiment: &Experiment) -> Vec<&model::Scenario> {
    experiment.points.iter().map(|point| &point.scenario).collect()
}

#[test]
fn old_keys_mean_what_the_new_ones_do() {
    let pairs = [
        (
            "receiver = \"rtac\"\nreceiver_params.rtac.bdp = 68\n",
            "window_controller = \"rtac\"\nwindow_controller_params.rtac.bdp = 68\n",
        ),
        (
            "[sweep]\n\"flows.0.receiver\" = [\"rtac\", \"drwa\"]\n",
            "[sweep]\n\"flows.0.window_controller\" = [\"rtac\", \"drwa\"]\n",
        ),
        (
            "[sweep]\nflows.0.receiver = [\"rtac\", \"drwa\"]\n",
            "[sweep]\nflows.0.window_controller = [\"rtac\", \"drwa\"]\n",
        ),
        (
            "[sweep]\ncase = [{ label = \"a\", \"flows.*.receiver\" = \"static\", flows.0.receiver_params.most = 3 }]\n",
            "[sweep]\ncase = [{ label = \"a\", \"flows.*.window_controller\" = \"static\", flows.0.window_controller_params.most = 3 }]\n",
        ),
    ];
    for (old, new) in pairs {
        let (old, new) = (load(old, &[]), load(new, &[]));
        assert_eq!(scenarios(&old), scenarios(&new));
        assert_eq!(old.points[0].axes, new.points[0].axes);
        assert!(!old.warnings.is_empty() && new.warnings.is_empty());
    }
}

#[test]
fn old_overrides_mean_what_the_new_ones_do() {
    let pairs = [
        ("flows.*.receiver", "flows.*.window_controller", "static"),
        ("sweep.flows.0.receiver", "sweep.flows.0.window_controller", "[\"static\", \"drwa\"]"),
        ("sweep.case", "sweep.case", "[{ label = \"a\", \"flows.0.receiver\" = \"drwa\" }]"),
        ("sweep", "sweep", "{ \"flows.0.receiver\" = [\"drwa\"] }"),
    ];
    for (old, new, value) in pairs {
        let new_value = value.replace("receiver", "window_controller");
        let file = "window_controller = \"drwa\"\n";
        let (old, new) = (load(file, &[(old, value)]), load(file, &[(new, &new_value)]));
        assert_eq!(scenarios(&old), scenarios(&new));
        assert_eq!((old.warnings.len(), new.warnings.len()), (1, 0));
    }
}

#[test]
fn a_warning_has_the_place_and_both_names() {
    let file = "receiver = \"static\"\nreceiver_params.most = 3\n[[flows]]\ncc = \"reno\"\nreceiver = \"drwa\"\n";
    let sentences: Vec<_> = load(file, &[]).warnings.iter().map(ToString::to_string).collect();
    let (key, params) = ("receiver is called window_controller", "receiver_params is called window_controller_params");
    let expected = [
        format!("a.toml:8: flows.0.receiver: {key} now; the next release refuses the old name"),
        format!("a.toml:9: flows.0.receiver_params: {params} now; the next release refuses the old name"),
    ];
    assert_eq!(sentences, expected);
    let set = load("", &[("flows.0.receiver", "drwa")]);
    let expected = format!("flows.0.receiver: {key} now; the next release refuses the old name");
    assert_eq!(set.warnings[0].to_string(), expected);
}

#[test]
fn a_key_under_both_names_is_refused() {
    let text = format!("{BASE}receiver = \"drwa\"\nwindow_controller = \"rtac\"\n");
    let error = load_text(&text, "a.toml", Path::new(""), &[]).expect_err("two controllers").to_string();
    let message = "is the old name of window_controller, which is set too; leave one of the two out";
    assert_eq!(error, format!("a.toml:8: flows.0.receiver: {message}"));
}

#[test]
fn names_of_the_user_stay() {
    let text = "[link.receiver]\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = { limit = \"500kb\" }\n";
    let experiment = load(text, &[("link.receiver.rate", "2mbit"), ("sweep.receiver", "[{ label = \"receiver\" }]")]);
    assert_eq!(experiment.points[0].axes, [("receiver".to_string(), "receiver".to_string())]);
    assert!(experiment.warnings.is_empty());
}
