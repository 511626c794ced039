//! Packet traces, read back with the crates' own parsers: the file contains the simulated packets.

mod acknowledgements;
mod data;
mod file;
mod handshake;
mod headers;
mod links;
mod trace;
