//! Radio physics of the standards: timing, frames and channel quality.

pub mod ieee80211;
pub mod ieee802154;
pub mod lte;
