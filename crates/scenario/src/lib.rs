//! The experiment file and the result records: what every backend reads and what every backend answers.

mod bdp;
mod checks;
mod error;
pub mod impairments;
mod load;
pub mod lte;
pub mod mesh;
pub mod model;
mod profile;
pub mod quantity;
pub mod queue;
mod range;
mod read;
mod read_discipline;
mod read_lte;
mod read_mesh;
mod read_queue;
mod read_wifi;
pub mod records;
mod red;
pub mod register;
mod resolved;
mod rng;
mod section;
pub mod setup;
pub mod skb;
mod sweep;
mod trace;
mod tree;
pub mod units;
pub mod wifi;
pub mod workload;

pub use error::{Error, Location, Problem};
pub use load::{Cell, Experiment, load, load_text};
pub use read::is_path;
pub use rng::{Rng, normal, rng, stream, up_to};
