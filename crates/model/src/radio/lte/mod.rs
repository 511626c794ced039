//! LTE: the bytes of a transport block, the number of its transmissions, and their duration.

mod channel;
mod harq;
pub mod timing;

pub use channel::{Bandwidth, Cqi, Direction, PACKET_HEADER};
pub use harq::{Harq, Tries};
pub use timing::{ANSWERED_AFTER, DECODING, PREPARATION, REQUEST_PERIOD, SUBFRAME};
