//! Window controllers in the running kernel: real flows, and segments of every kind through the programs one by one.
//! These tests need root.

mod bounds;
mod odd_segments;
mod replay;
mod segments;
mod timestamps;
