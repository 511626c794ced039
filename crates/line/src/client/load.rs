//! Load: connections that carry as much as the line takes, in one direction.

use super::budget::{Budget, with_headers};
use super::connection::{Session, Tls, request};
use super::error::Error;
use super::records::{Direction, Phase, TransferRow};
use super::server_name::Url;
use crate::unsent::Gate;
use bytes::Bytes;
use h2::Reason;
use http::Method;
use kernel::tcp_info::TcpInfo;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Bytes that a download's far end may have on the way at first, at most.
const FIRST_WINDOW: u64 = 1 << 20;

/// Bytes that a download's far end may have on the way, at most.
const MOST_WINDOW: u64 = 1 << 26;

/// Bytes that an upload hands over at a time: what a full packet holds beside the headers of HTTP/2 and TLS.
const CHUNK: usize = 1400;

static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Where a load goes, and what it may use.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) direction: Direction,
    pub(super) address: SocketAddr,
    pub(super) url: Url,
    pub(super) tls: Tls,
    /// Bytes that the load may use.
    pub(super) share: u64,
    pub(super) budget: Arc<Budget>,
}

/// Connections among which the share of a load is divided, so that windows alone do not use it up.
const PARTS: u64 = 32;

impl Target {
    /// Opens a connection.
    pub(super) async fn open(self) -> (Direction, Result<Session, Error>) {
        let window = match self.direction {
            Direction::Down => self.budget.take_up_to(FIRST_WINDOW.min(self.share / PARTS)).max(1),
            Direction::Up => 65_535,
        };
        (self.direction, Session::open(self.address, &self.url.host, &self.tls, window as u32).await)
    }
}

/// A connection that carries load.
pub(super) struct Carrier {
    pub(super) session: Session,
    number: usize,
    host: String,
    direction: Direction,
    budget: Arc<Budget>,
    /// Where an upload's bytes pass; None if the system refused it.
    gate: Option<Arc<Gate>>,
    must_stop: Arc<AtomicBool>,
    task: JoinHandle<io::Result<()>>,
    last: TcpInfo,
    /// Bytes received when the window was last looked at.
    looked_at: u64,
}

impl Carrier {
    /// Lets a connection carry.
    pub(super) fn start(target: &Target, session: Session, number: usize) -> Self {
        let must_stop = Arc::new(AtomicBool::new(false));
        let (requests, url) = (session.requests.clone(), target.url.clone());
        let (budget, stop) = (Arc::clone(&target.budget), Arc::clone(&must_stop));
        let gate = Gate::new(&session.socket).ok().map(Arc::new);
        let task = match target.direction {
            Direction::Down => tokio::spawn(download(requests, url, budget, stop)),
            Direction::Up => tokio::spawn(upload(requests, url, budget, stop, gate.clone())),
        };
        Self {
            session,
            number,
            host: target.url.host.clone(),
            direction: target.direction,
            budget: Arc::clone(&target.budget),
            gate,
            must_stop,
            task,
            last: TcpInfo::default(),
            looked_at: 0,
        }
    }

    /// Reads the connection's state from the kernel.
    pub(super) fn sample(&mut self, phase: Phase, time_s: f64) -> Option<TransferRow> {
        self.last = TcpInfo::of(&self.session.socket).ok()?;
        let is_upload = self.direction == Direction::Up;
        if let (true, Some(gate)) = (is_upload, &self.gate) {
            gate.keep_full(self.last.delivery_rate);
        }
        Some(TransferRow {
            phase,
            direction: self.direction,
            connection: self.number,
            time_s,
            bytes: self.bytes(),
            rtt_ms: is_upload.then(|| f64::from(self.last.rtt) / 1e3),
            retransmits: is_upload.then_some(self.last.total_retrans),
        })
    }

    /// Returns the payload bytes carried until the last sample.
    pub(super) fn bytes(&self) -> u64 {
        match self.direction {
            Direction::Down => self.last.bytes_received,
            Direction::Up => self.last.bytes_acked,
        }
    }

    /// Returns the bytes that wait in the send buffer and were never sent, at the last sample.
    pub(super) fn unsent(&self) -> u64 {
        u64::from(self.last.notsent_bytes)
    }

