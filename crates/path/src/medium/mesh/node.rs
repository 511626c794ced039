//! A node of a mesh: what its radio does at the moment, and what it has counted.

use super::relayed::Relayed;
use crate::medium::members::Frame;
use crate::{Rng, rng};
use model::mesh::Times;
use model::radio::ieee802154::phy;
use model::units::Nanos;

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
    /// The end of its last transmission.
    pub transmits_until: Nanos,
    pub is_down: bool,
    pub is_asleep: bool,
    /// It does not fall asleep before.
    pub awake_until: Nanos,
    /// When it wakes up next, or should have.
    pub wakes_at: Nanos,
    pub back_off: Rng,
    /// What it forwards upward.
    pub relayed: Relayed,
    /// What the border router has told it last.
    pub heard_rate: u32,
    pub counted: Counted,
}

impl Outgoing {
    /// Has the neighbour got all of it?
    pub fn has_come(&self) -> bool {
        self.is_received && self.fragment + 1 == self.fragments
    }
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
            transmits_until: Nanos::ZERO,
            is_down: false,
            is_asleep: false,
            awake_until: Nanos::ZERO,
            wakes_at: Nanos::ZERO,
            back_off: rng(seed, purpose),
            relayed: Relayed::default(),
            heard_rate: 0,
            counted: Counted { from, to, ..Counted::default() },
        }
    }

    /// Has it nothing to do?
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Idle && self.outgoing.is_none() && self.answer.is_none()
    }

    /// Does its radio listen?
    pub fn listens(&self) -> bool {
        let is_off = self.is_down || self.is_asleep;
        !is_off && self.answer.is_none() && !matches!(self.state, State::Turnaround | State::Transmission)
    }

    /// It goes down, with nothing of its own on the air; gives the packet that it was about to send.
    pub fn go_down(&mut self, now: Nanos) -> Option<Outgoing> {
        if self.is_asleep {
            self.is_asleep = false;
            self.counted.wakes_up(now);
        }
        self.is_down = true;
        self.counted.goes_down(now);
        (self.state, self.answer) = (State::Idle, None);
        (self.relayed, self.heard_rate) = (Relayed::default(), 0);
        self.outgoing.take()
    }

    /// It is back.
    pub fn come_up(&mut self, now: Nanos) {
        self.is_down = false;
        self.counted.comes_up(now);
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
    slept: Spell,
    down: Spell,
}

/// How long something has lasted in the interval, and since when it does, if it does.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    over: Nanos,
    since: Option<Nanos>,
}

impl Counted {
    /// Is it inside the interval?
    pub fn covers(&self, now: Nanos) -> bool {
        self.from <= now && now < self.to
    }

    /// It has turned round before `start`, and transmits until `end`.
    pub fn transmits(&mut self, start: Nanos, end: Nanos) {
        let start = start.since(phy::TURNAROUND);
        self.transmitted += end.min(self.to).since(start.max(self.from));
    }

    /// It falls asleep.
    pub fn falls_asleep(&mut self, now: Nanos) {
        self.slept.since = Some(now);
    }

    /// It wakes up.
    pub fn wakes_up(&mut self, now: Nanos) {
        self.slept = Spell { over: self.lasted(self.slept, now), since: None };
    }

    /// It goes down.
    pub fn goes_down(&mut self, now: Nanos) {
        self.down.since = Some(now);
    }

    /// It is back.
    pub fn comes_up(&mut self, now: Nanos) {
        self.down = Spell { over: self.lasted(self.down, now), since: None };
    }

    fn lasted(&self, spell: Spell, now: Nanos) -> Nanos {
        spell.over + spell.since.map_or(Nanos::ZERO, |since| now.min(self.to).since(since.max(self.from)))
    }

    /// How long its radio was in each state.
    pub fn times(&self) -> Times {
        let (slept, down) = (self.lasted(self.slept, self.to), self.lasted(self.down, self.to));
        let listened = (self.to - self.from).since(slept + down + self.transmitted);
        Times { transmitted: self.transmitted, listened, slept, down }
    }
}
