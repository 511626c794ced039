//! Checks that the simulator runs what the kernel runs. Real TCP flows over emulated links call every congestion
//! control of the repository. Each call is recorded in the kernel and replayed in the native build of the same file.
//! After every call the whole socket must be the same.
//!
//! Every congestion control drives a flow of its own in four scenarios. A recording counts only if it has enough ACKs
//! and shows the event for which the scenario was made, such as a timeout.

#[path = "../../../mechanism/tests/linux_examples/mod.rs"]
mod linux_examples;
mod scenarios;

use mechanism::Callback;
use mechanism::Library;
use mechanism::sock::{TcpSock, ca_event, ca_state};
use model::records::ProgressUpdate;
use model::{MechanismRef, MechanismSource, Scenario};
use scenarios::ALGORITHMS;
use std::ops::ControlFlow;
use std::path::Path;
use unbloat_agreement::replay::{Recording, Replay};

/// The least number of calls on acknowledgements in a recording.
const LEAST_ACKS: usize = 50;

/// The largest number of runs until every recording shows the event of its scenario.
const MOST_RUNS: usize = 3;

/// The events of one congestion control, taken from its recording.
#[derive(Debug, Default)]
struct Story {
    /// The number of calls of `cong_avoid` or `cong_control`.
    acks: usize,
    /// The number of calls of `ssthresh`, which begin a reduction.
    reductions: usize,
    /// The number of calls of `undo_cwnd`, which undo a spurious reduction.
    undone: usize,
    /// Whether a retransmission timeout was reported, or some call came during its repair.
    timed_out: bool,
    /// Whether the timestamps were in microseconds.
    microseconds: bool,
    /// Whether ECN marks arrived: as echoes at the sender, or on segments at the receiver.
    marked: bool,
}

impl Story {
    fn of(recording: &Recording, replay: &Replay) -> Story {
        let mut story = Story::default();
        for event in &recording.events {
            let callback = replay.callback(&event.program).expect("a program of this file");
            story.acks += usize::from(matches!(callback, Callback::CongAvoid | Callback::CongControl));
            story.reductions += usize::from(callback == Callback::Ssthresh);
            story.undone += usize::from(callback == Callback::UndoCwnd);
            story.timed_out |= event.before.inet_conn.icsk_ca_state == ca_state::LOSS
                || callback == Callback::Ssthresh && is_all_lost(&event.before);
            story.microseconds |= event.before.tcp_usec_ts != 0;
            let marked_segment =
                callback == Callback::CwndEvent && event.arguments[0] == u64::from(ca_event::ECN_IS_CE);
            story.marked |= event.before.delivered_ce > 0 || marked_segment;
        }
        story
    }
}

/// Whether a call of `ssthresh` is for a timeout: all packets in flight are then lost already (`tcp_enter_loss`). If
/// that was one segment, its ACK ends the repair before any other call can see it.
fn is_all_lost(sock: &TcpSock) -> bool {
    sock.packets_out > 0 && sock.lost_out + sock.sacked_out == sock.packets_out
}

/// Runs the scenario, replays each group's recording, and lets `check` decide whether its events are enough. A flow
/// that got hardly any capacity, because of the others or a machine that stood still, gets another run.
fn every_control_agrees(scenario: &Scenario, check: impl Fn(&Story) -> bool) -> Vec<Story> {
    let mut shown: Vec<Option<Story>> = scenario.flows.iter().map(|_| None).collect();
    let mut poor = Vec::new();
    for _ in 0..MOST_RUNS {
        poor.clear();
        for ((group, recording), shown) in scenario.flows.iter().zip(&recorded(scenario)).zip(&mut shown) {
            let story = agrees(&scenario.name, &group.cc, recording);
            if story.acks >= LEAST_ACKS && check(&story) {
                *shown = Some(story);
            } else if shown.is_none() {
                poor.push((&group.cc.source, story));
            }
        }
        if poor.is_empty() {
            return shown.into_iter().flatten().collect();
        }
    }
    panic!("after {MOST_RUNS} runs, recordings that do not show what they are for: {poor:?}");
}

