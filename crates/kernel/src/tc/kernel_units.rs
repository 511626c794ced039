//! The scenario's settings in the units of the kernel's netlink interface.

use model::units::Bytes;
use model::{Limit, ParameterValue};

/// A setting in the kernel's units: packets, bytes, microseconds, bytes a second, 0 or 1.
pub fn word(setting: ParameterValue) -> u32 {
    let number = match setting {
        ParameterValue::Rate(rate) => rate.0 / 8,
        ParameterValue::Number(number) | ParameterValue::Limit(Limit::Packets(number)) => number,
        ParameterValue::Size(Bytes(bytes)) | ParameterValue::Limit(Limit::Bytes(Bytes(bytes))) => bytes,
        ParameterValue::Time(time) => time.as_micros(),
        ParameterValue::Flag(flag) => flag as u64,
        ParameterValue::Share(share) => (share * 2f64.powi(32)) as u64,
    };
    number.min(u32::MAX as u64) as u32
}
