//! Every mistake gets one sentence that names file, line, key and what may stand there.

use scenario::load_text;
use std::path::Path;

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

/// What is replaced, by what, and the sentence that the file then gets.
type Case = (&'static str, &'static str, &'static str);

fn sentence(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    match load_text(text, "base.toml", Path::new(""), &overrides) {
        Ok(_) => "no mistake was found".into(),
        Err(error) => error.to_string(),
    }
}

fn check(cases: &[Case]) {
    for (piece, replacement, expected) in cases {
        assert!(BASE.contains(piece), "{piece:?} does not occur in the base");
        let text = BASE.replacen(piece, replacement, 1);
        assert_eq!(sentence(&text, &[]), *expected, "{piece:?} was replaced by {replacement:?}");
    }
}

#[test]
fn the_base_itself_is_right() {
    assert_eq!(sentence(BASE, &[]), "no mistake was found");
}

#[rustfmt::skip]
const IMPAIRMENTS: &[Case] = &[
    ("loss = \"0%\"", "jitter = \"11ms\"",
     "base.toml:11: link.bottleneck.jitter: 11ms is more than the delay, 10ms, which it is to vary"),
    ("loss = \"0%\"", "reverse = { delay = \"1ms\", jitter = \"2ms\" }",
     "base.toml:11: link.bottleneck.reverse.jitter: 2ms is more than the delay, 1ms, which it is to vary"),
    ("loss = \"0%\"", "jitter_distribution = \"pareto\"",
     "base.toml:11: link.bottleneck.jitter_distribution: must be one of uniform, normal, not \"pareto\""),
    ("delay = \"10ms\"", "delay = \"0s\"\nreorder = \"1%\"",
     "base.toml:10: link.bottleneck.reorder: needs a delay that a packet can do without, or reorder_by, to hold it \
         back"),
    ("loss = \"0%\"", "reorder = \"101%\"",
     "base.toml:11: link.bottleneck.reorder: \"101%\" is more than the whole; at most \"100%\" may stand here"),
    ("loss = \"0%\"", "reorder_gap = 0",
     "base.toml:11: link.bottleneck.reorder_gap: 0 is out of range; it may be 1 to 1000000"),
    ("loss = \"0%\"", "reorder_by = \"0s\"",
     "base.toml:11: link.bottleneck.reorder_by: 0s is out of range; it may be 1ns to 3600s"),
    ("loss = \"0%\"", "duplicate = 1",
     "base.toml:11: link.bottleneck.duplicate: must be a percentage such as \"1%\", not 1"),
    ("loss = \"0%\"", "rates = \"1mbit\"",
     "base.toml:11: link.bottleneck.rates: must be written as [[link.bottleneck.rates]], once for each; here it is a \
         string"),
    ("loss = \"0%\"", "rates = [{ at = \"10s\" }]",
     "base.toml:11: link.bottleneck.rates.0.rate: is missing; it is a rate such as \"2mbit\": what the transmitter \
         sends from then on"),
    ("loss = \"0%\"", "rates = [{ at = \"0s\", rate = \"1mbit\" }]",
     "base.toml:11: link.bottleneck.rates.0.at: 0s is out of range; it may be 1ns to 1000000s"),
    ("loss = \"0%\"", "rates = [{ at = \"10s\", rate = \"1mbit\" }, { at = \"10s\", rate = \"2mbit\" }]",
     "base.toml:11: link.bottleneck.rates.1.at: 10s is not after 10s, where the rate before it begins"),
    ("loss = \"0%\"", "rates = [{ at = \"10s\", rate = \"0mbit\" }]",
     "base.toml:11: link.bottleneck.rates.0.rate: 0mbit is out of range; it may be 1bit to 100tbit"),
    ("loss = \"0%\"", "outages = [{ at = \"5s\" }]",
     "base.toml:11: link.bottleneck.outages.0.for: is missing; it is a time such as \"10ms\": how long it is down"),
    ("loss = \"0%\"", "outages = [{ at = \"5s\", for = \"2s\" }, { at = \"6s\", for = \"1s\" }]",
     "base.toml:11: link.bottleneck.outages.1.at: 6s is before 7s, where the outage before it ends"),
    ("loss = \"0%\"", "outages = [{ at = \"5s\", for = \"2s\", lost = true }]",
     "base.toml:11: link.bottleneck.outages.0.lost: no such key; here may stand at, for, lose (did you mean lose?)"),
    ("\n\n[link.bottleneck]", "\nemulator = \"netem\"\n[link.bottleneck]\njitter = \"1ms\"",
     "base.toml:8: link.bottleneck.jitter: is this program's own here; leave it out, or take emulator = \"unbloat\""),
    ("droptail\", limit = \"500kb\" }", "kernel:codel\" }\noutages = [{ at = \"5s\", for = \"2s\" }]",
     "base.toml:11: link.bottleneck.outages: cannot stop the kernel's shaper; kernel:codel can have outages with lose \
         = true only"),
    ("droptail\", limit = \"500kb\" }", "kernel:codel\" }\nrates = [{ at = \"5s\", rate = \"2mbit\" }]",
     "base.toml:11: link.bottleneck.rates: is nothing that the kernel's shaper can follow; kernel:codel needs one \
         rate"),
    ("\"500kb\"", "\"bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: \"bdp\" is not a multiple of the bandwidth-delay product; write a \
         number and its unit, such as \"0.5bdp\""),
    ("\"500kb\"", "\"0bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: \"0bdp\" leaves no room; write more than \"0bdp\""),
    ("\"500kb\"", "\"-1bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: \"-1bdp\" is negative; write a multiple of the bandwidth-delay \
         product such as \"0.5bdp\""),
    ("droptail\", limit = \"500kb\"", "pfifo_fast\", limit = \"1000000bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: 1000000bdp, which is 33333334p, is out of range; it may be 1p to \
         1000000p"),
    ("count = 2", "start = \"2s..1s\"",
     "base.toml:15: flows.0.start: \"2s..1s\" ends before it begins; write the earlier time first"),
    ("count = 2", "start = \"0s..\"",
     "base.toml:15: flows.0.start: \"\" is not a time; write a number and its unit, such as \"10ms\""),
    ("count = 2", "start = \"0s..60s\"",
     "base.toml:15: flows.0.start: the last flow would start at or after the end of the run, 60s"),
    ("count = 2", "start = \"0s..1s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.start: is a range beside arrivals, whose process is random itself; write one time"),
];

#[test]
fn impairments_have_their_sentences() {
    check(IMPAIRMENTS);
}

#[rustfmt::skip]
const WORKLOADS: &[Case] = &[
    ("count = 2", "arrivals = { rate = \"10\" }",
     "base.toml:15: flows.0.arrivals.rate: \"10\" lacks its unit; units of a number of times a second are /s"),
    ("count = 2", "arrivals = { rate = 10 }",
     "base.toml:15: flows.0.arrivals.rate: must be a number of times a second such as \"10/s\", not 10"),
    ("count = 2", "arrivals = { rate = \"0/s\" }",
     "base.toml:15: flows.0.arrivals.rate: 0/s is out of range; it may be 0.000001/s to 1000000/s"),
    ("count = 2", "arrivals = { kind = \"poison\", rate = \"1/s\" }",
     "base.toml:15: flows.0.arrivals.kind: must be one of poisson, not \"poison\" (did you mean poisson?)"),
    ("count = 2", "arrivals = {}",
     "base.toml:15: flows.0.arrivals.rate: is missing; it is a number of times a second such as \"10/s\": flows a \
         second, in the mean"),
    ("count = 2", "count = 2\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.count: stands beside arrivals; flows come by the one or by the other"),
    ("count = 2", "stagger = \"1s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.stagger: stands beside arrivals; flows come by the one or by the other"),
    ("count = 2", "start = \"60s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.start: lies at or after the end of the run, 60s"),
    ("count = 2", "start = \"9s\"\nstop = \"9s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:16: flows.0.stop: must lie after start"),
    ("count = 2", "arrivals = { rate = \"1000000/s\" }",
     "base.toml:15: flows.0.arrivals: makes 60000000 flows with the other groups; there may be 1000000"),
    ("count = 2", "size = 5",
     "base.toml:15: flows.0.size: must be a size such as \"500kb\", or a table of kind pareto, lognormal, exponential, \
         not 5"),
    ("count = 2", "size = { kind = \"paretto\", mean = \"1kb\" }",
     "base.toml:15: flows.0.size.kind: must be one of pareto, lognormal, exponential, not \"paretto\" (did you mean \
         pareto?)"),
    ("count = 2", "size = { mean = \"1kb\" }",
     "base.toml:15: flows.0.size.kind: is missing; it is one of pareto, lognormal, exponential: pareto: many small \
         sizes and a few very large"),
    ("count = 2", "size = { kind = \"pareto\", mean = \"1kb\", shape = 1 }",
     "base.toml:15: flows.0.size.shape: 1 is out of range; it may be 1.01 to 100"),
    ("count = 2", "size = { kind = \"pareto\", mean = \"1kb\", shape = \"1.2\" }",
     "base.toml:15: flows.0.size.shape: must be a number such as 1.2, not \"1.2\""),
    ("count = 2", "size = { kind = \"pareto\", mean = \"1kb\", most = \"1kb\" }",
     "base.toml:15: flows.0.size.most: 1kb must be more than the mean, 1kb"),
    ("count = 2", "size = { kind = \"exponential\", mean = \"1kb\", shape = 2.0 }",
     "base.toml:15: flows.0.size.shape: no such key; here may stand kind, mean"),
    ("count = 2", "reverse = true",
     "base.toml:15: flows.0.reverse: its data takes the reverse direction of bottleneck, which needs a queue then; \
         write queue in [link.bottleneck.reverse], such as { limit = \"100p\" }"),
    ("loss = \"0%\"", "reverse = { queue = { limit = \"1000b\" } }\n[[flows]]\ncc = \"reno\"\nreverse = true",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 1kb has no room for one packet of 1500b, so that nothing \
         could pass"),
];

#[test]
fn mistakes_in_workloads() {
    check(WORKLOADS);
}

#[rustfmt::skip]
const VALUES: &[Case] = &[
    ("20mbit\"", "20mbt\"",
     "base.toml:8: link.bottleneck.rate: \"20mbt\" is not a rate; its unit must be one of bit, kbit, mbit, gbit, tbit, \
         with kibit and so on for 1024, or bps, kbps, mbps, gbps, tbps for bytes a second (did you mean mbit?)"),
    ("\"20mbit\"", "20",
     "base.toml:8: link.bottleneck.rate: must be a rate such as \"2mbit\", not 20"),
    ("20mbit", "20",
     "base.toml:8: link.bottleneck.rate: \"20\" lacks its unit; units of a rate are bit, kbit, mbit, gbit, tbit, with \
         kibit and so on for 1024, or bps, kbps, mbps, gbps, tbps for bytes a second"),
    ("20mbit", "0bit",
     "base.toml:8: link.bottleneck.rate: 0bit is out of range; it may be 1bit to 100tbit"),
    ("20mbit", "fast",
     "base.toml:8: link.bottleneck.rate: \"fast\" is not a rate; write a number and its unit, such as \"2mbit\""),
    ("20mbit", "-1mbit",
     "base.toml:8: link.bottleneck.rate: \"-1mbit\" is negative; write a rate such as \"2mbit\""),
    ("20mbit", "1000tbit",
     "base.toml:8: link.bottleneck.rate: 1000tbit is out of range; it may be 1bit to 100tbit"),
    ("20mbit", "99999999999tbit",
     "base.toml:8: link.bottleneck.rate: \"99999999999tbit\" is more than this program can count"),
    ("20mbit", "0.5bit",
     "base.toml:8: link.bottleneck.rate: \"0.5bit\" is no whole number of bits a second"),
    ("\"10ms\"", "10",
     "base.toml:9: link.bottleneck.delay: must be a time such as \"10ms\", not 10"),
    ("10ms", "10 ms",
     "base.toml:9: link.bottleneck.delay: \"10 ms\" is not a time; its unit must be one of ns, us, ms, s (did you mean \
         ms?)"),
    ("10ms", "2h",
     "base.toml:9: link.bottleneck.delay: \"2h\" is not a time; its unit must be one of ns, us, ms, s (did you mean \
         s?)"),
    ("10ms", "0.5ns",
     "base.toml:9: link.bottleneck.delay: \"0.5ns\" is no whole number of nanoseconds"),
    ("10ms", "2000000s",
     "base.toml:9: link.bottleneck.delay: 2000000s is out of range; it may be 0s to 3600s"),
    ("\"60s\"", "\"0s\"",
     "base.toml:2: duration: 0s is out of range; it may be 1ns to 1000000s"),
    ("seed = 1", "seed = -1",
     "base.toml:4: seed: must be a whole number of at least 0, not -1"),
    ("seed = 1", "seed = 1.5",
     "base.toml:4: seed: must be a whole number, not 1.5"),
    ("seed = 1", "seed = 99999999999999999999",
     "base.toml:4: seed: 99999999999999999999 is out of range; it may be 0 to 9223372036854775807"),
    ("\"linux\"", "{ base = \"lin\" }",
     "base.toml:5: profile.base: must be one of linux, sack, newreno, not \"lin\""),
    ("\"linux\"", "{ sack = 1 }",
     "base.toml:5: profile.sack: must be true or false, not 1"),
    ("droptail", "codl",
     "base.toml:10: link.bottleneck.queue.kind: must be one of droptail, red, codel, fq_codel, pie, fq_pie, prio, \
         pfifo_fast, cake, kernel:fq_codel, kernel:codel, kernel:pie, kernel:fq_pie, kernel:red, kernel:prio, \
         kernel:pfifo_fast, kernel:cake, kernel:pfifo, kernel:bfifo, not \"codl\" (did you mean codel?)"),
    ("{ kind = \"droptail\", limit = \"500kb\" }", "{ kind = \"cake\", diffserv = \"diffserv5\" }",
     "base.toml:10: link.bottleneck.queue.diffserv: must be one of diffserv3, diffserv4, diffserv8, besteffort, \
         precedence, not \"diffserv5\" (did you mean diffserv3?)"),
    ("{ kind = \"droptail\", limit = \"500kb\" }", "{ kind = \"pie\", limit = \"500kb\" }",
     "base.toml:10: link.bottleneck.queue.limit: 500kb is out of range; it may be 1p to 4294967295p"),
    ("500kb", "500kx",
     "base.toml:10: link.bottleneck.queue.limit: \"500kx\" is not a size; its unit must be one of b, kb, mb, gb, or \
         kib, mib, gib for 1024 (did you mean kb?); a number of packets such as \"300p\", or \"1bdp\", may stand here \
         too"),
    ("\"500kb\"", "500",
     "base.toml:10: link.bottleneck.queue.limit: must be a size such as \"500kb\", packets such as \"300p\", or \
         \"1bdp\", not 500"),
    ("\"0%\"", "\"101%\"",
     "base.toml:11: link.bottleneck.loss: \"101%\" is more than the whole; at most \"100%\" may stand here"),
    ("\"0%\"", "0.01",
     "base.toml:11: link.bottleneck.loss: must be a percentage such as \"1%\", or a table such as { p = \"1%\", r \
         = \"30%\" }, not 0.01"),
    ("\"0%\"", "\"0.01\"",
     "base.toml:11: link.bottleneck.loss: \"0.01\" is not a percentage; write it such as \"1%\" or \"0.01%\""),
    ("\"0%\"", "1",
     "base.toml:11: link.bottleneck.loss: must be a percentage such as \"1%\", or a table such as { p = \"1%\", r \
         = \"30%\" }, not 1"),
    ("\"0%\"", "{ p = \"101%\" }",
     "base.toml:11: link.bottleneck.loss.p: \"101%\" is more than the whole; at most \"100%\" may stand here"),
    ("\"0%\"", "{ p = \"1%\", 1-h = 1 }",
     "base.toml:11: link.bottleneck.loss.1-h: must be a percentage such as \"1%\", not 1"),
    ("\"0%\"", "{ kind = \"state\", p = \"1%\" }",
     "base.toml:11: link.bottleneck.loss.kind: must be one of gemodel, not \"state\""),
    ("\"cubic\"", "7",
     "base.toml:14: flows.0.cc: must be a string, not 7"),
    ("count = 2", "count = 0",
     "base.toml:15: flows.0.count: 0 is out of range; it may be 1 to 1000000"),
    ("count = 2", "count = 3000000",
     "base.toml:15: flows.0.count: 3000000 is out of range; it may be 1 to 1000000"),
    ("count = 2", "count = \"two\"",
     "base.toml:15: flows.0.count: must be a whole number, not \"two\""),
    ("count = 2", "size = \"0b\"",
     "base.toml:15: flows.0.size: 0b is out of range; it may be 1b to 1000000gb"),
    ("count = 2", "packet = \"99b\"",
     "base.toml:15: flows.0.packet: 99b is out of range; it may be 100b to 65535b"),
    ("count = 2", "packet = \"70kb\"",
     "base.toml:15: flows.0.packet: 70kb is out of range; it may be 100b to 65535b"),
    ("count = 2", "params = { period = [1] }",
     "base.toml:15: flows.0.params.period: must be a number, true or false, or a string such as \"100ms\", not a list"),
    ("count = 2", "access = { rate = \"1gb\" }",
     "base.toml:15: flows.0.access.rate: \"1gb\" is not a rate; its unit must be one of bit, kbit, mbit, gbit, tbit, \
         with kibit and so on for 1024, or bps, kbps, mbps, gbps, tbps for bytes a second"),
    ("count = 2", "clock = { drift = \"2%\" }",
     "base.toml:15: flows.0.clock.drift: \"2%\" is not a drift; its unit must be one of ppm, ppb"),
    ("count = 2", "clock = { drift = \"-10001ppm\" }",
     "base.toml:15: flows.0.clock.drift: -10001ppm is out of range; it may be -10000ppm to 10000ppm"),
    ("count = 2", "clock = { drift = 100 }",
     "base.toml:15: flows.0.clock.drift: must be a drift such as \"100ppm\" or \"-20ppm\", not 100"),
    ("count = 2", "clock = { drift = \"-fast\" }",
     "base.toml:15: flows.0.clock.drift: \"-fast\" is not a drift; write a number and its unit, such as \"100ppm\""),
    ("count = 2", "clock = { drift = \"0.0001ppm\" }",
     "base.toml:15: flows.0.clock.drift: \"0.0001ppm\" is no whole number of billionths"),
    ("count = 2", "clock = { offset = \"-1h\" }",
     "base.toml:15: flows.0.clock.offset: \"-1h\" is not a time; its unit must be one of ns, us, ms, s (did you mean \
         s?)"),
    ("count = 2", "clock = { offset = \"99999999999s\" }",
     "base.toml:15: flows.0.clock.offset: \"99999999999s\" is more than this program can count"),
    ("count = 2", "clock = { offset = \"-2000000s\" }",
     "base.toml:15: flows.0.clock.offset: -2000000s is out of range; it may be -1000000s to 1000000s"),
    ("count = 2", "rto_min = \"0s\"",
     "base.toml:15: flows.0.rto_min: 0s is out of range; it may be 1ms to 120s"),
    ("count = 2", "initial_window = 0",
     "base.toml:15: flows.0.initial_window: 0 is out of range; it may be 1 to 10000"),
];

#[test]
fn wrong_values_name_what_is_allowed() {
    check(VALUES);
}

#[rustfmt::skip]
const KEYS_AND_SECTIONS: &[Case] = &[
    ("rate =", "rat =",
     "base.toml:8: link.bottleneck.rat: no such key; here may stand rate, trace, delay, queue, loss, reverse, rates, \
         jitter, jitter_distribution, jitter_reorder, reorder, reorder_gap, reorder_by, duplicate, outages (did you \
         mean rate?)"),
    ("\"linux\"", "\"linx\"",
     "base.toml:5: profile: must be one of linux, sack, newreno, or a table of switches, not \"linx\" (did you mean \
         linux?)"),
    ("\"linux\"", "3",
     "base.toml:5: profile: must be one of linux, sack, newreno, or a table of switches, not 3"),
    ("\"linux\"", "{ sac = false }",
     "base.toml:5: profile.sac: no such key; here may stand base, sack, timestamps, tcp_usec_ts, window_scaling, rack, \
         tlp, prr, frto, undo, delayed_ack, quick_ack, sack_compression, limited_transmit, cwnd_validation, ecn, \
         pacing, initial_window, rto_min (did you mean sack?)"),
    ("\"0%\"", "{ r = \"30%\" }",
     "base.toml:11: link.bottleneck.loss.p: is missing; it is a percentage such as \"1%\": probability that a wire \
         that was good for a packet is bad for the next"),
    ("\"0%\"", "{ p = \"1%\", h = \"1%\" }",
     "base.toml:11: link.bottleneck.loss.h: no such key; here may stand kind, p, r, 1-h, 1-k (did you mean p?)"),
    ("count = 2", "clock = \"100ppm\"",
     "base.toml:15: flows.0.clock: must be a table of offset, drift; here it is a string"),
    ("\"cubic\"", "\"\"",
     "base.toml:14: flows.0.cc: must not be empty"),
    ("cc = \"cubic\"\n", "",
     "base.toml:13: flows.0.cc: is missing; it is a string: the congestion control, a built-in name, the path of a \
         .bpf.c file (#NAME behind it picks one of several), or kernel:NAME for the running kernel's own"),
    ("\"cubic\"", "\"kernel:\"",
     "base.toml:14: flows.0.cc: kernel: needs a name as the kernel lists it behind it, such as kernel:cubic, not \"\""),
    ("\"cubic\"", "\"kernel:a_long_way_to_go\"",
     "base.toml:14: flows.0.cc: kernel: needs a name as the kernel lists it behind it, such as kernel:cubic, \
         not \"a_long_way_to_go\""),
    ("\"cubic\"", "\"kernel:cubic\"\nparams = { beta = 3 }",
     "base.toml:15: flows.0.params: kernel:cubic is the running kernel's own, and beta cannot be set in it"),
    ("count = 2", "params = 3",
     "base.toml:15: flows.0.params: must be a table of parameters such as { period = \"100ms\" }, not a whole number"),
    ("count = 2", "params = { cubc = { beta = 3 } }",
     "base.toml:15: flows.0.params.cubc: this group never runs cubc, only cubic (did you mean cubic?)"),
    ("count = 2", "access = \"1gbit\"",
     "base.toml:15: flows.0.access: must be a table of rate, queue, small_queues, delay; here it is a string"),
    ("count = 2", "access = { delay = \"1ms\", queue = { limit = \"20p\" } }",
     "base.toml:15: flows.0.access.queue: stands before a link without a rate, where no packet waits; write rate \
         beside it"),
    ("count = 2", "access = { delay = \"1ms\", small_queues = true }",
     "base.toml:15: flows.0.access.small_queues: needs a link on which packets wait; write rate beside it"),
    ("count = 2", "access = { rate = \"1mbit\", small_queues = 1 }",
     "base.toml:15: flows.0.access.small_queues: must be true or false, not 1"),
    ("count = 2", "access = { rate = \"1mbit\", queue = { kind = \"kernel:codel\" } }",
     "base.toml:15: flows.0.access.queue.kind: kernel:codel is for links; before an access link it must be this \
         program's own"),
    ("count = 2", "access = { rate = \"1mbit\", queue = { limit = \"1kb\" } }",
     "base.toml:15: flows.0.access.queue.limit: 1kb has no room for one packet of 1500b, so that nothing could pass"),
    ("[[flows]]", "[flows]",
     "base.toml:13: flows: must be written as [[flows]], once for each; here it is a table"),
    ("[[flows]]", "[[flow]]",
     "base.toml:13: flow: no such key; here may stand name, duration, warmup, seed, emulator, profile, link, flows, \
         sweep (did you mean flows?)"),
    ("count = 2", "path = [\"bottlenek\"]",
     "base.toml:15: flows.0.path: there is no [link.bottlenek]; there is bottleneck (did you mean bottleneck?)"),
    ("count = 2", "path = [\"bottleneck\", \"bottleneck\"]",
     "base.toml:15: flows.0.path: passes the link bottleneck twice"),
    ("count = 2", "path = \"bottleneck\"",
     "base.toml:15: flows.0.path: must be a list of names such as [\"home\", \"core\"], not \"bottleneck\""),
    ("count = 2", "reverse_path = []",
     "base.toml:15: flows.0.reverse_path: must be a list of names such as [\"home\", \"core\"], not an empty list"),
    ("rate = \"20mbit\"\n", "",
     "base.toml:7: link.bottleneck.rate: is missing; write rate such as \"2mbit\", or trace with the name of a file"),
    ("delay = \"10ms\"\n", "",
     "base.toml:7: link.bottleneck.delay: is missing; it is a time such as \"10ms\": propagation, one way"),
    ("duration = \"60s\"\n", "",
     "base.toml: duration: is missing; it is a time such as \"10ms\": how long the run lasts"),
    ("name = \"base\"", "name = \"\"",
     "base.toml:1: name: must not be empty"),
];

#[test]
fn wrong_and_missing_keys_name_the_alternatives() {
    check(KEYS_AND_SECTIONS);
}

#[rustfmt::skip]
const CONTRADICTIONS: &[Case] = &[
    ("10s", "60s",
     "base.toml:3: warmup: 60s leaves nothing of the duration of 60s; it must be shorter"),
    ("10s", "70s",
     "base.toml:3: warmup: 70s leaves nothing of the duration of 60s; it must be shorter"),
    ("\"linux\"", "{ sack = false, rack = true }",
     "base.toml:5: profile.rack: needs SACK; set sack = true, or leave this switch out"),
    ("\"linux\"", "{ timestamps = false, tcp_usec_ts = true }",
     "base.toml:5: profile.tcp_usec_ts: needs timestamps; set timestamps = true, or leave this switch out"),
    ("500kb", "100b",
     "base.toml:10: link.bottleneck.queue.limit: 100b has no room for one packet of 1500b, so that nothing could pass"),
    ("500kb", "0p",
     "base.toml:10: link.bottleneck.queue.limit: \"0p\" leaves no room; write at least \"1p\" or \"1b\""),
    ("\"500kb\" }", "\"500kb\", ecn_threshold = \"600kb\" }",
     "base.toml:10: link.bottleneck.queue.ecn_threshold: 600kb is never reached, because the limit is 500kb"),
    ("count = 2", "start = \"60s\"",
     "base.toml:15: flows.0.start: the last flow would start at or after the end of the run, 60s"),
    ("count = 2", "count = 2\nstagger = \"60s\"",
     "base.toml:16: flows.0.stagger: the last flow would start at or after the end of the run, 60s"),
    ("count = 2", "start = \"20s\"\nstop = \"20s\"",
     "base.toml:16: flows.0.stop: must lie after the last flow's start, as start set it"),
    ("count = 2", "count = 3\nstagger = \"5s\"\nstop = \"10s\"",
     "base.toml:17: flows.0.stop: must lie after the last flow's start, as start and stagger set it"),
    ("count = 2", "receive_window = \"1kb\"",
     "base.toml:15: flows.0.receive_window: 1kb has no room for one packet of 1500b"),
    ("count = 2", "size = \"207gb\"\npacket = \"100b\"",
     "base.toml:15: flows.0.size: 207gb is too much for one flow; with packets of 100b it may be 206158430112b"),
    ("count = 2", "receive_window = \"70kb\"\nprofile = { window_scaling = false }",
     "base.toml:15: flows.0.receive_window: 70kb needs window_scaling = true; without it at most 65535b can be \
         advertised"),
    ("rate = \"20mbit\"", "rate = \"20mbit\"\ntrace = \"x\"",
     "base.toml:9: link.bottleneck.trace: stands beside rate; a link has one of the two"),
    ("rate = \"20mbit\"", "trace = \"missing.down\"",
     "base.toml:8: link.bottleneck.trace: cannot read missing.down: No such file or directory (os error 2)"),
    ("loss = \"0%\"", "reverse = { queue = { limit = \"79b\" } }",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 79b has no room for one packet of 80b, so that nothing could \
         pass"),
    ("10s", "10s\"\nemulator = \"nete",
     "base.toml:4: emulator: must be one of unbloat, netem, not \"nete\" (did you mean netem?)"),
    ("droptail\", limit = \"500kb\"", "kernel:codel\", flows = 3",
     "base.toml:10: link.bottleneck.queue.flows: no such key; here may stand kind, limit, target, interval, ecn, \
         ce_threshold"),
    ("droptail\", limit = \"500kb\"", "codel\", flows = 3",
     "base.toml:10: link.bottleneck.queue.flows: no such key; here may stand kind, limit, target, interval, \
         ce_threshold, ecn"),
    ("droptail\", limit = \"500kb\"", "red\", limit = \"50kb\", min = \"20kb\"",
     "base.toml:10: link.bottleneck.queue.kind: RED needs min below max and max up to limit; here they are 20000, \
         60000 and 50000 bytes"),
    ("droptail\", limit = \"500kb\"", "red\", limit = \"500kb\", burst = 2",
     "base.toml:10: link.bottleneck.queue.kind: burst = 2 is less than min holds; it must be at least 42"),
    ("droptail", "kernel:fq_codel",
     "base.toml:10: link.bottleneck.queue.limit: 500kb is out of range; it may be 1p to 4294967295p"),
    ("droptail\", limit = \"500kb\"", "kernel:red\"",
     "base.toml:10: link.bottleneck.queue.limit: is missing; it is a size such as \"500kb\", packets such as \
         \"300p\", or \"1bdp\": room for waiting packets"),
];

#[test]
fn contradictions_name_both_sides() {
    check(CONTRADICTIONS);
}

#[test]
fn what_the_kernel_s_own_links_cannot_do() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces/lte-small.down");
    let backward = [("link.bottleneck.reverse.trace", trace), ("link.bottleneck.reverse.queue.kind", "kernel:pie")];
    assert_eq!(
        sentence(BASE, &backward),
        "--set: link.bottleneck.reverse.trace: is nothing that the kernel's shaper can follow; kernel:pie needs a rate"
    );
    let marking = [("emulator", "netem"), ("link.bottleneck.queue.ecn_threshold", "10p")];
    let expected = "--set: link.bottleneck.queue.ecn_threshold: the kernel's FIFOs do not mark; leave it out, or take \
        emulator = \"unbloat\"";
    assert_eq!(sentence(&BASE.replace("500kb", "30p"), &marking), expected);
    let own = [("emulator", "netem"), ("link.bottleneck.queue", "{ kind = \"codel\" }")];
    let expected = "--set: link.bottleneck.queue.kind: codel is this program's own; with emulator = \"netem\" it must \
        be the kernel's, kernel:codel";
    assert_eq!(sentence(BASE, &own), expected);
}

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
    ("[link.bottleneck]", "[link.bottleneck",
     "base.toml:7: not valid TOML: unclosed table, expected `]`"),
];

#[test]
fn syntax_errors_name_what_was_expected() {
    check(SYNTAX);
}

#[rustfmt::skip]
const SWEEP: &[Case] = &[
    ("count = 2", "[sweep]\n\"flows.0.cc\" = []",
     "base.toml:16: sweep.flows.0.cc: is empty; an axis needs at least one value"),
    ("count = 2", "[sweep]\nflow.0.cc = [\"a\"]",
     "base.toml:16: sweep.flow: no such axis; an axis is a dotted key that begins with name, duration, warmup, seed, \
         emulator, profile, link, flows, or any name for a list of cases such as { label = \"a\", \"flows.0.cc\" \
         = \"reno\" } (did you mean flows?)"),
    ("count = 2", "[sweep]\n\"flow.0.cc\" = [\"a\"]",
     "base.toml:16: sweep.flow.0.cc: no such axis; an axis is a dotted key that begins with name, duration, warmup, \
         seed, emulator, profile, link, flows, or any name for a list of cases such as { label = \"a\", \"flows.0.cc\" \
         = \"reno\" } (did you mean flows?)"),
    ("count = 2", "[sweep]\n\"flows.0.cc\" = \"a\"",
     "base.toml:16: sweep.flows.0.cc: must be a list, one cell for each value, or a range such as { from = \"1mbit\", \
         to = \"9mbit\", step = \"2mbit\" }; here it is a string"),
    ("count = 2", "[sweep]\n\"flows.1.cc\" = [\"a\"]",
     "base.toml:16: flows.1.cc: there is no flows.1; the file has 1, counted from 0, and * stands for all"),
    ("count = 2", "[sweep]\ncase = [{ a = 1 }]",
     "base.toml:16: sweep.case: each case needs a label, a string that names it in the results"),
    ("count = 2", "[sweep]\ncase = [{ label = \"a\" }, { label = \"a\" }]",
     "base.toml:16: sweep.case: the label \"a\" is used twice"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate.x\" = [\"a\"]",
     "base.toml:16: link.bottleneck.rate.x: rate is a string here, so that nothing can be set below it"),
    ("count = 2", "[sweep]\n\"link..rate\" = [\"a\"]",
     "base.toml:16: link..rate: a key is a row of names with a dot between them, such as link.bottleneck.rate"),
    ("count = 2", "[sweep]\n\"link.bottleneck.que.limit\" = [\"5kb\", \"6kb\"]",
     "base.toml:16: link.bottleneck.que: no such key; here may stand rate, trace, delay, queue, loss, reverse, rates, \
         jitter, jitter_distribution, jitter_reorder, reorder, reorder_gap, reorder_by, duplicate, outages"),
    ("count = 2", "[sweep]\nseed = [1, \"b\"]",
     "base.toml:16: seed: must be a whole number, not \"b\""),
];

#[test]
fn mistakes_in_a_sweep_stand_at_its_line() {
    check(SWEEP);
}

#[rustfmt::skip]
const RANGES: &[Case] = &[
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1mbit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.to: is missing; a range has from, to and one of step (added), factor \
         (multiplied) and count (how many, spaced evenly, or by a constant factor with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1mbit\", to = \"9mbit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.step: is missing; a range has from, to and one of step (added), factor \
         (multiplied) and count (how many, spaced evenly, or by a constant factor with scale = \"log\")"),
    ("count = 2", "[sweep.\"link.bottleneck.rate\"]\nfrom = \"1mbit\"\nto = \"9ms\"\nstep = \"1mbit\"",
     "base.toml:17: sweep.link.bottleneck.rate.to: must be a rate as from is; here it is a time"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1mbt\", to = \"9mbit\", step = \"1mbit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.from: must be a whole number, or a quantity with its unit such \
         as \"2mbit\", \"10ms\", \"500kb\", \"300p\" or \"1%\"; here it is \"1mbt\""),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 9, to = 1, step = 1 }",
     "base.toml:16: sweep.flows.0.count.to: must not be less than from"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, step = 0 }",
     "base.toml:16: sweep.flows.0.count.step: must be more than nothing"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, step = 1, count = 3 }",
     "base.toml:16: sweep.flows.0.count.count: cannot stand beside step; a range has from, to and one of step (added), \
         factor (multiplied) and count (how many, spaced evenly, or by a constant factor with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, by = 1 }",
     "base.toml:16: sweep.flows.0.count.by: no such key; a range has from, to and one of step (added), factor \
         (multiplied) and count (how many, spaced evenly, or by a constant factor with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, factor = 1.5 }",
     "base.toml:16: sweep.flows.0.count.factor: must be a whole number above 1; here it is 1.5"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 0, to = 9, factor = 2 }",
     "base.toml:16: sweep.flows.0.count.from: must be more than nothing with factor"),
    ("count = 2", "[sweep]\n\"link.bottleneck.loss\" = { from = \"0%\", to = \"1%\", count = 3, scale = \"log\" }",
     "base.toml:16: sweep.link.bottleneck.loss.from: must be more than nothing on a logarithmic scale"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, count = 3, scale = \"lg\" }",
     "base.toml:16: sweep.flows.0.count.scale: must be \"linear\" or \"log\"; here it is \"lg\""),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, step = 3, scale = \"log\" }",
     "base.toml:16: sweep.flows.0.count.scale: stands beside count only; a range has from, to and one of step (added), \
         factor (multiplied) and count (how many, spaced evenly, or by a constant factor with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 3, count = 5 }",
     "base.toml:16: sweep.flows.0.count.count: is too many: only 3 values differ between from and to"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 3, count = 1 }",
     "base.toml:16: sweep.flows.0.count.count: must be a whole number, 2 to 100000; here it is 1"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1bit\", to = \"1gbit\", step = \"1bit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.to: is more than 100000 values away from from"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1ms\", to = \"1ms\", step = \"1ms\" }",
     "base.toml:16: link.bottleneck.rate: \"1ms\" is not a rate; its unit must be one of bit, kbit, mbit, gbit, tbit, \
         with kibit and so on for 1024, or bps, kbps, mbps, gbps, tbps for bytes a second"),
    ("count = 2", "[sweep]\nsped = { from = 1, to = 3, step = 1 }",
     "base.toml:16: sweep.sped: no such axis; an axis is a dotted key that begins with name, duration, warmup, seed, \
         emulator, profile, link, flows, or any name for a list of cases such as { label = \"a\", \"flows.0.cc\" \
         = \"reno\" } (did you mean seed?)"),
];

