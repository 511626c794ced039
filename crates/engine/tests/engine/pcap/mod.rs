//! Packet traces, read back with the crates' own parsers: what stands in the file is what was simulated.

mod acknowledgements;
mod data;
mod file;
mod handshake;
mod headers;
mod links;
mod trace;
