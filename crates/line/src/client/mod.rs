//! The client: measures a line against a far end, within a budget of bytes and seconds.
//!
//! A measurement has four phases: idle, download, upload, and both at once. In each, probes and requests of a small
//! object measure delays, while connections carry as much as the line takes. The client collects raw samples; other
//! parts of the project judge them. Load, requests and the rule when a phase is long enough follow
//! draft-ietf-ippm-responsiveness, with shorter intervals.

mod budget;
mod connection;
mod error;
mod host;
mod load;
mod probes;
mod records;
mod server_name;

pub use error::Error;
pub use records::{
    Direction, HopRow, HostRow, Measured, Phase, PhaseRow, ProbeRow, RequestKind, RequestRow, Tables, TransferRow,
};
pub use server_name::{Malformed, ServerName};

use crate::token::Token;
use crate::transfer::from_hex;
use budget::Budget;
use connection::{Session, Tls};
use host::Device;
use load::{Carrier, Target};
use nix::sys::socket::{getsockopt, sockopt::TcpCongestion};
use probes::{PROBE_BYTES, Prober};
use serde::Deserialize;
use server_name::{PORTS, Url};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Time between two samples of connections and of this computer's queues.
const SAMPLE: Duration = Duration::from_millis(50);

/// Time over which goodput is averaged; the draft proposes a second.
const INTERVAL: Duration = Duration::from_millis(500);

/// Intervals of a moving average, and moving averages that are compared (the draft's MAD).
const AVERAGES: usize = 4;

/// Standard deviation of the moving averages, as a share of their mean, below which they are stable (the draft's SDT).
const STABLE: f64 = 0.05;

/// Connections of a load at the start, and at most (the draft's MNP).
const CONNECTIONS: (usize, usize) = (4, 16);

/// Bytes a second that a connection should carry: with less, requests on it wait for what it has not sent yet.
const LEAST_SHARE: f64 = 250_000.0;

/// The longest pause after a phase, for queues to drain.
const DRAIN: Duration = Duration::from_secs(6);

/// The longest load of a phase.
const MOST_LOAD: Duration = Duration::from_secs(15);

/// How long the idle phase takes.
const IDLE: Duration = Duration::from_millis(2500);

/// Bytes of a request on a connection of its own, both directions together.
const FOREIGN_BYTES: u64 = 9000;

/// Bytes of a request on a connection that exists.
const OWN_BYTES: u64 = 400;

/// Share of the budget for probes and requests.
const ASIDE: f64 = 0.06;

/// Share of the line's rate that probes and requests may take each (the draft's PTC).
const PROBE_SHARE: f64 = 0.02;

/// What to measure, and at which cost.
#[derive(Debug, Clone)]
pub struct Config {
    /// The far end.
    pub server: ServerName,
    /// Bytes that may be used, both directions together, with headers.
    pub budget: u64,
    /// How long the measurement may take.
    pub duration: Duration,
    /// The phases to run, in order.
    pub phases: Vec<Phase>,
}

/// What a running measurement sees, for a live view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The phase that runs.
    pub phase: Phase,
    /// Time since the measurement began.
    pub elapsed_s: f64,
    /// Received rate of the last interval, in Mbit/s.
    pub down_mbps: f64,
    /// Sent rate of the last interval, in Mbit/s.
    pub up_mbps: f64,
    /// The latest round-trip time.
    pub rtt_ms: Option<f64>,
    /// Bytes used so far.
    pub bytes: u64,
}

