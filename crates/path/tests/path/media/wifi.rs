//! Compares a Wi-Fi cell with hand-computed timings, closed forms and published analyses.

use super::TestPacket;
use model::impairments::Impairments;
use model::radio::ieee80211::{SIFS, Slot, Standard, WINDOWS};
use model::units::{Nanos, Rate};
use model::{Limit, Link, Loss, Queue, Service, Transmitter};
use unbloat_path::medium::{Member, MemberId, Members, Step, wifi};
use unbloat_path::qdisc::{AnyQdisc, DeviceRing, Fifo};
use unbloat_path::{Medium, Pool, Transit};

const SEED: u64 = 1;
const END: Nanos = Nanos::from_secs(100);
const FULL: u32 = 1500;

/// The parameters of a test's cell.
#[derive(Debug)]
struct Setup {
    standard: Standard,
    slot: Slot,
    stations: Vec<wifi::Station>,
    /// Whether the access point has one queue for all stations.
    shared_queue: bool,
    limit: Option<Limit>,
    seed: u64,
}

impl Setup {
    /// Creates the setup of stations with these modes.
    fn new(standard: Standard, modes: &[usize]) -> Setup {
        let stations = modes.iter().map(|mode| wifi::Station { mode: *mode, frame_errors: 0.0 }).collect();
        Setup { standard, slot: Slot::Short, stations, shared_queue: false, limit: None, seed: SEED }
    }

    fn medium(&self) -> Medium {
        let Setup { standard, slot, stations, shared_queue, limit, seed } = self;
        let count = stations.len();
        let queue = || DeviceRing::none(AnyQdisc::Fifo(Fifo::new(*limit, None)));
        // The access point has several queues or one; those of the stations follow.
        let of_access_point = if *shared_queue { 1 } else { count };
        let queues = (0..of_access_point + count).map(|_| queue()).collect();
        let member = |number: usize| {
            let link = Link {
                name: format!("member{number}"),
                service: Service::Own(Transmitter::Rate(Rate(1))),
                delay: Nanos::ZERO,
                queue: Queue::Droptail { limit: *limit, ecn_threshold: None },
                loss: Loss::NONE,
                impairments: Impairments::default(),
            };
            let station = number / 2;
            let queue = match (number % 2, shared_queue) {
                (0, true) => 0,
                (0, false) => station,
                _ => of_access_point + station,
            };
            Member::new(&link, number as u32, queue, *seed, number as u64, Nanos::ZERO, END)
        };
        let members = Members::new((0..2 * count).map(member).collect(), queues);
        Medium::wifi(wifi::Cell::new(*standard, *slot, stations.clone(), *shared_queue, *seed, 0), members)
    }
}

/// A packet at its far end.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    packet: TestPacket,
}

/// A cell with the packets in it.
struct World {
    medium: Medium,
    packets: Pool<TestPacket>,
    numbers: u32,
    /// The packets that will never arrive.
    gone: Vec<TestPacket>,
}

impl World {
    fn new(setup: &Setup) -> World {
        World { medium: setup.medium(), packets: Pool::default(), numbers: 0, gone: vec![] }
    }

    fn send(&mut self, now: Nanos, member: MemberId, bytes: u32) {
        let id = self.packets.insert(TestPacket { member, number: self.numbers, bytes });
        self.numbers += 1;
        let mut gone = vec![];
        self.medium.offer(now, member, id, &mut self.packets, &mut gone);
        self.release(&gone);
    }

    fn release(&mut self, gone: &[unbloat_path::Gone]) {
        for gone in gone {
            self.gone.push(*self.packets.remove(gone.id));
        }
    }

    /// Carries out the next event, and returns a packet that arrives with it.
    fn step(&mut self) -> Option<Arrival> {
        let (at, mut gone) = (self.medium.next(), vec![]);
        let step = self.medium.step(at, &mut self.packets, &mut gone);
        self.release(&gone);
        match step {
            Step::Arrived(_, Transit::Packet(id)) => Some(Arrival { at, packet: *self.packets.remove(id) }),
            _ => None,
        }
    }

    /// Returns all packets that arrive before `end`.
    fn run(&mut self, end: Nanos) -> Vec<Arrival> {
        let mut arrivals = vec![];
        while self.medium.next() < end {
            arrivals.extend(self.step());
        }
        arrivals
    }

