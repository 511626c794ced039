//! The kernel's queue disciplines in its netlink interface: the options that `tc` would send.

use crate::netlink::{Qdisc, attribute};
use crate::tc::kernel_units::{limit, share, word};
use crate::tc::{cake, red};
use model::queue::{Discipline, KernelFifo, Said};
use model::units::{Nanos, Rate};
use model::{Gemodel, Limit, Loss};

/// The band of each of the 16 priorities in `prio`, as `tc` sets it up (tc-prio(8)).
const PRIOMAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Limit of a FIFO that never drops: the largest value before the kernel's counters turn negative.
const ENDLESS: u32 = i32::MAX as u32;
/// Nanoseconds in which the clock of the rate structures ticks (`PSCHED_SHIFT`).
const TICK: u64 = 64;

/// Creates a discipline before a transmitter with this rate, with those of its keys that `said`
/// has.
///
/// # Errors
/// Returns a sentence if the parameters contradict each other.
pub fn of_discipline(discipline: &Discipline, said: Said, rate: Rate) -> Result<Qdisc, String> {
    let options = match discipline {
        Discipline::Drophead(_) => return Err(format!("{} is not a queue of the kernel", discipline.name())),
        Discipline::PfifoFast(_) => None,
        Discipline::Prio(prio) => Some(priorities(prio.bands)),
        Discipline::Red(red) => Some(red::options(red, rate)?),
        Discipline::Cake(_) => Some(cake::options(&discipline.attributes(said))),
        Discipline::Codel(_) | Discipline::FqCodel(_) | Discipline::Pie(_) | Discipline::FqPie(_) => {
            let option = |(kind, value): (u16, u64)| attribute(kind, &word(value).to_ne_bytes());
            Some(discipline.attributes(said).into_iter().flat_map(option).collect())
        }
    };
    Ok(Qdisc { kind: discipline.name(), options })
}

/// Returns the options of `prio` with `bands` bands, chosen by the packets' priority.
fn priorities(bands: u32) -> Vec<u8> {
    let last = bands.saturating_sub(1) as u8;
    [&bands.to_ne_bytes()[..], &PRIOMAP.map(|band| band.min(last))].concat()
}

/// Creates one of the kernel's FIFOs.
pub fn kernel_fifo(fifo: &KernelFifo) -> Qdisc {
    let kind = match fifo {
        KernelFifo::Pfifo(_) => "pfifo",
        KernelFifo::Bfifo(_) => "bfifo",
    };
    Qdisc { kind, options: fifo.limit().map(|room| limit(room).to_ne_bytes().to_vec()) }
}

/// Creates the FIFO that works like the simulator's drop-tail queue.
pub fn fifo(room: Option<Limit>) -> Qdisc {
    let kind = if let Some(Limit::Bytes(_)) = room { "bfifo" } else { "pfifo" };
    Qdisc { kind, options: Some(room.map_or(ENDLESS, limit).to_ne_bytes().to_vec()) }
}

