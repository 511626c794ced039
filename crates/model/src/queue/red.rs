//! RED's parameters (Floyd and Jacobson, 1993), and its arithmetic in powers of two. The program that sets up RED
//! computes these, as tc-red(8) does.

use super::discipline::U32_BYTES;
use crate::declare::{Room, section};
use crate::quantity::Share;
use crate::schema::KeyType;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// Entries of the table that converts idle times into halvings of the mean.
const IDLE_ENTRIES: usize = 256;
/// The number of halvings after which nothing is left of the mean.
const NOTHING_LEFT: f64 = 31.0;

section! {
    /// RED in bytes, with every default filled in.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Red in "red" {
        "kind" = KeyType::Choice(&["red"]), Required =>
            "drops at random, more often the longer the mean queue is (Floyd and Jacobson, 1993)";
        /// room for waiting packets
        pub limit: Bytes [Room] = Required, U32_BYTES;
        /// mean queue length from which on packets are dropped
        pub min: Bytes = Means("a third of max"), U32_BYTES;
        /// mean queue length at which the drop probability reaches the key probability
        pub max: Bytes = Means("three times min, or a quarter of limit"), U32_BYTES;
        /// share of packets dropped at a mean queue of max
        pub probability: f64 [Share] = Default("2%"), "0.0001%..100%";
        /// mean size of a packet
        pub avpkt: Bytes = Default("1000b"), "1b..65535b";
        /// packets that may arrive at once while the mean queue stays below min
        pub burst: u64 = Means("(2 min + max) / (3 avpkt)"), "1..1000000";
        /// mark packets of ECN-capable flows instead of dropping them
        pub ecn: bool = Default("false");
        /// drop from a mean queue of max on, also packets of ECN-capable flows
        pub harddrop: bool = Default("false");
        /// adapt probability to the load, between 1 % and 50 %
        pub adaptive: bool = Default("false");
        /// let the probability rise to 1 between max and twice max instead of dropping every packet from max on; not in
        /// Linux
        #[kernel(Lacks)]
        pub gentle: bool = Default("false");
    }
}

/// RED's bounds in a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct RedBounds {
    pub limit: Bytes,
    pub min: Option<Bytes>,
    pub max: Option<Bytes>,
    pub avpkt: Bytes,
    pub burst: Option<u64>,
}

impl RedBounds {
    /// Returns `min`, `max` and `burst`, with missing ones computed from the others (tc-red(8)).
    pub fn fill(&self) -> (Bytes, Bytes, u64) {
        let max = self.max.or(self.min.map(|min| Bytes(3 * min.0))).unwrap_or(Bytes(self.limit.0 / 4));
        let min = self.min.unwrap_or(Bytes(max.0 / 3));
        let burst = self.burst.unwrap_or(((2 * min.0 + max.0) / (3 * self.avpkt.0.max(1))).max(1));
        (min, max, burst)
    }
}

/// RED's parameters in powers of two, as the kernel takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct RedArithmetic {
    /// The exponent of the moving average's weight, which is one half to this power.
    pub weight_log: u8,
    /// The base-2 logarithm of (max - min) / probability.
    pub slope_log: u8,
    /// The drop probability at `max`, in units of 2^-32.
    pub max_p: u32,
    /// The base-2 logarithm of the step of idle times, in microseconds.
    pub idle_step_log: u8,
    /// The number of halvings of the mean for each number of idle steps.
    pub idle_halvings: [u8; IDLE_ENTRIES],
}

impl Red {
    /// Computes the arithmetic for a queue before a transmitter of this rate.
    ///
    /// # Errors
    /// A sentence, if the parameters contradict each other.
    pub fn arithmetic(&self, rate: Rate) -> Result<RedArithmetic, String> {
        let Red { limit, min, max, .. } = *self;
        if min.0 == 0 || min >= max || max > limit {
            return Err(format!(
                "RED needs min below max and max up to limit; here they are {}, {} and {} bytes",
                min.0, max.0, limit.0
            ));
        }
        let weight_log = self.weight_log()?;
        let (idle_step_log, idle_halvings) = self.idle_table(weight_log, rate);
        let max_p = (self.probability * 2f64.powi(32)).min(u32::MAX as f64) as u32;
        Ok(RedArithmetic { weight_log, slope_log: self.slope_log(), max_p, idle_step_log, idle_halvings })
    }

