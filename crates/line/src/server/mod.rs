//! The far end: listens, and counts what each client uses.

mod http;

use crate::limits::{Accounts, Client, Limits, Refusal};
use crate::unsent::limit_unsent;
use crate::{echo, token, transfer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

/// How long a client may take for its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Bytes that TCP may hold of a connection before it sends them.
const UNSENT: usize = 65_536;

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

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// HTTP/2 and HTTP/1.1 over TLS.
    pub https: SocketAddr,
    /// The UDP echo, on the port of HTTPS.
    pub echo: SocketAddr,
    /// Plain TCP transfers.
    pub transfer: SocketAddr,
}

/// What all connections share.
pub(crate) struct Shared {
    start: Instant,
    ended: AtomicBool,
    accounts: Mutex<Accounts>,
    pub(crate) key: token::Key,
    pub(crate) controls: Vec<String>,
    pub(crate) duration: Duration,
    pub(crate) addresses: Addresses,
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
        let transfer = TcpListener::bind(SocketAddr::new(address.ip(), 0))?;
        let addresses = Addresses { https: address, echo: echo.local_addr()?, transfer: transfer.local_addr()? };
        let shared = Arc::new(Shared {
            start: Instant::now(),
            ended: AtomicBool::new(false),
            accounts: Mutex::new(Accounts::new(config.limits)),
            key: token::Key::generate().map_err(|_| io::Error::other("no random bytes"))?,
            controls: config.controls,
            duration: config.limits.duration,
            addresses,
        });
        let acceptor = acceptor(config.identity)?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.spawn(accept(https, Arc::clone(&shared), move |stream, from, shared| {
            let acceptor = acceptor.clone();
            async move {
                let stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await??;
                http::serve(stream, from, shared).await
            }
        }));
        runtime.spawn(accept(transfer, Arc::clone(&shared), |stream, from, shared| async move {
            transfer::serve(stream, from, &shared).await
        }));
        let own = Arc::clone(&shared);
        let echo = std::thread::Builder::new().name("echo".into()).spawn(move || echo::answer_all(&echo, &own))?;
        Ok(Self { shared, runtime: Some(runtime), echo: Some(echo) })
    }

    /// Returns where the server listens.
    pub fn addresses(&self) -> Addresses {
        self.shared.addresses
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
async fn accept<F, S>(listener: TcpListener, shared: Arc<Shared>, serve: S) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send,
    S: Fn(tokio::net::TcpStream, SocketAddr, Arc<Shared>) -> F + Clone + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Out of descriptors, or the client went away: others may come.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        match Counted::new(&shared, from.ip().into()) {
            Ok(counted) => {
                let (serve, shared) = (serve.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    let _counted = counted;
                    let _ = stream.set_nodelay(true);
                    // Answers of a few bytes must not wait behind what TCP cannot send yet.
                    let _ = limit_unsent(&stream, UNSENT);
                    // A connection's end, by its client or by the limit, concerns nobody else.
                    let _ = tokio::time::timeout(shared.duration, serve(stream, from, Arc::clone(&shared))).await;
                });
            }
            Err(refusal) if listener.local_addr().is_ok_and(|own| own == shared.addresses.transfer) => {
                tokio::spawn(transfer::refuse(stream, refusal));
            }
            Err(_) => drop(stream),
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
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn in_file(file: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {error}", file.display()))
}
