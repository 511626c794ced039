//! The radio channel of a mesh: the transmissions on the air, their sum at each node, and the frame
//! that each node receives.
//!
//! A node that listens receives the first frame that is strong enough at its beginning, and no
//! other meanwhile. A stronger frame that begins later does not take over, but spoils the first:
//! the CC2420 does not look for a new start of frame. A frame gets through by chance, bit by bit,
//! depending on its ratio to noise and interference at each time.

use crate::Rng;
use crate::loss::threshold;
use model::radio::ieee802154::phy;
use model::units::Nanos;
use rand::RngCore;

/// Signal strength in attowatts. Whole numbers add up to one sum in any order, and return to zero.
type Attowatts = u64;

/// The air ignores signals this many dB below the noise.
const NEGLIGIBLE: f64 = 20.0;
/// Ratio of signal to noise above which bit errors are too rare for a run to notice.
const CLEAN: f64 = 8.0;

fn attowatts(dbm: f64) -> Attowatts {
    (1e15 * phy::from_decibels(dbm)).round() as Attowatts
}

/// A node within reach of a transmitter, and the strength there.
#[derive(Clone, Copy, Debug)]
struct Reach {
    node: usize,
    strength: Attowatts,
    /// Whether the node may decode the signal.
    is_heard: bool,
}

/// A frame that a node is receiving.
#[derive(Clone, Copy, Debug)]
struct Reception {
    from: usize,
    strength: Attowatts,
    /// Whether the frame is for this node; the success of other frames does not matter.
    is_wanted: bool,
    /// The time up to which `success` counts.
    settled: Nanos,
    /// The probability that all bits so far are right.
    success: f64,
}

/// The time until which a node's channel is busy.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    until: Nanos,
    /// When the latest transmissions began.
    begun: Nanos,
    /// The time until which the channel is busy without the transmissions that began at `begun`.
    before: Nanos,
}

impl Busy {
    fn starts(&mut self, now: Nanos, end: Nanos) {
        if self.begun != now {
            (self.begun, self.before) = (now, self.until);
        }
        self.until = self.until.max(end);
    }
}

/// The radio channel that all nodes of a mesh share.
pub(super) struct Air {
    /// The nodes that each node reaches.
    reaches: Vec<Vec<Reach>>,
    noise: Attowatts,
    /// Weight of interference relative to noise of the same strength.
    weight: f64,
    /// The sum of the strengths on the air at each node.
    strengths: Vec<Attowatts>,
    /// How long each node hears a transmission, or makes one.
    busy: Vec<Busy>,
    /// Whether the radio of each node listens.
    listens: Vec<bool>,
    receptions: Vec<Option<Reception>>,
    rng: Rng,
}

impl Air {
    /// Creates an idle channel. `signals` has the strength in dBm of each node (row) at each other
    /// (column).
    pub fn new(signals: &[Vec<Option<f64>>], rng: Rng) -> Air {
        let nodes = signals.len();
        let reach = |(node, signal): (usize, &Option<f64>)| {
            let dbm = signal.filter(|dbm| *dbm > phy::NOISE - NEGLIGIBLE)?;
            Some(Reach { node, strength: attowatts(dbm), is_heard: dbm >= phy::SENSITIVITY })
        };
        Air {
            reaches: signals.iter().map(|row| row.iter().enumerate().filter_map(reach).collect()).collect(),
            noise: attowatts(phy::NOISE),
            weight: phy::from_decibels(phy::INTERFERER_COUNTS),
            strengths: vec![0; nodes],
            busy: vec![Busy::default(); nodes],
            listens: vec![true; nodes],
            receptions: vec![None; nodes],
            rng,
        }
    }

    /// Reports whether a node heard or made a transmission between `since` and the present, `now`.
    pub fn was_busy(&self, node: usize, since: Nanos, now: Nanos) -> bool {
        let Busy { until, begun, before } = self.busy[node];
        since < if begun == now { before } else { until }
    }

    /// Reports whether a node is receiving a frame.
    pub fn receives(&self, node: usize) -> bool {
        self.receptions[node].is_some()
    }

    /// Stops a node from listening, so that it can transmit or sleep. A frame that it was receiving
    /// is lost.
    pub fn stop_listening(&mut self, node: usize) {
        self.listens[node] = false;
        self.receptions[node] = None;
    }

    /// Lets a node listen again, to frames that begin from now on.
    pub fn listen(&mut self, node: usize) {
        self.listens[node] = true;
    }

    /// Starts a transmission from one node to another at `now`, which will end at `end`.
    pub fn starts(&mut self, now: Nanos, end: Nanos, from: usize, to: usize) {
        self.busy[from].starts(now, end);
        for place in 0..self.reaches[from].len() {
            let Reach { node, strength, is_heard } = self.reaches[from][place];
            self.settle(node, now);
            let before = self.strengths[node];
            self.strengths[node] += strength;
            if !is_heard {
                continue;
            }
            self.busy[node].starts(now, end);
            if self.listens[node] && self.receptions[node].is_none() && self.ratio(strength, before) >= 1.0 {
                let is_wanted = node == to;
                self.receptions[node] = Some(Reception { from, strength, is_wanted, settled: now, success: 1.0 });
            }
        }
    }