/// Runs the scenario and returns one recording for each group.
fn recorded(scenario: &Scenario) -> Vec<Recording> {
    let mut go_on = |_: ProgressUpdate| ControlFlow::Continue(());
    let (_, recordings) = unbloat_agreement::recording::run(scenario, Path::new(ALGORITHMS), &mut go_on)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(recordings.len(), scenario.flows.len());
    recordings
}

fn agrees(scenario: &str, control: &MechanismRef, recording: &Recording) -> Story {
    let name = format!("{:?} in {scenario:?}", control.source);
    let mut replay = Replay::open(Path::new(ALGORITHMS), control, recording.jiffies_per_second).expect("it builds");
    replay.play(recording).unwrap_or_else(|difference| panic!("{name}: {difference}"));
    let story = Story::of(recording, &replay);
    let gaps = recording.events.iter().filter(|event| event.follows_gap).count();
    eprintln!(
        "{name}: {} calls are equal in {} members of the socket, {gaps} follow gaps; {story:?}",
        recording.events.len(),
        recording.members.len()
    );
    assert!(20 * gaps <= recording.events.len(), "{name}: {gaps} of {} calls follow gaps", recording.events.len());
    let private = "inet_conn.icsk_ca_priv[12]";
    let pacing_rate = "inet_conn.icsk_inet.sk.sk_pacing_rate";
    for member in ["snd_cwnd", "snd_ssthresh", private, pacing_rate, "rx_opt.rcv_tsval", "rx_opt.rcv_tsecr"] {
        assert!(recording.members.iter().any(|known| known.path() == member), "{name}: {member} is not compared");
    }
    story
}

#[test]
fn every_control_has_a_flow() {
    let all = Library::open(ALGORITHMS).loadable_names().expect("all compile");
    for scenario in [scenarios::small_buffer(), scenarios::random_losses(), scenarios::outage()] {
        let flows: Vec<_> = scenario.flows.into_iter().map(|group| group.cc.source).collect();
        assert_eq!(flows, all.iter().cloned().map(MechanismSource::Builtin).collect::<Vec<_>>(), "{}", scenario.name);
    }
}

#[test]
fn a_full_buffer() {
    every_control_agrees(&scenarios::small_buffer(), |story| story.reductions > 0);
}

#[test]
fn random_losses() {
    let microseconds = scenarios::microseconds();
    let check = |story: &Story| story.reductions > 0 && story.microseconds == microseconds;
    every_control_agrees(&scenarios::random_losses(), check);
}

#[test]
fn an_outage() {
    let stories = every_control_agrees(&scenarios::outage(), |story| story.timed_out);
    assert!(stories.iter().any(|story| story.undone > 0), "no timeout proved spurious");
}

#[test]
fn marks() {
    every_control_agrees(&scenarios::marks(), |story| story.marked);
}

/// Files of the Linux tree's own examples, unmodified.
#[test]
fn files_written_for_the_kernel() {
    let folders = linux_examples::trees().into_iter().map(|tree| linux_examples::folder(&tree));
    let files: Vec<_> =
        folders.flat_map(|folder| ["bpf_cubic.c", "bpf_dctcp.c"].map(|file| folder.join(file))).collect();
    every_control_agrees(&scenarios::files(&files), |story| story.reductions > 0 && story.marked);
}

/// A congestion control with another parameter than the recorded one must differ.
#[test]
fn another_control_does_not_agree() {
    let scenario = scenarios::only("cubic", scenarios::random_losses());
    let recordings = recorded(&scenario);
    let mut control = scenario.flows[0].cc.clone();
    control.params.insert("beta".into(), model::ParamValue::Integer(600));
    let mut replay =
        Replay::open(Path::new(ALGORITHMS), &control, recordings[0].jiffies_per_second).expect("it builds");
    let difference = replay.play(&recordings[0]).expect_err("the parameter shows");
    // The parameter matters in a reduction, and in the window that Reno would have.
    assert!(["ssthresh", "cong_avoid"].contains(&&*difference.program), "{difference}");
}
