//! A node of a mesh: the state of its radio, and its counters.

use super::relayed::Relayed;
use crate::medium::members::Frame;
use crate::{Rng, rng};
use model::mesh::Times;
use model::radio::ieee802154::phy;
use model::units::Nanos;

/// The activity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has nothing to send, or waits for the end of the space behind a frame; then it takes a
    /// packet from its queue.
    Idle,
    /// It backs off, and assesses the channel at the end.
    BackOff,
    /// The channel was clear: its radio switches from receiving to transmitting.
    Turnaround,
    /// It transmits a frame.
    Transmission,
    /// It waits for the acknowledgement of a frame.
    AckWait,
}

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub frame: Frame,
    /// The neighbour that the packet is for.
    pub to: usize,
    /// IP length with the bytes that the border router has added.
    pub bytes: u32,
    /// Number of the fragment under way, from 0 to below `fragments`.
    pub fragment: u32,
    pub fragments: u32,
    /// How often the fragment was sent before.
    pub retries: u32,
    /// Whether the neighbour has got the fragment, even if the node does not know that.
    pub is_received: bool,
    /// The time until which the frame is repeated, so that a sleeping neighbour wakes up meanwhile.
    pub repeats_until: Option<Nanos>,
}

/// An acknowledgement that a node owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub to: usize,
    /// Whether the acknowledgement is on the air.
    pub is_sent: bool,
}

/// A node of a mesh.
pub(super) struct Node {
    pub state: State,
    pub outgoing: Option<Outgoing>,
    /// The end of the space behind the node's last frame.
    pub rests_until: Nanos,
    /// NB of the standard: how often the channel was busy. `exponent` is BE, the exponent of the
    /// next back-off.
    pub busy: u32,
    pub exponent: u32,
    pub answer: Option<Answer>,
    /// The end of the node's last transmission.
    pub transmits_until: Nanos,
    pub is_down: bool,
    pub is_asleep: bool,
    /// The time before which the node does not fall asleep.
    pub awake_until: Nanos,
    /// When the node wakes up next, or should have.
    pub wakes_at: Nanos,
    pub back_off: Rng,
    /// The packets that the node forwards upward.
    pub relayed: Relayed,
    /// The last rate that the border router announced to the node, in thousandths of a packet a
    /// second.
    pub heard_rate: u32,
    pub counted: Counted,
}

impl Outgoing {
    /// Reports whether the neighbour has got the whole packet.
    pub fn has_come(&self) -> bool {
        self.is_received && self.fragment + 1 == self.fragments
    }
}

impl Node {
    /// Creates a node that has nothing to send. `purpose` selects the random stream of its draws.
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

    /// Reports whether the node has nothing to do.
    pub fn is_at_rest(&self) -> bool {
        self.state == State::Idle && self.outgoing.is_none() && self.answer.is_none()
    }

    /// Reports whether the node's radio listens.
    pub fn listens(&self) -> bool {
        let is_off = self.is_down || self.is_asleep;
        !is_off && self.answer.is_none() && !matches!(self.state, State::Turnaround | State::Transmission)
    }

    /// Takes the node down while none of its frames is on the air. Returns the packet that it was
    /// about to send.
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

    /// Brings the node up again.
    pub fn come_up(&mut self, now: Nanos) {
        self.is_down = false;
        self.counted.comes_up(now);
    }
}

/// The counters of a node in the measuring interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    from: Nanos,
    to: Nanos,
    /// Frames with data; `retries` counts those that were not the first try.
    pub frames: u64,
    pub retries: u64,
    /// Packets given up because the channel was busy; `unacknowledged` counts those without an
    /// acknowledgement.
    pub channel_failures: u64,
    pub unacknowledged: u64,
    /// Time of the transmissions, each with the turnaround before it.
    transmitted: Nanos,
    slept: Spell,
    down: Spell,
}

/// How long a condition lasted in the interval, and since when it lasts, if it does.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    over: Nanos,
    since: Option<Nanos>,
}

impl Counted {
    /// Reports whether a time is inside the measuring interval.
    pub fn covers(&self, now: Nanos) -> bool {
        self.from <= now && now < self.to
    }

    /// Counts a transmission from `start` to `end`, and the turnaround before it.
    pub fn transmits(&mut self, start: Nanos, end: Nanos) {
        let start = start.since(phy::TURNAROUND);
        self.transmitted += end.min(self.to).since(start.max(self.from));
    }

    /// Starts the time asleep.
    pub fn falls_asleep(&mut self, now: Nanos) {
        self.slept.since = Some(now);
    }

    /// Ends the time asleep.
    pub fn wakes_up(&mut self, now: Nanos) {
        self.slept = Spell { over: self.lasted(self.slept, now), since: None };
    }

    /// Starts the time down.
    pub fn goes_down(&mut self, now: Nanos) {
        self.down.since = Some(now);
    }

    /// Ends the time down.
    pub fn comes_up(&mut self, now: Nanos) {
        self.down = Spell { over: self.lasted(self.down, now), since: None };
    }

    fn lasted(&self, spell: Spell, now: Nanos) -> Nanos {
        spell.over + spell.since.map_or(Nanos::ZERO, |since| now.min(self.to).since(since.max(self.from)))
    }

    /// Returns how long the radio was in each state.
    pub fn times(&self) -> Times {
        let (slept, down) = (self.lasted(self.slept, self.to), self.lasted(self.down, self.to));
        let listened = (self.to - self.from).since(slept + down + self.transmitted);
        Times { transmitted: self.transmitted, listened, slept, down }
    }
}