#[test]
fn mistakes_in_a_range_stand_at_its_line() {
    check(RANGES);
}

#[rustfmt::skip]
const OVERRIDES: &[Case] = &[
    ("link.bottleneck.rate", "10mbt",
     "--set: link.bottleneck.rate: \"10mbt\" is not a rate; its unit must be one of bit, kbit, mbit, gbit, tbit, with \
         kibit and so on for 1024, or bps, kbps, mbps, gbps, tbps for bytes a second (did you mean mbit?)"),
    ("link.bottleneck.rat", "1",
     "--set: link.bottleneck.rat: no such key; here may stand rate, trace, delay, queue, loss, reverse, rates, \
         jitter, jitter_distribution, jitter_reorder, reorder, reorder_gap, reorder_by, duplicate, outages (did you \
         mean rate?)"),
    ("a", "1",
     "--set: a: no such key; here may stand name, duration, warmup, seed, emulator, profile, link, flows, sweep"),
    ("link.bottleneck.loss.p", "1%",
     "--set: link.bottleneck.loss.p: loss is a string here, so that nothing can be set below it"),
    ("flows.3.cc", "x",
     "--set: flows.3.cc: there is no flows.3; the file has 1, counted from 0, and * stands for all"),
    ("link.bottleneck", "3",
     "--set: link.bottleneck: must be a table of rate, trace, delay, queue, loss, reverse, rates, jitter, \
         jitter_distribution, jitter_reorder, reorder, reorder_gap, reorder_by, duplicate, outages; here it is a whole \
         number"),
    ("sweep.x", "3",
     "--set: sweep.x: no such axis; an axis is a dotted key that begins with name, duration, warmup, seed, emulator, \
         profile, link, flows, or any name for a list of cases such as { label = \"a\", \"flows.0.cc\" = \"reno\" }"),
    ("link.bottleneck.trace", "nowhere.down",
     "--set: link.bottleneck.trace: cannot read nowhere.down: No such file or directory (os error 2)"),
    (".", "3",
     "--set: .: a key is a row of names with a dot between them, such as link.bottleneck.rate"),
];

