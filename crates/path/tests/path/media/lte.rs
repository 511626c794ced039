//! Compares an LTE cell with closed forms.

use super::TestPacket;
use model::impairments::Impairments;
use model::lte::{Cell, Scheduling};
use model::radio::lte::{Bandwidth, Cqi, Direction, Harq, PACKET_HEADER};
use model::units::{Bytes, Nanos, Rate};
use model::{Limit, Link, Loss, Queue, Service, Transmitter};
use model::{rng, up_to};
use proptest::prelude::*;
use unbloat_path::medium::{Medium, Member, MemberId, Members, Step, lte};
use unbloat_path::qdisc::DeviceRing;
use unbloat_path::{DropReason, Pool, Transit, qdisc};

const MS: Nanos = Nanos::from_millis(1);
const DELAY: Nanos = Nanos::from_millis(10);
/// Time from the start of a block's scheduling subframe to its packets: 3 ms of preparation, 1 ms
/// on the air, 3 ms of decoding.
const BLOCK: Nanos = Nanos::from_millis(7);
/// Time from the start of a scheduling request to the first bytes: request 1 ms, grant 3 + 1 ms,
/// and a block.
const REQUESTED: Nanos = Nanos::from_millis(12);

fn cell(error_rate: f64) -> Cell {
    let bandwidth = Bandwidth::named("20mhz").unwrap();
    Cell { name: "cell".into(), bandwidth, scheduler: Scheduling::ProportionalFair, error_rate }
}

fn down(user: u32) -> MemberId {
    2 * user
}

fn up(user: u32) -> MemberId {
    2 * user + 1
}

/// A cell with the packets sent in it, and their fate.
struct Air {
    medium: Medium,
    packets: Pool<TestPacket>,
    sent: u32,
    /// When each packet reached the far end of its member, the member, and the packet's number.
    arrived: Vec<(Nanos, MemberId, u32)>,
    lost: u32,
    dropped: u32,
}

impl Air {
    fn new(cell: &Cell, users: &[u8], limit: Option<Limit>) -> Air {
        let queue = Queue::Droptail { limit, ecn_threshold: None };
        let member = |number: u32| {
            let link = Link {
                name: "link".into(),
                service: Service::Own(Transmitter::Rate(Rate(1))),
                delay: DELAY,
                queue: queue.clone(),
                loss: Loss::NONE,
                impairments: Impairments::default(),
            };
            Member::new(&link, number, number as usize, 1, number.into(), Nanos::ZERO, Nanos::from_secs(1000))
        };
        let count = 2 * users.len() as u32;
        let queues = (0..count).filter_map(|number| qdisc::of(&queue, Rate(1), 1500, 1, number.into()));
        let members = Members::new((0..count).map(member).collect(), queues.map(DeviceRing::none).collect());
        let cqis: Vec<_> = users.iter().map(|cqi| Cqi(*cqi)).collect();
        let medium = Medium::lte(lte::Cell::new(cell, &cqis, 1, 0), members);
        Air { medium, packets: Pool::default(), sent: 0, arrived: vec![], lost: 0, dropped: 0 }
    }

    /// Runs the cell until `now`, including the events at that time.
    fn run_until(&mut self, now: Nanos) {
        let mut gone = vec![];
        while self.medium.next() <= now && self.medium.next() < Nanos::NEVER {
            let at = self.medium.next();
            if let Step::Arrived(port, Transit::Packet(id)) = self.medium.step(at, &mut self.packets, &mut gone) {
                self.arrived.push((at, port, self.packets.remove(id).number));
            }
            self.bury(&mut gone);
        }
    }

    fn bury(&mut self, gone: &mut Vec<unbloat_path::Gone>) {
        for gone in gone.drain(..) {
            self.packets.remove(gone.id);
            self.lost += (gone.reason == DropReason::Channel) as u32;
            self.dropped += (gone.reason == DropReason::Queue) as u32;
        }
    }

    /// Sends a packet at `now`, and returns its number.
    fn send(&mut self, now: Nanos, member: MemberId, bytes: u32) -> u32 {
        self.run_until(now);
        let (number, mut gone) = (self.sent, vec![]);
        self.sent += 1;
        let id = self.packets.insert(TestPacket { member, number, bytes });
        self.medium.offer(now, member, id, &mut self.packets, &mut gone);
        self.bury(&mut gone);
        number
    }

