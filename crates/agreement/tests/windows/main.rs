//! Tests of window controllers in the running kernel, with real flows and with single segments of every kind. They need
//! root.

mod bounds;
mod odd_segments;
mod replay;
mod segments;
mod timestamps;
