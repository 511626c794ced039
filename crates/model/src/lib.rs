//! The scenario of a run: links, queues, hosts, flows, applications and radio cells, with units in the types. And the
//! records that a run leaves.
//!
//! ```
//! use unbloat_model::units::{Nanos, Rate};
//!
//! let rate: Rate = "20mbit".parse()?;
//! let rtt: Nanos = "40ms".parse()?;
//! assert_eq!(rate.time_to_send(unbloat_model::units::Bytes(100_000)), rtt);
//! # Ok::<(), unbloat_model::quantity::QuantityError>(())
//! ```

#![forbid(unsafe_code)]

mod ample_window;
pub mod app;
pub mod bdp;
mod compile;
pub mod declare;
mod error;
pub mod families;
mod flow;
mod flow_arrivals;
pub mod handover;
mod host;
mod host_on_kernel;
pub mod impairments;
mod link;
pub mod lte;
pub mod mechanism_ref;
pub mod mesh;
pub mod metric;
mod only;
mod portable;
pub mod quantity;
pub mod queue;
pub mod radio;
pub mod records;
pub mod regular_file;
mod rng;
mod scenario;
pub mod schema;
pub mod script;
pub mod section;
pub mod series;
mod settings;
mod setup;
pub mod skb;
mod tcp_profile;
mod trace;
pub mod units;
pub mod value;
mod wifi;
pub mod workload;

pub use compile::{Compile, CompileKeys};
pub use error::{Error, Location, Problem, Problems, did_you_mean, hint};
pub use flow::{Access, Clock, FlowGroup, FlowGroupKeys, NamedControl, TcpRmem};
pub use host::{Host, HostKeys, SendBuffer, SendTuning};
pub use link::{
    Capacity, DuplexLink, Gemodel, Link, LinkKeys, Loss, Member, ReverseKeys, Service, Trace, Transmitter,
    TransmitterKeys,
};
pub use mechanism_ref::{MapContents, MechanismRef, MechanismSource, ParamValue, is_path};
pub use only::{OnlyInTheKernel, OnlyInTheSimulator, OnlyThere};
pub use portable::Portable;
pub use queue::Queue;
pub use rng::{Rng, normal, rng, stream, up_to};
pub use scenario::{Emulator, LARGEST_ACK, Scenario, WRITTEN_AT_ONCE};
pub use settings::Settings;
pub use setup::{FlowSetup, LinkSetup};
pub use tcp_profile::{LossDetection, LossRepair, NamedProfile, Reduction, RepairSwitches, TcpProfile, TcpProfileKeys};
pub use units::Limit;
pub use wifi::{StationKeys, WifiCell, WifiStation};