#[test]
fn mistakes_in_an_override_name_the_option() {
    for (key, value, expected) in OVERRIDES {
        assert_eq!(sentence(BASE, &[(key, value)]), *expected);
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = scenario::load(Path::new("no/such.toml"), &[]).unwrap_err();
    assert_eq!(error.to_string(), "no/such.toml: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn every_mistake_is_told_once_in_the_order_of_the_file() {
    let text = BASE.replace("\"cubic\"", "7").replace("seed = 1", "sed = 1").replace("20mbit", "20");
    let text = text + "[sweep]\n\"flows.0.count\" = [1, 2, 3]\n";
    let sentences = sentence(&text, &[]);
    let starts: Vec<_> = sentences.lines().map(|line| &line[..line.len().min(30)]).collect();
    let expected =
        ["base.toml:4: sed: no such key;", "base.toml:8: link.bottleneck.r", "base.toml:14: flows.0.cc: must"];
    assert_eq!(starts, expected);
}

#[test]
fn a_unit_that_means_bits_to_some_and_bytes_to_others_is_refused() {
    let rate = |text: &str| sentence(BASE, &[("link.bottleneck.rate", text)]);
    for (text, number, letter) in
        [("20Mbps", "20", "m"), ("1.5GBPS", "1.5", "g"), ("9 Kbps", "", ""), ("64Bps", "64", "")]
    {
        let said = rate(text);
        match number {
            "" => {
                assert!(said.starts_with(&format!("--set: link.bottleneck.rate: \"{text}\" is not a rate")), "{said}")
            }
            _ => assert_eq!(
                said,
                format!(
                    "--set: link.bottleneck.rate: \"{text}\" may mean bits or bytes; write \"{number}{letter}bit\" for \
                     bits, or \"{number}{letter}bps\" for bytes a second, as tc(8) does"
                )
            ),
        }
    }
    for plain in ["20mbps", "20mbit", "20Mbit", "20MBIT"] {
        assert_eq!(rate(plain), "no mistake was found", "{plain}");
    }
}

#[test]
fn a_wrong_limit_of_packets_or_bytes_is_told_of_both() {
    let said = sentence(BASE, &[("link.bottleneck.queue.limit", "1pkt")]);
    assert!(said.contains("b, kb, mb, gb") && said.contains("a number of packets such as \"300p\""), "{said}");
    let negative = sentence(BASE, &[("link.bottleneck.queue.limit", "-3p")]);
    assert!(negative.contains("\"-3p\" is negative; write a number of packets"), "{negative}");
}

#[test]
fn a_key_of_many_parts_is_refused_however_it_is_written() {
    let deep = format!("link{}", ".a".repeat(60_000));
    let said = sentence(BASE, &[(&deep, "1")]);
    assert!(said.starts_with("--set: link.a.a") && said.ends_with("has 60001 parts; a key may have 32"), "{said}");
    let axis = format!("{BASE}\n[sweep]\n\"{deep}\" = [1]\n");
    let said = sentence(&axis, &[]);
    assert!(said.starts_with("base.toml:18: link.a.a") && said.ends_with("a key may have 32"), "{said}");
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
    assert!(said.len() < 2000 && said.contains("no such key; here may stand name, duration"), "{said}");
    let wide = "\u{1f600}".repeat(100_000);
    assert!(sentence(BASE, &[("link.bottleneck.delay", &wide)]).contains("is not a time"));
}

/// Reading takes time in proportion to the length of the file; nothing here is timed, but its square would be felt.
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
