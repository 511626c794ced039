//! Round-trip time: the smoothed estimate, the retransmission timeout, the windowed minimum (RFC 6298 as Linux
//! implements it).

use crate::clock::{after, micros_to_jiffies};
use mechanism::sock::{HZ, Minmax, MinmaxSample, TcpSock};

/// `TCP_RTO_MAX`.
pub const RTO_MAX: u32 = 120 * HZ as u32;
/// `TCP_TIMEOUT_INIT`.
pub const TIMEOUT_INIT: u32 = HZ as u32;
/// The longest RTT that gives a sample, us. The kernel stores microseconds in 32 bits with a sign
/// (`AckSample::rtt_us`), and takes no longer ones from timestamps either (`tcp_rtt_tsopt_us`).
const LONGEST_SAMPLE_US: u64 = i32::MAX as u64;
/// Window of the minimum RTT, 300 s, in jiffies (`tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW_JIFFIES: u32 = 300 * HZ as u32;

/// The sample of a round trip of `us` microseconds, unless that is too long for one.
#[inline]
pub fn sample(us: u64) -> Option<u32> {
    (us < LONGEST_SAMPLE_US).then_some(us as u32)
}

/// Converts a sum of times (us) to 32 bits, at most the largest number.
#[inline]
fn saturated(us: i64) -> u32 {
    us.clamp(0, u32::MAX.into()) as u32
}

/// Takes one sample (us) into srtt, mdev and rttvar. From nine minutes on srtt, in eighths, is the largest number. The
/// kernel's wraps there, but timeouts end at two minutes.
#[inline]
pub fn estimate(sk: &mut TcpSock, rtt_us: u32) {
    let floor = sk.inet_conn.icsk_rto_min * (1_000_000 / HZ as u32);
    let mut m = rtt_us as i64;
    let mut srtt = sk.srtt_us as i64;
    if srtt != 0 {
        m -= srtt >> 3;
        srtt += m;
        if m < 0 {
            m = -m - (sk.mdev_us >> 2) as i64;
            // A falling RTT widens the deviation at 1/32 only. Otherwise the timeout would grow when the path gets
            // faster.
            if m > 0 {
                m >>= 3;
            }
        } else {
            m -= (sk.mdev_us >> 2) as i64;
        }
        sk.mdev_us = saturated(sk.mdev_us as i64 + m);
        if sk.mdev_us > sk.mdev_max_us {
            sk.mdev_max_us = sk.mdev_us;
            sk.rttvar_us = sk.rttvar_us.max(sk.mdev_max_us);
        }
        if after(sk.snd_una, sk.rtt_seq) {
            if sk.mdev_max_us < sk.rttvar_us {
                sk.rttvar_us -= (sk.rttvar_us - sk.mdev_max_us) >> 2;
            }
            sk.rtt_seq = sk.snd_nxt;
            sk.mdev_max_us = floor;
        }
    } else {
        srtt = m << 3;
        sk.mdev_us = saturated(m << 1);
        sk.rttvar_us = sk.mdev_us.max(floor);
        sk.mdev_max_us = sk.rttvar_us;
        sk.rtt_seq = sk.snd_nxt;
    }
    sk.srtt_us = saturated(srtt.max(1));
}

/// Sets the timeout that follows from the estimate, without back-off.
#[inline]
pub fn set_timeout(sk: &mut TcpSock) {
    let us = (sk.srtt_us >> 3) as u64 + sk.rttvar_us as u64;
    sk.inet_conn.icsk_rto = micros_to_jiffies(us).min(RTO_MAX);
}

/// Takes a sample (us) at `now` (jiffies) into the windowed minimum.
#[inline]
pub fn update_minimum(min: &mut Minmax, now: u32, rtt_us: u32) {
    let sample = MinmaxSample { t: now, v: rtt_us.max(1) };
    let s = &mut min.s;
    if sample.v <= s[0].v || now.wrapping_sub(s[2].t) > MIN_RTT_WINDOW_JIFFIES {
        *s = [sample; 3];
        return;
    }
    if sample.v <= s[1].v {
        s[1] = sample;
        s[2] = sample;
    } else if sample.v <= s[2].v {
        s[2] = sample;
    }
    age(s, now, sample);
}

