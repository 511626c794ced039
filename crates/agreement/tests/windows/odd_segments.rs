//! Sends segments of every kind, whole, odd and malformed, in a seeded random order. A right checksum must stay right,
//! only windows may become smaller, and no right edge may move back.

use super::segments::{
    ACK, ETHERNET, Programs, RST, Read, SYN, Segment, on_a_router, read, timestamps, window_controller,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;

const SEEDED: u64 = 17;
/// The number of segments, half of them with each window controller.
const SEGMENTS: u32 = 1_000_000;
const HOSTS: u16 = 10;
/// The largest window (RFC 7323, section 2.3): two edges that are farther apart do not belong to one stream.
const FAR: i64 = 1 << 30;

/// The scale and right edge that the sender of a connection has seen.
#[derive(Default)]
struct Shown {
    /// The scale that our SYN offered; `scale` is the one agreed on by the answer.
    offered: u8,
    scale: Option<u8>,
    edge: Option<u32>,
}

/// Checks outgoing segments, with the knowledge of an observer on the path.
#[derive(Default)]
struct Watcher {
    connections: HashMap<Vec<u8>, Shown>,
    lowered: usize,
    left_alone: usize,
    /// The number of right edges that would have moved back if the window had not been raised to the edge shown before.
    held: usize,
}

impl Watcher {
    fn came(&mut self, frame: &[u8]) {
        let Some(read) = read(frame).filter(|read| read.flags & (SYN | ACK | RST) == SYN | ACK) else { return };
        if let Some(shown) = self.connections.get_mut(&reversed(&read)).filter(|shown| shown.scale.is_none()) {
            shown.scale = Some(if read.scale.is_some() { shown.offered } else { 0 });
        }
    }

    fn left(&mut self, before: &[u8], after: &[u8]) {
        assert_eq!(before.len(), after.len());
        let Some(read_before) = read(before) else {
            assert_eq!(before, after, "what is no segment was changed");
            self.left_alone += 1;
            return;
        };
        let read_after = read(after).expect("a segment stays one");
        let at = read_after.at;
        let same = |range: std::ops::Range<usize>| assert_eq!(before[range.clone()], after[range], "{read_before:?}");
        same(0..at + 14);
        same(at + 18..before.len());
        assert_eq!(read_before.sum, read_after.sum, "a checksum is no more what it was: {read_before:?}");
        assert!(read_after.window <= read_before.window);
        match read_before.flags {
            flags if flags & RST != 0 || flags & (SYN | ACK) == 0 => assert_eq!(before, after),
            flags if flags & SYN != 0 => {
                assert_eq!(before, after, "a SYN's window has no scale");
                let offered = read_before.scale.unwrap_or(0).min(14);
                let scale = (flags & ACK != 0).then_some(offered);
                let edge = scale.map(|_| read_before.ack.wrapping_add(read_before.window.into()));
                self.connections.insert(read_before.ends, Shown { offered, scale, edge });
            }
            _ => self.acknowledged(&read_before, &read_after),
        }
    }

    fn acknowledged(&mut self, before: &Read, after: &Read) {
        let shown = self.connections.entry(before.ends.clone()).or_default();
        let Some(scale) = shown.scale else {
            assert_eq!(before, after, "the scale is not known");
            return;
        };
        let edge = |read: &Read| read.ack.wrapping_add(u32::from(read.window) << scale);
        let left = shown.edge.map(|edge| i64::from(edge.wrapping_sub(before.ack) as i32));
        match left.filter(|left| left.abs() <= FAR) {
            None => {
                assert_eq!(before, after, "what was shown before is not known");
                shown.edge = Some(edge(after));
            }
            Some(left) => {
                let most = left.min(i64::from(u32::from(before.window) << scale));
                assert!(i64::from(u32::from(after.window) << scale) >= most, "{before:?} {after:?} moves back");
                self.held += usize::from(after.window < before.window && most > 0);
                if (edge(after).wrapping_sub(shown.edge.unwrap_or_default()) as i32) > 0 {
                    shown.edge = Some(edge(after));
                }
            }
        }
        self.lowered += usize::from(after.window < before.window);
    }
}

/// Returns both ends of a segment in the order of the other direction.
fn reversed(read: &Read) -> Vec<u8> {
    let (addresses, ports) = read.ends.split_at(read.ends.len() - 4);
    let (from, to) = addresses.split_at(addresses.len() / 2);
    [to, from, &ports[2..], &ports[..2]].concat()
}

/// Makes segments of connections, mostly with increasing sequence numbers.
struct Maker {
    random: SmallRng,
    acks: HashMap<(u16, u16), u32>,
    /// The latest timestamp of each connection.
    clocks: HashMap<(u16, u16), u32>,
}

impl Maker {
    /// Makes a frame, and returns whether it leaves.
    fn frame(&mut self) -> (Vec<u8>, bool) {
        let leaves = self.random.random_bool(0.6);
        let (near, far) = ((self.random.random_range(0..HOSTS), 40_000), (1000 + self.random.random_range(0..2), 443));
        let mut segment = if leaves { Segment::new(near, far, 0) } else { Segment::new(far, near, 0) };
        segment.v6 = near.0 % 2 == 1;
        segment.flags = match self.random.random_range(0..100) {
            0..3 => SYN,
            3..6 => SYN | ACK,
            6..8 => self.random.random(),
            _ => ACK,
        };
        let ack = self.acks.entry((near.0, far.0)).or_insert_with(|| self.random.random());
        *ack = match self.random.random_range(0..200) {
            0 => self.random.random(),
            1..6 => ack.wrapping_sub(self.random.random_range(0..100_000)),
            _ => ack.wrapping_add(self.random.random_range(0..3000)),
        };
        (segment.ack, segment.seq) = (*ack, *ack);
        segment.window = if self.random.random_bool(0.1) { self.random.random() } else { 0xf000 };
        segment.payload = [0, 0, 1, 536, 1448][self.random.random_range(0..5)];
        let clock = self.clocks.entry((near.0, far.0)).or_default();
        *clock += u32::from(leaves);
        let clock = *clock;
        segment.options = self.options(segment.flags, clock);
        let mut frame = segment.frame();
        if self.random.random_bool(0.3) {
            self.damage(&mut frame);
        }
        (frame, leaves)
    }

    /// Makes the options of a segment; `clock` is the latest timestamp.
    fn options(&mut self, flags: u8, clock: u32) -> Vec<u8> {
        let mut options = match self.random.random_range(0..10) {
            0 => vec![],
            1 => (0..self.random.random_range(0..40)).map(|_| self.random.random_range(0..12)).collect(),
            2 => [timestamps(1, 2), vec![1, 1, 5, 10], (0..8).map(|_| self.random.random()).collect()].concat(),
            _ => timestamps(clock, clock.saturating_sub(self.random.random_range(0..3))),
        };
        if flags & SYN != 0 && self.random.random_bool(0.9) {
            options.truncate(36);
            options.splice(0..0, [1, 3, 3, self.random.random_range(0..16)]);
        }
        options.resize(options.len().next_multiple_of(4).min(40), 0);
        options
    }

    /// Makes a frame malformed: cut off, longer than its lengths say, or with other lengths, flags, fragments or
    /// extension headers.
    fn damage(&mut self, frame: &mut Vec<u8>) {
        match self.random.random_range(0..5) {
            // The kernel runs no program on a frame that ends within its IP header.
            0 => frame.truncate(self.random.random_range(ETHERNET + least_ip(frame)..=frame.len())),
            1 => frame.extend((0..self.random.random_range(1..40)).map(|byte| byte as u8)),
            2 => frame[20] = self.random.random(),
            3 => {
                let at = self.random.random_range(ETHERNET + 2..ETHERNET + 8);
                frame[at] = self.random.random();
            }
            _ => {
                for _ in 0..self.random.random_range(1..4) {
                    let at = self.random.random_range(12..frame.len());
                    frame[at] = self.random.random();
                }
            }
        }
    }
}

/// Returns the length of the frame's IP header without options, bytes.
fn least_ip(frame: &[u8]) -> usize {
    if frame[12] == 0x86 { 40 } else { 20 }
}

/// Checks a window controller that lowers every window, and one that estimates.
#[test]
fn odd_segments_keep_their_checksums_and_right_edges() {
    for (controller, params) in [("static", &[("most", 4)][..]), ("rtac", &[("bdp", 2)])] {
        let programs = on_a_router(&window_controller(controller, params));
        let programs = Programs::of(&programs);
        let random = SmallRng::seed_from_u64(SEEDED);
        let mut maker = Maker { random, acks: HashMap::new(), clocks: HashMap::new() };
        let mut watcher = Watcher::default();
        for _ in 0..SEGMENTS / 2 {
            let (frame, leaves) = maker.frame();
            if leaves {
                watcher.left(&frame, &programs.leaves(&frame));
            } else {
                let gso_size = if maker.random.random_bool(0.1) { 1448 } else { 0 };
                assert_eq!(programs.comes(&frame, gso_size), frame, "what comes stays as it is");
                watcher.came(&frame);
            }
        }
        let Watcher { lowered, left_alone, held, .. } = watcher;
        eprintln!("{controller}: {lowered} lowered, {held} of them to what had been shown, {left_alone} no segments");
        assert!(lowered > 100 && held > 50 && left_alone > 100, "the segments do not show what they are for");
    }
}
