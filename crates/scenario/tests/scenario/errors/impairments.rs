//! Mistakes in the impairments of links.

use super::{Case, check};

#[rustfmt::skip]
const IMPAIRMENTS: &[Case] = &[
    ("loss = \"0%\"", "jitter = \"11ms\"",
     "base.toml:11: link.bottleneck.jitter: 11ms must not exceed the delay, 10ms"),
    ("loss = \"0%\"", "reverse = { delay = \"1ms\", jitter = \"2ms\" }",
     "base.toml:11: link.bottleneck.reverse.jitter: 2ms must not exceed the delay, 1ms"),
    ("loss = \"0%\"", "jitter_distribution = \"pareto\"",
     "base.toml:11: link.bottleneck.jitter_distribution: must be one of uniform, normal, not \"pareto\""),
    ("delay = \"10ms\"", "delay = \"0s\"\nreorder = \"1%\"",
     "base.toml:10: link.bottleneck.reorder: needs a delay above 0s to skip, or reorder_by to hold packets back"),
    ("loss = \"0%\"", "reorder = \"101%\"",
     "base.toml:11: link.bottleneck.reorder: \"101%\" is more than \"100%\""),
    ("loss = \"0%\"", "reorder_gap = 0",
     "base.toml:11: link.bottleneck.reorder_gap: 0 is out of range; valid: 1 to 1000000"),
    ("loss = \"0%\"", "reorder_by = \"0s\"",
     "base.toml:11: link.bottleneck.reorder_by: 0s is out of range; valid: 1ns to 3600s"),
    ("loss = \"0%\"", "reorder_by = \"5ms\"",
     "base.toml:11: link.bottleneck.reorder_by: needs reorder beside it; write reorder too, or leave this out"),
    ("loss = \"0%\"", "reverse = { jitter_reorder = true }",
     "base.toml:11: link.bottleneck.reverse.jitter_reorder: needs jitter beside it; write jitter too, or leave this \
         out"),
    ("loss = \"0%\"", "duplicate = 1",
     "base.toml:11: link.bottleneck.duplicate: must be a percentage such as \"1%\", not 1"),
    ("loss = \"0%\"", "rates = \"1mbit\"",
     "base.toml:11: link.bottleneck.rates: must be written as [[link.bottleneck.rates]], once for each, not as a \
         string"),
    ("loss = \"0%\"", "rates = [{ at = \"10s\" }]",
     "base.toml:11: link.bottleneck.rates.0.rate: is missing; write a rate such as \"2mbit\": rate of the \
         transmitter from then on"),
    ("loss = \"0%\"", "rates = [{ at = \"0s\", rate = \"1mbit\" }]",
     "base.toml:11: link.bottleneck.rates.0.at: 0s is out of range; valid: 1ns to 1000000s"),
    ("loss = \"0%\"", "rates = [{ at = \"10s\", rate = \"1mbit\" }, { at = \"10s\", rate = \"2mbit\" }]",
     "base.toml:11: link.bottleneck.rates.1.at: 10s must be after 10s, where the rate before it begins"),
    ("loss = \"0%\"", "rates = [{ at = \"10s\", rate = \"0mbit\" }]",
     "base.toml:11: link.bottleneck.rates.0.rate: 0mbit is out of range; valid: 1bit to 100tbit"),
    ("loss = \"0%\"", "outages = [{ at = \"5s\" }]",
     "base.toml:11: link.bottleneck.outages.0.for: is missing; write a time such as \"10ms\": how long the link is \
         down"),
    ("loss = \"0%\"", "outages = [{ at = \"5s\", for = \"2s\" }, { at = \"6s\", for = \"1s\" }]",
     "base.toml:11: link.bottleneck.outages.1.at: 6s must not be before 7s, where the outage before it ends"),
    ("loss = \"0%\"", "outages = [{ at = \"5s\", for = \"2s\", lost = true }]",
     "base.toml:11: link.bottleneck.outages.0.lost: unknown key (did you mean lose?); valid keys: at, for, lose"),
    ("\n\n[link.bottleneck]", "\nemulator = \"netem\"\n[link.bottleneck]\njitter = \"1ms\"",
     "base.toml:8: link.bottleneck.jitter: is not supported with emulator = \"netem\"; leave it out, or write \
         emulator = \"unbloat\""),
    ("loss = \"0%\"", "policer = \"50mbit\"",
     "base.toml:11: link.bottleneck.policer: must be a table of rate, burst, not a string"),
    ("loss = \"0%\"", "policer = { rate = \"50mbit\" }",
     "base.toml:11: link.bottleneck.policer.burst: is missing; write a size such as \"500kb\": size of the bucket, \
         which is full at the start"),
    ("loss = \"0%\"", "policer = { rate = \"50mbit\", burst = \"1499b\" }",
     "base.toml:11: link.bottleneck.policer.burst: 1499b has no room for one packet of 1500b; write at least that"),
    ("loss = \"0%\"", "reverse = { policer = { rate = \"50mbit\", burst = \"79b\" } }",
     "base.toml:11: link.bottleneck.reverse.policer.burst: 79b has no room for one packet of 80b; write at least that"),
    ("loss = \"0%\"", "delays = [{ at = \"2s\", delay = \"9ms\" }, { at = \"1s\", delay = \"8ms\" }]",
     "base.toml:11: link.bottleneck.delays.1.at: 1s must be after 2s, where the delay before it begins"),
    ("loss = \"0%\"", "jitter = \"9ms\"\ndelays = [{ at = \"2s\", delay = \"8ms\" }]",
     "base.toml:11: link.bottleneck.jitter: 9ms must not exceed the delay, 8ms"),
    ("loss = \"0%\"", "handover = { every = \"15s\", outage = \"15s\" }",
     "base.toml:11: link.bottleneck.handover.outage: 15s must be shorter than every, 15s"),
    ("loss = \"0%\"", "handover = { every = \"1us\" }",
     "base.toml:11: link.bottleneck.handover.every: 1us is too short for a run of 60s; at most 100000 handovers are \
         possible"),
    ("loss = \"0%\"", "handover = { every = \"15s\" }\noutages = [{ at = \"5s\", for = \"2s\" }]",
     "base.toml:12: link.bottleneck.outages: cannot be set together with handover, which makes them; leave one of the \
         two out"),
    ("loss = \"0%\"", "handover = { every = \"15s\", rate = \"20mbit..10mbit\" }",
     "base.toml:11: link.bottleneck.handover.rate: \"20mbit..10mbit\" ends before it begins; write the lower value \
         first"),
    ("droptail\", limit = \"500kb\" }", "kernel:codel\" }\nhandover = { every = \"15s\", rate = \"10mbit\" }",
     "base.toml:11: link.bottleneck.handover: is not supported by the kernel's shaper; kernel:codel needs one rate"),
    ("loss = \"0%\"", "slot = { wait = \"0s\" }",
     "base.toml:11: link.bottleneck.slot.wait: 0s is out of range; valid: 1ns to 3600s"),
    ("loss = \"0%\"", "slot = { wait = \"5ms\", most = \"9kb\" }",
     "base.toml:11: link.bottleneck.slot.most: 9kb has the wrong unit; valid: 1p to 1000000p"),
    ("loss = \"0%\"", "script = [{ packets = 0, do = \"lose\" }]",
     "base.toml:11: link.bottleneck.script.0.packets: 0 is out of range; valid: 1 to 1000000000000"),
    ("loss = \"0%\"", "script = [{ packets = \"2..x\", do = \"lose\" }]",
     "base.toml:11: link.bottleneck.script.0.packets: must be a whole number such as 10, or a range such as \"10..20\""),
    ("loss = \"0%\"", "script = [{ packets = 2, do = \"drop\" }]",
     "base.toml:11: link.bottleneck.script.0.do: must be one of lose, mark, duplicate, hold, not \"drop\""),
    ("loss = \"0%\"", "script = [{ packets = 2, do = \"hold\" }]",
     "base.toml:11: link.bottleneck.script.0.time: is missing; write a time such as \"10ms\": how long held packets \
         arrive later"),
    ("loss = \"0%\"", "script = [{ packets = 2, do = \"lose\", time = \"1ms\" }]",
     "base.toml:11: link.bottleneck.script.0.time: holds packets; write do = \"hold\", or leave it out"),
    ("loss = \"0%\"", "script = [{ from = \"2s\", to = \"1s\", do = \"lose\" }]",
     "base.toml:11: link.bottleneck.script.0.to: 1s must be after from, 2s"),
    ("\n\n[link.bottleneck]",
     "\nemulator = \"netem\"\n[link.bottleneck]\npolicer = { rate = \"50mbit\", burst = \"9kb\" }",
     "base.toml:8: link.bottleneck.policer: is not supported with emulator = \"netem\"; leave it out, or write \
         emulator = \"unbloat\""),
    ("droptail\", limit = \"500kb\" }", "kernel:codel\" }\noutages = [{ at = \"5s\", for = \"2s\" }]",
     "base.toml:11: link.bottleneck.outages: cannot stop the kernel's shaper; kernel:codel needs lose = true in each \
         outage"),
    ("droptail\", limit = \"500kb\" }", "kernel:codel\" }\nrates = [{ at = \"5s\", rate = \"2mbit\" }]",
     "base.toml:11: link.bottleneck.rates: is not supported by the kernel's shaper; kernel:codel needs one rate"),
    ("\"500kb\"", "\"bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: \"bdp\" is not a multiple of the bandwidth-delay product; write a \
         number and its unit, such as \"0.5bdp\""),
    ("\"500kb\"", "\"0bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: \"0bdp\" has no room for a packet; write more than \"0bdp\""),
    ("\"500kb\"", "\"-1bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: \"-1bdp\" is negative; write a multiple of the bandwidth-delay \
         product such as \"0.5bdp\""),
    ("droptail\", limit = \"500kb\"", "pfifo_fast\", limit = \"1000000bdp\"",
     "base.toml:10: link.bottleneck.queue.limit: 1000000bdp, which is 33333334p, is out of range; valid: 1p to \
         1000000p"),
    ("count = 2", "start = \"2s..1s\"",
     "base.toml:15: flows.0.start: \"2s..1s\" ends before it begins; write the lower value first"),
    ("count = 2", "start = \"0s..\"",
     "base.toml:15: flows.0.start: \"\" is not a time; write a number and its unit, such as \"10ms\""),
    ("count = 2", "start = \"0s..60s\"",
     "base.toml:15: flows.0.start: the last flow would start at or after the end of the run, 60s"),
    ("count = 2", "start = \"0s..1s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.start: must be one time with arrivals, which are random themselves, not a range"),
];

#[test]
fn impairments_have_their_sentences() {
    check(IMPAIRMENTS);
}
