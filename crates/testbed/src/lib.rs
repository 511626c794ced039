//! Experiments with the running kernel's TCP: each host a namespace, each link emulated in real time.
//!
//! ```
//! let text = r#"
//!     duration = "10s"
//!     [link.bottleneck]
//!     rate  = "10mbit"
//!     delay = "20ms"
//!     queue = { limit = "50kb" }
//!     [[flows]]
//!     cc = "kernel:cubic"
//! "#;
//! let experiment = scenario::load_text(text, "text", "".as_ref(), &[])?;
//! // Refuses what the running kernel does not have, before anything is set up.
//! unbloat_testbed::check(&experiment.points[0].scenario, kernel::running_version())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffers;
mod controls;
mod emulator;
mod error;
mod flows;
mod host;
mod ip;
mod kernel_qdisc;
mod packet;
mod pcap;
mod run;
mod series;
mod shell;
mod soundness;
mod surroundings;
mod timing;
mod uplink;

pub use controls::{GroupControl, load as load_controls};
pub use error::Error;
pub use host::End;
pub use run::LEAST_STEP;
pub use run::{check, run, run_with};
pub use shell::{Ended, Programs, check_shell, shell};
pub use timing::clock::Time;
