//! Numbers in the units of the kernel's netlink interface.

use model::Limit;
use model::units::Bytes;

/// A number in 32 bits, or the most that they hold.
pub fn word(number: u64) -> u32 {
    number.min(u32::MAX.into()) as u32
}

/// Packets or bytes.
pub fn limit(limit: Limit) -> u32 {
    match limit {
        Limit::Packets(number) | Limit::Bytes(Bytes(number)) => word(number),
    }
}

/// A share, of 2^32.
pub fn share(share: f64) -> u32 {
    word((share * 2f64.powi(32)) as u64)
}
