//! A Wi-Fi cell: an access point and its stations, which share one channel by the rules of IEEE 802.11.
//!
//! Member `2n` of its medium is the direction from the access point to station `n`, member `2n + 1`
//! the direction back. Each event is the start of a transmission. Its frames, their fate, and the
//! time at which the air is idle again are all known at that moment.

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

/// The access point's number as a transmitter; station `n` has the number `n + 1`.
const ACCESS_POINT: usize = 0;

/// The radio conditions between a station and the access point, equal in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    /// Index of the station's rate among those of the standard.
    pub mode: usize,
    /// Share of the frames with 1500 bytes of IP that fail at that rate, 0 to 1.
    pub frame_errors: f64,
}

/// Decides who transmits when, and which frames arrive.
pub struct Cell {
    standard: Standard,
    slot: Slot,
    stations: Vec<Station>,
    contention: Contention,
    /// The frames of each member that have left its queue but are not done.
    windows: Vec<Window>,
    /// The receiver of each transmitter's last transmission, if it failed. The next one is to that
    /// receiver again.
    failed: Vec<Option<MemberId>>,
    /// The round of receivers at the access point; none if it has one queue for all stations.
    turns: Option<Turns>,
    errors: Rng,
    /// When to poll a queue again that holds packets back.
    ask_at: Nanos,
    /// Buffer for the transmissions that start together.
    attempts: Vec<Attempt>,
}

/// A transmission by one transmitter to one receiver.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    transmitter: usize,
    member: MemberId,
    /// Whether it uses the station's own rate.
    at_own_rate: bool,
    load: Load,
}

impl Cell {
    /// Creates an idle cell. Set `shares_queue` if the access point has one queue for all stations.
    /// `purpose` selects the random stream of the cell's draws.
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

    /// Lists the members whose packets a transmitter sends.
    fn members_of(&self, transmitter: usize) -> impl Iterator<Item = MemberId> + use<> {
        let (first, end) = match transmitter {
            ACCESS_POINT => (0, 2 * self.stations.len()),
            station => (2 * station - 1, 2 * station),
        };
        (first as MemberId..end as MemberId).step_by(2)
    }

    /// Reports whether a transmitter has data to transmit at `now`. A queue that holds its packets
    /// back sets `ask_at`, because its receiver has left the round.
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

    /// Lets every transmitter that has data by now contend for the air.
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

    /// Adds a receiver of the access point to the round if a packet waits for it.
    fn join_turns(&mut self, member: MemberId, now: Nanos, members: &Members) {
        if let Some(turns) = &mut self.turns
            && members.next_of(members.queue_of(member), now) <= now
        {
            turns.join(member);
        }
    }

    /// Chooses the receiver of a transmitter's next transmission.
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

    /// Assembles a transmitter's next transmission at `now`; none if a queue discipline has dropped
    /// all packets.
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

    /// Adds packets for the same receiver, up to the first that is for another or does not fit.
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

    /// Starts the transmissions of `attempts`; several of them collide.
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
                // The turn of the station, in whichever direction.
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