    /// Computes the exponent of the largest weight, a power of one half, with which a burst leaves the mean at `min` at
    /// most. The burst is `burst` packets that arrive together at an empty queue. In packets: burst + 1 +
    /// ((1-w)^(burst+1) - 1)/w < min (the paper's section 6).
    fn weight_log(&self) -> Result<u8, String> {
        let beyond_min = self.burst as f64 + 1.0 - self.min.0 as f64 / self.avpkt.0 as f64;
        if beyond_min < 1.0 {
            return Err(format!(
                "burst = {} is too small for min; it must be at least {}",
                self.burst,
                self.min.0.div_ceil(self.avpkt.0)
            ));
        }
        let fits = |log: &u8| {
            let weight = 0.5f64.powi(*log as i32);
            beyond_min <= (1.0 - (1.0 - weight).powf(self.burst as f64)) / weight
        };
        (1..32).find(fits).ok_or_else(|| {
            format!(
                "RED's average exceeds min = {} bytes with burst = {} and avpkt = {} bytes; raise min, max or limit, or \
                 lower burst",
                self.min.0, self.burst, self.avpkt.0
            )
        })
    }

    /// Computes the base-2 logarithm of (max - min)/probability, the inverse of the rise of the probability per byte.
    /// Kernels from 3.3 on use `TCA_RED_MAX_P` and only show this value.
    fn slope_log(&self) -> u8 {
        ((self.max.0 - self.min.0) as f64 / self.probability).log2().ceil().min(31.0) as u8
    }

    /// Computes the halvings of the mean for idle times in steps of 2^log microseconds, and returns this log with the
    /// table. In the time of one packet the mean falls by one weight.
    fn idle_table(&self, weight_log: u8, rate: Rate) -> (u8, [u8; IDLE_ENTRIES]) {
        let packet_us = rate.time_to_send(self.avpkt).0 as f64 / 1000.0;
        let halvings_a_us = -(1.0 - 0.5f64.powi(weight_log as i32)).log2() / packet_us;
        let longest_us = NOTHING_LEFT / halvings_a_us;
        let step_log = (longest_us / 512.0).log2().ceil().clamp(0.0, 31.0) as u8;
        let mut table = [NOTHING_LEFT as u8; IDLE_ENTRIES];
        for (steps, entry) in table.iter_mut().enumerate().take(IDLE_ENTRIES - 1) {
            *entry = (steps as f64 * 2f64.powi(step_log as i32) * halvings_a_us).min(NOTHING_LEFT) as u8;
        }
        (step_log, table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(limit: u64, min: u64, max: u64, avpkt: u64) -> Red {
        let bounds = RedBounds {
            limit: Bytes(limit),
            min: Some(Bytes(min)),
            max: Some(Bytes(max)),
            avpkt: Bytes(avpkt),
            burst: None,
        };
        let (min, max, burst) = bounds.fill();
        Red {
            limit: bounds.limit,
            min,
            max,
            probability: 0.02,
            avpkt: bounds.avpkt,
            burst,
            ecn: false,
            harddrop: false,
            adaptive: false,
            gentle: false,
        }
    }

    /// The example of tc-red(8): bursts of 55 packets of 1000 bytes.
    #[test]
    fn the_weight_lets_the_burst_pass() {
        let mut example = red(400_000, 30_000, 90_000, 1000);
        assert_eq!(example.burst, 50);
        example.burst = 55;
        assert_eq!(example.weight_log(), Ok(5));
        // 55 packets at once, computed one by one.
        let after = |weight: f64| (1..=55).fold(0.0, |mean, queued| mean + weight * (queued as f64 - mean));
        assert!(after(1.0 / 32.0) < 30.0 && after(1.0 / 8.0) > 30.0);
        example.burst = 20;
        assert!(example.weight_log().unwrap_err().contains("at least 30"));
    }

    #[test]
    fn an_idle_time_is_worth_what_so_many_packets_would_be() {
        let example = red(400_000, 30_000, 90_000, 1000);
        let (step_log, table) = example.idle_table(5, Rate(8_000_000));
        // A packet takes a millisecond: after 22 of them (31/32)^22 = 0.497 is left, after 44 a quarter.
        let halvings = |ms: usize| table[(ms * 1000) >> step_log];
        assert_eq!((halvings(1), halvings(23), halvings(46)), (0, 1, 2));
        assert_eq!((table[0], table[255]), (0, 31));
    }
}
