//! The network: packets with routes through ports, driven by a clock that the caller passes in,
//! simulated or real. It knows no TCP.
//!
//! A network carries any [`Packet`]. Here ten datagrams meet a queue of three:
//!
//! ```
//! use unbloat_path::{DropReason, Ecn, Network, Observer, Packet, NetworkEvent, Topology};
//! use model::units::Nanos;
//!
//! #[derive(Clone, Copy)]
//! struct Datagram(u32);
//!
//! impl Packet for Datagram {
//!     fn bytes(&self) -> u32 { 1250 }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn mark_ce(&mut self) {}
//!     fn tos(&self) -> u8 { 0 }
//!     fn flow(&self) -> u32 { 0 }
//!     fn is_from_sender(&self) -> bool { true }
//! }
//!
//! struct Lost(Vec<u32>);
//!
//! impl Observer<Datagram> for Lost {
//!     fn gone(&mut self, _: Nanos, _: DropReason, datagram: &Datagram) { self.0.push(datagram.0); }
//!     fn duplicated(&mut self, _: Nanos, datagram: &Datagram) -> Datagram { *datagram }
//! }
//!
//! let text = r#"
//!     duration = "1s"
//!     [link.bottleneck]
//!     rate  = "10mbit"
//!     delay = "20ms"
//!     queue = { limit = "3p" }
//!     [[flows]]
//!     cc = "reno"
//! "#;
//! let experiment = scenario::load_text(text, "text", "".as_ref(), &[])?;
//! let mut network: Network<Datagram> = Topology::new(&experiment.points[0].scenario, &[1]).network();
//! let mut lost = Lost(Vec::new());
//! (0..10).for_each(|number| network.send(Nanos::ZERO, 0, Datagram(number), &mut lost));
//!
//! let mut arrivals = Vec::new();
//! while let Some(NetworkEvent::Delivered(now, packet)) = network.run_until(Nanos::from_secs(1), &mut lost) {
//!     arrivals.push((network.packets.remove(packet).0, now));
//! }
//! // One millisecond to send, twenty on the way.
//! assert_eq!(arrivals[..2], [(0, Nanos::from_millis(21)), (1, Nanos::from_millis(22))]);
//! assert_eq!(arrivals.len() + lost.0.len(), 10);
//! # Ok::<(), model::Error>(())
//! ```

#![forbid(unsafe_code)]

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
mod script;
mod slots;
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
pub use model::{Rng, rng};
pub use network::{Network, NetworkEvent, Observer, Routes};
pub use output::{DropReason, LinkOutput};
pub use packet::{Ends, Packet, PacketId, Pool};
pub use port::{External, ExternalPort, NoExternal, Port};
pub use qdisc::Ecn;
pub use queued::{Gone, QueuedPort};
pub use stats::LinkStats;
pub use topology::Topology;
