//! Simulations that their caller drives.

use crate::transfers::transfer;
use crate::world::*;
use model::app::{App, Ping};
use model::units::{Bytes, Nanos};
use model::{FlowGroup, Limit, Scenario, TcpProfile};
use unbloat_engine::packet::{Ack, Data, Packet, flag};
use unbloat_engine::tap::{Fingerprint, Silent};
use unbloat_engine::{End, Options, Pause, Simulation};

/// A window with room for everything, bytes.
const WINDOW: u32 = 1 << 20;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn simulation(scenario: &Scenario) -> Simulation<'_> {
    Simulation::new(scenario, library()).unwrap()
}

#[test]
fn a_run_in_steps_is_the_same_run() {
    let mut s = scenario(3);
    s.links[0].forward.queue = droptail(Limit::Packets(20));
    s.flows.push(FlowGroup { start: ms(500), ..flow("bbr") });
    let (whole, hash) = fingerprint(&s, &Options::default());
    let mut stepped = Simulation::watched(&s, library(), None, Fingerprint::new()).unwrap();
    let mut time = Nanos::ZERO;
    while let Pause::Due = stepped.step_until(time).unwrap() {
        assert_eq!(stepped.now(), time);
        time += Nanos::from_micros(7_001);
    }
    assert_eq!(stepped.now(), s.duration);
    let (outcome, tap) = stepped.finish().unwrap();
    let json = |run| serde_json::to_string(run).unwrap();
    assert_eq!((json(&outcome.run), tap.0), (json(&whole.run), hash));
}

/// 10 Mbit/s carry 1250 bytes a millisecond, and the first data leaves after the handshake of 40 ms.
#[test]
fn flows_and_links_can_be_read_on_the_way() {
    let s = scenario(3);
    let mut simulation = simulation(&s);
    assert_eq!((simulation.now(), simulation.flow_count()), (Nanos::ZERO, 1));
    assert!(simulation.flow(1).is_none());
    assert!(matches!(simulation.step_until(ms(30)), Ok(Pause::Due)));
    assert_eq!(simulation.flow(0).unwrap().row.in_flight_packets, 0);
    simulation.step_until(ms(50)).unwrap();
    let flow = simulation.flow(0).unwrap();
    assert_eq!((flow.row.cwnd_packets, flow.row.in_flight_packets, flow.total_delivered), (10, 10, 0));
    simulation.step_until(ms(45)).unwrap();
    assert_eq!(simulation.now(), ms(50), "time never goes back");
    let link = simulation.links()[0];
    // A SYN, an acknowledgement and some eight packets; the rest waits.
    assert_eq!(link.waiting.1, 10 - (link.total_sent / 1500));
    simulation.step_until(ms(2000)).unwrap();
    let delivered = simulation.flow(0).unwrap().total_delivered;
    assert!((2_200_000..2_450_000).contains(&delivered), "{delivered}");
    assert!(matches!(simulation.step_until(Nanos::NEVER), Ok(Pause::Over)));
}

/// A receiver that acknowledges segments in order, and nothing else.
struct Echo {
    next: u32,
}

impl Echo {
    fn answer(&mut self, data: &Data) -> Option<Ack> {
        if data.is_handshake() && data.flags & flag::SYN == 0 {
            return None;
        }
        self.next += u32::from(!data.is_handshake() && data.segment == self.next);
        Some(Ack::answering(data, self.next, WINDOW))
    }
}

/// After the handshake the windows have 10, 20 and 40 segments. The last of the 40 leave in the third round trip of 40
/// ms, and are acknowledged after the fourth.
#[test]
fn a_foreign_receiver_acknowledges_what_it_takes() {
    let s = transfer(40, TcpProfile::LINUX);
    let mut simulation = simulation(&s);
    simulation.detach(End::Receiver(0));
    let mut echo = Echo { next: 0 };
    while let Pause::Arrived(packet) = simulation.step_until(s.duration).unwrap() {
        let Packet::Data(data) = packet else { panic!("{packet:?}") };
        if let Some(ack) = echo.answer(&data) {
            simulation.inject(ack);
        }
    }
    assert_eq!(echo.next, 40);
    let (outcome, _) = simulation.finish().unwrap();
    let flow = &outcome.run.flows[0];
    let seconds = flow.completion_s.expect("all is acknowledged");
    assert!((0.160..0.170).contains(&seconds), "{seconds}");
    assert_eq!((flow.sent_packets, flow.retransmitted_packets), (40, 0));
}

