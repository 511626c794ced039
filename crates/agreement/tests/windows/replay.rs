//! Replays every call that real flows make to a window controller in the native build, which must give the same
//! answers.

use super::segments::ALGORITHMS;
use model::Scenario;
use model::records::ProgressUpdate;
use std::ops::ControlFlow;
use std::path::Path;
use unbloat_agreement::replay_windows::WindowReplay;

/// The parameter that RTAC needs and the other window controllers do not have.
const PATH: &str = "window_controller_params.rtac = { bdp = 68 }\n";

/// A scenario with a flow for each window controller, over a queue that grows and overflows unless it is limited.
fn every_controller() -> Scenario {
    let names = mechanism::Library::open(ALGORITHMS).names_of(mechanism::MechanismKind::WindowController);
    let path = |name: &str| if name == "rtac" { PATH } else { "" };
    let groups =
        names.iter().map(|name| format!("[[flows]]\ncc = \"cubic\"\nwindow_controller = \"{name}\"\n{}", path(name)));
    let groups: String = groups.collect();
    let text = format!(
        "name = \"every controller\"\nduration = \"8s\"\n[link.bottleneck]\nrate = \"16mbit\"\ndelay = \"10ms\"\n\
         queue = {{ limit = \"100kb\" }}\nloss = \"0.2%\"\n{groups}"
    );
    let experiment = scenario::load_text(&text, "every_controller.toml", Path::new("."), &[]).expect("a scenario");
    experiment.points.into_iter().next().expect("one").scenario
}

#[test]
fn the_native_build_answers_what_the_kernel_s_did() {
    let scenario = every_controller();
    let mut go_on = |_: ProgressUpdate| ControlFlow::Continue(());
    let recorded = unbloat_agreement::recording::run_windows(&scenario, Path::new(ALGORITHMS), &mut go_on);
    let (_, recordings) = recorded.unwrap_or_else(|error| panic!("{error}"));
    for (group, events) in scenario.flows.iter().zip(&recordings) {
        let controller = group.window_controller.as_ref().expect("every group has one");
        let name = format!("{:?}", controller.source);
        let mut replay = WindowReplay::open(Path::new(ALGORITHMS), controller).expect("it builds");
        replay.play(events).unwrap_or_else(|difference| panic!("{name}: {difference}"));
        let told = |what: fn(&mechanism::WindowAck) -> u32| events.iter().filter(|event| what(&event.ack) > 0).count();
        let (rtts, reads, holes) = (told(|ack| ack.rtt_us), told(|ack| ack.copied), told(|ack| ack.has_hole));
        let answers = events.iter().filter(|event| event.answer > 0).count();
        eprintln!("{name}: {} answers are equal; told {rtts} RTTs, {reads} reads, {holes} holes", events.len());
        assert!(rtts >= 20 && reads >= 50 && holes > 0 && answers >= 50, "{name} was not told what it is for");
    }
}
