//! The engine from outside: properties over random scenarios, closed forms, tail cases one by one, fingerprints.

mod acknowledgements;
mod auditor;
mod bbr;
mod both_ways;
mod closed_forms;
mod ecn;
mod fingerprints;
mod impairments;
mod invariants;
mod networks;
mod properties;
mod random;
mod receive_buffers;
mod receivers;
mod routes;
mod spurious_timeouts;
mod tails;
mod timestamps;
mod transfers;
mod under_way;
mod wifi;
mod windows;
mod workloads;
mod world;
