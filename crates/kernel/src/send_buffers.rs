//! The fill levels of send buffers when segments leave them for the queue of an emulated host. The
//! program that stamps these segments reports them (`stamp.bpf.c`).

use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use model::units::Nanos;
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the map that carries the program's reports.
pub(super) const MAP: &str = "unbloat_buffers";

/// `struct send_buffer`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Event {
    seen_ns: u64,
    wmem_queued: u32,
    sndbuf: u32,
    held: u32,
    mss: u32,
    cwnd: u32,
    from_port: u16,
    to_port: u16,
}

/// A send buffer when a segment with data leaves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SendBufferSeen {
    /// Time of the run's clock.
    pub at: Nanos,
    /// The sender's port of the segment, and the other port.
    pub ports: (u16, u16),
    /// Bytes of memory in the buffer (`sk_wmem_queued`).
    pub queued: u32,
    /// Bytes of memory that the buffer may take (`sk_sndbuf`).
    pub sndbuf: u32,
    /// Packets in the buffer, divided by the congestion window.
    pub windows: f64,
}

/// Reads the send buffers that segments left, in order.
pub struct SendBuffers {
    ring: RingBuffer<'static>,
    events: Arc<Mutex<Vec<Event>>>,
    /// Time of the kernel's monotonic clock at the start of the run's clock.
    origin: Nanos,
}

impl SendBuffers {
    /// Reads the program's map, in a run at whose start the kernel's clock shows `origin`.
    pub(super) fn new(map: &dyn MapCore, origin: Nanos) -> libbpf_rs::Result<SendBuffers> {
        let events = Arc::<Mutex<Vec<Event>>>::default();
        let take = {
            let events = events.clone();
            move |bytes: &[u8]| {
                events.lock().unwrap_or_else(PoisonError::into_inner).extend(Event::read(bytes));
                0
            }
        };
        let mut builder = RingBufferBuilder::new();
        builder.add(map, take)?;
        Ok(SendBuffers { ring: builder.build()?, events, origin })
    }

    /// Returns the send buffers seen since the last call.
    pub fn take(&self) -> Vec<SendBufferSeen> {
        // It fails only if the callback fails, which never happens.
        let _ = self.ring.consume_raw();
        let events = std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner));
        events.into_iter().map(|event| event.seen(self.origin)).collect()
    }
}

impl Event {
    fn read(bytes: &[u8]) -> Option<Event> {
        // SAFETY: there are as many bytes, and all of them are values of integers.
        (bytes.len() == size_of::<Event>()).then(|| unsafe { bytes.as_ptr().cast::<Event>().read_unaligned() })
    }

    fn seen(self, origin: Nanos) -> SendBufferSeen {
        let packets = f64::from(self.held) / f64::from(self.mss.max(1));
        SendBufferSeen {
            at: Nanos(self.seen_ns).since(origin),
            ports: (self.from_port, self.to_port),
            queued: self.wmem_queued,
            sndbuf: self.sndbuf,
            windows: packets / f64::from(self.cwnd.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_tells_is_read_as_it_wrote_it() {
        let words = [50_000u32, 87_040, 28_960, 1_448, 10].map(u32::to_ne_bytes);
        let ports = [5202u16, 5201].map(u16::to_ne_bytes);
        let bytes = [&4_000_000_000u64.to_ne_bytes()[..], &words.concat(), &ports.concat()].concat();
        let seen = Event::read(&bytes).unwrap().seen(Nanos::from_secs(1));
        assert_eq!((seen.at, seen.ports), (Nanos::from_secs(3), (5202, 5201)));
        assert_eq!((seen.queued, seen.sndbuf, seen.windows), (50_000, 87_040, 2.0));
        assert!(Event::read(&bytes[1..]).is_none());
    }
}
