//! Mistakes in keys about when flows start and how much they send.

use super::{Case, check};

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
     "base.toml:15: flows.0.count: cannot be set together with arrivals; leave one of the two out"),
    ("count = 2", "stagger = \"1s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.stagger: cannot be set together with arrivals; leave one of the two out"),
    ("count = 2", "start = \"60s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:15: flows.0.start: lies at or after the end of the run, 60s"),
    ("count = 2", "start = \"9s\"\nstop = \"9s\"\narrivals = { rate = \"1/s\" }",
     "base.toml:16: flows.0.stop: must lie after start"),
    ("count = 2", "arrivals = { rate = \"1000000/s\" }",
     "base.toml:15: flows.0.arrivals: makes 60000000 flows with the other groups; there may be 1000000"),
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
    ("loss = \"0%\"", "reverse = { queue = { limit = \"2kb\" } }\n[[flows]]\napp = { kind = \"ping\", packet = \"3kb\" }",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 2kb has no room for one packet of 3kb, so that nothing could \
         pass"),
    ("loss = \"0%\"", "reverse = { queue = { limit = \"1000b\" } }\n[[flows]]\ncc = \"reno\"\nreverse = true",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 1kb has no room for one packet of 1500b, so that nothing \
         could pass"),
];

#[test]
fn mistakes_in_workloads() {
    check(WORKLOADS);
}
