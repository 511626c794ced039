//! How a user or a configuration names a server.

use std::fmt;
use std::str::FromStr;

/// Ports that are tried where the user names none: the one of `unbloat serve`, and HTTPS.
pub(super) const PORTS: [u16; 2] = [4043, 443];

/// A host with or without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port, if it is given.
    pub port: Option<u16>,
}

/// Why a text does not name a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a server is a host such as far.example, 192.0.2.1:4043 or [2001:db8::1]:4043")
    }
}

impl FromStr for ServerName {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or(Malformed)?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or(Malformed)?) })
        } else if text.matches(':').count() > 1 {
            (text, None)
        } else {
            text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
        };
        let port = port.map(|port| port.parse().map_err(|_| Malformed)).transpose()?;
        let is_name = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/?#@[]".contains(c));
        if is_name && port != Some(0) { Ok(Self { host: host.to_owned(), port }) } else { Err(Malformed) }
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (_, None) => f.write_str(&self.host),
        }
    }
}

/// An address of the web, as the configuration of a server gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
}

impl Url {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (authority, path) = match text.strip_prefix("https://")?.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (text.strip_prefix("https://")?, "/".to_owned()),
        };
        let name: ServerName = authority.parse().ok()?;
        Some(Self { host: name.host, port: name.port.unwrap_or(443), path })
    }

    /// Returns the host and the port, as a request names them.
    pub(super) fn authority(&self) -> String {
        ServerName { host: self.host.clone(), port: Some(self.port) }.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn servers_have_names_or_addresses_and_perhaps_ports() {
        for (text, host, port) in [
            ("far.example", "far.example", None),
            ("far.example:443", "far.example", Some(443)),
            ("192.0.2.1:4043", "192.0.2.1", Some(4043)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:4043", "2001:db8::1", Some(4043)),
        ] {
            assert_eq!(text.parse(), Ok(ServerName { host: host.into(), port }), "{text}");
        }
        for text in ["", ":1", "a:b", "a:0", "a:70000", "[::1", "[::1]x", "https://a", "a b", "a/b"] {
            assert_eq!(text.parse::<ServerName>(), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        let url = Url::parse("https://far.example:4043/large").unwrap();
        assert_eq!((url.authority().as_str(), url.path.as_str()), ("far.example:4043", "/large"));
        assert_eq!(Url::parse("https://[::1]/a?b").unwrap().authority(), "[::1]:443");
        assert_eq!(Url::parse("https://a").unwrap().path, "/");
        assert_eq!(Url::parse("http://a/"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            if let Ok(name) = text.parse::<ServerName>() {
                prop_assert_eq!(name.to_string().parse(), Ok(name));
            }
            let _ = Url::parse(&text);
        }
    }
}
