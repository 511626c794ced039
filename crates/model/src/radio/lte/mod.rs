//! LTE: how many bytes a transport block carries, how often it is sent, and how long that takes.

mod channel;
mod harq;
pub mod timing;

pub use channel::{Bandwidth, Cqi, Direction, PACKET_HEADER};
pub use harq::{Harq, Tries};
pub use timing::{ANSWERED_AFTER, DECODING, PREPARATION, REQUEST_PERIOD, SUBFRAME};
