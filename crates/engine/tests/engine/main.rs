//! The engine from outside: properties over random scenarios, closed forms, tail cases one by one, fingerprints.

mod acknowledgements;
mod auditor;
mod bbr;
mod both_ways;
mod closed_forms;
mod fingerprints;
mod invariants;
mod networks;
mod properties;
mod random;
mod routes;
mod tails;
mod timestamps;
mod workloads;
mod world;
