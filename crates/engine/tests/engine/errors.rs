//! Reasons for which a run gave no records, as sentences for Rust callers of the engine.

use crate::world::{control, library, scenario};
use model::Scenario;
use std::ops::ControlFlow;
use unbloat_engine::{Error, Options};

fn why_not(s: &Scenario, options: &Options, go_on: ControlFlow<()>) -> Error {
    let Err(error) = unbloat_engine::run(s, library(), options, &mut |_| go_on) else {
        panic!("the run is not refused")
    };
    error
}

#[test]
fn each_error_is_a_sentence() {
    let (mut unknown, usual) = (scenario(1), scenario(1));
    unknown.flows[0].cc = control("nothing");
    let nowhere = Options { pcap: Some("/nowhere/trace.pcapng".into()), ..Options::default() };
    let errors = [
        (why_not(&unknown, &Options::default(), ControlFlow::Continue(())), "unknown congestion control \"nothing\""),
        (why_not(&usual, &nowhere, ControlFlow::Continue(())), "the packet trace cannot be written: No such file"),
        (why_not(&scenario(1000), &Options::default(), ControlFlow::Break(())), "the run was interrupted"),
    ];
    for (error, words) in errors {
        let error: Box<dyn std::error::Error> = error.into();
        assert!(error.to_string().contains(words), "{error}");
    }
}
