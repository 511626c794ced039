//! Ports, queue disciplines and media, each against what is known of it.

mod media;
mod properties;
mod qdiscs;
