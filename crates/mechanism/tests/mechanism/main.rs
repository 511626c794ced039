//! Tests of the compiled mechanisms one by one, driven by hand, and of building, binding and replaying any.

mod agile_sd;
mod bbr;
mod classifiers;
mod clpc;
mod compound;
mod compound_ns2;
mod cubic;
mod cubic_hystartpp;
mod cubic_search;
mod delayed_window_update;
mod dtpa;
mod dtpa_auto;
mod elastic;
mod errors;
mod harness;
mod header_styles;
mod htcp;
mod illinois;
mod kernel_examples;
mod kernel_target;
mod layout;
mod ledbat;
#[path = "../linux_examples/mod.rs"]
mod linux_examples;
mod maps;
mod numbers;
mod parameters;
mod reno;
mod roots;
mod strangers;
mod tcp_lp;
mod vegas;
mod veno;
mod westwood;
mod windows;