/// Creates a wire that delays and loses packets; the draws follow `seed` from Linux 6.7 on.
pub fn netem(delay: Nanos, loss: &Loss, seed: u64) -> Qdisc {
    const LATENCY64: u16 = 10;
    const PRNG_SEED: u16 = 14;
    let (loss, bursts) = match loss {
        Loss::Uniform(lost) => (share(*lost), vec![]),
        Loss::Gemodel(model) => (0, gemodel(model)),
    };
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter.
    let fixed: Vec<u8> = [0, ENDLESS, loss, 0, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    let attributes = [attribute(LATENCY64, &delay.0.to_ne_bytes()), attribute(PRNG_SEED, &seed.to_ne_bytes())];
    Qdisc { kind: "netem", options: Some([fixed, attributes.concat(), bursts].concat()) }
}

/// Creates a FIFO of `packets` packets that removes them from the sockets' accounts, as `netem`
/// does when it delays. TCP then believes that they have left its host, and sends what the window
/// allows. The FIFO delays them by a nanosecond.
pub fn sockets_fifo(packets: Option<u64>) -> Qdisc {
    const LATENCY64: u16 = 10;
    let limit = packets.map_or(ENDLESS, word);
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter.
    let fixed: Vec<u8> = [0, limit, 0, 0, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    Qdisc { kind: "netem", options: Some([fixed, attribute(LATENCY64, &1u64.to_ne_bytes())].concat()) }
}

/// Returns the attribute for losses in bursts of `netem`: `loss gemodel` of tc-netem(8).
fn gemodel(model: &Gemodel) -> Vec<u8> {
    const LOSS: u16 = 5 | libc::NLA_F_NESTED as u16;
    const GILBERT_ELLIOTT: u16 = 2;
    let Gemodel { p, r, lost_while_bad, lost_while_good } = *model;
    // struct tc_netem_gemodel: p, r, h, 1-k.
    let shares = [p, r, 1.0 - lost_while_bad, lost_while_good];
    let words: Vec<u8> = shares.into_iter().flat_map(|part| share(part).to_ne_bytes()).collect();
    attribute(LOSS, &attribute(GILBERT_ELLIOTT, &words))
}

/// Creates `htb`, which sends packets without a class to class `class`.
pub fn htb(class: u16) -> Qdisc {
    const INIT: u16 = 2;
    // struct tc_htb_glob: version, rate2quantum, default class, debug, packets sent past all classes.
    let fixed: Vec<u8> = [3, 10, class as u32, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    Qdisc { kind: "htb", options: Some(attribute(INIT, &fixed)) }
}

/// Creates a class of `htb` with a guaranteed `rate`. It may use up to `ceil` that others leave,
/// lower `prio` first. Up to `ahead` of idle time may be made up for.
pub fn htb_class(rate: Rate, ceil: Rate, ahead: Nanos, packet: u32, prio: u32) -> Qdisc {
    const PARAMETERS: u16 = 1;
    const RATE64: u16 = 6;
    const CEIL64: u16 = 7;
    const ETHERNET: u8 = 1; // packets count as long as they are
    let bytes_a_second = |rate: Rate| (rate.0 / 8).max(1);
    // struct tc_ratespec.
    let specification = |rate: Rate| {
        let mut specification = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
        specification.extend((bytes_a_second(rate).min(u32::MAX as u64) as u32).to_ne_bytes());
        specification
    };
    let burst = (ahead.0 / TICK) as u32;
    // Then: buffer, cbuffer, quantum, level, prio.
    let rest: Vec<u8> = [burst, burst, packet, 0, prio].into_iter().flat_map(u32::to_ne_bytes).collect();
    let fixed = [specification(rate), specification(ceil), rest].concat();
    let number = |kind: u16, rate: Rate| attribute(kind, &bytes_a_second(rate).to_ne_bytes());
    let options = [attribute(PARAMETERS, &fixed), number(RATE64, rate), number(CEIL64, ceil)].concat();
    Qdisc { kind: "htb", options: Some(options) }
}

/// Creates `prio` with `bands` bands; packets without a class wait in the first.
pub fn prio(bands: u32) -> Qdisc {
    // struct tc_prio_qopt: bands, and the band of each priority.
    const PRIORITIES: usize = 16;
    Qdisc { kind: "prio", options: Some([bands.to_ne_bytes().to_vec(), vec![0; PRIORITIES]].concat()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::queue::{Bfifo, Cake, Codel, FlowMode, FqCodel, PfifoFast, Prio};

    fn options(discipline: Discipline, said: Said) -> Option<Vec<u8>> {
        of_discipline(&discipline, said, Rate(8_000_000)).unwrap().options
    }

    /// Returns the number in an attribute of 32 bits.
    fn word_in(options: &[u8], kind: u16) -> Option<u32> {
        let mut attributes = options.chunks_exact(8);
        let found = attributes.find(|bytes| bytes[..4] == [8, 0, kind as u8, 0])?;
        Some(u32::from_ne_bytes(found[4..].try_into().unwrap()))
    }

    #[test]
    fn only_what_is_said_is_sent_and_in_the_kernel_s_units() {
        let keys = Discipline::FqCodel(FqCodel::default()).keys();
        let said = Said::these(keys, &["limit", "target", "ecn"]);
        let own = FqCodel { limit: 77, target: Nanos::from_millis(2), ecn: false, ..FqCodel::default() };
        let sent = options(Discipline::FqCodel(own), said).unwrap();
        assert_eq!([1, 2, 3, 4].map(|kind| word_in(&sent, kind)), [Some(2000), Some(77), None, Some(0)]);
        assert_eq!(options(Discipline::Codel(Codel::default()), Said::NONE), Some(vec![]));
        assert_eq!(kernel_fifo(&KernelFifo::Bfifo(Bfifo { limit: None })).options, None);
        assert_eq!(options(Discipline::Prio(Prio::default()), Said::NONE).unwrap()[..6], [3, 0, 0, 0, 1, 2]);
        let two = Prio { bands: 2, ..Prio::default() };
        assert_eq!(options(Discipline::Prio(two), Said::NONE).unwrap()[..6], [2, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn cake_is_told_its_rate_in_64_bits_and_its_target_with_its_interval() {
        let own = Cake {
            bandwidth: Some(Rate(80_000_000_000)),
            flowmode: FlowMode::DualSrchost,
            rtt: Nanos::from_millis(40),
            overhead: 44,
            ..Cake::default()
        };
        let discipline = Discipline::Cake(own);
        let said = Said::these(discipline.keys(), &["bandwidth", "flowmode", "rtt", "overhead"]);
        let sent = options(discipline, said).unwrap();
        assert_eq!(sent[..12], [&[12, 0, 2, 0][..], &10_000_000_000u64.to_ne_bytes()].concat());
        let sent = &sent[12..];
        assert_eq!(
            [3, 5, 6, 7, 8].map(|kind| word_in(sent, kind)),
            [None, Some(5), Some(44), Some(40_000), Some(2000)]
        );
        assert_eq!(options(Discipline::Cake(Cake::default()), Said::NONE), Some(vec![]));
        assert_eq!(options(Discipline::PfifoFast(PfifoFast::default()), Said::NONE), None);
    }

    /// The options equal those of `tc qdisc add ... netem limit 30 delay 1ns`.
    #[test]
    fn a_fifo_that_takes_packets_from_their_sockets_delays_them_by_a_nanosecond() {
        let sent = sockets_fifo(Some(30)).options.unwrap();
        assert_eq!(sent[..24], [0, 30, 0, 0, 0, 0].map(u32::to_ne_bytes).concat());
        assert_eq!(sent[24..], [&[12, 0, 10, 0][..], &1u64.to_ne_bytes()].concat());
    }

    /// The options equal those of `tc qdisc add ... netem loss gemodel 0% 25% 75% 50%`, where h is
    /// the share that survives, not 1-h.
    #[test]
    fn netem_s_bursts_are_one_attribute_in_another() {
        let model = Gemodel { p: 0.0, r: 0.25, lost_while_bad: 0.75, lost_while_good: 0.5 };
        let plain = netem(Nanos::ZERO, &Loss::NONE, 1).options.unwrap();
        let bursty = netem(Nanos::ZERO, &Loss::Gemodel(model), 1).options.unwrap();
        assert_eq!(bursty[..plain.len()], plain);
        let words = [0, 1 << 30, 1 << 30, 1u32 << 31].map(u32::to_ne_bytes).concat();
        assert_eq!(bursty[plain.len()..], [&[24, 0, 5, 0x80, 20, 0, 2, 0][..], &words].concat());
    }
}
