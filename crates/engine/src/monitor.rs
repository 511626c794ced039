//! What is seen of the packets on their way: by the run's tap, and by the count of each flow's losses.

use crate::packet::{Data, Packet};
use crate::tap::{Event, Tap};
use path::{Fate, Observer};
use scenario::units::Nanos;

/// Tells a tap of every packet event, and counts the data packets that do not arrive.
pub struct Monitor<T> {
    /// Sees every packet event.
    pub tap: T,
    /// Data packets of each flow that were dropped or lost since the end of the warm-up.
    lost: Vec<u64>,
    warmup: Nanos,
}

impl<T: Tap> Monitor<T> {
    /// Of so many flows.
    pub fn new(tap: T, flows: usize, warmup: Nanos) -> Monitor<T> {
        Monitor { tap, lost: vec![0; flows], warmup }
    }

    /// Data packets of a flow that were dropped or lost since the end of the warm-up.
    pub fn lost(&self, flow: u32) -> u64 {
        self.lost[flow as usize]
    }

    fn count(&mut self, now: Nanos, data: &Data) {
        if !data.is_handshake() && now >= self.warmup {
            self.lost[data.flow as usize] += 1;
        }
    }
}

impl<T: Tap> Observer<Packet> for Monitor<T> {
    fn gone(&mut self, now: Nanos, _: Nanos, fate: Fate, packet: &Packet) {
        let event = if fate == Fate::Dropped { Event::Dropped } else { Event::Lost };
        match packet {
            Packet::Data(data) => {
                self.tap.data(now, event, data);
                self.count(now, data);
            }
            Packet::Ack(ack) => self.tap.ack(now, event, ack),
        }
    }
}
