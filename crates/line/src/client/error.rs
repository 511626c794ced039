//! Why a line cannot be measured.

use std::fmt;
use std::io;

/// Why a measurement did not begin.
#[derive(Debug)]
pub enum Error {
    /// The far end's name is unknown.
    NoName(String, io::Error),
    /// The far end does not accept connections.
    NoConnection(String, io::Error),
    /// The far end accepts connections and does not answer with TLS.
    NoTls(String, io::Error),
    /// The far end speaks TLS, but not HTTP/2.
    NoHttp2(String),
    /// The far end answers, but not as the draft describes: another server, or a portal that asks for a login.
    NotAFarEnd(String, String),
    /// The far end has no room for this client.
    Refused(String, String),
    /// The operating system refuses what the measurement needs.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName(server, error) => write!(f, "{server}: the name cannot be resolved: {error}"),
            Self::NoConnection(server, error) => write!(f, "{server}: no connection: {error}"),
            Self::NoTls(server, error) => write!(f, "{server}: the TLS handshake failed: {error}"),
            Self::NoHttp2(server) => write!(f, "{server}: the server does not speak HTTP/2, which measurements need"),
            Self::NotAFarEnd(server, found) => write!(
                f,
                "{server}: not a server for measurements: /.well-known/nq {found}; if your network asks for a login \
                 in the browser, log in first"
            ),
            Self::Refused(server, reason) => write!(f, "{server}: the server refuses the measurement: {reason}"),
            Self::System(error) => write!(f, "the measurement cannot start: {error}"),
        }
    }
}

impl std::error::Error for Error {}
