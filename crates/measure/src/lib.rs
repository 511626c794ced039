//! What a run counts, and the records that come of it: one definition of every figure for all backends.

mod flow;
mod histogram;
mod interval;
mod packet_file;
mod receiver;
mod sampler;
mod sender;

pub use flow::{flow_record, jain_index};
pub use histogram::Histogram;
pub use interval::Interval;
pub use packet_file::{LinkInterfaces, Origin, PacketFile, SENDERS, SnapLength};
pub use receiver::ReceiverMeter;
pub use sampler::{FlowSample, LinkSample, Sampler};
pub use sender::SenderMeter;
