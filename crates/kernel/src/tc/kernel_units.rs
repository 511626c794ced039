//! Converts numbers to the units of the kernel's netlink interface.

use model::Limit;
use model::units::Bytes;

/// Converts a number to 32 bits, at most their largest value.
pub fn word(number: u64) -> u32 {
    number.min(u32::MAX.into()) as u32
}

/// Converts a limit in packets or bytes.
pub fn limit(limit: Limit) -> u32 {
    match limit {
        Limit::Packets(number) | Limit::Bytes(Bytes(number)) => word(number),
    }
}

/// Converts a share to units of 2^-32.
pub fn share(share: f64) -> u32 {
    word((share * 2f64.powi(32)) as u64)
}