    fn finish(&mut self) {
        self.run_until(Nanos::NEVER);
    }

    /// Returns the bytes a second that arrived at a member's far end from one second to ten, in
    /// packets of 1500.
    fn bytes_per_second(&self, member: MemberId) -> f64 {
        let interval = Nanos::from_secs(1)..Nanos::from_secs(10);
        let count = self.arrived.iter().filter(|(at, of, _)| *of == member && interval.contains(at)).count();
        1500.0 * count as f64 / 9.0
    }
}

/// Returns the bytes a second of a user with endless data and this share of the subframes. Each
/// subframe carries a block, less those that repeat one.
fn expected(cell: &Cell, direction: Direction, cqi: u8, share: f64) -> f64 {
    let block = f64::from(Cqi(cqi).payload(direction, cell.bandwidth.blocks(direction)));
    share * 1000.0 * block / cell.harq().mean_tries() * 1500.0 / f64::from(1500 + PACKET_HEADER)
}

/// Saturates members for ten seconds.
fn saturate(air: &mut Air, members: &[MemberId]) {
    for &member in members {
        for _ in 0..200 {
            air.send(Nanos::ZERO, member, 1500);
        }
    }
    for ms in 1..10_000 {
        air.run_until(Nanos(MS.0 * ms));
        for &member in members {
            while air.medium.member(member).sample(0).waiting.1 < 200 {
                air.send(Nanos(MS.0 * ms), member, 1500);
            }
        }
    }
}

/// The rate is the bits of a block a millisecond, divided by the mean number of tries. In 9000
/// subframes the count of blocks has a standard deviation of less than 0.4 % at these error rates;
/// the bound is five of them.
#[test]
fn a_user_alone_has_all_blocks() {
    for error_rate in [0.0, 0.1, 0.3] {
        let cell = cell(error_rate);
        for (member, direction, cqi) in
            [(down(0), Direction::Down, 15), (down(0), Direction::Down, 3), (up(0), Direction::Up, 12)]
        {
            let mut air = Air::new(&cell, &[cqi], None);
            saturate(&mut air, &[member]);
            let (measured, expected) = (air.bytes_per_second(member), expected(&cell, direction, cqi, 1.0));
            let bound = if error_rate == 0.0 { 0.001 } else { 0.02 };
            assert!(
                (measured / expected - 1.0).abs() < bound,
                "{direction:?} {error_rate}: {measured} against {expected}"
            );
        }
    }
}

/// Proportional fair gives all users as many subframes, whatever rates they have.
#[test]
fn users_share_the_subframes() {
    let cell = cell(0.1);
    for users in [[12, 12, 12, 12], [15, 11, 7, 3]] {
        for direction in [Direction::Down, Direction::Up] {
            let mut air = Air::new(&cell, &users, None);
            let member = |user| if direction == Direction::Down { down(user) } else { up(user) };
            saturate(&mut air, &(0..4).map(member).collect::<Vec<_>>());
            for (user, cqi) in (0..).zip(users) {
                let (measured, expected) = (air.bytes_per_second(member(user)), expected(&cell, direction, cqi, 0.25));
                assert!((measured / expected - 1.0).abs() < 0.03, "{direction:?} {cqi}: {measured} against {expected}");
            }
        }
    }
}

/// Checks that extra delays are multiples of HARQ's round trip, and as frequent as the tries that
/// they stand for.
fn assert_geometric(extra: &[Nanos], harq: &Harq, error_rate: f64) {
    let round_trip = MS.0 * Harq::ROUND_TRIP;
    assert!(extra.iter().all(|extra| extra.0.is_multiple_of(round_trip)), "{extra:?}");
    let count = extra.len() as f64;
    let first = extra.iter().filter(|extra| extra.0 == 0).count() as f64;
    let deviation = (count * error_rate * (1.0 - error_rate)).sqrt();
    assert!((first - count * (1.0 - error_rate)).abs() <= 5.0 * deviation, "{first} of {count} at once");
    let mean = extra.iter().map(|extra| extra.0 as f64 / round_trip as f64).sum::<f64>() / count;
    let expected = harq.mean_tries() - 1.0;
    // The variance of the tries is below 1.5 times their mean beyond one.
    assert!((mean - expected).abs() <= 5.0 * (1.5 * expected / count).sqrt(), "{mean} repeats against {expected}");
}

