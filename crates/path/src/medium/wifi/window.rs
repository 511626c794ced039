//! What a station has taken out of its queue for one receiver and not yet brought there: the frames that a Block Ack
//! would tell apart, in the order of their sequence numbers.

use crate::medium::members::{Frame, Members};
use model::radio::ieee80211::{MOST_FRAMES, TRIES};
use model::units::Nanos;
use std::collections::VecDeque;

/// A frame with what has become of it so far.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    frame: Frame,
    /// How often it was transmitted.
    tries: u8,
    /// It has arrived, behind one that has not.
    received: bool,
}

/// The frames for one receiver.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<Outstanding>);

impl Window {
    /// Is there room for one more?
    pub fn has_room(&self) -> bool {
        self.0.len() < MOST_FRAMES
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// When the first of its frames came to the queue.
    pub fn oldest(&self) -> Option<Nanos> {
        self.0.front().map(|first| first.frame.enqueued_at)
    }

    pub fn push(&mut self, frame: Frame) {
        self.0.push_back(Outstanding { frame, tries: 0, received: false });
    }

    /// How often the first of its frames was tried; 0 if there is none.
    pub fn tries(&self) -> u8 {
        self.0.front().map_or(0, |first| first.tries)
    }

    /// The IP lengths of the frames to transmit, in order.
    pub fn lengths(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter(|one| !one.received).map(|one| one.frame.bytes)
    }

    /// The first `count` of them are transmitted at `start`; `arrives` says of each length whether it gets through.
    /// True if one did.
    pub fn transmit(
        &mut self,
        count: usize,
        start: Nanos,
        mut arrives: impl FnMut(u32) -> bool,
        members: &mut Members,
    ) -> bool {
        let mut some = false;
        for one in self.0.iter_mut().filter(|one| !one.received).take(count) {
            match one.tries {
                0 => members.starts(start, &one.frame),
                _ => members.get_mut(one.frame.member).retries_at(start),
            }
            one.tries += 1;
            one.received = arrives(one.frame.bytes);
            some |= one.received;
        }
        some
    }

    /// At `end` those that have arrived go on, in order: no frame passes one that may still come. Those that were tried
    /// for the last time are given up.
    pub fn release(&mut self, end: Nanos, members: &mut Members) {
        while let Some(first) = self.0.front() {
            if first.received {
                members.deliver(end, &first.frame);
            } else if first.tries >= TRIES {
                members.give_up(end, &first.frame);
            } else {
                break;
            }
            self.0.pop_front();
        }
    }
}
