//! The network: packets with routes through ports, driven by a clock that is handed in, simulated or real. Knows no
//! TCP.

mod access;
mod byte_queue_limits;
mod channel;
mod delay_line;
mod direction;
mod droptail;
mod egress;
mod event_queue;
mod fifo;
mod impaired;
mod loss;
pub mod medium;
mod network;
mod output;
mod packet;
mod port;
pub mod qdisc;
mod queued;
mod ring;
mod stats;
mod topology;
mod transmitter;

pub use access::AccessPort;
pub use channel::{PortId, Transit};
pub use delay_line::DelayLine;
pub use direction::{forward, is_reverse, reverse};
pub use egress::EgressPort;
pub use event_queue::{EventQueue, EventSource};
pub use fifo::FifoPort;
pub use medium::Medium;
pub use network::{Network, NetworkEvent, Observer, Routes};
pub use output::{DropReason, LinkOutput};
pub use packet::{Ends, Packet, PacketId, Pool};
pub use port::{External, ExternalPort, NoExternal, Port};
pub use qdisc::Ecn;
pub use queued::{Gone, QueuedPort};
pub use scenario::{Rng, rng};
pub use stats::LinkStats;
pub use topology::Topology;