/// An unanswered SYN is sent again: four times after a second (`tcp_syn_linear_timeouts`), then later and later.
#[test]
fn a_foreign_receiver_may_be_deaf() {
    let s = transfer(1, TcpProfile::LINUX);
    let mut simulation = simulation(&s);
    simulation.detach(End::Receiver(0));
    let mut syns = vec![];
    while let Pause::Arrived(Packet::Data(data)) = simulation.step_until(s.duration).unwrap() {
        assert_eq!(data.flags & flag::SYN, flag::SYN);
        syns.push(simulation.now().0 / 1_000_000_000);
    }
    assert_eq!(syns, [0, 1, 2, 3, 4, 5, 7, 11, 19]);
}

#[test]
fn a_foreign_sender_is_acknowledged() {
    let s = scenario(1);
    let mut simulation = simulation(&s);
    simulation.detach(End::Sender(0));
    let mut data = Data {
        flow: 0,
        segment: 0,
        tsval: 1,
        tsecr: 0,
        bytes: 60,
        flags: flag::SYN,
        counts: false,
        tos: 0,
        band: None,
        is_followed: false,
    };
    simulation.inject(data);
    let mut answers = vec![];
    while let Pause::Arrived(packet) = simulation.step_until(s.duration).unwrap() {
        let Packet::Ack(ack) = packet else { panic!("{packet:?}") };
        answers.push((ack.flags & flag::SYN != 0, ack.next));
        if answers.len() == 1 {
            (data.flags, data.bytes) = (0, 1500);
            for segment in 0..3 {
                simulation.inject(Data { segment, ..data });
            }
        }
    }
    assert_eq!(answers, [(true, 0), (false, 1), (false, 2), (false, 3)]);
    assert_eq!(simulation.flow(0).unwrap().total_delivered, 3 * 1448);
}

/// A ping of our own comes back from the simulator's host, and its programs do not ping for us.
#[test]
fn a_foreign_end_may_send_datagrams() {
    let mut s = scenario(1);
    let ping = Ping { every: ms(100), packet: Bytes(84) };
    s.flows[0] = FlowGroup { app: Some(App::Ping(ping)), ..flow("reno") };
    let mut own = simulation(&s);
    own.step_until(s.duration).unwrap();
    assert_eq!(own.finish().unwrap().0.run.flows[0].sent_packets, 10);
    let mut simulation = simulation(&s);
    simulation.detach(End::Receiver(0));
    let mut pings = vec![];
    while let Pause::Arrived(Packet::Datagram(ping)) = simulation.step_until(s.duration).unwrap() {
        pings.push(ping.sent_at);
        simulation.inject(unbloat_engine::packet::Datagram { is_reply: true, ..ping });
    }
    assert_eq!(pings[..2], [Nanos::ZERO, ms(100)]);
    assert!(simulation.flow(0).unwrap().row.rtt_ms.is_some_and(|rtt_ms| (40.0..41.0).contains(&rtt_ms)));
}

#[test]
#[should_panic(expected = "Receiver(0) is an end of the simulator's own")]
fn nobody_speaks_for_an_end_of_the_simulators_own() {
    let s = scenario(1);
    let mut simulation: Simulation<Silent> = simulation(&s);
    let data = Data {
        flow: 0,
        segment: 0,
        tsval: 0,
        tsecr: 0,
        bytes: 1500,
        flags: 0,
        counts: false,
        tos: 0,
        band: None,
        is_followed: false,
    };
    simulation.inject(Ack::answering(&data, 1, WINDOW));
}
