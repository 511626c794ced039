//! A host's own way to the bottleneck: an endless queue before a transmitter, then a delay.

use crate::Packet;
use crate::ring::Ring;
use crate::service::Pace;
use scenario::model::Access;
use scenario::units::Nanos;

/// A first-in-first-out of packets on their way, each with its time of arrival.
#[derive(Debug)]
pub struct Pipe<P> {
    packets: Ring<(Nanos, P)>,
}

impl<P> Default for Pipe<P> {
    fn default() -> Pipe<P> {
        Pipe { packets: Ring::default() }
    }
}

impl<P: Copy> Pipe<P> {
    /// Puts a packet in that arrives at `at`, not before the one in front of it.
    #[inline]
    pub fn push(&mut self, at: Nanos, packet: P) {
        self.packets.push((at, packet));
    }

    /// When the next packet arrives; `Nanos::NEVER` when the pipe is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.packets.front().map_or(Nanos::NEVER, |p| p.0)
    }

    /// Takes the packet that `next` announced.
    #[inline]
    pub fn take(&mut self) -> Option<P> {
        self.packets.pop().map(|(_, packet)| packet)
    }
}

/// The sender's side of the bottleneck.
#[derive(Debug)]
pub struct AccessLink<P> {
    pace: Option<Pace>,
    delay: Nanos,
    free_at: Nanos,
    pipe: Pipe<P>,
}

impl<P: Packet> AccessLink<P> {
    /// An idle one.
    pub fn new(access: &Access) -> AccessLink<P> {
        AccessLink {
            pace: access.rate.map(Pace::new),
            delay: access.delay,
            free_at: Nanos::ZERO,
            pipe: Pipe::default(),
        }
    }

    /// Hands a packet over at `now`, which never decreases from call to call.
    #[inline]
    pub fn send(&mut self, now: Nanos, packet: P) {
        let out = match &mut self.pace {
            None => now,
            Some(pace) => now.max(self.free_at) + pace.time_to_send(packet.bytes()),
        };
        self.free_at = out;
        self.pipe.push(out + self.delay, packet);
    }

    /// When the next packet is at the bottleneck; `Nanos::NEVER` when none is on its way.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.pipe.next()
    }

    /// Takes the packet that `next` announced.
    #[inline]
    pub fn take(&mut self) -> Option<P> {
        self.pipe.take()
    }
}