/// Called several times a second; breaks to end the measurement, which then returns what was measured.
pub type Observe<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Measures a line.
///
/// A far end that goes away later, or an [`Observe`] that breaks, ends the measurement with what was measured until
/// then.
///
/// # Errors
///
/// The far end cannot be reached, or does not serve measurements.
pub fn measure(config: &Config, observe: Observe<'_>) -> Result<Measured, Error> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(Error::System)?;
    let measured = runtime.block_on(async {
        let far = FarEnd::find(&config.server).await?;
        Ok(Run::new(config, far, observe)?.all().await)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    measured
}

/// A far end and what it offers.
struct FarEnd {
    address: SocketAddr,
    host: String,
    tls: Tls,
    small: Url,
    large: Url,
    upload: Url,
    /// The echo's address with a token for it; only far ends of this project have one.
    echo: Option<(SocketAddr, Token)>,
    local: SocketAddr,
    cc: String,
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
}

impl FarEnd {
    async fn find(server: &ServerName) -> Result<Self, Error> {
        let tls = Tls::new()?;
        let ports = server.port.map_or_else(|| PORTS.to_vec(), |port| vec![port]);
        let mut first = None;
        for port in ports {
            let named = Url { host: server.host.clone(), port, path: "/.well-known/nq".into() };
            match Self::at(&named, &tls).await {
                Err(error @ Error::NoConnection(..)) => first = first.or(Some(error)),
                found => return found,
            }
        }
        Err(first.unwrap_or_else(|| unreachable!("BUG: a server has at least one port")))
    }

    /// Asks the server at a port, at the first of its addresses that answers.
    async fn at(named: &Url, tls: &Tls) -> Result<Self, Error> {
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
        let large = url(["large_download_url", "large_https_download_url"])?;
        let upload = url(["upload_url", "https_upload_url"])?;
        let extras = session.get(&Url { path: "/unbloat".into(), ..named.clone() }).await;
        let extras = extras.ok().filter(|(status, _)| status.is_success());
        let extras = extras.and_then(|(_, content)| serde_json::from_slice::<Extras>(&content).ok());
        let echo =
            extras.and_then(|extras| Some((SocketAddr::new(address.ip(), extras.echo_port), from_hex(&extras.token)?)));
        let cc = getsockopt(&session.socket, TcpCongestion).unwrap_or_default();
        let cc = cc.to_string_lossy().trim_end_matches('\0').to_owned();
        let local = session.local;
        Ok(Self { address, host: named.host.clone(), tls: tls.clone(), small, large, upload, echo, local, cc })
    }

    /// Returns the address of a URL: another host than the far end's may serve the objects.
    async fn address_of(&self, url: &Url) -> Result<SocketAddr, Error> {
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

/// What requests collect while they run in tasks of their own.
#[derive(Default)]
struct Requests {
    rows: Vec<RequestRow>,
    running: usize,
    sent_bytes: u64,
    received_bytes: u64,
}

/// A measurement that runs.
struct Run<'a> {
    config: &'a Config,
    far: FarEnd,
    observe: Observe<'a>,
    start: Instant,
    prober: Prober,
    device: Option<Device>,
    /// Bytes that load may still use.
    left: u64,
    /// Bytes that requests may still use.
    aside: Arc<Budget>,
    requests: Arc<Mutex<Requests>>,
    sent_bytes: u64,
    received_bytes: u64,
    tables: Tables,
    notes: Vec<String>,
    is_complete: bool,
    /// The rates of the last phase, down and up, in bytes a second.
    rates: [f64; 2],
    /// The highest rates so far, down and up, in bytes a second.
    best: [f64; 2],
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, far: FarEnd, observe: Observe<'a>) -> Result<Self, Error> {
        let start = Instant::now();
        let aside = (config.budget as f64 * ASIDE) as u64;
        // Probes may use a third of what is set aside.
        let most_probes = aside / 3 / (2 * PROBE_BYTES) + 1;
        let interval = (config.duration / most_probes as u32).max(Duration::from_millis(50));
        let echo = far.echo.map_or(far.address, |(address, _)| address);
        let prober = Prober::start(echo, far.echo.map(|(_, token)| token), start, interval).map_err(Error::System)?;
        let device = Device::with_address(far.local.ip());
        Ok(Self {
            config,
            observe,
            start,
            prober,
            device,
            left: config.budget - aside,
            aside: Arc::new(Budget::new(aside - aside / 3)),
            requests: Arc::default(),
            sent_bytes: 0,
            received_bytes: 0,
            tables: Tables::default(),
            notes: Vec::new(),
            is_complete: true,
            rates: [0.0; 2],
            best: [0.0; 2],
            far,
        })
    }

    fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn deadline(&self) -> Instant {
        self.start + self.config.duration
    }

    /// Runs all phases.
    async fn all(mut self) -> Measured {
        let phases = self.config.phases.clone();
        for (at, phase) in phases.iter().enumerate() {
            let after = &phases[at..];
            let flow = match phase {
                Phase::Idle => self.idle().await,
                _ => match self.loaded(*phase, after).await {
                    Ok(flow) => flow,
                    Err(error) => {
                        self.notes.push(format!("the measurement ended early: {error}"));
                        ControlFlow::Break(())
                    }
                },
            };
            let is_over = at + 1 < phases.len() && Instant::now() >= self.deadline();
            if flow.is_break() || is_over {
                self.is_complete = false;
                break;
            }
        }
        self.finish().await
    }

    /// Measures the empty line.
    async fn idle(&mut self) -> ControlFlow<()> {
        let start_s = self.now();
        let until = (Instant::now() + IDLE).min(self.deadline());
        let mut next_request = Instant::now() + Duration::from_millis(200);
        let mut flow = ControlFlow::Continue(());
        while Instant::now() < until && flow.is_continue() {
            tokio::time::sleep(SAMPLE).await;
            if Instant::now() >= next_request {
                self.ask_foreign(Phase::Idle);
                next_request = Instant::now() + Duration::from_millis(500);
            }
            self.sample_host(Phase::Idle, &[]);
            flow = self.report(Phase::Idle, [0.0; 2], 0);
        }
        self.tables.phases.push(PhaseRow { phase: Phase::Idle, start_s, stop_s: self.now() });
        flow
    }

    /// Measures the line under load; `after` are this phase and those that follow.
    async fn loaded(&mut self, phase: Phase, after: &[Phase]) -> Result<ControlFlow<()>, Error> {
        let loaded = after.iter().filter(|phase| **phase != Phase::Idle).count() as u32;
        let directions: usize = after.iter().map(|phase| phase.directions().len()).sum();
        let whole = self.left / directions as u64 * phase.directions().len() as u64;
        let pause = DRAIN / 2 * (loaded - 1);
        let time = self.deadline().saturating_duration_since(Instant::now()).saturating_sub(pause) / loaded;
        let mut targets = Vec::new();
        for direction in phase.directions() {
            let url = match direction {
                Direction::Down => self.far.large.clone(),
                Direction::Up => self.far.upload.clone(),
            };
            let address = self.far.address_of(&url).await?;
            let share = (whole as f64 * self.part_of(*direction, phase)) as u64;
            let budget = Arc::new(Budget::new(share));
            let tls = self.far.tls.clone();
            targets.push(Target { direction: *direction, address, url, tls, share, budget });
        }
        let mut openings = JoinSet::new();
        for target in &targets {
            for _ in 0..CONNECTIONS.0 {
                openings.spawn(target.clone().open());
            }
        }
        let mut sessions = Vec::new();
        while let Some(opened) = openings.join_next().await {
            let (direction, session) = opened.map_err(|error| Error::System(error.into()))?;
            sessions.push((direction, session?));
        }
        let start_s = self.now();
        let mut carriers = Vec::new();
        for (direction, session) in sessions {
            begin(&mut carriers, &targets, direction, session);
        }
        let mut state = Loading::new(&targets, Instant::now() + time.min(MOST_LOAD));
        let flow = loop {
            tokio::time::sleep(SAMPLE).await;
            self.sample(phase, &mut carriers);
            if let Some(goodput) = state.interval_ended(&carriers) {
                self.rates = goodput;
                self.best = [0, 1].map(|way| self.best[way].max(goodput[way]));
                state.judge(goodput, self.prober.latest_rtt());
                self.pace_probes();
                let uploads = carriers_of(&carriers, Direction::Up).count().max(1) as f64;
                carriers.iter().for_each(|carrier| carrier.keep_full(goodput[1] / uploads));
                if !state.is_stable() && openings.is_empty() {
                    for target in &targets {
                        let way = usize::from(target.direction == Direction::Up);
                        let useful = (goodput[way] / LEAST_SHARE) as usize;
                        let most = useful.clamp(CONNECTIONS.0, CONNECTIONS.1);
                        if carriers_of(&carriers, target.direction).count() < most {
                            openings.spawn(target.clone().open());
                        }
                    }
                }
            }
            while let Some(opened) = openings.try_join_next() {
                // Without one more connection the others carry on.
                if let Ok((direction, Ok(session))) = opened {
                    begin(&mut carriers, &targets, direction, session);
                }
            }
            if state.may_widen(self.prober.latest_rtt()) {
                carriers.iter_mut().for_each(Carrier::widen);
            }
            if state.may_ask(&self.rates) {
                self.ask_foreign(phase);
                self.ask_own(phase, &carriers);
            }
            let (sent, received) = on_the_line(&carriers);
            let flow = self.report(phase, self.rates, sent + received);
            let is_spent = targets.iter().any(|target| {
                let waits = carriers_of(&carriers, target.direction).any(|carrier| carrier.unsent() > 0);
                target.budget.left() < target.share / 64 && !waits
            });
            if flow.is_break() || is_spent || state.is_over() {
                break flow;
            }
            if carriers.iter().all(Carrier::has_failed) {
                self.notes
                    .push("the far end ended all connections: its limits, or the network, cut the measurement".into());
                break ControlFlow::Break(());
            }
        };
        self.tables.phases.push(PhaseRow { phase, start_s, stop_s: self.now() });
        carriers.iter().for_each(Carrier::stop);
        // An upload's rest waits in this computer's buffers and is dropped; a download's is on the way and counts.
        let (sent, received) = self.drain(phase, carriers).await;
        self.sent_bytes += sent;
        self.received_bytes += received;
        self.left = self.left.saturating_sub(sent + received);
        Ok(flow)
    }

    /// Returns which part of a phase's bytes a direction gets: as much as its rate in earlier phases asks for.
    fn part_of(&self, direction: Direction, phase: Phase) -> f64 {
        /// The least part, in case that the rates have changed.
        const LEAST: f64 = 0.05;
        if phase.directions().len() < 2 {
            return 1.0;
        }
        let [down, up] = self.best;
        let part = match direction {
            Direction::Down => down / (down + up),
            Direction::Up => up / (down + up),
        };
        if part.is_nan() { 0.5 } else { part.clamp(LEAST, 1.0 - LEAST) }
    }

    /// Waits until queues are empty; returns the bytes that the connections sent and received.
    async fn drain(&mut self, phase: Phase, mut carriers: Vec<Carrier>) -> (u64, u64) {
        let start = Instant::now();
        let mut sent = 0;
        let mut received = 0;
        carriers.retain_mut(|carrier| {
            if carrier.direction() == Direction::Down {
                return true;
            }
            let (out, back) = carrier.on_the_line();
            sent += out;
            received += back;
            false
        });
        let idle = self.least_rtt();
        let until = (start + DRAIN).min(self.deadline());
        let mut quiet_since = Instant::now();
        let mut last = 0;
        while Instant::now() < until {
            tokio::time::sleep(SAMPLE).await;
            for carrier in &mut carriers {
                let _ = carrier.sample(phase, 0.0);
            }
            let now = on_the_line(&carriers).1;
            if now > last {
                last = now;
                quiet_since = Instant::now();
            }
            let is_quiet = quiet_since.elapsed() >= Duration::from_millis(300);
            let is_empty = match (self.prober.latest_rtt(), idle) {
                (Some(latest), Some(idle)) => latest <= idle.mul_f64(1.25) + Duration::from_millis(5),
                _ => start.elapsed() >= DRAIN / 4,
            };
            if is_quiet && is_empty {
                break;
            }
        }
        let (out, back) = on_the_line(&carriers);
        (sent + out, received + back)
    }

    fn least_rtt(&self) -> Option<Duration> {
        self.prober.sent().iter().filter_map(probes::Sent::rtt).min().map(Duration::from_nanos)
    }

    /// Records the state of all connections and of this computer's queues.
    fn sample(&mut self, phase: Phase, carriers: &mut [Carrier]) {
        let now = self.now();
        self.tables.transfers.extend(carriers.iter_mut().filter_map(|carrier| carrier.sample(phase, now)));
        self.sample_host(phase, carriers);
    }

    fn sample_host(&mut self, phase: Phase, carriers: &[Carrier]) {
        let unsent_bytes = carriers.iter().map(Carrier::unsent).sum();
        let backlog_bytes = self.device.as_ref().and_then(Device::backlog);
        self.tables.host.push(HostRow { phase, time_s: self.now(), unsent_bytes, backlog_bytes });
    }

    /// Lets probes take a small share of the slower direction's rate, 10 to 50 of them a second.
    fn pace_probes(&self) {
        let slower = self.rates.iter().copied().filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
        let most =
            self.config.duration.as_secs_f64() / (self.config.budget as f64 * ASIDE / 3.0 / (2 * PROBE_BYTES) as f64);
        let interval = (PROBE_BYTES as f64 / (PROBE_SHARE * slower)).clamp(0.02, 0.1).max(most);
        self.prober.set_interval(Duration::from_secs_f64(interval));
    }

    /// Fetches a small object over a connection of its own, if the budget allows.
    fn ask_foreign(&self, phase: Phase) {
        const MOST_RUNNING: usize = 4;
        if self.locked().running >= MOST_RUNNING || !self.aside.take(FOREIGN_BYTES) {
            return;
        }
        self.locked().running += 1;
        let (requests, tls, url) = (Arc::clone(&self.requests), self.far.tls.clone(), self.far.small.clone());
        let (address, sent_s) = (SocketAddr::new(self.far.address.ip(), url.port), self.now());
        tokio::spawn(async move {
            let mut row =
                RequestRow { phase, kind: RequestKind::Foreign, sent_s, tcp_ms: None, tls_ms: None, http_ms: None };
            let session = Session::open(address, &url.host, &tls, 65_535).await;
            let mut used = (0, 0);
            if let Ok(session) = session {
                row.tcp_ms = Some(session.tcp.as_secs_f64() * 1e3);
                row.tls_ms = Some(session.tls.as_secs_f64() * 1e3);
                let asked = Instant::now();
                if session.get(&url).await.is_ok_and(|(status, _)| status.is_success()) {
                    row.http_ms = Some(asked.elapsed().as_secs_f64() * 1e3);
                }
                used = load::on_the_line_of(&session.socket);
            }
            let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.running -= 1;
            requests.sent_bytes += used.0;
            requests.received_bytes += used.1;
            requests.rows.push(row);
        });
    }

    /// Fetches a small object over one of the connections that carry load.
    fn ask_own(&self, phase: Phase, carriers: &[Carrier]) {
        let number = self.locked().rows.len();
        let Some(carrier) = carriers.get(number % carriers.len().max(1)) else { return };
        if carrier.host() != self.far.small.host || !self.aside.take(OWN_BYTES) {
            return;
        }
        let (requests, url) = (Arc::clone(&self.requests), self.far.small.clone());
        let (session, sent_s) = (carrier.session.requests.clone(), self.now());
        tokio::spawn(async move {
            let asked = Instant::now();
            let answer = connection::get(session, &url).await;
            let is_answer = answer.is_ok_and(|(status, _)| status.is_success());
            let http_ms = is_answer.then(|| asked.elapsed().as_secs_f64() * 1e3);
            let row = RequestRow { phase, kind: RequestKind::Own, sent_s, tcp_ms: None, tls_ms: None, http_ms };
            requests.lock().unwrap_or_else(PoisonError::into_inner).rows.push(row);
        });
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&mut self, phase: Phase, rates: [f64; 2], carried: u64) -> ControlFlow<()> {
        let [down_mbps, up_mbps] = rates.map(|rate| rate * 8.0 / 1e6);
        let rtt_ms = self.prober.latest_rtt().map(|rtt| rtt.as_secs_f64() * 1e3);
        let bytes = self.sent_bytes + self.received_bytes + carried + self.probe_bytes();
        let elapsed_s = self.now();
        (self.observe)(Progress { phase, elapsed_s, down_mbps, up_mbps, rtt_ms, bytes })
    }

    fn probe_bytes(&self) -> u64 {
        if self.far.echo.is_some() { 2 * PROBE_BYTES * self.prober.sent().len() as u64 } else { 0 }
    }

    /// Waits for answers on the way, and makes rows of all probes.
    async fn finish(mut self) -> Measured {
        self.prober.set_interval(Duration::from_secs(3600));
        let most =
            self.prober.sent().iter().filter_map(probes::Sent::rtt).max().map_or(DRAIN / 4, Duration::from_nanos);
        let until = (Instant::now() + 2 * most).min(self.deadline());
        while Instant::now() < until && (self.is_waiting() || self.locked().running > 0) {
            tokio::time::sleep(SAMPLE).await;
        }
        let seconds = self.now();
        if self.far.tls.is_unverified() {
            self.notes.push("the far end's certificate is not one that this computer trusts".into());
        }
        if self.far.echo.is_none() {
            self.notes
                .push("the far end has no UDP echo: delays are those of TCP handshakes, without directions".into());
        }
        let half = self.half_of_least();
        let phase_at = |time: f64| phase_at(&self.tables.phases, time);
        let probes: Vec<_> = self.prober.sent().iter().map(|probe| row_of(probe, half, phase_at)).collect();
        let hops: Vec<_> = self.prober.hops().iter().map(|(at, rtt)| hop_of(*at, *rtt, phase_at)).collect();
        let probe_bytes = self.probe_bytes() / 2;
        let (requests, sent, received) = {
            let mut requests = self.locked();
            (std::mem::take(&mut requests.rows), requests.sent_bytes, requests.received_bytes)
        };
        self.tables.probes = probes;
        self.tables.hops = hops;
        self.tables.requests = requests;
        Measured {
            address: self.far.address.to_string(),
            device: self.device.map(|device| device.name),
            cc: self.far.cc,
            sent_bytes: self.sent_bytes + sent + probe_bytes,
            received_bytes: self.received_bytes + received + probe_bytes,
            seconds,
            is_complete: self.is_complete,
            notes: self.notes,
            tables: self.tables,
        }
    }

    /// Reports whether an answer to one of the latest probes may still come.
    fn is_waiting(&self) -> bool {
        self.prober.sent().iter().rev().take(5).any(|probe| probe.answer.is_none())
    }

    /// Returns the least delays up and down on the clocks of both ends, and half of the least round-trip time.
    fn half_of_least(&self) -> (i64, i64) {
        let sent = self.prober.sent();
        let least_up =
            sent.iter().filter_map(|probe| Some(probe.answer?.far_arrived as i64 - probe.at as i64)).min().unwrap_or(0);
        let half = sent.iter().filter_map(probes::Sent::rtt).min().unwrap_or(0) as i64 / 2;
        (least_up, half)
    }
}

fn row_of(probe: &probes::Sent, (least_up, half): (i64, i64), phase_at: impl Fn(f64) -> Phase) -> ProbeRow {
    let sent_s = probe.at as f64 / 1e9;
    let rtt_ms = probe.rtt().map(|rtt| rtt as f64 / 1e6);
    let up_ms = probe.answer.map(|answer| (answer.far_arrived as i64 - probe.at as i64 - least_up + half) as f64 / 1e6);
    let down_ms = rtt_ms.zip(up_ms).map(|(rtt, up)| rtt - up);
    ProbeRow { phase: phase_at(sent_s), sent_s, rtt_ms, up_ms, down_ms }
}

fn hop_of(at: u64, rtt: Option<u64>, phase_at: impl Fn(f64) -> Phase) -> HopRow {
    let sent_s = at as f64 / 1e9;
    HopRow { phase: phase_at(sent_s), sent_s, rtt_ms: rtt.map(|rtt| rtt as f64 / 1e6) }
}

/// Returns the phase to which a time belongs.
fn phase_at(phases: &[PhaseRow], time_s: f64) -> Phase {
    phases.iter().find(|row| row.start_s <= time_s && time_s <= row.stop_s).map_or(Phase::Pause, |row| row.phase)
}

/// Lets a connection carry as one more of its direction.
fn begin(carriers: &mut Vec<Carrier>, targets: &[Target], direction: Direction, session: Session) {
    if let Some(target) = targets.iter().find(|target| target.direction == direction) {
        let number = carriers_of(carriers, direction).count();
        carriers.push(Carrier::start(target, session, number));
    }
}

fn carriers_of(carriers: &[Carrier], direction: Direction) -> impl Iterator<Item = &Carrier> {
    carriers.iter().filter(move |carrier| carrier.direction() == direction)
}

fn on_the_line(carriers: &[Carrier]) -> (u64, u64) {
    carriers.iter().map(Carrier::on_the_line).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// How far a phase under load has come.
struct Loading {
    until: Instant,
    directions: Vec<Direction>,
    interval_start: Instant,
    bytes: [u64; 2],
    /// Goodputs of the last intervals, down and up, and round-trip times at their ends.
    intervals: VecDeque<[f64; 3]>,
    averages: VecDeque<[f64; 3]>,
    stable_for: usize,
    next_request: Instant,
    next_look: Instant,
}

impl Loading {
    fn new(targets: &[Target], until: Instant) -> Self {
        let now = Instant::now();
        Self {
            until,
            directions: targets.iter().map(|target| target.direction).collect(),
            interval_start: now,
            bytes: [0; 2],
            intervals: VecDeque::new(),
            averages: VecDeque::new(),
            stable_for: 0,
            next_request: now + INTERVAL,
            next_look: now,
        }
    }

    /// Returns the goodputs down and up of an interval that has just ended, in bytes a second.
    fn interval_ended(&mut self, carriers: &[Carrier]) -> Option<[f64; 2]> {
        let time = self.interval_start.elapsed();
        if time < INTERVAL {
            return None;
        }
        self.interval_start = Instant::now();
        let bytes = [Direction::Down, Direction::Up].map(|way| carriers_of(carriers, way).map(Carrier::bytes).sum());
        let before = std::mem::replace(&mut self.bytes, bytes);
        let rate = |way: usize| bytes[way].saturating_sub(before[way]) as f64 / time.as_secs_f64();
        Some([rate(0), rate(1)])
    }

    /// Takes an interval into account.
    fn judge(&mut self, [down, up]: [f64; 2], rtt: Option<Duration>) {
        self.intervals.push_back([down, up, rtt.map_or(0.0, |rtt| rtt.as_secs_f64())]);
        if self.intervals.len() > AVERAGES {
            self.intervals.pop_front();
        }
        if self.intervals.len() == AVERAGES {
            self.averages.push_back(mean(&self.intervals));
        }
        if self.averages.len() > AVERAGES {
            self.averages.pop_front();
        }
        let is_steady =
            self.averages.len() == AVERAGES && self.columns().all(|column| is_within(&self.averages, column));
        self.stable_for = if is_steady { self.stable_for + 1 } else { 0 };
    }

    /// Returns the columns that must be stable: the goodputs of the load's directions, and the round-trip time.
    fn columns(&self) -> impl Iterator<Item = usize> {
        let ways = self.directions.iter().map(|way| if *way == Direction::Down { 0 } else { 1 });
        ways.chain(std::iter::once(2))
    }

    fn is_stable(&self) -> bool {
        self.stable_for > 0
    }

    /// Reports whether the phase is long enough: stable for a moving average more, or at its last moment.
    fn is_over(&self) -> bool {
        self.stable_for > AVERAGES || Instant::now() >= self.until
    }

    /// Reports once in a round trip that windows may be widened.
    fn may_widen(&mut self, rtt: Option<Duration>) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next_look;
        if is_due {
            self.next_look = now + rtt.unwrap_or(SAMPLE).max(SAMPLE);
        }
        is_due
    }

    /// Reports that the next requests are due: up to eight a second, and fewer on slow lines.
    fn may_ask(&mut self, rates: &[f64; 2]) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next_request;
        if is_due {
            let slower = rates.iter().copied().filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
            let pause = (FOREIGN_BYTES as f64 / (PROBE_SHARE * slower)).clamp(0.125, 3.0);
            self.next_request = now + Duration::from_secs_f64(pause);
        }
        is_due
    }
}

fn mean(rows: &VecDeque<[f64; 3]>) -> [f64; 3] {
    let sum = rows.iter().fold([0.0; 3], |all, row| [all[0] + row[0], all[1] + row[1], all[2] + row[2]]);
    sum.map(|sum| sum / rows.len() as f64)
}

/// Reports whether a column varies by at most [`STABLE`] of its mean.
fn is_within(rows: &VecDeque<[f64; 3]>, column: usize) -> bool {
    let mean = mean(rows)[column];
    let variance = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / rows.len() as f64;
    variance.sqrt() <= STABLE * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(goodputs: impl IntoIterator<Item = f64>, rtt_ms: impl Fn(usize) -> u64) -> Loading {
        let mut loading = Loading::new(&[], Instant::now() + Duration::from_secs(3600));
        loading.directions = vec![Direction::Down];
        for (at, goodput) in goodputs.into_iter().enumerate() {
            loading.judge([goodput, 0.0], Some(Duration::from_millis(rtt_ms(at))));
        }
        loading
    }

    #[test]
    fn a_phase_ends_when_goodput_and_delay_are_steady() {
        assert!(judged([1e6; 12], |_| 50).is_over());
        assert!(!judged([1e6; 6], |_| 50).is_stable());
    }

    #[test]
    fn a_buffer_that_still_fills_is_waited_for() {
        assert!(!judged([1e6; 12], |at| 50 + 40 * at as u64).is_stable());
    }

    #[test]
    fn a_goodput_that_still_grows_is_waited_for() {
        assert!(!judged((0..12).map(|at| 1e6 * f64::from(1 + at)), |_| 50).is_stable());
    }

    #[test]
    fn between_phases_is_a_pause() {
        let phases = [
            PhaseRow { phase: Phase::Idle, start_s: 0.0, stop_s: 2.0 },
            PhaseRow { phase: Phase::Down, start_s: 2.5, stop_s: 5.0 },
        ];
        let found = [0.0, 1.0, 2.2, 2.5, 6.0].map(|time| phase_at(&phases, time));
        assert_eq!(found, [Phase::Idle, Phase::Idle, Phase::Pause, Phase::Down, Phase::Pause]);
    }
}
