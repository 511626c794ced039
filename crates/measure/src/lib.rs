//! Meters and records of a run, which define every figure once for all backends.
//!
//! ```
//! use model::units::Nanos;
//!
//! let mut delays = unbloat_measure::Histogram::default();
//! (1..=100).for_each(|ms| delays.record(Nanos::from_millis(ms)));
//! assert_eq!((delays.samples(), delays.max_ms()), (100, Some(100.0)));
//! let median = delays.quantile_ms(0.5).expect("samples");
//! assert!((median - 50.0).abs() < 1.0);
//! ```

#![forbid(unsafe_code)]

mod application;
mod e_model;
mod fairness;
mod histogram;
mod interval;
mod packet_file;
mod receiver;
mod sampler;
mod send_buffer;
mod sender;

pub use application::{DatagramMeter, DelayMeter};
pub use e_model::{Codec, opinion_score, rating};
pub use fairness::jain_index;
pub use histogram::Histogram;
pub use interval::Interval;
pub use packet_file::{LinkInterfaces, Origin, PacketFile, SENDERS, SnapLength};
pub use receiver::ReceiverMeter;
pub use sampler::{FlowSample, LinkSample, Sampler};
pub use send_buffer::SendBufferMeter;
pub use sender::{SenderMeter, flow_record};
