//! The experiment file and the result records: what every backend reads and what every backend answers.

pub mod model;
pub mod records;
pub mod units;
