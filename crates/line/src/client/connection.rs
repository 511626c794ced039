//! Connections of HTTP/2 over TLS, each step of which is timed.

use super::error::Error;
use super::server_name::Url;
use crate::unsent::limit_unsent;
use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Connection, SendRequest};
use http::{Method, Request, StatusCode};
use nix::sys::socket::{setsockopt, sockopt};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName as TlsName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long the far end may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// How long the handshakes of TLS and HTTP/2 may take, and an answer of a few bytes.
const ANSWER: Duration = Duration::from_secs(20);

/// Bytes of the longest configuration that is read.
const MOST_CONFIGURATION: usize = 65_536;

/// The largest window of a stream; the window of its connection is the limit.
const STREAM_WINDOW: u32 = (1 << 31) - 1;

/// Bytes that HTTP/2 may queue for a stream before they are in the socket.
const SEND_BUFFER: usize = 1400;

/// Bytes that TLS and TCP may hold of an upload before they send.
///
/// With more of them, requests on the same connection would wait in this program, not on the line.
const UNSENT: usize = 1448;

/// TLS for clients, which notes whether certificates could be verified.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    is_unverified: Arc<AtomicBool>,
}

impl Tls {
    /// Prepares TLS with the certificates that the system trusts.
    pub(super) fn new() -> Result<Self, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        // Systems without certificates can still measure: nothing secret is sent.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let trusted = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().ok();
        let is_unverified = Arc::new(AtomicBool::new(false));
        let verifier = Verifier { trusted, provider: Arc::clone(&provider), is_unverified: Arc::clone(&is_unverified) };
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::System(io::Error::other(error)))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        // A resumed session would make the handshakes that are timed shorter.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), is_unverified })
    }

    /// Reports whether the far end showed a certificate that nobody trusted has signed.
    pub(super) fn is_unverified(&self) -> bool {
        self.is_unverified.load(Ordering::Relaxed)
    }
}

