//! The engine from outside: properties over random scenarios, closed forms, tail cases one by one, fingerprints.

mod acknowledgements;
mod applications;
mod auditor;
mod bbr;
mod both_ways;
mod closed_forms;
mod departures;
mod ecn;
mod errors;
mod fingerprints;
mod hosts;
mod hosts_in_cells;
mod impairments;
mod inhabited;
mod invariants;
mod kernel_examples;
#[path = "../../../mechanism/tests/linux_examples/mod.rs"]
mod linux_examples;
mod mesh;
mod meshed;
mod networks;
mod overtaken;
mod pcap;
mod properties;
mod random;
mod receive_buffers;
mod routes;
mod spurious_timeouts;
mod stepping;
mod tails;
mod timestamps;
mod transfers;
mod under_way;
mod wifi;
mod window_controllers;
mod windows;
mod workloads;
mod world;
#[allow(dead_code, reason = "the tool writes files")]
mod written;