    /// Returns all packets that arrive before `end` if each of these members always has `ahead`
    /// packets waiting.
    fn saturate(&mut self, members: &[MemberId], ahead: u32, end: Nanos) -> Vec<Arrival> {
        for member in members {
            (0..ahead).for_each(|_| self.send(Nanos::ZERO, *member, FULL));
        }
        let mut arrivals = vec![];
        while self.medium.next() < end {
            let now = self.medium.next();
            let arrived = self.step();
            arrivals.extend(arrived);
            let over: Vec<_> = self.gone.drain(..).chain(arrived.map(|arrival| arrival.packet)).collect();
            over.iter().for_each(|packet| self.send(now, packet.member, FULL));
        }
        arrivals
    }
}

fn mbps(arrivals: &[Arrival], over: Nanos) -> f64 {
    arrivals.iter().map(|arrival| arrival.packet.bytes as f64 * 8.0).sum::<f64>() / over.as_secs_f64() / 1e6
}

/// Computes the saturation throughput in Mbit/s by Bianchi's model.
///
/// The source is Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination
/// Function", IEEE JSAC 18(3), 2000. Equations 7 and 9 give the share of slots in which a station
/// transmits, and (13) the throughput. The model assumes that every station always has a packet for
/// the access point and never gives up. Its probability of a collision does not depend on its
/// earlier tries. All stations hear each other, and the channel loses nothing.
fn bianchi(stations: usize, slot: Slot, payload_bits: f64, success: Nanos, collision: Nanos) -> f64 {
    let window = f64::from(WINDOWS.0 + 1);
    // From 15 to 1023 the window doubles six times.
    let doublings = 6;
    let transmits = |collides: f64| {
        let sum: f64 = (0..doublings).map(|n| (2.0 * collides).powi(n)).sum();
        2.0 / (1.0 + window + collides * window * sum)
    };
    // A station transmits more if the others let it, and less the more often it collides: the
    // curves cross once.
    let collides = |tau: f64| 1.0 - (1.0 - tau).powi(stations as i32 - 1);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if transmits(collides(middle)) > middle { low = middle } else { high = middle }
    }
    let tau: f64 = low;
    let some = 1.0 - (1.0 - tau).powi(stations as i32);
    let one = stations as f64 * tau * (1.0 - tau).powi(stations as i32 - 1);
    let slot =
        (1.0 - some) * slot.time().as_secs_f64() + one * success.as_secs_f64() + (some - one) * collision.as_secs_f64();
    one * payload_bits / slot / 1e6
}

/// Up to 20 stations use the lowest rate, at which the chain of retries has just one rate, as
/// Bianchi assumes.
#[test]
fn saturation_throughput_is_bianchis() {
    let counts = [1, 2, 3, 5, 8, 10, 15, 20];
    for (slot, count) in counts.map(|count| (Slot::Short, count)).into_iter().chain([(Slot::Long, 1), (Slot::Long, 10)])
    {
        let setup = Setup { slot, ..Setup::new(Standard::G, &vec![0; count]) };
        let g = Standard::G;
        let data = g.data_time(0, g.frame_bytes(FULL.into()));
        let success = data + SIFS + g.ack_time(0) + g.interframe_space(slot);
        let expected = bianchi(count, slot, 8.0 * f64::from(FULL), success, data + g.extended_space(slot));
        let uplinks: Vec<_> = (0..count as MemberId).map(|station| 2 * station + 1).collect();
        let measured = mbps(&World::new(&setup).saturate(&uplinks, 2, END), END);
        let off = 100.0 * (measured / expected - 1.0);
        println!("{slot:?} slots, {count} stations: {measured:.3} Mbit/s, Bianchi {expected:.3}, {off:+.2} %");
        assert!(off.abs() < 3.0, "{count} stations: {measured} Mbit/s, Bianchi {expected}");
    }
}

