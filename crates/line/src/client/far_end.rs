//! The far end as the client finds it: addresses, URLs, and what it offers beside the draft.

use super::connection::{Session, Tls};
use super::error::Error;
use super::server_name::{PORTS, ServerName, Url};
use crate::token::Token;
use crate::transfer::from_hex;
use nix::sys::socket::{getsockopt, sockopt::TcpCongestion};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A far end and what it offers.
pub(super) struct FarEnd {
    pub(super) address: SocketAddr,
    pub(super) host: String,
    pub(super) tls: Tls,
    pub(super) small: Url,
    pub(super) large: Url,
    pub(super) upload: Url,
    /// The echo's address with a token for it; only far ends of this project have one.
    pub(super) echo: Option<(SocketAddr, Token)>,
    pub(super) local: SocketAddr,
    pub(super) cc: String,
}

/// The configuration of a server for measurements.
#[derive(Deserialize)]
struct Configuration {
    urls: BTreeMap<String, serde_json::Value>,
}

impl Configuration {
    /// Returns a URL under the draft's name, or under the one of its first versions.
    fn url(&self, names: [&str; 2]) -> Option<Url> {
        names.iter().find_map(|name| Url::parse(self.urls.get(*name)?.as_str()?))
    }
}

/// What a far end of this project says of itself.
#[derive(Deserialize)]
struct Extras {
    token: String,
    echo_port: u16,
    #[serde(default)]
    congestion_controls: Vec<String>,
}

impl FarEnd {
    /// Finds the far end of a server, whose downloads have the congestion control `cc` if one is named.
    pub(super) async fn find(server: &ServerName, cc: Option<&str>) -> Result<Self, Error> {
        let tls = Tls::new()?;
        let ports = server.port.map_or_else(|| PORTS.to_vec(), |port| vec![port]);
        let mut first = None;
        for port in ports {
            let named = Url { host: server.host.clone(), port, path: "/.well-known/nq".into() };
            match Self::at(&named, &tls, cc).await {
                Err(error @ Error::NoConnection(..)) => first = first.or(Some(error)),
                found => return found,
            }
        }
        Err(first.unwrap_or_else(|| unreachable!("BUG: a server has at least one port")))
    }

    /// Asks the server at a port, at the first of its addresses that answers.
    async fn at(named: &Url, tls: &Tls, far_cc: Option<&str>) -> Result<Self, Error> {
        let shown = named.authority();
        let session = open_first(named, tls).await?;
        let (address, session) = session;
        let not = |found: String| Error::NotAFarEnd(shown.clone(), found);
        let (status, content) = session.get(named).await.map_err(|error| not(format!("gave no answer: {error}")))?;
        if !status.is_success() {
            return Err(not(format!("has status {status}")));
        }
        let found: Configuration =
            serde_json::from_slice(&content).map_err(|_| not("is not a configuration".into()))?;
        let url = |names: [&str; 2]| found.url(names).ok_or_else(|| not(format!("has no {}", names[0])));
        let small = url(["small_download_url", "small_https_download_url"])?;
        let mut large = url(["large_download_url", "large_https_download_url"])?;
        let upload = url(["upload_url", "https_upload_url"])?;
        let extras = session.get(&Url { path: "/unbloat".into(), ..named.clone() }).await;
        let extras = extras.ok().filter(|(status, _)| status.is_success());
        let extras = extras.and_then(|(_, content)| serde_json::from_slice::<Extras>(&content).ok());
        if let Some(cc) = far_cc {
            let offered = extras.as_ref().map_or(&[][..], |extras| &extras.congestion_controls);
            if !offered.iter().any(|name| name == cc) {
                return Err(Error::NoControl(shown, cc.to_owned(), offered.join(", ")));
            }
            large.path = format!("{}?cc={cc}", large.path);
        }
        let echo =
            extras.and_then(|extras| Some((SocketAddr::new(address.ip(), extras.echo_port), from_hex(&extras.token)?)));
        let cc = getsockopt(&session.socket, TcpCongestion).unwrap_or_default();
        let cc = cc.to_string_lossy().trim_end_matches('\0').to_owned();
        let local = session.local;
        Ok(Self { address, host: named.host.clone(), tls: tls.clone(), small, large, upload, echo, local, cc })
    }

    /// Returns the address of a URL: another host than the far end's may serve the objects.
    pub(super) async fn address_of(&self, url: &Url) -> Result<SocketAddr, Error> {
        if url.host == self.host {
            return Ok(SocketAddr::new(self.address.ip(), url.port));
        }
        let found = resolve(url).await?;
        found.first().copied().ok_or_else(|| Error::NoName(url.host.clone(), std::io::ErrorKind::NotFound.into()))
    }
}

async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, Error> {
    let found = tokio::net::lookup_host((url.host.as_str(), url.port)).await;
    Ok(found.map_err(|error| Error::NoName(url.host.clone(), error))?.collect())
}

async fn open_first(url: &Url, tls: &Tls) -> Result<(SocketAddr, Session), Error> {
    let mut last = Error::NoName(url.host.clone(), std::io::ErrorKind::NotFound.into());
    for address in resolve(url).await? {
        match Session::open(address, &url.host, tls, 65_535).await {
            Ok(session) => return Ok((address, session)),
            Err(Error::NoConnection(_, error)) => last = Error::NoConnection(url.authority(), error),
            Err(Error::NoTls(_, error)) => return Err(Error::NoTls(url.authority(), error)),
            Err(Error::NoHttp2(_)) => return Err(Error::NoHttp2(url.authority())),
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
