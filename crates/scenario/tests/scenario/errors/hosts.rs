//! Mistakes in hosts, their classifiers and their send buffers.

use super::sentence;

const BASE: &str = r#"duration = "60s"
[link.up]
rate = "9mbit"
delay = "10ms"
queue = { kind = "prio", bands = 2 }
[link.core]
rate = "1gbit"
delay = "10ms"
queue = { limit = "1mb" }
[host.phone]
classifier = "sorpc"
[[flows]]
host = "phone"
cc = "cubic"
"#;

#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("host = \"phone\"", "host = \"fone\"",
     "hosts.toml:13: flows.0.host: unknown host fone; valid: phone"),
    ("host = \"phone\"\n", "",
     "hosts.toml:10: host.phone: has no flows; write host = \"phone\" in a flow group, or leave the host out"),
    ("cc = \"cubic\"", "cc = \"cubic\"\n[[flows]]\ncc = \"reno\"",
     "hosts.toml:15: flows.1.path: begins with up, which is the device of [host.phone]; write host = \"phone\", or \
         put a link before it"),
    ("cc = \"cubic\"", "cc = \"cubic\"\n[[flows]]\nhost = \"phone\"\npath = [\"core\"]\ncc = \"reno\"",
     "hosts.toml:17: flows.1.path: [host.phone] has one device; earlier flows leave by up, these by core"),
    ("cc = \"cubic\"", "cc = \"cubic\"\n[[flows]]\nhost = \"tablet\"\ncc = \"reno\"\n[host.tablet]",
     "hosts.toml:18: host.tablet: shares the device up with [host.phone]; begin one of their paths with another link"),
    ("cc = \"cubic\"", "cc = \"cubic\"\naccess = { rate = \"1mbit\" }",
     "hosts.toml:15: flows.0.access: cannot have a rate together with host, whose own link is the first of path; \
         leave it out"),
    ("{ kind = \"prio\", bands = 2 }", "{ limit = \"100p\" }",
     "hosts.toml:11: host.phone.classifier: needs bands to sort packets into; write queue = { kind = \"prio\", bands = \
      2 } in [link.up]"),
    ("{ kind = \"prio\", bands = 2 }", "{ kind = \"kernel:prio\" }",
     "hosts.toml:5: link.up.queue.kind: is not supported on the device of [host.phone]; write it without \
         \"kernel:\", and with --on kernel the kernel runs its own\nhosts.toml:11: host.phone.classifier: needs \
         bands to sort packets into; write queue = { kind = \"prio\", bands = 2 } in [link.up]"),
    ("delay = \"10ms\"", "delay = \"10ms\"\njitter = \"1ms\"",
     "hosts.toml:5: link.up.jitter: is not supported on the device of [host.phone], where packets keep their order; \
         set it on a later link"),
    ("delay = \"10ms\"", "delay = \"10ms\"\npolicer = { rate = \"5mbit\", burst = \"9kb\" }",
     "hosts.toml:5: link.up.policer: is not supported on the device of [host.phone], whose flows would learn of each \
         drop; set it on a later link"),
    ("\"sorpc\"", "\"kernel:sorpc\"",
     "hosts.toml:11: host.phone.classifier: \"kernel:\" works with cc only; leave classifier out"),
    ("classifier = \"sorpc\"", "classifier_params = { sor_threshold = \"50%\" }",
     "hosts.toml:11: host.phone.classifier_params: needs classifier; write classifier beside it, or leave the \
         parameters out"),
    ("classifier = \"sorpc\"", "classifier = \"sorpc\"\nclassifier_params = { sorpx = { no_overtake = false } }",
     "hosts.toml:12: host.phone.classifier_params.sorpx: this host never runs sorpx (did you mean sorpc?); it runs \
         sorpc"),
    ("classifier = \"sorpc\"", "pacing_shift = 21",
     "hosts.toml:11: host.phone.pacing_shift: 21 is out of range; valid: 0 to 20"),
    ("classifier = \"sorpc\"", "byte_queue_limits = true",
     "hosts.toml:11: host.phone.byte_queue_limits: needs a ring to limit; write ring beside it"),
    ("classifier = \"sorpc\"", "tcp_wmem = { default = \"1mib\", max = \"100kib\" }",
     "hosts.toml:11: host.phone.tcp_wmem.default: 1048576b must not exceed max, 102400b"),
    ("classifier = \"sorpc\"", "tcp_wmem = { tuning = \"twice\" }",
     "hosts.toml:11: host.phone.tcp_wmem.tuning: must be one of linux, twice_cwnd, not \"twice\""),
];

#[test]
fn hosts() {
    assert_eq!(sentence(BASE, &[]).replace("base.toml", "hosts.toml"), "no mistake was found");
    for (piece, replacement, expected) in CASES {
        assert!(BASE.contains(piece), "{piece:?} does not occur in the base");
        let text = BASE.replacen(piece, replacement, 1);
        let said = sentence(&text, &[]).replace("base.toml", "hosts.toml");
        assert_eq!(said, *expected, "{piece:?} was replaced by {replacement:?}");
    }
}

#[test]
fn a_host_in_a_cell_has_no_byte_queue_limits() {
    let cell = BASE
        .replace("rate = \"9mbit\"", "lte = \"city\"\ncqi = 9")
        .replace("[host.phone]", "[lte.city]\nbandwidth = \"5mhz\"\n[host.phone]");
    assert_eq!(sentence(&cell, &[]), "no mistake was found");
    let limited = cell.replace("[host.phone]", "[host.phone]\nring = 8\nbyte_queue_limits = true");
    assert_eq!(
        sentence(&limited, &[]),
        "base.toml:15: host.phone.byte_queue_limits: is not supported by devices of Wi-Fi and LTE; leave it out"
    );
}
