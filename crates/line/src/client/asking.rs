//! How often requests are sent that measure the responsiveness.

use std::time::Duration;

/// Requests on connections of their own, with what certificates and handshakes take.
///
/// `line/model.py` has these numbers too.
pub(super) const FOREIGN: Asking = Asking { bytes: 1500, share: 0.03, least_s: 0.04 };

/// Requests on connections that carry load; their bytes are part of the load's.
pub(super) const OWN: Asking = Asking { bytes: 120, share: 0.03, least_s: 0.02 };

/// Requests on new connections that may wait for their answers at a time.
pub(super) const MOST_FOREIGN: usize = 32;

/// Requests on connections that carry load that may wait: servers refuse a hundred on one connection.
pub(super) const MOST_OWN: usize = 128;

/// How often requests of a kind are sent.
pub(super) struct Asking {
    /// Bytes of one of them in one direction.
    pub(super) bytes: u64,
    /// The share of the slower direction that all may take.
    pub(super) share: f64,
    /// The shortest time from one to the next.
    least_s: f64,
}

impl Asking {
    /// Returns the time from one request to the next at the best rates so far, down and up, in bytes a second.
    pub(super) fn pause(&self, best: [f64; 2]) -> Duration {
        /// A direction that nothing has loaded yet counts as so much slower than the other.
        const LEAST_RATIO: f64 = 0.2;
        /// Bytes a second that nearly all lines carry.
        const LEAST_RATE: f64 = 31_250.0;
        let known = best[0].max(best[1]);
        if known <= 0.0 {
            return Duration::from_millis(200);
        }
        let unknown = (LEAST_RATIO * known).max(known.min(LEAST_RATE));
        let slower = best.into_iter().map(|rate| if rate > 0.0 { rate } else { unknown }).fold(known, f64::min);
        Duration::from_secs_f64((self.bytes as f64 / (self.share * slower)).clamp(self.least_s, 3.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_take_a_share_of_the_slower_direction() {
        let pause_ms = |best| FOREIGN.pause(best).as_millis();
        // 1500 bytes are 3 % of what 1 Mbit/s carries in 400 ms.
        assert_eq!([pause_ms([125e3, 0.0]), pause_ms([125e3, 125e3]), pause_ms([5e6, 125e3])], [1600, 400, 400]);
        assert_eq!([pause_ms([1e8, 1e8]), pause_ms([1e3, 1e3]), pause_ms([0.0, 0.0])], [40, 3000, 200]);
    }
}
