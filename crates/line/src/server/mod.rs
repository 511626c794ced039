//! The far end: listens, and counts what each client uses.

mod http;

use crate::limits::{Accounts, Client, Limits, Refusal};
use crate::unsent::{Gate, limit_unsent};
use crate::{echo, token, transfer};
use kernel::tcp_info::TcpInfo;
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

/// How long a client may take for its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a client beyond the limits may take until its connection is closed.
const REFUSED: Duration = Duration::from_secs(1);

/// Bytes that TLS and TCP may hold of a connection before they send them: answers of a few bytes wait behind those.
const UNSENT: usize = 1448;

/// How long the connections that are open at the end have to notice it.
const FAREWELL: Duration = Duration::from_millis(200);

/// What an operator chooses.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address and port of HTTPS; port 0 takes a free one.
    pub address: SocketAddr,
    /// Bytes, connections and time that clients may use.
    pub limits: Limits,
    /// Congestion controls that a client may ask for.
    pub controls: Vec<String>,
    /// Who the server proves to be.
    pub identity: Identity,
}

/// A certificate with its key.
#[derive(Debug, Clone)]
pub enum Identity {
    /// A new certificate for these names or addresses, which nobody has signed.
    SelfSigned(Vec<String>),
    /// PEM files with a chain of certificates and with the key of the first.
    Files(PathBuf, PathBuf),
}

/// What all connections share.
pub(crate) struct Shared {
    start: Instant,
    ended: AtomicBool,
    accounts: Mutex<Accounts>,
    pub(crate) key: token::Key,
    pub(crate) controls: Vec<String>,
    pub(crate) duration: Duration,
    /// Where the server listens: TLS and plain transfers over TCP, and the echo over UDP.
    pub(crate) address: SocketAddr,
}

impl Shared {
    /// Returns the time since the server's start, which no change of the clock disturbs.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a socket a congestion control that the operator allows; says why it cannot have it.
    pub(crate) fn control(&self, socket: impl AsFd, name: &str) -> Result<(), String> {
        if !self.controls.iter().any(|allowed| allowed == name) {
            return Err(format!("congestion control {name}; allowed: {}", self.controls.join(", ")));
        }
        setsockopt(&socket, TcpCongestion, &OsString::from(name))
            .map_err(|error| format!("congestion control {name} here: {error}"))
    }

    pub(crate) fn spend(&self, address: IpAddr, bytes: u64) -> Result<(), Refusal> {
        self.accounts().spend(address.into(), bytes, self.now())
    }
}

/// A connection that counts until it is dropped.
struct Counted {
    shared: Arc<Shared>,
    client: Client,
}

impl Counted {
    fn new(shared: &Arc<Shared>, client: Client) -> Result<Self, Refusal> {
        shared.accounts().connect(client, shared.now())?;
        Ok(Self { shared: Arc::clone(shared), client })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.accounts().disconnect(self.client);
    }
}

/// A far end that listens until it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    echo: Option<JoinHandle<io::Result<()>>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// A port is taken or not allowed, or the system gives no threads or random bytes.
    pub fn start(config: Config) -> io::Result<Self> {
        let https = TcpListener::bind(config.address)?;
        let address = https.local_addr()?;
        let echo = UdpSocket::bind(address)?;
        let shared = Arc::new(Shared {
            start: Instant::now(),
            ended: AtomicBool::new(false),
            accounts: Mutex::new(Accounts::new(config.limits)),
            key: token::Key::generate().map_err(|_| io::Error::other("no random bytes"))?,
            controls: config.controls,
            duration: config.limits.duration,
            address,
        });
        let acceptor = acceptor(config.identity)?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.spawn(accept(https, acceptor, Arc::clone(&shared)));
        let own = Arc::clone(&shared);
        let echo = std::thread::Builder::new().name("echo".into()).spawn(move || echo::answer_all(&echo, &own))?;
        Ok(Self { shared, runtime: Some(runtime), echo: Some(echo) })
    }

    /// Returns where the server listens: TLS and plain transfers over TCP, and the echo over UDP.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
        }
        if let Some(echo) = self.echo.take() {
            let _ = echo.join();
        }
    }
}

/// Accepts connections, each within the limits and in a task of its own.
async fn accept(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<Shared>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Out of descriptors, or the client went away: others may come.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        let counted = Counted::new(&shared, from.ip().into());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            // Answers of a few bytes must not wait behind what TCP cannot send yet.
            let _ = limit_unsent(&stream, UNSENT);
            // A connection's end, by its client or by the limit, concerns nobody else.
            let _ = tokio::time::timeout(shared.duration, serve(stream, from, acceptor, &shared, counted)).await;
        });
    }
}

/// Serves a connection: a plain transfer, if it begins as the request of one, and otherwise TLS.
async fn serve(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: TlsAcceptor,
    shared: &Arc<Shared>,
    counted: Result<Counted, Refusal>,
) -> io::Result<()> {
    let mut first = [0];
    let patience = if counted.is_ok() { HANDSHAKE } else { REFUSED };
    tokio::time::timeout(patience, stream.peek(&mut first)).await??;
    let is_transfer = first == *b"u";
    match counted {
        Err(refusal) if is_transfer => transfer::refuse(stream, refusal).await,
        Err(_) => refuse_tls(stream).await,
        Ok(_counted) if is_transfer => transfer::serve(stream, from, shared).await,
        Ok(_counted) => {
            let socket = stream.as_fd().try_clone_to_owned()?;
            let mut stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await??;
            stream.get_mut().1.set_buffer_limit(Some(UNSENT));
            let gate = Arc::new(Gate::new(&socket)?);
            tokio::select! {
                served = http::serve(stream, from, Arc::clone(shared), Arc::clone(&gate)) => served,
                () = keep_full(&socket, &gate) => Ok(()),
            }
        }
    }
}

/// A fatal alert of TLS that says `access_denied` (RFC 8446, section 6.2), as it is before any key is agreed on.
const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// Answers a TLS client that may not connect.
async fn refuse_tls(mut stream: TcpStream) -> io::Result<()> {
    // Bytes that nobody read would reset the connection and take the answer along.
    let mut hello = [0; 4096];
    let answered = async {
        if stream.read(&mut hello).await? == 0 {
            return Ok(());
        }
        stream.write_all(&ACCESS_DENIED).await?;
        stream.shutdown().await?;
        while stream.read(&mut hello).await? > 0 {}
        Ok(())
    };
    tokio::time::timeout(REFUSED, answered).await?
}

/// Lets a connection hold more of what it carries, the faster it is.
async fn keep_full(socket: &OwnedFd, gate: &Gate) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if let Ok(info) = TcpInfo::of(socket) {
            gate.keep_full(info.delivery_rate);
        }
    }
}

/// Prepares TLS with a certificate, for HTTP/2 and HTTP/1.1.
fn acceptor(identity: Identity) -> io::Result<TlsAcceptor> {
    let (chain, key) = match identity {
        Identity::SelfSigned(names) => {
            let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
            let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
            (vec![made.cert.der().clone()], key)
        }
        Identity::Files(certificates, key) => {
            let chain = CertificateDer::pem_file_iter(&certificates).and_then(Iterator::collect);
            let chain = chain.map_err(|error| in_file(&certificates, error))?;
            let own = PrivateKeyDer::from_pem_file(&key).map_err(|error| in_file(&key, error))?;
            (chain, own)
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Clients that time handshakes do not resume sessions, and their tickets would take some hundred bytes each time.
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn in_file(file: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {error}", file.display()))
}
