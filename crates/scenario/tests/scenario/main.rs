//! Tests of reading scenario files and of the errors in them. They are one program, because each further one would link
//! the same libraries again.

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
