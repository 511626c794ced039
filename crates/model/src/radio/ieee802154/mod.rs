//! IEEE 802.15.4 at 2.4 GHz, and the 6LoWPAN frames on it.

pub mod frames;
pub mod phy;