/// Accepts every certificate, and notes those that the system does not trust.
///
/// The far end of a private line signs its own, and gets only zeros.
#[derive(Debug)]
struct Verifier {
    trusted: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<rustls::crypto::CryptoProvider>,
    is_unverified: Arc<AtomicBool>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &TlsName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_trusted = self
            .trusted
            .as_ref()
            .is_some_and(|trusted| trusted.verify_server_cert(end_entity, intermediates, name, ocsp, now).is_ok());
        if !is_trusted {
            self.is_unverified.store(true, Ordering::Relaxed);
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection, and how long its handshakes took.
pub(super) struct Session {
    pub(super) requests: SendRequest<Bytes>,
    /// The TCP connection's socket, to read its state.
    pub(super) socket: OwnedFd,
    pub(super) local: SocketAddr,
    pub(super) tcp: Duration,
    pub(super) tls: Duration,
    window: watch::Sender<u32>,
    task: JoinHandle<()>,
}

impl Session {
    /// Opens a connection whose far end may have `window` bytes on the way.
    pub(super) async fn open(address: SocketAddr, host: &str, tls: &Tls, window: u32) -> Result<Self, Error> {
        let shown = address.to_string();
        let start = Instant::now();
        let stream = within(CONNECT, TcpStream::connect(address)).await;
        let stream = stream.map_err(|error| Error::NoConnection(shown.clone(), error))?;
        let connected = Instant::now();
        stream.set_nodelay(true).map_err(Error::System)?;
        let local = stream.local_addr().map_err(Error::System)?;
        let socket = stream.as_fd().try_clone_to_owned().map_err(Error::System)?;
        limit_unsent(&socket, UNSENT).map_err(Error::System)?;
        let name = TlsName::try_from(host.to_owned()).unwrap_or_else(|_| TlsName::IpAddress(address.ip().into()));
        let stream = within(ANSWER, tls.connector.connect(name, stream)).await;
        let mut stream = stream.map_err(|error| Error::of_handshake(shown.clone(), error))?;
        stream.get_mut().1.set_buffer_limit(Some(UNSENT));
        let secured = Instant::now();
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(Error::NoHttp2(shown));
        }
        let handshake = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(window)
            .max_send_buffer_size(SEND_BUFFER)
            .enable_push(false)
            .handshake(stream);
        let handshake = within(ANSWER, async { handshake.await.map_err(io::Error::other) }).await;
        let (requests, connection) = handshake.map_err(|error| Error::NoTls(shown, error))?;
        let (sender, receiver) = watch::channel(window);
        let task = tokio::spawn(drive(connection, receiver));
        Ok(Self { requests, socket, local, tcp: connected - start, tls: secured - connected, window: sender, task })
    }

    /// Lets the far end have more bytes on the way.
    pub(super) fn widen(&self, window: u32) {
        self.window.send_replace(window);
    }

    /// Returns how many bytes the far end may have on the way.
    pub(super) fn window(&self) -> u32 {
        *self.window.borrow()
    }

    /// Reports whether the connection has ended, by the far end or by a fault of the network.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Fetches a small object; returns its status and its first bytes.
    pub(super) async fn get(&self, url: &Url) -> io::Result<(StatusCode, Vec<u8>)> {
        get(self.requests.clone(), url).await
    }
}

impl Drop for Session {
    /// Closes the connection at once, and drops the data that waits in the send buffer.
    fn drop(&mut self) {
        let _ = setsockopt(&self.socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
        self.task.abort();
    }
}

/// Fetches a small object over a connection; returns its status and its first bytes.
async fn get(requests: SendRequest<Bytes>, url: &Url) -> io::Result<(StatusCode, Vec<u8>)> {
    let (status, body) = ask(requests, url).await?;
    Ok((status, read(body).await?))
}

/// Asks for a small object over a connection; returns the head of the answer, and its body, which is yet to come.
///
/// A connection that carries load may have used up the window of HTTP/2. That holds back bodies, but no heads.
pub(super) async fn ask(requests: SendRequest<Bytes>, url: &Url) -> io::Result<(StatusCode, RecvStream)> {
    within(ANSWER, async {
        let mut requests = requests.ready().await.map_err(io::Error::other)?;
        let (answer, _) = requests.send_request(request(Method::GET, url)?, true).map_err(io::Error::other)?;
        let answer = answer.await.map_err(io::Error::other)?;
        Ok((answer.status(), answer.into_body()))
    })
    .await
}

/// Reads the first bytes of an answer.
pub(super) async fn read(mut body: RecvStream) -> io::Result<Vec<u8>> {
    within(ANSWER, async {
        let mut content = Vec::new();
        while let Some(chunk) = body.data().await {
            let chunk = chunk.map_err(io::Error::other)?;
            body.flow_control().release_capacity(chunk.len()).map_err(io::Error::other)?;
            content.extend_from_slice(&chunk);
            if content.len() > MOST_CONFIGURATION {
                break;
            }
        }
        Ok(content)
    })
    .await
}

/// Makes a request without a body.
pub(super) fn request(method: Method, url: &Url) -> io::Result<Request<()>> {
    let uri = http::Uri::builder()
        .scheme("https")
        .authority(url.authority())
        .path_and_query(url.path.as_str())
        .build()
        .map_err(io::Error::other)?;
    let agent = concat!("unbloat/", env!("CARGO_PKG_VERSION"));
    Request::builder().method(method).uri(uri).header("user-agent", agent).body(()).map_err(io::Error::other)
}

/// Moves the frames of a connection until it ends, and widens its window when asked to.
async fn drive(mut connection: Connection<TlsStream<TcpStream>>, mut window: watch::Receiver<u32>) {
    loop {
        tokio::select! {
            // An end by error is an end: the streams report it.
            _ = &mut connection => return,
            Ok(()) = window.changed() => connection.set_target_window_size(*window.borrow_and_update()),
        }
    }
}

async fn within<T>(time: Duration, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer for {} s", time.as_secs()));
    tokio::time::timeout(time, future).await.unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::{Config, Identity, Server};

    /// Starts a far end; returns it with the address of one of its objects.
    fn far_end(object: &str) -> (Server, Url) {
        let identity = Identity::SelfSigned(vec!["localhost".into()]);
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let config = Config { address, limits: Limits::WIDE, controls: Vec::new(), identity };
        let server = Server::start(config).unwrap();
        let url = Url::parse(&format!("https://{}/{object}", server.address())).unwrap();
        (server, url)
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn a_window_that_a_download_has_used_up_holds_back_no_head() {
        const WINDOW: u32 = 65_535;
        let (server, url) = far_end("large");
        let (status, body) = run(async {
            let session = Session::open(server.address(), &url.host, &Tls::new().unwrap(), WINDOW).await.unwrap();
            let (_, mut large) = ask(session.requests.clone(), &url).await.unwrap();
            let mut come = 0;
            while come < WINDOW as usize {
                come += large.data().await.unwrap().unwrap().len();
            }
            let small = Url { path: "/small".into(), ..url };
            let (status, mut body) = ask(session.requests.clone(), &small).await.unwrap();
            (status, tokio::time::timeout(Duration::from_millis(1), body.data()).await)
        });
        assert_eq!(status, StatusCode::OK);
        assert!(body.is_err(), "the body waits for the window");
    }

    #[test]
    fn the_far_end_sends_frames_of_a_segment_while_the_rate_is_unknown() {
        let (server, url) = far_end("large");
        let first = run(async {
            let session = Session::open(server.address(), &url.host, &Tls::new().unwrap(), 65_535).await.unwrap();
            let (answer, _) = session.requests.clone().send_request(request(Method::GET, &url).unwrap(), true).unwrap();
            answer.await.unwrap().into_body().data().await.unwrap().unwrap().len()
        });
        assert!(first <= UNSENT, "an answer on this connection would wait for a frame of {first} bytes");
    }
}
