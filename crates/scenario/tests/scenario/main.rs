//! What an experiment file says, and what is wrong with it. One program for all of it: each that is linked costs a
//! compilation of the same libraries.

mod errors;
mod experiments;
mod impairments;
mod lte;
mod mesh;
mod properties;
mod renamed;
mod resolved;
mod shipped;
mod wifi;
mod workload;
mod written;
