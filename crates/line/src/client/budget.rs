//! The bytes that a measurement may still use.

use std::sync::Mutex;
use std::sync::PoisonError;

/// Bytes that headers and acknowledgements add to a payload, as a share of it, over IPv6 and with some segments resent.
///
/// TCP and IPv6 headers are 5 % of a full segment. An acknowledgement for every second one takes 2.5 %, and a TLS record
/// in each segment takes 1.5 %.
const OVERHEAD: f64 = 0.11;

/// Returns how many bytes of the line a payload takes.
pub(super) fn with_headers(payload: u64) -> u64 {
    (payload as f64 * (1.0 + OVERHEAD)).ceil() as u64
}

/// An allowance of bytes, both directions together. Bytes are taken before they can move, so that no more move.
#[derive(Debug)]
pub(super) struct Budget {
    left: Mutex<u64>,
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self { left: Mutex::new(bytes) }
    }

    /// Takes bytes, or none if fewer are left.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match left.checked_sub(bytes) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }

    /// Takes at most these bytes; returns how many.
    pub(super) fn take_up_to(&self, bytes: u64) -> u64 {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = bytes.min(*left);
        *left -= taken;
        taken
    }

    pub(super) fn left(&self) -> u64 {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_order_of_takers_gets_more_than_there_is(wants in proptest::collection::vec(0_u64..500, 1..50)) {
            let budget = Budget::new(5000);
            let mut got = 0;
            for (at, want) in wants.into_iter().enumerate() {
                got += match at % 2 {
                    0 if budget.take(want) => want,
                    0 => 0,
                    _ => budget.take_up_to(want),
                };
                prop_assert_eq!(got + budget.left(), 5000);
            }
        }
    }
}
