//! The experiment file and the result records: what every backend reads and what every backend answers.

mod bdp;
mod checks;
mod draws;
mod error;
pub mod impairments;
mod load;
pub mod model;
mod profile;
pub mod quantity;
pub mod queue;
mod range;
mod read;
mod read_discipline;
pub mod records;
mod red;
pub mod register;
mod resolved;
mod section;
pub mod setup;
pub mod skb;
mod sweep;
mod trace;
mod tree;
pub mod units;
pub mod workload;

pub use draws::{Draws, draws, normal, up_to};
pub use error::{Error, Place, Problem};
pub use load::{Cell, Experiment, load, load_text};
pub use read::is_path;