/// Sends packets that meet no others, at random times within a subframe. Returns when each was
/// sent, and its delay.
fn lone_packets(air: &mut Air, member: MemberId, bytes: u32) -> Vec<(Nanos, Nanos)> {
    let (mut rng, mut now, mut sent) = (rng(7, 7), Nanos::ZERO, vec![]);
    for _ in 0..4000 {
        now += Nanos::from_millis(100) + Nanos(up_to(10 * MS.0 - 1, &mut rng));
        air.send(now, member, bytes);
        sent.push(now);
    }
    air.finish();
    air.arrived.iter().map(|(at, _, number)| (sent[*number as usize], at.since(sent[*number as usize]))).collect()
}

/// Returns the time until the next multiple of `period` milliseconds.
fn wait(now: Nanos, period: u64) -> Nanos {
    Nanos((MS.0 * period - now.0 % (MS.0 * period)) % (MS.0 * period))
}

fn mean_ms(delays: &[(Nanos, Nanos)]) -> f64 {
    delays.iter().map(|(_, delay)| delay.0 as f64 / 1e6).sum::<f64>() / delays.len() as f64
}

/// The delay consists of the wait for the subframe, preparation, transmission, decoding, and 8 ms
/// with each extra try. The mean wait is half a subframe.
#[test]
fn a_lone_packet_to_the_handset() {
    for error_rate in [0.0, 0.1, 0.5] {
        let cell = cell(error_rate);
        let mut air = Air::new(&cell, &[9], None);
        let delays = lone_packets(&mut air, down(0), 1500);
        let extra: Vec<_> = delays.iter().map(|(sent, delay)| *delay - wait(*sent, 1) - BLOCK - DELAY).collect();
        assert_geometric(&extra, &cell.harq(), error_rate);
        let expected = 0.5 + 7.0 + 10.0 + 8.0 * (cell.harq().mean_tries() - 1.0);
        assert!((mean_ms(&delays) - expected).abs() < 0.05 * 8.0, "{} against {expected}", mean_ms(&delays));
    }
}

/// A packet that fits the first grant waits for the opportunity to request, the request, the grant
/// and the block. The mean wait is half the period of 10 ms. The mean delay is 17 ms without
/// repeats, as in 3GPP's TR 36.881.
#[test]
fn a_lone_packet_from_the_handset() {
    for error_rate in [0.0, 0.1] {
        let cell = cell(error_rate);
        let mut air = Air::new(&cell, &[9], None);
        let delays = lone_packets(&mut air, up(0), 52);
        let extra: Vec<_> = delays.iter().map(|(sent, delay)| *delay - wait(*sent, 10) - REQUESTED - DELAY).collect();
        assert_geometric(&extra, &cell.harq(), error_rate);
        let expected = 5.0 + 12.0 + 10.0 + 8.0 * (cell.harq().mean_tries() - 1.0);
        assert!((mean_ms(&delays) - expected).abs() < 0.05 * 10.0, "{} against {expected}", mean_ms(&delays));
    }
}

/// If a packet does not fit the first grant, the report with its first bytes is answered within the
/// round trip of 8 ms.
#[test]
fn a_lone_packet_that_takes_two_grants() {
    let mut air = Air::new(&cell(0.0), &[9], None);
    for (sent, delay) in lone_packets(&mut air, up(0), 1500) {
        assert_eq!(delay, wait(sent, 10) + REQUESTED + Nanos::from_millis(8) + DELAY);
    }
}

