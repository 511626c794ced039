//! Reads scenario files into the scenarios of `model`: TOML, overrides, sweeps, and checks between keys.
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
//! let experiment = unbloat_scenario::load_text(text, "text", "".as_ref(), &[])?;
//! assert_eq!(experiment.points[0].scenario.links.len(), 1);
//!
//! let error = unbloat_scenario::load_text(&text.replace("10mbit", "fast"), "text", "".as_ref(), &[]).expect_err("no rate");
//! assert!(error.to_string().starts_with("text:4: link.bottleneck.rate"));
//! # Ok::<(), model::Error>(())
//! ```

#![forbid(unsafe_code)]

mod checks;
mod draft;
mod expect;
mod load;
mod misspelled;
mod profile;
mod range;
mod read;
mod read_host;
mod read_lte;
mod read_mechanism;
mod read_mesh;
mod read_wifi;
mod renamed;
mod sweep;
mod tree;
mod write;

pub use expect::Expectation;
pub use load::{Experiment, GridPoint, load, load_text};
pub use model::Error;
pub use renamed::renamed_keys;
pub use tree::line_of;
pub use write::to_toml;
