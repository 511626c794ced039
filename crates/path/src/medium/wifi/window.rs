//! The frames that a station has taken out of its queue for one receiver and not yet delivered.
//! They are in the order of their sequence numbers, and a Block Ack would acknowledge each by
//! itself.

use crate::medium::members::{Frame, Members};
use model::radio::ieee80211::{MOST_FRAMES, TRIES};
use model::units::Nanos;
use std::collections::VecDeque;

/// A frame, with its tries so far.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    frame: Frame,
    /// How often the frame was transmitted.
    tries: u8,
    /// Whether the frame has arrived; it waits behind one that has not.
    received: bool,
}

/// The frames for one receiver, in order.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<Outstanding>);

impl Window {
    /// Reports whether one more frame fits.
    pub fn has_room(&self) -> bool {
        self.0.len() < MOST_FRAMES
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns when the first frame joined its queue.
    pub fn oldest(&self) -> Option<Nanos> {
        self.0.front().map(|first| first.frame.enqueued_at)
    }

    pub fn push(&mut self, frame: Frame) {
        self.0.push_back(Outstanding { frame, tries: 0, received: false });
    }

    /// Returns how often the first frame was tried; 0 without frames.
    pub fn tries(&self) -> u8 {
        self.0.front().map_or(0, |first| first.tries)
    }

    /// Lists the IP lengths in bytes of the frames to transmit, in order.
    pub fn lengths(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter(|one| !one.received).map(|one| one.frame.bytes)
    }

    /// Transmits the first `count` frames at `start`; `arrives` decides by length whether a frame
    /// gets through. Returns true if one did.
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

    /// Delivers at `end` the frames that have arrived, in order: no frame overtakes one that may
    /// still arrive. Gives up the frames that were tried for the last time.
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
