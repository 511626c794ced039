//! What the kernel wants to be told of RED: its arithmetic is in powers of two, which whoever sets it up works out
//! (tc-red(8); the figures' meaning: Floyd and Jacobson, 1993).

use crate::host::netlink::attribute;
use scenario::model::{KernelQueue, Limit, Setting};
use scenario::units::{Bytes, Rate};

/// Entries of the table of what an idle time is worth.
const IDLE_ENTRIES: usize = 256;
/// An idle time that is worth more halvings than this leaves nothing of the mean.
const NOTHING_LEFT: f64 = 31.0;
const PARAMETERS: u16 = 1;
const IDLE_TABLE: u16 = 2;
const MAX_P: u16 = 3;
const ECN: u8 = 1;
const ADAPTIVE: u8 = 4;

/// RED in bytes and packets, every default filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Red {
    limit: u64,
    min: u64,
    max: u64,
    probability: f64,
    burst: u64,
    average_packet: u64,
    flags: u8,
}

impl Red {
    fn of(queue: &KernelQueue) -> Result<Red, String> {
        let bytes = |name| match queue.parameter(name) {
            Some(Setting::Size(Bytes(bytes)) | Setting::Limit(Limit::Bytes(Bytes(bytes)))) => Some(bytes),
            _ => None,
        };
        let flag = |name, bit| if queue.parameter(name) == Some(Setting::Flag(true)) { bit } else { 0 };
        let limit = bytes("limit").unwrap_or(0);
        let max = bytes("max").or(bytes("min").map(|min| 3 * min)).unwrap_or(limit / 4);
        let min = bytes("min").unwrap_or(max / 3);
        let average_packet = bytes("avpkt").unwrap_or(1);
        let burst = match queue.parameter("burst") {
            Some(Setting::Number(burst)) => burst,
            _ => ((2 * min + max) / (3 * average_packet)).max(1),
        };
        let probability = match queue.parameter("probability") {
            Some(Setting::Share(share)) => share,
            _ => 0.0,
        };
        if min == 0 || min >= max || max > limit {
            return Err(format!(
                "RED needs min below max and max up to limit; here they are {min}, {max} and {limit} bytes"
            ));
        }
        let flags = flag("ecn", ECN) | flag("adaptive", ADAPTIVE);
        Ok(Red { limit, min, max, probability, burst, average_packet, flags })
    }

    /// The weight of the moving average as a power of a half: the largest with which `burst` packets, come at once to
    /// an empty queue, leave the mean at `min` at most: burst + 1 + ((1-w)^(burst+1) - 1)/w < min (the paper's section
    /// 6, in packets).
    fn weight_log(&self) -> Result<u8, String> {
        let beyond_min = self.burst as f64 + 1.0 - self.min as f64 / self.average_packet as f64;
        if beyond_min < 1.0 {
            return Err(format!(
                "burst = {} is less than min holds; it must be at least {}",
                self.burst,
                self.min.div_ceil(self.average_packet)
            ));
        }
        let fits = |log: &u8| {
            let weight = 0.5f64.powi(*log as i32);
            beyond_min <= (1.0 - (1.0 - weight).powf(self.burst as f64)) / weight
        };
        (1..32).find(fits).ok_or_else(|| format!("burst = {} is too large", self.burst))
    }

    /// log2 of (max - min)/probability: the probability rises by one over that with each byte. Kernels from 3.3 on go
    /// by `TCA_RED_MAX_P` and only show this one.
    fn slope_log(&self) -> u8 {
        ((self.max - self.min) as f64 / self.probability).log2().ceil().min(31.0) as u8
    }

    /// How many halvings of the mean an idle time is worth, in steps of 2^log microseconds, and that log: in the time
    /// of a packet the mean falls by one weight.
    fn idle_table(&self, weight_log: u8, rate: Rate) -> (u8, [u8; IDLE_ENTRIES]) {
        let packet_us = rate.time_to_send(Bytes(self.average_packet)).0 as f64 / 1000.0;
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

/// The options of RED before a transmitter of this rate.
///
/// # Errors
/// If its parameters contradict each other, in words.
pub fn options(queue: &KernelQueue, rate: Rate) -> Result<Vec<u8>, String> {
    let red = Red::of(queue)?;
    let weight_log = red.weight_log()?;
    let (step_log, table) = red.idle_table(weight_log, rate);
    // struct tc_red_qopt: limit, qth_min, qth_max, Wlog, Plog, Scell_log, flags.
    let mut fixed: Vec<u8> = [red.limit, red.min, red.max].into_iter().flat_map(|n| (n as u32).to_ne_bytes()).collect();
    fixed.extend([weight_log, red.slope_log(), step_log, red.flags]);
    let max_p = (red.probability * 2f64.powi(32)).min(u32::MAX as f64) as u32;
    Ok([attribute(PARAMETERS, &fixed), attribute(IDLE_TABLE, &table), attribute(MAX_P, &max_p.to_ne_bytes())].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(parameters: &[(&'static str, u64)]) -> Result<Red, String> {
        let setting = |&(name, bytes)| (name, Setting::Size(Bytes(bytes)));
        let parameters = parameters.iter().map(setting).chain([("probability", Setting::Share(0.02))]).collect();
        Red::of(&KernelQueue { discipline: "red", parameters })
    }

    /// The example of tc-red(8): bursts of 55 packets of 1000 bytes.
    #[test]
    fn the_weight_lets_the_burst_pass() {
        let mut example = red(&[("limit", 400_000), ("min", 30_000), ("max", 90_000), ("avpkt", 1000)]).unwrap();
        assert_eq!(example.burst, 50);
        example.burst = 55;
        assert_eq!(example.weight_log(), Ok(5));
        // 55 packets at once, worked out one by one.
        let after = |weight: f64| (1..=55).fold(0.0, |mean, queued| mean + weight * (queued as f64 - mean));
        assert!(after(1.0 / 32.0) < 30.0 && after(1.0 / 8.0) > 30.0);
        example.burst = 20;
        assert!(example.weight_log().unwrap_err().contains("at least 30"));
    }

    #[test]
    fn an_idle_time_is_worth_what_so_many_packets_would_be() {
        let example = red(&[("limit", 400_000), ("min", 30_000), ("max", 90_000), ("avpkt", 1000)]).unwrap();
        let (step_log, table) = example.idle_table(5, Rate(8_000_000));
        // A packet takes a millisecond: after 22 of them (31/32)^22 = 0.497 is left, after 44 a quarter.
        let halvings = |ms: usize| table[(ms * 1000) >> step_log];
        assert_eq!((halvings(1), halvings(23), halvings(46)), (0, 1, 2));
        assert_eq!((table[0], table[255]), (0, 31));
        assert!(table.is_sorted());
    }

    #[test]
    fn what_is_not_said_follows_from_the_rest() {
        let of_limit = red(&[("limit", 120_000), ("avpkt", 1000)]).unwrap();
        assert_eq!((of_limit.min, of_limit.max, of_limit.burst), (10_000, 30_000, 16));
        assert!(red(&[("limit", 50_000), ("min", 20_000), ("avpkt", 1000)]).unwrap_err().contains("up to limit"));
    }
}
