//! Mistakes in keys about when flows start and how much they send.

use super::{Case, check};

#[rustfmt::skip]
const WORKLOADS: &[Case] = &[
    ("count = 2", "arrivals = { rate = \"10\" }",
     "base.toml:15: flows.0.arrivals.rate: \"10\" needs a unit; units of a number of times a second: /s"),
    ("count = 2", "arrivals = { rate = 10 }",
     "base.toml:15: flows.0.arrivals.rate: must be a number of times a second such as \"10/s\", not 10"),
    ("count = 2", "arrivals = { rate = \"0/s\" }",
     "base.toml:15: flows.0.arrivals.rate: 0/s is out of range; valid: 0.000001/s to 1000000/s"),
    ("count = 2", "arrivals = { kind = \"poison\", rate = \"1/s\" }",
     "base.toml:15: flows.0.arrivals.kind: must be one of poisson, not \"poison\" (did you mean poisson?)"),
    ("count = 2", "arrivals = {}",
     "base.toml:15: flows.0.arrivals.rate: is missing; write a number of times a second such as \"10/s\": mean \
         number of flows a second"),
    ("count = 2", "count = 2\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.count: cannot be set together with arrivals; leave one of the two out"),
    ("count = 2", "stagger = \"1s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.stagger: cannot be set together with arrivals; leave one of the two out"),
    ("count = 2", "start = \"60s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.start: must be before the end of the run, 60s"),
    ("count = 2", "start = \"9s\"\nstop = \"9s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:16: flows.0.stop: must be after start"),
    ("count = 2", "arrivals = { rate = \"1000000/s\" }",
     "base.toml:15: flows.0.arrivals: makes 60000000 flows together with the other groups; at most 1000000 are \
         possible"),
    ("count = 2", "app = \"udp\"",
     "base.toml:15: flows.0.app: udp needs rate, which is a rate such as \"2mbit\"; write app = { kind = \"udp\", \
         rate = ... }"),
    ("count = 2", "size = 5",
     "base.toml:15: flows.0.size: must be a size such as \"500kb\", or a table of kind pareto, lognormal, exponential, \
         not 5"),
    ("count = 2", "size = { kind = \"paretto\", mean = \"1kb\" }",
     "base.toml:15: flows.0.size.kind: must be one of pareto, lognormal, exponential, not \"paretto\" (did you mean \
         pareto?)"),
    ("count = 2", "size = { mean = \"1kb\" }",
     "base.toml:15: flows.0.size.kind: is missing; write one of pareto, lognormal, exponential: pareto: many small \
         sizes and a few very large"),
    ("count = 2", "size = { kind = \"pareto\", mean = \"1kb\", shape = 1 }",
     "base.toml:15: flows.0.size.shape: 1 is out of range; valid: 1.01 to 100"),
    ("count = 2", "size = { kind = \"pareto\", mean = \"1kb\", shape = \"1.2\" }",
     "base.toml:15: flows.0.size.shape: must be a number such as 1.2, not \"1.2\""),
    ("count = 2", "size = { kind = \"pareto\", mean = \"1kb\", most = \"1kb\" }",
     "base.toml:15: flows.0.size.most: 1kb must be more than the mean, 1kb"),
    ("count = 2", "size = { kind = \"exponential\", mean = \"1kb\", shape = 2.0 }",
     "base.toml:15: flows.0.size.shape: unknown key; valid keys: kind, mean"),
    ("count = 2", "reverse = true",
     "base.toml:15: flows.0.reverse: sends data over the reverse direction of bottleneck, which needs a queue; write \
         queue in [link.bottleneck.reverse], such as { limit = \"100p\" }"),
    ("loss = \"0%\"", "reverse = { queue = { limit = \"2kb\" } }\n[[flows]]\napp = { kind = \"ping\", packet = \"3kb\" }",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 2kb has no room for one packet of 3kb; write at least that"),
    ("loss = \"0%\"", "reverse = { queue = { limit = \"1000b\" } }\n[[flows]]\ncc = \"reno\"\nreverse = true",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 1kb has no room for one packet of 1500b; write at least that"),
    ("count = 2", "app = \"writer\"",
     "base.toml:15: flows.0.app: writer needs writes, which is tables; write app = { kind = \"writer\", writes = ... }"),
    ("count = 2", "app = { kind = \"writer\", writes = [{ at = \"2s\", size = \"1kb\" }, { at = \"1s\", size = \"1kb\" }] }",
     "base.toml:15: flows.0.app.writes.1.at: 1s must not be before 2s, the time of the write before it"),
];

#[test]
fn mistakes_in_workloads() {
    check(WORKLOADS);
}
