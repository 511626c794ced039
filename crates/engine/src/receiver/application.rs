//! The application at the receiving end, if the time of its reading matters. That is so if it is slow, or if the buffer
//! follows the bytes that it reads. Any other application reads all data at once.

use super::right_sizing::RightSizing;
use model::units::{Bytes, Nanos, Rate};

/// One connection's reader.
pub struct Application {
    /// Reading rate; `None` if the application reads everything at once.
    rate: Option<Rate>,
    /// Payload of a full segment, bytes; the application reads one segment at a time.
    mss: u32,
    /// Bytes that have come in order and that the application has not read.
    unread: u64,
    /// The time from which a slow application can read again.
    rested_at: Nanos,
    pub sizing: Option<RightSizing>,
}

impl Application {
    /// An application that reads segments with `mss` bytes of payload.
    pub fn new(rate: Option<Rate>, mss: u32, sizing: Option<RightSizing>) -> Application {
        Application { rate, mss, unread: 0, rested_at: Nanos::ZERO, sizing }
    }

    /// Notes `bytes` that have come in order.
    pub fn received(&mut self, bytes: u64) {
        self.unread += bytes;
    }

    /// The bytes that wait for the application.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// The time of the next reading, at `now` or later.
    pub fn reads_at(&self, now: Nanos) -> Nanos {
        if self.unread == 0 { Nanos::NEVER } else { now.max(self.rested_at) }
    }

    /// Reads what is due at `now`, and returns the number of bytes.
    pub fn read(&mut self, now: Nanos) -> u64 {
        let most = if self.rate.is_some() { self.mss as u64 } else { u64::MAX };
        let bytes = self.unread.min(most);
        self.unread -= bytes;
        if let Some(rate) = self.rate {
            self.rested_at = now + rate.time_to_send(Bytes(bytes));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1 Mbit/s a segment of 1448 bytes takes 11.584 ms.
    #[test]
    fn a_slow_reader_takes_a_segment_at_a_time() {
        let mut slow = Application::new(Some(Rate(1_000_000)), 1448, None);
        let (begin, rested) = (Nanos::from_millis(10), Nanos::from_millis(10) + Nanos::from_micros(11_584));
        assert_eq!(slow.reads_at(begin), Nanos::NEVER);
        slow.received(2000);
        assert_eq!((slow.reads_at(begin), slow.read(begin)), (begin, 1448));
        assert_eq!((slow.reads_at(begin), slow.read(rested)), (rested, 552));
        assert_eq!(slow.reads_at(rested), Nanos::NEVER);
    }
}
