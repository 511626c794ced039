//! A mechanism and a socket to drive by hand.
#![allow(dead_code, reason = "each test file uses its part")]

use mechanism::sock::TcpSock;
use mechanism::{Control, Error, Library};
use scenario::model::{CcSource, CongestionControl, ParamValue};
use std::path::{Path, PathBuf};

/// The library of this repository.
pub fn library() -> Library {
    Library::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms"))
}

/// A file of `tests/sources`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources").join(name)
}

/// A built-in mechanism with its default parameters.
pub fn builtin(name: &str) -> Control {
    with_params(name, &[])
}

/// A built-in mechanism with parameters.
pub fn with_params(name: &str, params: &[(&str, ParamValue)]) -> Control {
    load(CcSource::Builtin(name.into()), params).unwrap_or_else(|e| panic!("{e}"))
}

/// Any mechanism.
pub fn load(source: CcSource, params: &[(&str, ParamValue)]) -> Result<Control, Error> {
    let params = params
        .iter()
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect();
    library().load(&CongestionControl { source, params }, 1)
}

/// A socket whose window is in use.
pub fn socket(cwnd: u32, ssthresh: u32) -> TcpSock {
    TcpSock {
        snd_cwnd: cwnd,
        snd_ssthresh: ssthresh,
        max_packets_out: cwnd,
        packets_out: cwnd,
        is_cwnd_limited: 1,
        mss_cache: 1448,
        ..TcpSock::default()
    }
}
