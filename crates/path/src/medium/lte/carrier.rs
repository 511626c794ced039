//! One direction of a cell: the resource blocks of each subframe, and the users that send in them.

use super::bearer::Bearer;
use super::repeats::Repeats;
use super::scheduler::{Scheduler, Want};
use crate::medium::members::Members;
use crate::packet::{Packet, Pool};
use model::lte::Scheduling;
use model::radio::lte::{Harq, Tries};
use model::units::Nanos;

/// A transport block that a user has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub user: usize,
    /// Bytes that the block had room for.
    pub room: u32,
    /// Bytes of the user that wait behind the block.
    pub left: u64,
    pub tries: Tries,
}

/// A carrier, and the bearers of its users.
pub struct Carrier {
    blocks: u32,
    pub bearers: Vec<Bearer>,
    scheduler: Scheduler,
    repeats: Repeats,
    harq: Harq,
    wants: Vec<Want>,
    sent: Vec<Sent>,
}

impl Carrier {
    pub fn new(scheduling: Scheduling, harq: Harq, blocks: u32, bearers: Vec<Bearer>) -> Carrier {
        let scheduler = Scheduler::new(scheduling, bearers.len());
        let wants = Vec::with_capacity(bearers.len());
        Carrier { blocks, bearers, scheduler, repeats: Repeats::default(), harq, wants, sent: vec![] }
    }

    /// Divides a subframe among users, where user `n` has `bytes[n]` bytes to send. Retransmissions
    /// come first; new blocks of the other users share the rest. Returns the new blocks.
    pub fn serve<P: Packet>(
        &mut self,
        now: Nanos,
        subframe: u64,
        bytes: &[u64],
        members: &mut Members,
        packets: &mut Pool<P>,
    ) -> &[Sent] {
        let want = |(bearer, bytes): (&Bearer, &u64)| Want { blocks: bearer.blocks_for(*bytes), rate: bearer.most() };
        self.wants.clear();
        self.wants.extend(self.bearers.iter().zip(bytes).map(want));
        let mut free = self.blocks;
        for repeat in self.repeats.of(subframe) {
            free -= repeat.blocks;
            self.wants[repeat.user].blocks = 0;
        }
        self.scheduler.advance(subframe);
        self.sent.clear();
        while free > 0
            && let Some(user) = self.scheduler.choose(&self.wants)
        {
            let blocks = free.min(self.wants[user].blocks);
            self.wants[user].blocks = 0;
            let room = self.bearers[user].payload(blocks);
            if room == 0 {
                continue;
            }
            free -= blocks;
            self.scheduler.give(user, room);
            let tries = self.bearers[user].send(now, blocks, &self.harq, members, packets);
            self.repeats.add(subframe, user, blocks, tries);
            let left = self.bearers[user].backlog(members);
            self.sent.push(Sent { user, room, left, tries });
        }
        &self.sent
    }
}
