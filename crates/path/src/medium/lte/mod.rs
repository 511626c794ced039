//! An LTE cell, frequency division duplex: a base station divides subframes of 1 ms among its users, in either
//! direction.
//!
//! The capacity of a transport block is in `model::lte`, with the sections of 3GPP's
//! specifications. A `bearer` cuts packets and reassembles them as RLC does. A block that cannot
//! be decoded is repeated 8 ms later, and all blocks behind it wait. The `scheduler` chooses who
//! sends. A handset sends a request before it may transmit, and then reports its backlog
//! (`grants`).
//!
//! The model leaves out fading channels (a recorded trace has them), more than one layer of MIMO, a
//! handset's limited power and discontinuous reception. It also leaves out RLC's own
//! acknowledgements: a block that HARQ gives up is lost.

mod bearer;
mod carrier;
mod grants;
mod repeats;
mod scheduler;

use super::access_control::AccessControl;
use super::member::MemberId;
use super::members::Members;
use crate::packet::{Packet, Pool};
use bearer::Bearer;
use carrier::Carrier;
use grants::Grants;
use model::lte;
use model::radio::lte::{Cqi, Direction, SUBFRAME};
use model::stream;
use model::units::Nanos;

/// Remainder of a downlink member's number divided by two; `UP` is that of an uplink member.
const DOWN: MemberId = 0;
const UP: MemberId = 1;

/// Marks that no subframe has anything to do.
const NEVER: u64 = u64::MAX;

/// An LTE cell, which schedules both of its carriers.
pub struct Cell {
    down: Carrier,
    up: Carrier,
    /// The uplink grants of each user.
    grants: Vec<Grants>,
    /// The first subframe that has not been served yet.
    unserved: u64,
    /// The next subframe in which the downlink has something to do; [`NEVER`] while nothing waits.
    /// `next_up` is the uplink's.
    next_down: u64,
    next_up: u64,
    /// Bytes that each user has to send.
    bytes: Vec<u64>,
}

impl Cell {
    /// Creates a cell whose users have the channel qualities `users`. Member `2n` is the downlink
    /// of user `n`, and member `2n + 1` the uplink. `purpose` selects the random stream of the
    /// draws.
    pub fn new(cell: &lte::Cell, users: &[Cqi], seed: u64, purpose: u64) -> Cell {
        let carrier = |direction, of_user: MemberId| {
            let blocks = cell.bandwidth.blocks(direction);
            let bearer = |(user, cqi): (u32, &Cqi)| {
                let member = 2 * user + of_user;
                let purpose = stream::HARQ + (purpose << 20) + u64::from(member);
                Bearer::new(member, direction, blocks, *cqi, seed, purpose)
            };
            let bearers = (0..).zip(users).map(bearer).collect();
            Carrier::new(cell.scheduler, cell.harq(), blocks, bearers)
        };
        Cell {
            down: carrier(Direction::Down, DOWN),
            up: carrier(Direction::Up, UP),
            grants: (0..users.len()).map(Grants::new).collect(),
            unserved: 0,
            next_down: NEVER,
            next_up: NEVER,
            bytes: vec![],
        }
    }

    fn serve_down<P: Packet>(&mut self, now: Nanos, subframe: u64, members: &mut Members, packets: &mut Pool<P>) {
        self.bytes.clear();
        self.bytes.extend(self.down.bearers.iter().map(|bearer| bearer.backlog(members)));
        self.down.serve(now, subframe, &self.bytes, members, packets);
        let waits = self.down.bearers.iter().any(|bearer| bearer.backlog(members) > 0);
        self.next_down = if waits { subframe + 1 } else { NEVER };
    }

    fn serve_up<P: Packet>(&mut self, now: Nanos, subframe: u64, members: &mut Members, packets: &mut Pool<P>) {
        self.bytes.clear();
        self.bytes.extend(self.grants.iter_mut().map(|grants| grants.wanted(subframe)));
        for sent in self.up.serve(now, subframe, &self.bytes, members, packets) {
            self.grants[sent.user].used(subframe, sent);
        }
        let next = self.grants.iter().filter_map(|grants| grants.next(subframe + 1)).min();
        self.next_up = next.unwrap_or(NEVER);
    }
}

impl AccessControl for Cell {
    fn arrived(&mut self, now: Nanos, member: MemberId, members: &Members) {
        let subframe = now.0.div_ceil(SUBFRAME.0).max(self.unserved);
        if member % 2 == DOWN {
            self.next_down = self.next_down.min(subframe);
            return;
        }
        let user = (member / 2) as usize;
        if self.up.bearers[user].has_one_packet(members) {
            self.grants[user].request(subframe);
            self.next_up = self.next_up.min(self.grants[user].next(subframe).unwrap_or(NEVER));
        }
    }

    fn next(&self) -> Nanos {
        match self.next_down.min(self.next_up) {
            NEVER => Nanos::NEVER,
            subframe => Nanos(SUBFRAME.0 * subframe),
        }
    }

    fn step<P: Packet>(&mut self, now: Nanos, members: &mut Members, packets: &mut Pool<P>) {
        let subframe = self.next_down.min(self.next_up);
        // The subframe's own time, even if the network's driver is late.
        let at = Nanos(SUBFRAME.0 * subframe);
        debug_assert!(at <= now, "it is not due");
        self.unserved = subframe + 1;
        if self.next_down == subframe {
            self.serve_down(at, subframe, members, packets);
        }
        if self.next_up == subframe {
            self.serve_up(at, subframe, members, packets);
        }
    }
}