/// Checks two packets against times computed by hand, at 54 Mbit/s.
///
/// A packet that finds the air idle is sent at once, and takes 254 us; its Ack ends 44 us later.
/// The other station has waited meanwhile. It sends 28 us after that and after its back-off, which
/// has slots of 9 us.
#[test]
fn a_first_packet_goes_at_once_and_a_second_after_its_back_off() {
    let mut world = World::new(&Setup::new(Standard::G, &[7, 7]));
    world.send(Nanos::ZERO, 1, FULL);
    assert_eq!(world.medium.next(), Nanos::ZERO);
    assert!(world.step().is_none());
    world.send(Nanos::from_micros(100), 3, FULL);
    let [first, second] = world.run(END)[..] else { panic!("two packets") };
    assert_eq!((first.at, first.packet.member), (Nanos::from_micros(254), 1));
    assert_eq!(second.packet.member, 3);
    let back_off = (second.at - first.at).as_micros() - (10 + 34 + 28 + 254);
    assert!(back_off % 9 == 0 && back_off <= 9 * 15, "{back_off} us");
    // Long after its back-off is over, a station waits at most for the next slot.
    let late = Nanos::from_millis(500);
    world.send(late, 1, FULL);
    assert!(world.medium.next() < late + Slot::Short.time());
}

/// A station that draws 0 to 15 slots before each packet waits 7.5 in the mean. Without other
/// stations nothing collides.
#[test]
fn a_lone_sender_carries_what_the_closed_form_says() {
    let g_and_n = [(Standard::G, 7), (Standard::G, 0), (Standard::N, 7), (Standard::N, 0)];
    let all = g_and_n.into_iter().flat_map(|one| [(one, Slot::Short), (one, Slot::Long)]);
    for ((standard, mode), slot) in all {
        let expected = standard.most_carried(slot, mode, model::units::Bytes(FULL.into())).0 as f64 / 1e6;
        let mut world = World::new(&Setup { slot, ..Setup::new(standard, &[mode]) });
        let measured = mbps(&world.saturate(&[0], 200, END), END);
        println!("{standard:?}, mode {mode}, {slot:?} slots: {measured:.3} Mbit/s, closed form {expected:.3}");
        assert!((measured / expected - 1.0).abs() < 0.01, "{standard:?} {mode}: {measured}, {expected}");
    }
}

/// Heusse et al., "Performance Anomaly of 802.11b", INFOCOM 2003: each station gets as many packets
/// through as any other. None therefore gets much more than the slowest would have alone. With 54
/// and 6 Mbit/s, neither of two gets more than their harmonic mean permits.
#[test]
fn one_slow_station_slows_all() {
    let g = Standard::G;
    let mut world = World::new(&Setup::new(g, &[7, 0]));
    let arrivals = world.saturate(&[1, 3], 2, END);
    let of = |member| arrivals.iter().filter(|arrival| arrival.packet.member == member).copied().collect::<Vec<_>>();
    let (fast, slow) = (mbps(&of(1), END), mbps(&of(3), END));
    let round = |mode| {
        g.data_time(mode, g.frame_bytes(FULL.into())) + SIFS + g.ack_time(mode) + g.interframe_space(Slot::Short)
    };
    let both = 12_000.0 / (round(7) + round(0)).as_secs_f64() / 1e6;
    println!("{fast:.2} Mbit/s at 54 and {slow:.2} at 6, at most {both:.2} each");
    assert!((fast / slow - 1.0).abs() < 0.05, "{fast} and {slow}");
    assert!(fast < both && fast > 0.85 * both, "{fast}, {both}");
}

/// With a queue for each station, the access point gives both equal air time instead of equally
/// many packets, as mac80211 does. With one queue for all, and as many arrivals for either, both
/// get equally many packets.
#[test]
fn a_queue_for_each_station_ends_the_anomaly_downstream() {
    let shares = |shared_queue: bool| {
        let setup = Setup { shared_queue, ..Setup::new(Standard::G, &[7, 0]) };
        let mut world = World::new(&setup);
        world.saturate(&[0, 2], 20, END);
        [0, 2].map(|member| world.medium.member(member).air_percent())
    };
    let [fast, slow] = shares(false);
    assert!((fast / slow - 1.0).abs() < 0.02, "{fast} % and {slow} % of the air");
    let [fast, slow] = shares(true);
    let times = [7, 0].map(|mode| {
        let g = Standard::G;
        (g.data_time(mode, g.frame_bytes(FULL.into())) + SIFS + g.ack_time(mode)).as_secs_f64()
    });
    assert!((slow / fast / (times[1] / times[0]) - 1.0).abs() < 0.02, "{fast} % and {slow} % of the air");
}