/// Later packets wait for earlier ones, so only 80 % have the least delay, where 90 % of blocks are
/// decoded at once.
///
/// A packet leaves every 5 ms, and 10 % of tries fail. A packet has the least delay only if its
/// block and the one 5 ms before are decoded at once. The blocks 10 and 15 ms before need at most
/// two tries, and the one 20 ms before at most three.
#[test]
fn the_least_delay_is_rarer_than_a_first_success() {
    let cell = cell(0.1);
    let mut air = Air::new(&cell, &[15], None);
    const PACKETS: u64 = 40_000;
    for n in 0..PACKETS {
        air.send(Nanos(MS.0 * 5 * n), down(0), 1500);
    }
    air.finish();
    let least = |(at, _, number): &&(Nanos, MemberId, u32)| *at == Nanos(MS.0 * 5 * u64::from(*number)) + BLOCK + DELAY;
    let measured = air.arrived.iter().filter(least).count() as f64 / PACKETS as f64;
    let x = -(0.9f64.ln());
    let (two_fail, three_fail) = (1.0 - 0.9 * (1.0 + x), 1.0 - 0.9 * (1.0 + x + x * x / 2.0));
    let expected = 0.9 * 0.9 * (1.0 - two_fail).powi(2) * (1.0 - three_fail);
    let deviation = (expected * (1.0 - expected) / PACKETS as f64).sqrt();
    // Neighbours depend on each other, which at most doubles the variance.
    assert!((measured - expected).abs() < 5.0 * 2f64.sqrt() * deviation, "{measured} against {expected}");
    assert!(air.arrived.is_sorted_by_key(|(_, _, number)| *number));
}

/// At an error rate of 50 %, 0.58 % of the blocks are given up: 1 - exp(-x) (1 + x + x^2/2 + x^3/6)
/// with x = ln 2.
#[test]
fn what_all_tries_fail_for_is_lost() {
    let cell = cell(0.5);
    let mut air = Air::new(&cell, &[15], None);
    lone_packets(&mut air, down(0), 1500);
    let expected = 4000.0 * cell.harq().residual();
    assert!((f64::from(air.lost) - expected).abs() < 5.0 * expected.sqrt(), "{} against {expected}", air.lost);
    assert_eq!(air.lost + air.arrived.len() as u32, 4000);
}

/// A cell has no events in subframes in which nobody has data.
#[test]
fn an_idle_cell_has_no_events() {
    let mut air = Air::new(&cell(0.1), &[9, 15], None);
    assert_eq!(air.medium.next(), Nanos::NEVER);
    air.send(Nanos::from_millis(3), up(1), 52);
    air.finish();
    assert_eq!((air.medium.next(), air.arrived.len()), (Nanos::NEVER, 1));
}

proptest! {
    /// Every packet arrives, is dropped or is lost, those of a member in order, and the cell comes
    /// to rest.
    #[test]
    fn packets_are_conserved_and_keep_their_order(
        users in prop::collection::vec(1..16u8, 1..5),
        train in prop::collection::vec((0..3000u64, any::<prop::sample::Index>(), 40..1500u32), 1..400),
        limit in prop_oneof![
            Just(None),
            (1..30u64).prop_map(|packets| Some(Limit::Packets(packets))),
            (1500..20_000u64).prop_map(|bytes| Some(Limit::Bytes(Bytes(bytes)))),
        ],
        error_rate in 0.0..0.6,
        scheduler in prop_oneof![Just(Scheduling::ProportionalFair), Just(Scheduling::RoundRobin)],
        bandwidth in prop::sample::select(Bandwidth::NAMES.to_vec()),
    ) {
        let bandwidth = Bandwidth::named(bandwidth).unwrap();
        let mut air = Air::new(&Cell { bandwidth, scheduler, ..cell(error_rate) }, &users, limit);
        let mut now = Nanos::ZERO;
        for (gap, member, bytes) in &train {
            now += Nanos::from_micros(*gap);
            air.send(now, member.index(2 * users.len()) as MemberId, *bytes);
        }
        air.finish();
        prop_assert_eq!(air.arrived.len() as u32 + air.lost + air.dropped, train.len() as u32);
        prop_assert_eq!(air.packets.count(), 0);
        prop_assert!(limit.is_some() || air.dropped == 0);
        for member in 0..2 * users.len() as MemberId {
            let of_member: Vec<_> = air.arrived.iter().filter(|(_, of, _)| *of == member).collect();
            prop_assert!(of_member.is_sorted_by_key(|(_, _, number)| *number));
            prop_assert_eq!(air.medium.member(member).sample(0).waiting, (0, 0));
        }
    }
}