/// Ages the best and second-best samples, each of which represents its own part of the window.
fn age(s: &mut [MinmaxSample; 3], now: u32, sample: MinmaxSample) {
    let elapsed = now.wrapping_sub(s[0].t);
    if elapsed > MIN_RTT_WINDOW_JIFFIES {
        *s = [s[1], s[2], sample];
        if now.wrapping_sub(s[0].t) > MIN_RTT_WINDOW_JIFFIES {
            *s = [s[1], s[2], sample];
        }
    } else if s[1].t == s[0].t && elapsed > MIN_RTT_WINDOW_JIFFIES / 4 {
        s[1] = sample;
        s[2] = sample;
    } else if s[2].t == s[1].t && elapsed > MIN_RTT_WINDOW_JIFFIES / 2 {
        s[2] = sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket whose variance floor does not hide the estimate.
    fn sock(rto_min: u32) -> TcpSock {
        let mut sk = TcpSock::default();
        sk.inet_conn.icsk_rto_min = rto_min;
        sk
    }

    #[test]
    fn the_smoothed_rtt_follows_rfc_6298() {
        // Samples of 100, 120, 80 and 100 ms.
        let mut sk = sock(0);
        let srtt: Vec<f64> = [100_000, 120_000, 80_000, 100_000]
            .iter()
            .map(|us| {
                estimate(&mut sk, *us);
                sk.srtt_us as f64 / 8000.0
            })
            .collect();
        for (got, expected) in srtt.iter().zip([100.0, 102.5, 99.6875, 99.7266]) {
            assert!((got - expected).abs() < 0.001, "srtt {got} ms, expected {expected}");
        }
    }

    #[test]
    fn the_first_timeout_is_three_rtts_above_the_floor() {
        let mut sk = sock(0);
        estimate(&mut sk, 100_000);
        set_timeout(&mut sk);
        assert_eq!(sk.inet_conn.icsk_rto, micros_to_jiffies(300_000));
    }

    #[test]
    fn linux_adds_at_least_200_ms() {
        let mut sk = sock(micros_to_jiffies(200_000));
        estimate(&mut sk, 20_000);
        set_timeout(&mut sk);
        assert_eq!(sk.inet_conn.icsk_rto, micros_to_jiffies(220_000));
    }

    #[test]
    fn the_variance_grows_an_eighth_as_fast_when_the_rtt_falls() {
        // Linux: error 22.5 ms below srtt, mdev 42.5/... : (22.5 - 10.6) / 8 is added in place of 11.9.
        let mut sk = sock(0);
        estimate(&mut sk, 100_000);
        let rising = {
            let mut other = sk.clone();
            estimate(&mut other, 400_000);
            other.mdev_us - sk.mdev_us
        };
        sk.srtt_us = 800_000 * 8;
        let before = sk.mdev_us;
        estimate(&mut sk, 500_000);
        assert_eq!(rising, 250_000);
        assert_eq!(sk.mdev_us - before, 250_000 / 8);
    }

    /// 100 minutes are 6e9 us, too many for 32 bits. Eight times 10 minutes are also too many.
    #[test]
    fn long_round_trips_do_not_wrap() {
        assert_eq!(
            (sample(2_147_483_646), sample(2_147_483_647), sample(6_000_000_000)),
            (Some(2_147_483_646), None, None)
        );
        let mut sk = sock(0);
        for _ in 0..3 {
            estimate(&mut sk, 600_000_000);
            set_timeout(&mut sk);
            assert_eq!((sk.srtt_us, sk.inet_conn.icsk_rto), (u32::MAX, RTO_MAX));
        }
        let mut longest = sock(0);
        estimate(&mut longest, 2_147_483_646);
        assert_eq!((longest.srtt_us, longest.mdev_us), (u32::MAX, 4_294_967_292));
    }

    #[test]
    fn an_old_minimum_is_forgotten() {
        let mut min = TcpSock::default().rtt_min;
        update_minimum(&mut min, 1, 100);
        for second in 1..=400 {
            update_minimum(&mut min, 1 + second * HZ as u32, 200);
        }
        assert_eq!(min.s[0].v, 200);
    }
}
