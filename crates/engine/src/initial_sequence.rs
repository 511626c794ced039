//! Initial sequence numbers (RFC 9293, section 3.4.1), drawn from the run's seed. Sequence numbers start anywhere and
//! wrap around. A congestion control that forgets this fails in the simulator as it does in a kernel.

use model::stream;
use rand::{Rng, RngCore};

/// One in this many connection ends starts shortly before the wrap.
const NEAR_THE_WRAP: u32 = 4;
/// The most bytes that such an end starts before the wrap: a few seconds of a few Mbit/s.
const SHORTLY: u32 = 4 << 20;

/// Sequence numbers of the two SYNs of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialSequence {
    /// Sequence number of the SYN of the end that sends the data.
    pub sender: u32,
    /// Sequence number of the SYN of the end that receives the data.
    pub receiver: u32,
}

impl InitialSequence {
    /// Draws the numbers of flow `flow` in a run with this seed.
    pub fn draw(seed: u64, flow: u32) -> InitialSequence {
        #[cfg(test)]
        if let Some(forced) = tests::FORCED.get() {
            return forced;
        }
        let mut rng = path::rng(seed, stream::INITIAL_SEQUENCE + flow as u64);
        InitialSequence { sender: draw_one(&mut rng), receiver: draw_one(&mut rng) }
    }
}

fn draw_one(rng: &mut path::Rng) -> u32 {
    if rng.random_range(0..NEAR_THE_WRAP) == 0 {
        0u32.wrapping_sub(rng.random_range(1..=SHORTLY))
    } else {
        rng.next_u32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Simulation;
    use crate::tap::Fingerprint;
    use mechanism::Library;
    use std::cell::Cell;
    use std::ops::ControlFlow;
    use std::path::Path;

    thread_local! {
        /// Sequence numbers with which the connections of this thread's simulations start, in place of the draws.
        pub static FORCED: Cell<Option<InitialSequence>> = const { Cell::new(None) };
    }

    #[test]
    fn each_flow_and_each_seed_has_its_own() {
        let mut all: Vec<u32> = (1..=50)
            .flat_map(|seed| (0..20).map(move |flow| InitialSequence::draw(seed, flow)))
            .flat_map(|isn| [isn.sender, isn.receiver])
            .collect();
        assert_eq!(InitialSequence::draw(7, 3), InitialSequence::draw(7, 3));
        let near = all.iter().filter(|isn| **isn >= 0u32.wrapping_sub(SHORTLY)).count();
        assert!((400..600).contains(&near), "{near} of 2000 shortly before the wrap");
        assert!(all.iter().any(|isn| *isn < 1 << 30) && all.iter().any(|isn| (1 << 31..3 << 30).contains(isn)));
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 1990, "{} different ones of 2000", all.len());
    }

    /// Two flows with losses, marks if the congestion control wants them, a timeout, a short last segment and a stop.
    fn scenario(control: &str) -> model::Scenario {
        // By default dtpa sends two segments a second.
        let params = if control == "dtpa" { "params = { c = 1000000 }" } else { "" };
        let text = format!(
            r#"
            duration = "12s"
            [link.bottleneck]
            rate  = "10mbit"
            delay = "10ms"
            loss  = "0.5%"
            queue = {{ kind = "droptail", limit = "60kb", ecn_threshold = "20kb" }}
            [link.bottleneck.reverse]
            loss  = "0.5%"
            [[flows]]
            cc    = "{control}"
            {params}
            [[flows]]
            cc    = "{control}"
            {params}
            size  = "2000001b"
            start = "100ms"
            access = {{ delay = "5ms" }}
            "#
        );
        let experiment = scenario::load_text(&text, "test.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        experiment.points.into_iter().next().expect("one run").scenario
    }

    /// Every packet event and the records of a run whose connections start with `isn`.
    fn run_from(control: &str, library: &Library, isn: InitialSequence) -> (u64, String) {
        FORCED.set(Some(isn));
        let scenario = scenario(control);
        let mut simulation =
            Simulation::watched(&scenario, library, None, Fingerprint::new()).expect("a built-in control");
        simulation.run(&mut |_| ControlFlow::Continue(())).expect("nothing interrupts it");
        for sender in &simulation.senders {
            assert_eq!(sender.sk.rcv_nxt, isn.receiver.wrapping_add(1));
            let relative = sender.sk.snd_una.wrapping_sub(isn.sender);
            assert!((1_000_000..1 << 26).contains(&relative), "{relative} bytes acknowledged");
        }
        FORCED.set(None);
        let (outcome, fingerprint) = simulation.finish().expect("no control faults");
        (fingerprint.0, serde_json::to_string(&outcome.run).expect("records are plain"))
    }

    /// Only differences of sequence numbers have a meaning (RFC 9293, section 3.4), so a connection's start may not
    /// change what a congestion control does. Here the first half of each transfer lies before the wrap and the second
    /// half behind it, or the transfer is half of 2^32 away.
    #[test]
    fn no_built_in_control_minds_where_its_connection_starts() {
        let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
        assert_eq!(library.names().iter().find(|control| minds_its_start(control, &library)), None);
    }

    #[test]
    fn a_control_that_minds_where_its_connection_starts_is_found_out() {
        let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
        let faulty = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/forgets_the_start.bpf.c");
        assert!(minds_its_start(faulty, &library));
    }

    fn minds_its_start(control: &str, library: &Library) -> bool {
        let run = |start: u32| {
            let isn = InitialSequence { sender: start, receiver: start.wrapping_mul(3) };
            run_from(control, library, isn)
        };
        let first = run(1 << 20);
        // Not `u32::MAX`: data that begins at 0 and loses its first segment has no `undo_marker` in Linux either.
        [0, 0u32.wrapping_sub(900_000), (1 << 31) - 900_000, 1 << 31, u32::MAX - 1]
            .into_iter()
            .any(|start| run(start) != first)
    }
}
