//! A sender's own link: a queue that never drops, a transmitter, a delay, and no losses.
//!
//! A run may have thousands of such links, so this port counts less than others. Of its queueing
//! delay it records only the mean and the maximum.

use crate::channel::Transit;
use crate::delay_line::DelayLine;
use crate::packet::PacketId;
use crate::transmitter::Constant;
use measure::LinkSample;
use model::families::QueueDelayStats;
use model::records;
use model::units::{Nanos, Rate};

/// An access link, in the direction of the data.
pub struct AccessPort {
    name: String,
    rate: Rate,
    transmitter: Constant,
    channel: DelayLine,
    /// Start of the measuring interval, which ends at `to`.
    from: Nanos,
    to: Nanos,
    total_bytes: u64,
    /// Packets that arrived in the measuring interval; `waited_ns` and `longest_wait` cover just
    /// them.
    packets: u64,
    waited_ns: u64,
    longest_wait: Nanos,
    /// Bytes times the nanoseconds that they waited inside the measuring interval.
    byte_ns: u128,
}

impl AccessPort {
    /// Creates an idle link that measures from `from` to `to`.
    pub fn new(name: String, rate: Rate, delay: Nanos, from: Nanos, to: Nanos) -> AccessPort {
        AccessPort {
            name,
            rate,
            transmitter: Constant::new(rate, from, to),
            channel: DelayLine::new(delay),
            from,
            to,
            total_bytes: 0,
            packets: 0,
            waited_ns: 0,
            longest_wait: Nanos::ZERO,
            byte_ns: 0,
        }
    }

    /// Sends a packet of `bytes` at `now`, which never decreases between calls. Returns true if the
    /// link was empty.
    #[inline]
    pub fn send(&mut self, now: Nanos, bytes: u32, id: PacketId) -> bool {
        let slot = self.transmitter.serve(now, bytes);
        self.total_bytes += bytes as u64;
        self.packets += (now >= self.from) as u64;
        if slot.start > now {
            self.note_wait(now, slot.start, bytes);
        }
        self.channel.send(slot.end, Transit::Packet(id))
    }

    fn note_wait(&mut self, arrival: Nanos, start: Nanos, bytes: u32) {
        if arrival >= self.from {
            let waited = start - arrival;
            self.waited_ns += waited.0;
            self.longest_wait = self.longest_wait.max(waited);
        }
        let inside = start.min(self.to).since(arrival.max(self.from));
        self.byte_ns += inside.0 as u128 * bytes as u128;
    }

    /// Returns when the next packet reaches the far end; `Nanos::NEVER` if the link is empty.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.channel.next()
    }

    /// Takes the packet that `next` announced.
    #[inline]
    pub fn take(&mut self) -> Transit {
        self.channel.take()
    }

    /// Returns the bytes and packets that wait at `now`. The bytes are exact up to the rounding of
    /// times to nanoseconds.
    fn backlog(&self, now: Nanos) -> (u64, u64) {
        // The times at which the packets that are not out yet end. The first of them is in
        // transmission.
        let mut ends = self.channel.entries().filter(|end| *end > now);
        let Some(current) = ends.next() else { return (0, 0) };
        // The others follow without a gap.
        (self.rate.bytes_in(self.transmitter.free_at().since(current)), ends.count() as u64)
    }

    /// Samples the queue at `now` for the time series, as link number `link`.
    pub fn sample(&self, now: Nanos, link: u32) -> LinkSample {
        let waiting = self.backlog(now);
        LinkSample { link, waiting, ring: None, total_drops: 0, total_sent: self.total_bytes.saturating_sub(waiting.0) }
    }

    /// Returns the link's row of the results.
    pub fn record(&self) -> records::Link {
        let mean = (self.packets > 0).then(|| self.waited_ns as f64 / self.packets as f64 / 1e6);
        records::Link {
            link: self.name.clone(),
            drops: 0,
            wire_losses: 0,
            duplicates: None,
            retries: None,
            marks: 0,
            utilisation_percent: self.transmitter.utilisation_percent(),
            queue_percent_mean: None,
            queue_bytes_mean: self.byte_ns as f64 / (self.to - self.from).0 as f64,
            queue_delay: QueueDelayStats {
                queue_delay_ms_mean: mean,
                queue_delay_ms_max: (self.packets > 0).then(|| self.longest_wait.0 as f64 / 1e6),
                ..Default::default()
            },
            setup: model::LinkSetup::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets of 1500 bytes arrive at once at a link of 12 Mbit/s, where each takes 1 ms.
    #[test]
    fn packets_wait_for_those_before_them() {
        let ms = Nanos::from_millis;
        let mut port = AccessPort::new("access".into(), Rate(12_000_000), ms(5), Nanos::ZERO, ms(100));
        for number in 0..3 {
            port.send(Nanos::ZERO, 1500, PacketId(number));
        }
        assert_eq!(port.backlog(Nanos(1)), (3000, 2));
        assert_eq!(port.backlog(Nanos(1_000_001)), (1500, 1));
        let arrivals = [(); 3].map(|()| {
            let at = port.next();
            (at, port.take())
        });
        assert_eq!(arrivals, [(ms(6), 0), (ms(7), 1), (ms(8), 2)].map(|(at, id)| (at, Transit::Packet(PacketId(id)))));
        assert_eq!(port.next(), Nanos::NEVER);
        let record = port.record();
        assert_eq!(record.queue_delay.queue_delay_ms_mean, Some(1.0));
        assert_eq!(record.queue_delay.queue_delay_ms_max, Some(2.0));
        assert!((record.utilisation_percent - 3.0).abs() < 1e-9);
        assert!((record.queue_bytes_mean - 1500.0 * 3.0 / 100.0).abs() < 1e-9);
    }
}
