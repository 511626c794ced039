//! Unknown and missing keys and sections.

use super::{BASE, Case, check, sentence};

#[rustfmt::skip]
const KEYS_AND_SECTIONS: &[Case] = &[
    ("rate =", "rat =",
     "base.toml:8: link.bottleneck.rat: unknown key (did you mean rate?); valid keys: LINK_KEYS"),
    ("[link.bottleneck]", "[link]",
     "base.toml:8: link.rate: needs a name: write [link.NAME] above these keys, with a name for NAME"),
    ("[link.bottleneck]", "[link.\"a.b\"]",
     "base.toml:7: link.a.b: is not a valid name; use letters, digits, - and _"),
    ("\"linux\"", "\"linx\"",
     "base.toml:5: profile: must be one of linux, sack, newreno, ns2-linux, lln, or a table of switches, not \"linx\" \
         (did you mean linux?)"),
    ("\"linux\"", "3",
     "base.toml:5: profile: must be one of linux, sack, newreno, ns2-linux, lln, or a table of switches, not 3"),
    ("\"linux\"", "{ sac = false }",
     "base.toml:5: profile.sac: unknown key (did you mean sack?); valid keys: base, sack, timestamps, tcp_usec_ts, \
         window_scaling, rack, tlp, prr, rate_halving, frto, undo, delayed_ack, ack_every, quick_ack, \
         sack_compression, limited_transmit, cwnd_validation, gate, ecn, pacing, initial_window, rto_min"),
    ("\"0%\"", "{ r = \"30%\" }",
     "base.toml:11: link.bottleneck.loss.p: is missing; write a percentage such as \"1%\": probability that a wire \
         that was good for a packet is bad for the next"),
    ("\"0%\"", "{ p = \"1%\", h = \"1%\" }",
     "base.toml:11: link.bottleneck.loss.h: unknown key (did you mean p?); valid keys: kind, p, r, 1-h, 1-k"),
    ("count = 2", "clock = \"100ppm\"",
     "base.toml:15: flows.0.clock: must be a table of offset, drift, not a string"),
    ("\"cubic\"", "\"\"",
     "base.toml:14: flows.0.cc: must not be empty"),
    ("cc = \"cubic\"\n", "",
     "base.toml:13: flows.0.cc: is missing; write a string: name of the congestion control, path of its .bpf.c file \
         (add #NAME to pick one of several), or kernel:NAME for one of the running kernel"),
    ("\"cubic\"", "\"kernel:\"",
     "base.toml:14: flows.0.cc: kernel: must be followed by a name that the kernel lists, such as kernel:cubic, not \
         \"\""),
    ("\"cubic\"", "\"kernel:a_long_way_to_go\"",
     "base.toml:14: flows.0.cc: kernel: must be followed by a name that the kernel lists, such as kernel:cubic, not \
         \"a_long_way_to_go\""),
    ("\"cubic\"", "\"kernel:cubic\"\nparams = { beta = 3 }",
     "base.toml:15: flows.0.params: kernel:cubic belongs to the running kernel and has no parameter beta"),
    ("count = 2", "params = 3",
     "base.toml:15: flows.0.params: must be a table of parameters such as { period = \"100ms\" }, not a whole number"),
    ("count = 2", "params = { cubc = { beta = 3 } }",
     "base.toml:15: flows.0.params.cubc: this group never runs cubc (did you mean cubic?); it runs cubic"),
    ("\"cubic\"", "\"kernel:cubic\"\nmaps = { rates = { 0 = 1 } }",
     "base.toml:15: flows.0.maps: kernel:cubic belongs to the running kernel and has no map rates"),
    ("count = 2", "maps = 3",
     "base.toml:15: flows.0.maps: must be a table of maps such as { rates = { 0 = 1250000, 1 = 2500000 } }, not a \
      whole number"),
    ("count = 2", "maps = { rates = 3 }",
     "base.toml:15: flows.0.maps.rates: must be a table of keys and values such as { rates = { 0 = 1250000, 1 = \
      2500000 } }, not a whole number"),
    ("count = 2", "maps = { rates = { 0 = \"10mbit\" } }",
     "base.toml:15: flows.0.maps.rates.0: must be a whole number, or a list of them for a struct's members, not a \
      string"),
    ("count = 2", "maps = { rates = { 0 = [1, [2]] } }",
     "base.toml:15: flows.0.maps.rates.0: must be a whole number, or a list of them for a struct's members, not a \
      list"),
    ("count = 2", "maps = { rates = { 0 = 18446744073709551616 } }",
     "base.toml:15: flows.0.maps.rates.0: 18446744073709551616 is out of range: numbers in maps have at most 64 bits"),
    ("count = 2", "maps = { cubc = { rates = { 0 = 1 } } }",
     "base.toml:15: flows.0.maps.cubc: this group never runs cubc (did you mean cubic?); it runs cubic"),
    ("count = 2", "window_controller_params = { bdp = 30 }",
     "base.toml:15: flows.0.window_controller_params: needs window_controller; write window_controller beside it, or leave the parameters out"),
    ("count = 2", "window_controller = \"kernel:rtac\"",
     "base.toml:15: flows.0.window_controller: \"kernel:\" works with cc only; leave window_controller out"),
    ("count = 2", "window_controller = \"rtac\"\nwindow_controller_params = { rtax = { bdp = 30 } }",
     "base.toml:16: flows.0.window_controller_params.rtax: this group never runs rtax (did you mean rtac?); it runs rtac"),
    ("count = 2", "access = \"1gbit\"",
     "base.toml:15: flows.0.access: must be a table of rate, queue, small_queues, delay, not a string"),
    ("count = 2", "access = { delay = \"1ms\", queue = { limit = \"20p\" } }",
     "base.toml:15: flows.0.access.queue: needs a link with a rate, for without one no packet waits; write rate \
         beside it"),
    ("count = 2", "access = { delay = \"1ms\", small_queues = true }",
     "base.toml:15: flows.0.access.small_queues: needs a link with a rate; write rate beside it"),
    ("count = 2", "access = { rate = \"1mbit\", small_queues = 1 }",
     "base.toml:15: flows.0.access.small_queues: must be true or false, not 1"),
    ("count = 2", "access = { rate = \"1mbit\", queue = { kind = \"kernel:codel\" } }",
     "base.toml:15: flows.0.access.queue.kind: kernel:codel works on links only; for an access link write a queue \
         without \"kernel:\""),
    ("count = 2", "access = { rate = \"1mbit\", queue = { limit = \"1kb\" } }",
     "base.toml:15: flows.0.access.queue.limit: 1kb has no room for one packet of 1500b; write at least that"),
    ("[[flows]]", "[flows]",
     "base.toml:13: flows: must be written as [[flows]], once for each, not as a table"),
    ("[[flows]]", "[[flow]]",
     "base.toml:13: flow: unknown key (did you mean flows?); valid keys: name, duration, warmup, seed, emulator, \
         profile, compile, wifi, link, lte, host, mesh, flows, expect, sweep"),
    ("count = 2", "path = [\"bottlenek\"]",
     "base.toml:15: flows.0.path: unknown link bottlenek (did you mean bottleneck?); valid: bottleneck"),
    ("count = 2", "path = [\"bottleneck\", \"bottleneck\"]",
     "base.toml:15: flows.0.path: passes the link bottleneck twice; leave one out"),
    ("count = 2", "path = \"bottleneck\"",
     "base.toml:15: flows.0.path: must be a list of names such as [\"home\", \"core\"], not \"bottleneck\""),
    ("count = 2", "reverse_path = []",
     "base.toml:15: flows.0.reverse_path: must be a list of names such as [\"home\", \"core\"], not an empty list"),
    ("rate = \"20mbit\"\n", "",
     "base.toml:7: link.bottleneck.rate: is missing; write rate such as \"2mbit\", trace with the name of a file, or \
         wifi or lte with that of a cell"),
    ("delay = \"10ms\"\n", "",
     "base.toml:7: link.bottleneck.delay: is missing; write a time such as \"10ms\": propagation delay, one way"),
    ("duration = \"60s\"\n", "",
     "base.toml: duration: is missing; write a time such as \"10ms\": duration of the run"),
    ("name = \"base\"", "name = \"\"",
     "base.toml:1: name: must not be empty"),
];

#[test]
fn wrong_and_missing_keys_name_the_alternatives() {
    check(KEYS_AND_SECTIONS);
}

#[test]
fn a_key_of_many_parts_is_refused_however_it_is_written() {
    let deep = format!("link{}", ".a".repeat(60_000));
    let said = sentence(BASE, &[(&deep, "1")]);
    assert!(said.starts_with("link.a.a") && said.ends_with("has 60001 parts; a key has at most 32"), "{said}");
    let axis = format!("{BASE}\n[sweep]\n\"{deep}\" = [1]\n");
    let said = sentence(&axis, &[]);
    assert!(said.starts_with("base.toml:18: link.a.a") && said.ends_with("a key has at most 32"), "{said}");
}
