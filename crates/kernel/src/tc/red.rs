//! What the kernel wants to be told of RED.

use crate::netlink::attribute;
use model::queue::{Red, RedBounds};
use model::units::{Bytes, Rate};
use model::{KernelQueue, Limit, ParameterValue};

const PARAMETERS: u16 = 1;
const IDLE_TABLE: u16 = 2;
const MAX_P: u16 = 3;
const ECN: u8 = 1;
const HARDDROP: u8 = 2;
const ADAPTIVE: u8 = 4;

/// RED in bytes and packets, every default filled in.
fn parameters(queue: &KernelQueue) -> Red {
    let bytes = |name| match queue.parameter(name) {
        Some(ParameterValue::Size(bytes) | ParameterValue::Limit(Limit::Bytes(bytes))) => Some(bytes),
        _ => None,
    };
    let flag = |name| queue.parameter(name) == Some(ParameterValue::Flag(true));
    let (limit, avpkt) = (bytes("limit").unwrap_or_default(), bytes("avpkt").unwrap_or(Bytes(1)));
    let burst = match queue.parameter("burst") {
        Some(ParameterValue::Number(burst)) => Some(burst),
        _ => None,
    };
    let (min, max, burst) = RedBounds { limit, min: bytes("min"), max: bytes("max"), avpkt, burst }.fill();
    let probability = match queue.parameter("probability") {
        Some(ParameterValue::Share(share)) => share,
        _ => 0.0,
    };
    Red {
        limit,
        min,
        max,
        probability,
        avpkt,
        burst,
        ecn: flag("ecn"),
        harddrop: flag("harddrop"),
        adaptive: flag("adaptive"),
        gentle: false,
    }
}

/// The options of RED before a transmitter of this rate.
///
/// # Errors
/// If its parameters contradict each other, in words.
pub fn options(queue: &KernelQueue, rate: Rate) -> Result<Vec<u8>, String> {
    let red = parameters(queue);
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

    fn sent(parameters: &[(&'static str, ParameterValue)]) -> Result<Vec<u8>, String> {
        let rest = [("probability", ParameterValue::Share(0.02)), ("avpkt", ParameterValue::Size(Bytes(1000)))];
        let parameters = parameters.iter().copied().chain(rest).collect();
        options(&KernelQueue { discipline: "red", parameters }, Rate(8_000_000))
    }

    /// The example of tc-red(8).
    #[test]
    fn it_is_laid_out_as_the_kernel_reads_it() {
        let size = |bytes| ParameterValue::Size(Bytes(bytes));
        let limit = ("limit", ParameterValue::Limit(Limit::Bytes(Bytes(400_000))));
        let said = [limit, ("min", size(30_000)), ("max", size(90_000)), ("burst", ParameterValue::Number(55))];
        let flags = [("ecn", ParameterValue::Flag(true)), ("harddrop", ParameterValue::Flag(true))];
        let sent = sent(&[&said[..], &flags].concat()).unwrap();
        let words = [400_000u32, 30_000, 90_000].map(u32::to_ne_bytes).concat();
        assert_eq!(sent[..20], [&[20, 0, 1, 0][..], &words, &[5, 22, 11, 3]].concat());
        assert_eq!(sent[20..26], [4, 1, 2, 0, 0, 0]);
        assert_eq!(sent[280..], [&[8, 0, 3, 0][..], &85_899_345u32.to_ne_bytes()].concat());
    }

    #[test]
    fn bounds_that_contradict_each_other_are_refused() {
        let size = |bytes| ParameterValue::Size(Bytes(bytes));
        let refused = sent(&[("limit", size(50_000)), ("min", size(20_000))]).unwrap_err();
        assert!(refused.contains("up to limit"), "{refused}");
    }
}
