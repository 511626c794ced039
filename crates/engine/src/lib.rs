//! The discrete-event simulator: give it a scenario, get records, or drive a [`Simulation`] yourself.
//!
//! Time passes in two places only: in the ports of the network (crate `path`), and in the timers of `sender` and
//! `receiver`. The `simulation` takes the earliest event of both, again and again.
//!
//! TCP follows one version of Linux, [`LINUX`]. `docs/agreement/departures.md` lists the differences.
//!
//! ```
//! use mechanism::Library;
//! use std::ops::ControlFlow;
//!
//! let text = r#"
//!     duration = "10s"
//!     [link.bottleneck]
//!     rate  = "10mbit"
//!     delay = "20ms"
//!     queue = { limit = "50kb" }
//!     [[flows]]
//!     cc = "cubic"
//! "#;
//! let experiment = scenario::load_text(text, "text", "".as_ref(), &[])?;
//! let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
//! let options = unbloat_engine::Options::default();
//! let scenario = &experiment.points[0].scenario;
//! let outcome = unbloat_engine::run(scenario, &library, &options, &mut |_| ControlFlow::Continue(()))?;
//! assert!(outcome.run.flows[0].goodput_mbps > 9.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod clock;
mod error;
mod initial_sequence;
mod invalid_rate;
mod monitor;
pub mod packet;
mod pcap;
mod receiver;
mod scoreboard;
mod segment_set;
mod sender;
mod simulation;
pub mod tap;

pub use error::Error;
use measure::SnapLength;
pub use measure::{FlowSample, LinkSample};
use mechanism::Library;
use model::Scenario;
use model::records::Progress;
pub use model::records::{Options, Outcome};
use pcap::Pcap;
pub use simulation::{End, Pause, Simulation};
use tap::{Fingerprint, Silent, Tap};

/// The version of Linux whose TCP the profile `linux` is.
pub const LINUX: &str = "6.12";

/// Simulates `scenario`. It reports its progress to `progress`, which may stop the run.
pub fn run(scenario: &Scenario, library: &Library, options: &Options, progress: Progress) -> Result<Outcome, Error> {
    if options.pcap.is_none() {
        return watch(scenario, library, options, progress, Silent).map(|(outcome, _)| outcome);
    }
    run_and_hash(scenario, library, options, progress, None).map(|(outcome, _)| outcome)
}

/// Simulates `scenario`, and hashes the event trace: time, kind, flow and sequence number of every packet sent, lost or
/// delivered.
pub fn fingerprint(
    scenario: &Scenario,
    library: &Library,
    options: &Options,
    progress: Progress,
) -> Result<(Outcome, u64), Error> {
    let hash = Some(Fingerprint::new());
    let (outcome, hash) = run_and_hash(scenario, library, options, progress, hash)?;
    Ok((outcome, hash.map_or(0, |hash| hash.0)))
}

fn run_and_hash(
    scenario: &Scenario,
    library: &Library,
    options: &Options,
    progress: Progress,
    hash: Option<Fingerprint>,
) -> Result<(Outcome, Option<Fingerprint>), Error> {
    let snap_length = SnapLength::new(options.pcap_headers_only);
    let pcap = options.pcap.as_deref();
    let pcap = pcap.map(|path| Pcap::create(path, scenario, options.pcap_links, snap_length));
    let pcap = pcap.transpose().map_err(Error::Pcap)?;
    let (outcome, (pcap, hash)) = watch(scenario, library, options, progress, (pcap, hash))?;
    pcap.map_or(Ok(()), Pcap::close).map_err(Error::Pcap)?;
    Ok((outcome, hash))
}

/// Simulates `scenario` while `tap` sees every packet event.
pub fn watch<T: Tap>(
    scenario: &Scenario,
    library: &Library,
    options: &Options,
    progress: Progress,
    tap: T,
) -> Result<(Outcome, T), Error> {
    let mut simulation = Simulation::watched(scenario, library, options.series, tap)?;
    simulation.run(progress)?;
    simulation.finish()
}
