//! A far end on this computer's loopback, as its clients see it.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use unbloat_line::echo::{Answer, LEAST_SIZE, MAGIC, Probe};
use unbloat_line::limits::Limits;
use unbloat_line::token::SIZE;
use unbloat_line::{Config, Identity, Server};
use zerocopy::byteorder::network_endian::U64;
use zerocopy::{FromBytes, IntoBytes};

fn server(limits: Limits) -> Server {
    let config = Config {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        limits,
        controls: vec!["reno".into(), "no_such".into()],
        identity: Identity::SelfSigned(vec!["localhost".into()]),
    };
    Server::start(config).unwrap()
}

/// Accepts any certificate, as clients of a test server do.
#[derive(Debug)]
struct Anyone(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn connect(server: &Server) -> StreamOwned<ClientConnection, TcpStream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    StreamOwned::new(connection, stream)
}

/// Sends a request in HTTP/1.1 and returns all that comes back, which may end early.
fn exchange(server: &Server, request: &str) -> Vec<u8> {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all
}

fn get(server: &Server, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: far.example:4043\r\nConnection: close\r\n\r\n");
    String::from_utf8(exchange(server, &request)).unwrap()
}

fn body(response: &str) -> serde_json::Value {
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Returns a token in hexadecimal.
fn token(server: &Server) -> String {
    body(&get(server, "/unbloat"))["token"].as_str().unwrap().to_owned()
}

#[test]
fn the_configuration_names_the_host_that_the_client_called() {
    let answer = body(&get(&server(Limits::WIDE), "/.well-known/nq"));
    assert_eq!(answer["version"], 1);
    assert_eq!(answer["urls"]["large_download_url"], "https://far.example:4043/large");
    assert_eq!(answer["urls"]["https_upload_url"], "https://far.example:4043/upload");
}

#[test]
fn small_is_a_byte_and_other_paths_are_refused() {
    let server = server(Limits::WIDE);
    let small = get(&server, "/small");
    assert!(small.starts_with("HTTP/1.1 200") && small.ends_with("\r\n\r\n0"), "{small}");
    assert!(get(&server, "/other").starts_with("HTTP/1.1 404"));
    assert!(get(&server, "/upload").starts_with("HTTP/1.1 405"));
}

#[test]
fn an_upload_is_counted() {
    let content = "x".repeat(100_000);
    let request =
        format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n{content}");
    let answer = String::from_utf8(exchange(&server(Limits::WIDE), &request)).unwrap();
    assert_eq!(body(&answer)["bytes"], 100_000);
}

#[test]
fn a_download_ends_at_the_limit() {
    let limits = Limits { client_bytes: 1_000_000, ..Limits::WIDE };
    let request = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
    let got = exchange(&server(limits), request).len();
    assert!((400_000..1_001_000).contains(&got), "{got}");
}

#[test]
fn a_large_object_comes_only_with_a_control_that_is_allowed() {
    let server = server(Limits { client_bytes: 500_000, ..Limits::WIDE });
    assert!(exchange(&server, "GET /large?cc=reno HTTP/1.1\r\nHost: a\r\n\r\n").len() > 100_000);
    let refused = get(&server, "/large?cc=vegas");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(refused.ends_with("no congestion control vegas; allowed: reno, no_such\n"), "{refused}");
}

#[test]
fn more_connections_than_allowed_are_closed() {
    let server = server(Limits { client_connections: 1, ..Limits::WIDE });
    let mut first = connect(&server);
    first.write_all(b"GET /small HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    first.read_exact(&mut [0; 8]).unwrap();
    assert!(refusal(&server).contains("AccessDenied"));
    drop(first);
}

fn refusal(server: &Server) -> String {
    let mut second = connect(server);
    let asked = second.write_all(b"GET /small HTTP/1.1\r\nHost: a\r\n\r\n");
    asked.and_then(|()| second.read_exact(&mut [0; 8])).unwrap_err().to_string()
}

#[test]
fn a_probe_with_a_token_comes_back_with_times() {
    let server = server(Limits::WIDE);
    let mut bytes = [0; SIZE];
    let hex = token(&server);
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut probe = Probe { magic: MAGIC, number: U64::new(7), sent: U64::new(8), token: [0; SIZE] };
    // The echo ignores a probe without a valid token, so the first answer belongs to the second probe.
    socket.send_to(probe.as_bytes(), server.address()).unwrap();
    probe.token = bytes;
    probe.number = U64::new(9);
    let mut packet = probe.as_bytes().to_vec();
    packet.resize(200, 1);
    socket.send_to(&packet, server.address()).unwrap();
    let mut received = [0; 2000];
    let length = socket.recv(&mut received).unwrap();
    let answer = Answer::read_from_bytes(&received[..LEAST_SIZE]).unwrap();
    assert_eq!((length, answer.number.get(), answer.sent.get()), (200, 9, 8));
    assert!(answer.arrived.get() > 0 && answer.left.get() >= answer.arrived.get());
}

/// Asks for a transfer; returns the server's first line and what follows it.
fn transfer(server: &Server, request: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    (line, stream)
}

#[test]
fn a_transfer_has_the_congestion_control_that_was_asked_for() {
    let server = server(Limits { client_bytes: 500_000, ..Limits::WIDE });
    let token = token(&server);
    let (line, mut data) = transfer(&server, &format!("unbloat1 {token} download reno"));
    assert_eq!(line, "ok reno\n");
    let got = data.read_to_end(&mut Vec::new()).unwrap();
    assert!((400_000..=500_000).contains(&got), "{got}");
}

#[test]
fn a_transfer_without_a_right_gets_the_reason() {
    let server = server(Limits::WIDE);
    let token = token(&server);
    let answer = |request: &str| transfer(&server, request).0;
    assert_eq!(answer("upload please"), "no valid request\n");
    assert_eq!(answer(&format!("unbloat1 {} upload default", "00".repeat(SIZE))), "no valid token\n");
    assert_eq!(
        answer(&format!("unbloat1 {token} upload vegas")),
        "no congestion control vegas; allowed: reno, no_such\n"
    );
    assert!(answer(&format!("unbloat1 {token} upload no_such")).starts_with("no congestion control no_such here: "));
}

#[test]
fn a_server_that_ends_frees_its_ports() {
    let first = server(Limits::WIDE);
    let address = first.address();
    let kept = connect(&first);
    drop(first);
    drop(kept);
    let config = Config {
        address,
        limits: Limits::WIDE,
        controls: Vec::new(),
        identity: Identity::SelfSigned(vec!["localhost".into()]),
    };
    assert!(Server::start(config).is_ok());
}
