//! HTTP over TLS: the interface of draft-ietf-ippm-responsiveness, and the place where clients learn of the rest.

use super::Shared;
use crate::token;
use crate::transfer::to_hex;
use crate::unsent::Gate;
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::json;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;

/// Bytes of the large object, which no client reads to the end.
const LARGE: u64 = 8_000_000_000;

/// Bytes that a request and an answer without a large body take.
const SMALL: u64 = 500;

/// Bytes that a client may have on the way in an upload.
const WINDOW: u32 = 1 << 24;

/// Bytes of a response that wait for TCP.
const SEND_BUFFER: usize = 2048;

/// Zeros that a response sends at a time, at most.
static ZEROS: [u8; MOST_CHUNK] = [0; MOST_CHUNK];

/// Bytes of a large object that are a frame, which answers on the same connection wait for: at least and at most.
const LEAST_CHUNK: usize = 1400;
const MOST_CHUNK: usize = 1 << 14;

/// The names of the draft, and of its first versions, which some clients still read.
const URLS: [(&str, &str); 6] = [
    ("small_download_url", "small"),
    ("large_download_url", "large"),
    ("upload_url", "upload"),
    ("small_https_download_url", "small"),
    ("large_https_download_url", "large"),
    ("https_upload_url", "upload"),
];

/// Serves one connection.
///
/// The bytes of large objects pass a gate.
pub(super) async fn serve(
    stream: TlsStream<TcpStream>,
    from: SocketAddr,
    shared: Arc<Shared>,
    gate: Arc<Gate>,
) -> io::Result<()> {
    let service = service_fn(|request| {
        let (shared, gate) = (Arc::clone(&shared), Arc::clone(&gate));
        async move { Ok::<_, Infallible>(respond(request, from, &shared, gate).await) }
    });
    let mut connection = auto::Builder::new(TokioExecutor::new());
    // Bodies are read as they come, so that a window as large as fast paths need does not fill the memory.
    connection
        .http2()
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_concurrent_streams(64);
    connection.serve_connection(TokioIo::new(stream), service).await.map_err(io::Error::other)
}

type Answer = Response<Either<Full<Bytes>, Zeros>>;

async fn respond(request: Request<Incoming>, from: SocketAddr, shared: &Arc<Shared>, gate: Arc<Gate>) -> Answer {
    if let Err(refusal) = shared.spend(from.ip(), SMALL) {
        return text(StatusCode::TOO_MANY_REQUESTS, &format!("{refusal}\n"));
    }
    let is_head = request.method() == Method::HEAD;
    let answer = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/.well-known/nq") => json_of(&config(&request, shared)),
        (&Method::GET | &Method::HEAD, "/unbloat") => json_of(&json!({
            "token": to_hex(&shared.key.issue(from.ip(), shared.now())),
            "token_seconds": token::LIFETIME.as_secs(),
            "echo_port": shared.address.port(),
            "transfer_port": shared.address.port(),
            "congestion_controls": shared.controls,
        })),
        (&Method::GET | &Method::HEAD, "/small") => {
            answer(StatusCode::OK, "application/octet-stream", Bytes::from_static(b"0"))
        }
        (&Method::GET | &Method::HEAD, "/large") => match chosen(request.uri().query(), &gate, shared) {
            Ok(()) => {
                let zeros = Zeros { left: LARGE, from, shared: Arc::clone(shared), gate, pause: None };
                headed(Response::new(Either::Right(zeros)), "application/octet-stream")
            }
            Err(reason) => text(StatusCode::FORBIDDEN, &format!("no {reason}\n")),
        },
        (&Method::POST | &Method::PUT, "/upload") => upload(request.into_body(), from, shared).await,
        (_, "/.well-known/nq" | "/unbloat" | "/small" | "/large" | "/upload") => {
            text(StatusCode::METHOD_NOT_ALLOWED, "GET, or POST for /upload\n")
        }
        _ => text(StatusCode::NOT_FOUND, "see /.well-known/nq\n"),
    };
    if is_head { answer.map(|_| Either::Left(Full::default())) } else { answer }
}

/// Sets the congestion control of a connection that a query asks for, as in `/large?cc=reno`.
fn chosen(query: Option<&str>, gate: &Gate, shared: &Shared) -> Result<(), String> {
    query.and_then(|query| query.strip_prefix("cc=")).map_or(Ok(()), |name| shared.control(gate, name))
}

/// The configuration that the draft describes, with the host by which the client called the server.
fn config(request: &Request<Incoming>, shared: &Shared) -> serde_json::Value {
    let named = request.uri().authority().map(|authority| authority.as_str());
    let host = named.or_else(|| request.headers().get(HOST).and_then(|value| value.to_str().ok()));
    let host = host.map_or_else(|| shared.address.to_string(), str::to_owned);
    let urls: serde_json::Map<_, _> =
        URLS.iter().map(|(name, path)| ((*name).to_owned(), json!(format!("https://{host}/{path}")))).collect();
    json!({ "version": 1, "urls": urls })
}

/// Reads an upload to its end, or to the client's limit.
async fn upload(mut body: Incoming, from: SocketAddr, shared: &Arc<Shared>) -> Answer {
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { break };
        let length = frame.data_ref().map_or(0, Bytes::len) as u64;
        if let Err(refusal) = shared.spend(from.ip(), length) {
            return text(StatusCode::TOO_MANY_REQUESTS, &format!("{refusal}\n"));
        }
        received += length;
    }
    json_of(&json!({ "bytes": received }))
}

fn json_of(value: &serde_json::Value) -> Answer {
    answer(StatusCode::OK, "application/json", Bytes::from(value.to_string()))
}

fn text(status: StatusCode, text: &str) -> Answer {
    answer(status, "text/plain; charset=utf-8", Bytes::copy_from_slice(text.as_bytes()))
}

fn answer(status: StatusCode, kind: &'static str, content: Bytes) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(content)));
    *response.status_mut() = status;
    headed(response, kind)
}

fn headed(mut response: Answer, kind: &'static str) -> Answer {
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store, no-transform"));
    response
}

/// A body of zeros, each chunk of which the client's allowance pays for.
struct Zeros {
    left: u64,
    from: SocketAddr,
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    /// The time until the gate is looked at again.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            if self.gate.is_open() {
                break;
            }
            self.pause = Some(Box::pin(tokio::time::sleep(Gate::PAUSE)));
        }
        let length = self.left.min(self.gate.chunk(LEAST_CHUNK, MOST_CHUNK) as u64);
        if length == 0 {
            return Poll::Ready(None);
        }
        if let Err(refusal) = self.shared.spend(self.from.ip(), length) {
            return Poll::Ready(Some(Err(io::Error::other(refusal))));
        }
        self.left -= length;
        self.gate.pass(length as usize);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&ZEROS[..length as usize])))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