    /// Ends the transmission of a node at `now`. Returns true if the node that it was for has
    /// understood it.
    pub fn ends(&mut self, now: Nanos, from: usize) -> bool {
        let mut understood = false;
        for place in 0..self.reaches[from].len() {
            let Reach { node, strength, .. } = self.reaches[from][place];
            self.settle(node, now);
            self.strengths[node] -= strength;
            if let Some(reception) = self.receptions[node].filter(|reception| reception.from == from) {
                self.receptions[node] = None;
                understood |= reception.is_wanted && self.draws(reception.success);
            }
        }
        understood
    }

    fn draws(&mut self, success: f64) -> bool {
        success >= 1.0 || self.rng.next_u64() < threshold(success)
    }

    /// Returns the ratio of a signal to noise and to interference of strength `others`.
    fn ratio(&self, strength: Attowatts, others: Attowatts) -> f64 {
        strength as f64 / (self.noise as f64 + self.weight * others as f64)
    }

    /// Counts the bits of the frame that a node is receiving up to `now`, before the strengths on
    /// the air change.
    fn settle(&mut self, node: usize, now: Nanos) {
        let Some(Reception { strength, is_wanted: true, settled, .. }) = self.receptions[node] else { return };
        let ratio = self.ratio(strength, self.strengths[node] - strength);
        if let Some(reception) = &mut self.receptions[node] {
            reception.settled = now;
            if ratio < CLEAN && now > settled {
                let bytes = (now - settled).0 as f64 / phy::BYTE.0 as f64;
                reception.success *= phy::success(ratio, bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    const MS: Nanos = Nanos::from_millis(1);

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// Three nodes on a line: 0 and 2 hear 1 but not each other, and 1 hears both.
    fn hidden(first: f64, second: f64) -> Air {
        let signals =
            vec![vec![None, Some(first), None], vec![Some(first), None, Some(second)], vec![None, Some(second), None]];
        Air::new(&signals, rng(1, 0))
    }

    #[test]
    fn a_lone_frame_is_understood() {
        let mut air = hidden(-80.0, -80.0);
        air.starts(at(0), at(4), 0, 1);
        assert!(!air.was_busy(1, at(0), at(0)), "it only begins");
        assert!(air.was_busy(1, at(0), at(1)) && air.was_busy(1, at(3), at(5)) && !air.was_busy(1, at(4), at(5)));
        assert!(!air.was_busy(2, at(0), at(1)), "it does not hear that");
        assert!(air.ends(at(4), 0));
        assert_eq!(air.strengths, [0, 0, 0]);
    }

    #[test]
    fn hidden_nodes_spoil_each_others_frames() {
        let mut air = hidden(-80.0, -80.0);
        air.starts(at(0), at(4), 0, 1);
        air.starts(at(3), at(7), 2, 1);
        assert!(!air.ends(at(4), 0));
        assert!(!air.ends(at(7), 2), "the node was receiving the other when this began");
    }

    /// At the co-channel rejection of 3 dB, 1 frame in 100 is lost; 6 dB are ample.
    #[test]
    fn a_frame_that_is_stronger_by_far_is_captured_if_it_is_the_first() {
        let mut air = hidden(-74.0, -80.0);
        air.starts(at(0), at(4), 0, 1);
        air.starts(at(1), at(5), 2, 1);
        assert!(air.ends(at(4), 0));
        assert!(!air.ends(at(5), 2));
        air.starts(at(10), at(14), 2, 1);
        air.starts(at(11), at(15), 0, 1);
        assert!(!air.ends(at(14), 2), "a stronger one spoils it");
        assert!(!air.ends(at(15), 0), "and is not looked for");
    }

    #[test]
    fn who_transmits_or_turns_round_hears_nothing() {
        let mut air = hidden(-80.0, -80.0);
        air.stop_listening(1);
        air.starts(at(0), at(4), 0, 1);
        air.listen(1);
        assert!(!air.ends(at(4), 0), "the beginning is missed");
        air.starts(at(5), at(9), 0, 1);
        air.stop_listening(1);
        air.listen(1);
        assert!(!air.ends(at(9), 0), "the middle is missed");
        air.starts(at(10), at(14), 0, 1);
        assert!(air.ends(at(14), 0));
    }

    /// At the receiver's sensitivity, 1 in 100 frames of 20 bytes with a header of 6 is lost.
    #[test]
    fn frames_at_the_sensitivity_are_lost_as_the_data_sheet_says() {
        let mut air = hidden(phy::SENSITIVITY, -80.0);
        let time = phy::air_time(20);
        let mut lost = 0;
        for number in 0..20_000 {
            let start = Nanos(10 * MS.0 * number);
            air.starts(start, start + time, 0, 1);
            lost += u32::from(!air.ends(start + time, 0));
        }
        assert!((150..250).contains(&lost), "{lost} of 20000");
    }
}
