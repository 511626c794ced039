//! A Wi-Fi cell: an access point and its stations, which share one channel by the rules of IEEE 802.11.
//!
//! Member `2n` of its medium is the direction from the access point to station `n`, member `2n + 1` the one back. An
//! event is the start of a transmission: what it carries, whether it is understood and when the air is idle again are
//! all known then.

mod contention;
mod load;
mod rates;
mod turns;
mod window;

use super::access_control::AccessControl;
use super::member::MemberId;
use super::members::Members;
use crate::packet::{Packet, Pool};
use crate::{Rng, rng};
use contention::Contention;
use load::Load;
use model::radio::ieee80211::{Slot, Standard};
use model::stream;
use model::units::Nanos;
use rates::FrameErrors;
use turns::Turns;
use window::Window;

/// The transmitter that the access point is; station `n` is number `n + 1`.
const ACCESS_POINT: usize = 0;

/// A station, as the access point sees it and it the access point.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    /// The place of its rate among those of the standard.
    pub mode: usize,
    /// Share of the frames with 1500 bytes of IP that are not understood at that rate, 0 to 1.
    pub frame_errors: f64,
}

/// Who transmits when, and what of it arrives.
pub struct Cell {
    standard: Standard,
    slot: Slot,
    stations: Vec<Station>,
    contention: Contention,
    /// By member, what was taken out of the queues for it.
    windows: Vec<Window>,
    /// By transmitter, the receiver to whom the last transmission has failed: it is tried again before all else.
    failed: Vec<Option<MemberId>>,
    /// Whose turn it is at the access point; none if it has one queue for all.
    turns: Option<Turns>,
    errors: Rng,
    /// When a queue that holds packets back is to be asked again.
    ask_at: Nanos,
    /// Room for those that start together.
    attempts: Vec<Attempt>,
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    transmitter: usize,
    member: MemberId,
    /// It goes at the station's own rate.
    at_own_rate: bool,
    load: Load,
}

impl Cell {
    /// An idle cell. `shares_queue` if the access point has one queue for all stations; `purpose` keeps the draws of
    /// this cell apart from those of others of the same seed.
    pub fn new(
        standard: Standard,
        slot: Slot,
        stations: Vec<Station>,
        shares_queue: bool,
        seed: u64,
        purpose: u64,
    ) -> Cell {
        let members = 2 * stations.len();
        Cell {
            standard,
            slot,
            contention: Contention::new(standard, slot, 1 + stations.len(), seed, purpose),
            windows: (0..members).map(|_| Window::default()).collect(),
            failed: vec![None; 1 + stations.len()],
            turns: (!shares_queue).then(|| Turns::new(members)),
            errors: rng(seed, stream::WIFI_ERROR + purpose),
            ask_at: Nanos::NEVER,
            attempts: vec![],
            stations,
        }
    }

    /// The members whose packets a transmitter sends.
    fn members_of(&self, transmitter: usize) -> impl Iterator<Item = MemberId> + use<> {
        let (first, end) = match transmitter {
            ACCESS_POINT => (0, 2 * self.stations.len()),
            station => (2 * station - 1, 2 * station),
        };
        (first as MemberId..end as MemberId).step_by(2)
    }

    /// Whether a transmitter has something to transmit at `now`. `ask_at` is no later than when any of its queues is
    /// done with holding something back, for that queue's receiver has left the round.
    fn has_something(&mut self, transmitter: usize, now: Nanos, members: &Members) -> bool {
        let mut has = false;
        for member in self.members_of(transmitter) {
            let ready = members.next_of(members.queue_of(member), now);
            has |= ready <= now || !self.windows[member as usize].is_empty();
            if ready > now {
                self.ask_at = self.ask_at.min(ready);
            }
        }
        has
    }

    /// Lets those transmitters contend for the air that have something by now.
    fn ask(&mut self, now: Nanos, members: &Members) {
        self.ask_at = Nanos::NEVER;
        for transmitter in 0..self.failed.len() {
            if self.has_something(transmitter, now, members) {
                self.contention.wants(transmitter, now);
            }
        }
        for member in self.members_of(ACCESS_POINT) {
            self.join_turns(member, now, members);
        }
    }

    /// A receiver of the access point takes its turn if something waits for it.
    fn join_turns(&mut self, member: MemberId, now: Nanos, members: &Members) {
        if let Some(turns) = &mut self.turns
            && members.next_of(members.queue_of(member), now) <= now
        {
            turns.join(member);
        }
    }

    /// For whom a transmitter transmits next.
    fn receiver<P: Packet>(
        &mut self,
        transmitter: usize,
        now: Nanos,
        members: &mut Members,
        packets: &mut Pool<P>,
    ) -> Option<MemberId> {
        let windows = &self.windows;
        if let (Some(turns), ACCESS_POINT) = (&mut self.turns, transmitter) {
            let is_ready = |member| members.next_of(members.queue_of(member), now) <= now;
            return turns.next(|member| !windows[member as usize].is_empty() || is_ready(member));
        }
        let oldest = |member: MemberId| Some((windows[member as usize].oldest()?, member));
        if let Some((_, member)) = self.members_of(transmitter).filter_map(oldest).min() {
            return Some(member);
        }
        let queue = members.queue_of(self.members_of(transmitter).next()?);
        let frame = members.dequeue(now, queue, packets)?;
        self.windows[frame.member as usize].push(frame);
        Some(frame.member)
    }

