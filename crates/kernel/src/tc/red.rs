//! The options of RED.

use crate::netlink::attribute;
use model::queue::Red;
use model::units::Rate;

const PARAMETERS: u16 = 1;
const IDLE_TABLE: u16 = 2;
const MAX_P: u16 = 3;
const ECN: u8 = 1;
const HARDDROP: u8 = 2;
const ADAPTIVE: u8 = 4;

/// Returns the options of RED before a transmitter with this rate.
///
/// # Errors
/// Returns a sentence if the parameters contradict each other.
pub fn options(red: &Red, rate: Rate) -> Result<Vec<u8>, String> {
    let arithmetic = red.arithmetic(rate)?;
    let flag = |is_set, bit| if is_set { bit } else { 0 };
    let flags = flag(red.ecn, ECN) | flag(red.harddrop, HARDDROP) | flag(red.adaptive, ADAPTIVE);
    // struct tc_red_qopt: limit, qth_min, qth_max, Wlog, Plog, Scell_log, flags.
    let bounds = [red.limit, red.min, red.max];
    let mut fixed: Vec<u8> = bounds.into_iter().flat_map(|bytes| (bytes.0 as u32).to_ne_bytes()).collect();
    fixed.extend([arithmetic.weight_log, arithmetic.slope_log, arithmetic.idle_step_log, flags]);
    let max_p = arithmetic.max_p.to_ne_bytes();
    Ok([attribute(PARAMETERS, &fixed), attribute(IDLE_TABLE, &arithmetic.idle_halvings), attribute(MAX_P, &max_p)]
        .concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Bytes;

    const SOME: Red = Red {
        limit: Bytes(400_000),
        min: Bytes(30_000),
        max: Bytes(90_000),
        probability: 0.02,
        avpkt: Bytes(1000),
        burst: 55,
        ecn: true,
        harddrop: true,
        adaptive: false,
        gentle: false,
    };

    /// Reproduces the example of tc-red(8).
    #[test]
    fn it_is_laid_out_as_the_kernel_reads_it() {
        let sent = options(&SOME, Rate(8_000_000)).unwrap();
        let words = [400_000u32, 30_000, 90_000].map(u32::to_ne_bytes).concat();
        assert_eq!(sent[..20], [&[20, 0, 1, 0][..], &words, &[5, 22, 11, 3]].concat());
        assert_eq!(sent[20..26], [4, 1, 2, 0, 0, 0]);
        assert_eq!(sent[280..], [&[8, 0, 3, 0][..], &85_899_345u32.to_ne_bytes()].concat());
    }

    #[test]
    fn bounds_that_contradict_each_other_are_refused() {
        let refused = options(&Red { limit: Bytes(50_000), ..SOME }, Rate(8_000_000)).unwrap_err();
        assert!(refused.contains("up to limit"), "{refused}");
    }
}
