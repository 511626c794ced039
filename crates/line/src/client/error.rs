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
    /// The far end has as many connections as it allows, from this address or from all.
    Full(String),
    /// The far end does not offer this congestion control, but those.
    NoControl(String, String, String),
    /// The operating system refuses what the measurement needs.
    System(io::Error),
}

/// Where a network intercepts connections until its user has logged in.
const LOGIN: &str = "if your network asks for a login in the browser, log in first";

impl Error {
    /// Tells a far end that refuses a connection from one that does not speak TLS.
    pub(super) fn of_handshake(server: String, error: io::Error) -> Self {
        let alert = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match alert {
            Some(rustls::Error::AlertReceived(rustls::AlertDescription::AccessDenied)) => Self::Full(server),
            _ => Self::NoTls(server, error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName(server, error) => write!(f, "{server}: the name cannot be resolved: {error}"),
            Self::NoConnection(server, error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => {
                    write!(f, "{server}: nothing listens there: start `unbloat serve` at the far end")
                }
                io::ErrorKind::TimedOut => {
                    write!(f, "{server}: no answer: open its port for TCP and UDP in the far end's firewall")
                }
                _ => write!(f, "{server}: no connection: {error}"),
            },
            Self::NoTls(server, error) => write!(f, "{server}: the TLS handshake failed: {error}; {LOGIN}"),
            Self::NoHttp2(server) => {
                write!(f, "{server}: the server does not speak HTTP/2, which measurements need; {LOGIN}")
            }
            Self::NotAFarEnd(server, found) => {
                write!(f, "{server}: not a server for measurements: /.well-known/nq {found}; {LOGIN}")
            }
            Self::Refused(server, reason) => write!(f, "{server}: the server refuses the measurement: {reason}"),
            Self::Full(server) => write!(
                f,
                "{server}: the far end refuses more connections, from this address or from all: try again later, or \
                 raise --client-connections there"
            ),
            Self::NoControl(server, cc, offered) if offered.is_empty() => {
                write!(f, "{server}: the far end lets nobody choose its congestion control, such as {cc}")
            }
            Self::NoControl(server, cc, offered) => {
                write!(f, "{server}: the far end does not offer the congestion control {cc}; it offers: {offered}")
            }
            Self::System(error) => write!(f, "the measurement cannot start: {error}"),
        }
    }
}

impl std::error::Error for Error {}