    /// What a transmitter sends at `now`; nothing if a queue discipline has dropped all that it had.
    fn attempt<P: Packet>(
        &mut self,
        transmitter: usize,
        now: Nanos,
        members: &mut Members,
        packets: &mut Pool<P>,
    ) -> Option<Attempt> {
        loop {
            let again = self.failed[transmitter];
            let member = match again {
                Some(member) => member,
                None => self.receiver(transmitter, now, members, packets)?,
            };
            let own_mode = self.stations[member as usize / 2].mode;
            let mode = rates::mode(own_mode, self.windows[member as usize].tries());
            let mut load = Load::new(self.standard, mode);
            self.windows[member as usize].lengths().for_each(|bytes| load.add(bytes));
            if again.is_none() {
                self.fill(&mut load, member, now, members, packets);
            }
            if load.frames > 0 {
                return Some(Attempt { transmitter, member, at_own_rate: mode == own_mode, load });
            }
        }
    }

    /// Adds what waits for the same receiver, up to the first packet that is for another or does not fit.
    fn fill<P: Packet>(
        &mut self,
        load: &mut Load,
        member: MemberId,
        now: Nanos,
        members: &mut Members,
        packets: &mut Pool<P>,
    ) {
        let queue = members.queue_of(member);
        while !load.is_full && self.windows[member as usize].has_room() {
            let Some(frame) = members.dequeue(now, queue, packets) else { return };
            self.windows[frame.member as usize].push(frame);
            if frame.member != member {
                return;
            }
            load.add(frame.bytes);
        }
    }

    /// The transmissions of `attempts` start at the same time, which is a collision if they are several.
    fn transmit(&mut self, now: Nanos, attempts: &[Attempt], members: &mut Members) {
        self.contention.starts(now);
        let longest = attempts.iter().map(|attempt| attempt.load.time()).max().unwrap_or_default();
        let mut idle_at = now + longest + self.standard.extended_space(self.slot);
        for Attempt { transmitter, member, at_own_rate, load } in attempts {
            let Cell { windows, errors, stations, standard, .. } = self;
            let frame_errors = FrameErrors::new(*standard, stations[*member as usize / 2].frame_errors);
            let arrives = |bytes| attempts.len() == 1 && (!at_own_rate || frame_errors.lets_through(bytes, errors));
            let window = &mut windows[*member as usize];
            let is_answered = window.transmit(load.frames, now, arrives, members);
            let outstanding = window.len();
            window.release(now + load.time(), members);
            let fails = !is_answered && window.len() == outstanding;
            let mut end = now + load.time();
            if is_answered {
                end += load.answer_time();
                idle_at = end + standard.interframe_space(self.slot);
            }
            members.get_mut(*member).transmits(now, end);
            if let Some(turns) = &mut self.turns {
                // The station's, whichever direction it was.
                turns.charge(member & !1, end - now);
            }
            members.find_empty(now, members.queue_of(*member));
            self.failed[*transmitter] = fails.then_some(*member);
            let wants = self.has_something(*transmitter, now, members);
            self.contention.draw_after(*transmitter, fails, wants);
        }
        self.contention.ends_at(idle_at);
    }
}

impl AccessControl for Cell {
    fn arrived(&mut self, now: Nanos, member: MemberId, members: &Members) {
        let transmitter = if member.is_multiple_of(2) { ACCESS_POINT } else { 1 + member as usize / 2 };
        if transmitter == ACCESS_POINT {
            self.join_turns(member, now, members);
        }
        if self.has_something(transmitter, now, members) {
            self.contention.wants(transmitter, now);
        }
    }

    fn next(&self) -> Nanos {
        self.contention.next().min(self.ask_at)
    }

    fn step<P: Packet>(&mut self, now: Nanos, members: &mut Members, packets: &mut Pool<P>) {
        if self.ask_at <= now {
            self.ask(now, members);
        }
        let at = self.contention.next();
        if at > now {
            return;
        }
        let mut attempts = std::mem::take(&mut self.attempts);
        for transmitter in 0..self.failed.len() {
            if !self.contention.is_due(transmitter, at) {
                continue;
            }
            match self.attempt(transmitter, at, members, packets) {
                Some(attempt) => attempts.push(attempt),
                None if self.has_something(transmitter, at, members) => {}
                None => self.contention.wants_nothing(transmitter),
            }
        }
        if !attempts.is_empty() {
            self.transmit(at, &attempts, members);
        }
        attempts.clear();
        self.attempts = attempts;
    }
}
