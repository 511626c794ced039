//! Limit on the answers of a host to unacceptable packets without data: one in half a second (`tcp_oow_rate_limited`,
//! `net.ipv4.tcp_invalid_ratelimit`).

use crate::clock;
use mechanism::sock::HZ;
use model::units::Nanos;

/// `tcp_invalid_ratelimit`, jiffies.
const INTERVAL: u32 = HZ as u32 / 2;

/// The time at which one end of a connection last answered an unacceptable packet (`last_oow_ack_time`).
#[derive(Clone, Copy, Debug, Default)]
pub struct InvalidRate {
    last: Option<u32>,
}

impl InvalidRate {
    /// Reports whether the host answers an unacceptable packet now, and counts that answer.
    pub fn allows(&mut self, now: Nanos) -> bool {
        let now = clock::jiffies(now);
        let allows = self.last.is_none_or(|last| now.wrapping_sub(last) >= INTERVAL);
        if allows {
            self.last = Some(now);
        }
        allows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_in_half_a_second_is_answered() {
        let mut rate = InvalidRate::default();
        let answered = [0, 10, 496, 500, 996, 1000].map(|ms| rate.allows(Nanos::from_millis(ms)));
        assert_eq!(answered, [true, false, false, true, false, true]);
    }
}
