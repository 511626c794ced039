//! The round-trip time as measured by a receiver, which sends no data that could be acknowledged.

use model::units::Nanos;

/// A tick of timestamps in milliseconds, us.
const MILLISECOND_US: u32 = 1000;

/// Samples from the timestamps that a sender echoes (`tcp_rcv_rtt_measure_ts`).
pub struct EchoedRtt {
    /// Length of a tick of the timestamp clock, us.
    tick_us: u32,
    /// The echo measured last (`rcv_rtt_last_tsecr`).
    last_tsecr: u32,
}

impl EchoedRtt {
    /// An estimator for timestamps in microseconds or milliseconds.
    pub fn new(microseconds: bool) -> EchoedRtt {
        EchoedRtt { tick_us: if microseconds { 1 } else { MILLISECOND_US }, last_tsecr: 0 }
    }

    /// The shortest time that the clock can show, us.
    pub fn tick_us(&self) -> u32 {
        self.tick_us
    }

    /// Takes a segment that echoes a timestamp of the receiver, whose clock shows `clock`. Returns a sample, us, from
    /// the first segment of an echo if that is full; zero within a tick (`tcp_rtt_tsopt_us`).
    pub fn sample(&mut self, tsecr: u32, clock: u32, is_full: bool) -> Option<u32> {
        if tsecr == self.last_tsecr {
            return None;
        }
        self.last_tsecr = tsecr;
        let elapsed = clock.wrapping_sub(tsecr) as i32;
        let is_sample = is_full && (0..i32::MAX / self.tick_us as i32).contains(&elapsed);
        is_sample.then(|| elapsed as u32 * self.tick_us)
    }
}

/// Converts a time (us) to eighths; the largest number from nine minutes on, which 32 bits cannot hold.
fn in_eighths(us: u64) -> u32 {
    u32::try_from(us.saturating_mul(8)).unwrap_or(u32::MAX)
}

/// The estimate of the round-trip time (`rcv_rtt_est`).
#[derive(Default)]
pub struct ReceiverRtt {
    /// Eight times the round-trip time, us; zero before the first sample.
    eighths_us: u32,
    /// The start of the window that is being measured.
    window_from: Option<Nanos>,
    /// The position in the stream at which that window ends, bytes.
    window_end: u64,
}

impl ReceiverRtt {
    /// The estimate of the round-trip time, us; zero before the first sample.
    pub fn us(&self) -> u32 {
        self.eighths_us >> 3
    }

    /// Takes a sample from timestamps, of at least a tick. A larger sample than the estimate weighs an eighth; a
    /// smaller one replaces the estimate (`tcp_rcv_rtt_update`).
    pub fn echoed(&mut self, sample_us: u32) {
        let (eighths, sample) = (self.eighths_us, in_eighths(sample_us.into()));
        if sample_us > 0 {
            let is_least = eighths == 0 || sample < eighths;
            self.eighths_us = if is_least { sample } else { (eighths - (eighths >> 3)).saturating_add(sample_us) };
        }
    }

    /// Notes that the stream has come in order up to `next`, with `window` bytes offered last. When all of a window has
    /// come, at least a round trip is over, so the least such time counts (`tcp_rcv_rtt_measure`).
    pub fn received(&mut self, now: Nanos, next: u64, window: u32) {
        if let Some(from) = self.window_from {
            if next < self.window_end {
                return;
            }
            let sample = in_eighths((now - from).as_micros().max(1));
            self.eighths_us = if self.eighths_us == 0 { sample } else { self.eighths_us.min(sample) };
        }
        self.window_from = Some(now);
        self.window_end = next + window as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_measured_once() {
        let mut echoed = EchoedRtt::new(false);
        assert_eq!(echoed.sample(100, 140, true), Some(40_000));
        assert_eq!(echoed.sample(100, 150, true), None);
        assert_eq!(echoed.sample(101, 101, true), Some(0));
        assert_eq!(echoed.sample(102, 150, false), None, "a short segment");
        assert_eq!(echoed.sample(102, 150, true), None, "its echo is known");
        assert_eq!(EchoedRtt::new(true).sample(100, 140, true), Some(40));
    }

    #[test]
    fn a_larger_sample_of_timestamps_weighs_an_eighth() {
        let mut rtt = ReceiverRtt::default();
        rtt.echoed(40_000);
        assert_eq!(rtt.us(), 40_000);
        rtt.echoed(48_000);
        assert_eq!(rtt.us(), 41_000);
    }

    /// Linux 6.12 does so since a stable version; a sample within a tick does not count.
    #[test]
    fn a_smaller_sample_of_timestamps_is_the_estimate() {
        let mut rtt = ReceiverRtt::default();
        rtt.echoed(40_000);
        rtt.echoed(30_000);
        rtt.echoed(0);
        assert_eq!(rtt.us(), 30_000);
    }

    /// Windows of 64 000 bytes take 50, 20 and 30 ms.
    #[test]
    fn the_least_time_that_a_window_takes_counts() {
        let mut rtt = ReceiverRtt::default();
        let mut received = |ms, next| {
            rtt.received(Nanos::from_millis(ms), next, 64_000);
            rtt.us()
        };
        assert_eq!([received(10, 1000), received(40, 64_999), received(60, 65_000)], [0, 0, 50_000]);
        assert_eq!([received(70, 70_000), received(80, 129_000)], [50_000, 20_000]);
        assert_eq!(received(110, 193_000), 20_000);
    }
}
