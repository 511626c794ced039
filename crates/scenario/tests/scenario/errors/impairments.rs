//! Mistakes in the impairments of links.

use super::{Case, check};

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
    ("loss = \"0%\"", "reorder_by = \"5ms\"",
     "base.toml:11: link.bottleneck.reorder_by: says how reorder does, which is not written here; write reorder too"),
    ("loss = \"0%\"", "reverse = { jitter_reorder = true }",
     "base.toml:11: link.bottleneck.reverse.jitter_reorder: says how jitter does, which is not written here; write \
         jitter too"),
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
     "base.toml:11: link.bottleneck.rates: cannot be followed by the kernel's shaper; kernel:codel needs one \
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