/// Equal stations have equal shares: Jain's index over ten stations is near 1.
#[test]
fn equal_stations_share_fairly() {
    for standard in [Standard::G, Standard::N] {
        let mut world = World::new(&Setup::new(standard, &[7; 10]));
        let uplinks: Vec<MemberId> = (0..10).map(|station| 2 * station + 1).collect();
        let arrivals = world.saturate(&uplinks, 100, Nanos::from_secs(30));
        let counts = uplinks
            .iter()
            .map(|member| arrivals.iter().filter(|arrival| arrival.packet.member == *member).count() as f64);
        let (sum, squares) = counts.fold((0.0, 0.0), |(sum, squares), count| (sum + count, squares + count * count));
        let jain = sum * sum / (10.0 * squares);
        assert!(jain > 0.99, "{standard:?}: {jain}");
    }
}

/// A frame that is not understood is sent again, and is lost after seven failed tries. It is tried
/// four times at its station's own rate; at lower rates no try fails. If its own rate is the
/// lowest, and a share e of its tries fails, a share e^7 of the packets is lost.
#[test]
fn errors_cost_retries_and_at_the_lowest_rate_packets() {
    let share = 0.5;
    let lost = |mode| {
        let station = wifi::Station { mode, frame_errors: share };
        let mut world = World::new(&Setup { stations: vec![station], ..Setup::new(Standard::G, &[]) });
        for _ in 0..20_000 {
            world.send(Nanos::ZERO, 1, FULL);
        }
        let arrived = world.run(Nanos::NEVER).len();
        assert_eq!(arrived + world.gone.len(), 20_000);
        let record = world.medium.record(1);
        assert_eq!(record.wire_losses, world.gone.len() as u64);
        (world.gone.len() as f64 / 20_000.0, record.retries.unwrap() as f64 / 20_000.0)
    };
    let (at_54, retries) = lost(7);
    assert_eq!(at_54, 0.0);
    // 1/2 + 1/4 + 1/8 + 1/16, since the fifth try always succeeds.
    assert!((retries - 0.9375).abs() < 0.03, "{retries}");
    let (at_6, retries) = lost(0);
    let expected = share.powi(7);
    assert!((at_6 / expected - 1.0).abs() < 0.3, "{at_6}, {expected}");
    assert!((retries - (1.0 - share.powi(6))).abs() < 0.03, "{retries}");
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn setup() -> impl Strategy<Value = Setup> {
        let standard = prop_oneof![Just(Standard::G), Just(Standard::N)];
        let station = (0..8usize, prop_oneof![Just(0.0), 0.0..0.9])
            .prop_map(|(mode, frame_errors)| wifi::Station { mode, frame_errors });
        let limit = prop_oneof![Just(None), (1..30u64).prop_map(|packets| Some(Limit::Packets(packets)))];
        let slot = prop_oneof![Just(Slot::Short), Just(Slot::Long)];
        let queues = (any::<bool>(), limit);
        ((standard, slot), prop::collection::vec(station, 1..6), queues, 0..1000u64).prop_map(
            |((standard, slot), stations, (shared_queue, limit), seed)| Setup {
                standard,
                slot,
                stations,
                shared_queue,
                limit,
                seed,
            },
        )
    }

    proptest! {
        /// Every packet arrives or is gone, those of a member in order and none twice. No member
        /// uses more air time than has passed.
        #[test]
        fn nothing_is_lost_from_view(
            setup in setup(),
            train in prop::collection::vec((0..3000u64, any::<prop::sample::Index>(), 40..1501u32), 1..200),
        ) {
            let mut world = World::new(&setup);
            let (mut now, mut arrivals) = (Nanos::ZERO, vec![]);
            for (gap_us, member, bytes) in &train {
                now += Nanos::from_micros(*gap_us);
                arrivals.extend(world.run(now));
                world.send(now, member.index(2 * setup.stations.len()) as MemberId, *bytes);
            }
            arrivals.extend(world.run(Nanos::NEVER));
            prop_assert_eq!(arrivals.len() + world.gone.len(), train.len());
            prop_assert_eq!(world.packets.count(), 0);
            prop_assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
            for member in 0..2 * setup.stations.len() as MemberId {
                let of_member = |packet: &TestPacket| packet.member == member;
                let order: Vec<_> = arrivals.iter().map(|arrival| arrival.packet).filter(of_member).collect();
                prop_assert!(order.is_sorted_by(|a, b| a.number < b.number));
                prop_assert!(world.medium.member(member).air_percent() <= 100.0);
                prop_assert_eq!(world.medium.member(member).sample(0).waiting, (0, 0));
            }
        }
    }
}
