//! Losses in bursts on the emulated link: a real program misses exactly the packets that the simulator's link loses.
//! Needs root.

use mechanism::Library;
use model::Scenario;
use model::units::Nanos;
use path::{DropReason, Ecn, Network, Observer, Packet, Topology};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use unbloat_testbed::{End, Programs, Time};

const SCENARIO: &str = r#"
    duration = "1s"
    seed = 7
    [link.bottleneck]
    rate = "1gbit"
    delay = "1ms"
    queue = {}
    loss = { p = "1%", r = "20%", 1-h = "80%", 1-k = "0.2%" }
    [[flows]]
    cc = "kernel:reno"
"#;
const COUNT: u32 = 30_000;
const BYTES: u32 = 100;

/// A datagram with its number.
#[derive(Clone, Copy)]
struct Datagram(u32);

impl Packet for Datagram {
    fn bytes(&self) -> u32 {
        BYTES
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_ce(&mut self) {}
    fn tos(&self) -> u8 {
        0
    }
    fn flow(&self) -> u32 {
        0
    }
    fn is_from_sender(&self) -> bool {
        true
    }
}

/// The numbers of the lost datagrams.
struct Lost(HashSet<u32>);

impl Observer<Datagram> for Lost {
    fn gone(&mut self, _: Nanos, _: DropReason, datagram: &Datagram) {
        self.0.insert(datagram.0);
    }

    fn duplicated(&mut self, _: Nanos, datagram: &Datagram) -> Datagram {
        *datagram
    }
}

/// Returns the numbers of the packets that the simulator's link delivers, of [`COUNT`] packets after a first one.
fn simulated(scenario: &Scenario) -> Vec<u32> {
    let mut network: Network<Datagram> = Topology::new(scenario, &[1]).network();
    let mut lost = Lost(HashSet::new());
    (0..=COUNT).for_each(|number| network.send(Nanos::ZERO, 0, Datagram(number), &mut lost));
    (0..COUNT).filter(|number| !lost.0.contains(&(number + 1))).collect()
}

/// Returns the numbers of the UDP packets that the emulated link delivers, of a train of [`COUNT`].
fn emulated(scenario: &Scenario) -> Vec<u32> {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = temporary.path();
    let program = folder.join("train");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/train.c");
    let compiled = Command::new("clang").args(["-O2", "-o"]).arg(&program).arg(source).status();
    assert!(compiled.expect("clang").success());
    let (train, ready, arrivals) = (program.display(), folder.join("ready"), folder.join("arrivals"));
    let receive = format!("{train} receive {} 500 > {}", ready.display(), arrivals.display());
    let send = format!("{train} send {} receiver {COUNT} {BYTES} 0", ready.display());
    let command = |line: &str| ["sh", "-c", line].map(OsString::from).to_vec();
    let programs = Programs { at: End::Receiver, near: command(&receive), far: Some(command(&send)), time: Time::Real };
    let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    assert_eq!(unbloat_testbed::shell(scenario, &library, &programs, None).expect("a link").status, 0);
    let lines = std::fs::read_to_string(arrivals).expect("the receiver's lines");
    let number = |line: &str| line.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    lines.lines().map(number).collect()
}

#[test]
fn a_real_program_misses_the_packets_that_the_simulated_link_loses() {
    let scenario = scenario::load_text(SCENARIO, "a test", Path::new(""), &[]).expect("a scenario");
    let scenario = &scenario.points[0].scenario;
    let simulated = simulated(scenario);
    assert_eq!(emulated(scenario), simulated);
    // Share and bursts, against the closed form: bad for 1/21 of the packets, in stays of 5, of which four fifths are
    // lost.
    let arrived: HashSet<_> = simulated.iter().copied().collect();
    let lost = COUNT as usize - arrived.len();
    let share = (0.8 + 20.0 * 0.002) / 21.0;
    assert!((lost as f64 / COUNT as f64 - share).abs() < 0.3 * share, "{lost} lost");
    let bursts = simulated.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
    assert!((2.0..3.2).contains(&(lost as f64 / bursts as f64)), "{lost} losses in {bursts} bursts");
}
