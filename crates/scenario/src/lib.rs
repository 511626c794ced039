//! The experiment file and the result records: what every backend reads and what every backend answers.
//!
//! ```
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
//! assert_eq!(experiment.cells[0].scenario.links.len(), 1);
//!
//! let error = scenario::load_text(&text.replace("10mbit", "fast"), "text", "".as_ref(), &[]).expect_err("no rate");
//! assert!(error.to_string().starts_with("text:4: link.bottleneck.rate"));
//! # Ok::<(), scenario::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod app;
mod bdp;
mod checks;
mod declare;
mod error;
pub mod impairments;
mod load;
pub mod lte;
pub mod mesh;
mod misspelled;
pub mod model;
mod profile;
pub mod quantity;
pub mod queue;
mod range;
mod read;
mod read_app;
mod read_host;
mod read_lte;
mod read_maps;
mod read_mechanism;
mod read_mesh;
mod read_queue;
mod read_wifi;
pub mod records;
pub mod regular_file;
mod resolved;
mod rng;
pub mod schema;
mod section;
pub mod setup;
pub mod skb;
mod sweep;
mod trace;
mod tree;
pub mod units;
pub mod wifi;
pub mod workload;

pub use declare::{Written, table};
pub use error::{Error, Location, Problem, did_you_mean};
pub use load::{Cell, Experiment, load, load_text};
pub use read_mechanism::is_path;
pub use rng::{Rng, normal, rng, stream, up_to};
