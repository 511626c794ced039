//! A node of a mesh: what its radio does at the moment, and what it has counted.

use super::relayed::Relayed;
use crate::medium::members::Frame;
use crate::{Rng, rng};
use scenario::mesh::{Times, radio};
use scenario::units::Nanos;

/// What a node is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has nothing to send, or leaves the space behind a frame; then it looks into its queue.
    Idle,
    /// It backs off, and assesses the channel at the end.
    BackOff,
    /// The channel was clear: its radio turns round.
    Turnaround,
    /// It transmits a frame.
    Transmission,
    /// It waits for the acknowledgement.
    AckWait,
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub frame: Frame,
    /// The neighbour that it is for.
    pub to: usize,
    /// IP length with what the border router has added.
    pub bytes: u32,
    /// The fragment that is sent, of so many.
    pub fragment: u32,
    pub fragments: u32,
    /// How often that was sent before.
    pub retries: u32,
    /// The neighbour has got the fragment, whether the node knows that or not.
    pub is_received: bool,
    /// Until when the frame is repeated, so that a neighbour wakes up meanwhile.
    pub repeats_until: Option<Nanos>,
}

/// An acknowledgement that a node owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub to: usize,
    /// It is on the air.
    pub is_sent: bool,
}

/// A node.
pub(super) struct Node {
    pub state: State,
    pub outgoing: Option<Outgoing>,
    /// The end of the space behind its last frame.
    pub rests_until: Nanos,
    /// NB and BE of the standard: how often the channel was busy, and the exponent of the next back-off.
    pub busy: u32,
    pub exponent: u32,
    pub answer: Option<Answer>,
    pub is_asleep: bool,
    /// It does not fall asleep before.
    pub awake_until: Nanos,
    /// When it wakes up next, or should have.
    pub wakes_at: Nanos,
    pub back_off: Rng,
    /// What it forwards upward.
    pub relayed: Relayed,
    pub counted: Counted,
}

impl Node {
    /// One that has nothing to send. `purpose` keeps its draws apart from those of others of the same seed.
    pub fn new(seed: u64, purpose: u64, from: Nanos, to: Nanos) -> Node {
        Node {
            state: State::Idle,
            outgoing: None,
            rests_until: Nanos::ZERO,
            busy: 0,
            exponent: 0,
            answer: None,
            is_asleep: false,
            awake_until: Nanos::ZERO,
            wakes_at: Nanos::ZERO,
            back_off: rng(seed, purpose),
            relayed: Relayed::default(),
            counted: Counted { from, to, ..Counted::default() },
        }
    }

    /// Has it nothing to do?
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Idle && self.outgoing.is_none() && self.answer.is_none()
    }

    /// Does its radio listen?
    pub fn listens(&self) -> bool {
        !self.is_asleep && self.answer.is_none() && !matches!(self.state, State::Turnaround | State::Transmission)
    }
}

/// What a node has counted in the measuring interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    from: Nanos,
    to: Nanos,
    /// Frames with data, and those of them that were not their first try.
    pub frames: u64,
    pub retries: u64,
    /// Packets given up because the channel was busy, or because a frame was not acknowledged.
    pub channel_failures: u64,
    pub unacknowledged: u64,
    /// The time of its transmissions, each with the turnaround before it.
    transmitted: Nanos,
    slept: Nanos,
    /// When it fell asleep, if it sleeps.
    asleep_since: Option<Nanos>,
}

impl Counted {
    /// Is it inside the interval?
    pub fn covers(&self, now: Nanos) -> bool {
        self.from <= now && now < self.to
    }

    /// It has turned round before `start`, and transmits until `end`.
    pub fn transmits(&mut self, start: Nanos, end: Nanos) {
        let start = start.since(radio::TURNAROUND);
        self.transmitted += end.min(self.to).since(start.max(self.from));
    }

    /// It falls asleep.
    pub fn falls_asleep(&mut self, now: Nanos) {
        self.asleep_since = Some(now);
    }

    /// It wakes up.
    pub fn wakes_up(&mut self, now: Nanos) {
        self.slept += self.asleep_until(now);
        self.asleep_since = None;
    }

    fn asleep_until(&self, now: Nanos) -> Nanos {
        self.asleep_since.map_or(Nanos::ZERO, |since| now.min(self.to).since(since.max(self.from)))
    }

    /// How long its radio was in each state.
    pub fn times(&self) -> Times {
        let slept = self.slept + self.asleep_until(self.to);
        let listened = (self.to - self.from).since(slept + self.transmitted);
        Times { transmitted: self.transmitted, listened, slept }
    }
}