    /// Returns what the connection has sent and received until the last sample, with IP and TCP headers.
    pub(super) fn on_the_line(&self) -> (u64, u64) {
        counted(&self.last, &self.session)
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the host that the load's requests name.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Doubles a download's window if it may be what limits the rate: more than half of it came in a round trip.
    pub(super) fn widen(&mut self) {
        let came = self.bytes() - self.looked_at;
        self.looked_at = self.bytes();
        let window = u64::from(self.session.window());
        if self.direction == Direction::Down && 2 * came > window && window < MOST_WINDOW && self.budget.take(window) {
            self.session.widen(2 * window as u32);
        }
    }

    /// Ends the load; the connection stays, so that bytes on the way are counted.
    pub(super) fn stop(&self) {
        self.must_stop.store(true, Ordering::Relaxed);
    }

    /// Reports whether the far end, and not this one, has ended the load.
    pub(super) fn has_failed(&self) -> bool {
        !self.must_stop.load(Ordering::Relaxed) && (self.session.has_ended() || self.task.is_finished())
    }
}

/// Returns the connections that carry in one direction.
pub(super) fn carriers_of(carriers: &[Carrier], direction: Direction) -> impl Iterator<Item = &Carrier> {
    carriers.iter().filter(move |carrier| carrier.direction() == direction)
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn counted(info: &TcpInfo, session: &Session) -> (u64, u64) {
    let headers = if session.local.is_ipv6() { 72 } else { 52 };
    let sent = info.bytes_sent + headers * u64::from(info.segs_out);
    (sent, info.bytes_received + headers * u64::from(info.segs_in))
}

/// Returns what a connection has sent and received, with IP and TCP headers; zeros if the kernel does not say.
pub(super) fn on_the_line_of(session: &Session) -> (u64, u64) {
    TcpInfo::of(&session.socket).map_or((0, 0), |info| counted(&info, session))
}

/// Receives a large object and lets the far end send as many bytes anew, until the budget is used up.
async fn download(
    requests: h2::client::SendRequest<Bytes>,
    url: Url,
    budget: Arc<Budget>,
    must_stop: Arc<AtomicBool>,
) -> io::Result<()> {
    let mut requests = requests.ready().await.map_err(io::Error::other)?;
    let (answer, _) = requests.send_request(request(Method::GET, &url)?, true).map_err(io::Error::other)?;
    let answer = answer.await.map_err(io::Error::other)?;
    if !answer.status().is_success() {
        return Err(io::Error::other(format!("status {}", answer.status())));
    }
    let mut body = answer.into_body();
    while let Some(chunk) = body.data().await {
        let length = chunk.map_err(io::Error::other)?.len();
        if must_stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if budget.take(with_headers(length as u64)) {
            body.flow_control().release_capacity(length).map_err(io::Error::other)?;
        }
    }
    Err(io::Error::other("the object ended"))
}

/// Sends zeros until the budget is used up.
async fn upload(
    requests: h2::client::SendRequest<Bytes>,
    url: Url,
    budget: Arc<Budget>,
    must_stop: Arc<AtomicBool>,
    gate: Option<Arc<Gate>>,
) -> io::Result<()> {
    let mut requests = requests.ready().await.map_err(io::Error::other)?;
    let (answer, mut body) = requests.send_request(request(Method::POST, &url)?, false).map_err(io::Error::other)?;
    let send = async {
        loop {
            while gate.as_ref().is_some_and(|gate| !gate.is_open()) && !must_stop.load(Ordering::Relaxed) {
                tokio::time::sleep(Gate::PAUSE).await;
            }
            body.reserve_capacity(CHUNK);
            let room = poll_fn(|context| body.poll_capacity(context)).await;
            let room = room.ok_or_else(|| io::Error::other("the stream ended"))?.map_err(io::Error::other)?;
            let length = room.min(CHUNK);
            if must_stop.load(Ordering::Relaxed) {
                body.send_reset(Reason::CANCEL);
                return Ok(());
            }
            if !budget.take(with_headers(length as u64)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            if let Some(gate) = &gate {
                gate.pass(length);
            }
            body.send_data(Bytes::from_static(&ZEROS[..length]), false).map_err(io::Error::other)?;
        }
    };
    tokio::select! {
        sent = send => sent,
        // An answer before the end of the body is a refusal.
        answer = answer => match answer {
            Ok(answer) => Err(io::Error::other(format!("status {}", answer.status()))),
            Err(error) => Err(io::Error::other(error)),
        },
    }
}
