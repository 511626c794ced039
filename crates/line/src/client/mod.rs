//! The client: measures a line against a far end, within a budget of bytes and seconds.
//!
//! A measurement has four phases: idle, download, upload, and both at once. In each, probes and requests of a small
//! object measure delays, while connections carry as much as the line takes. The client collects raw samples; other
//! parts of the project judge them. Load, requests and the rule when a phase is long enough follow
//! draft-ietf-ippm-responsiveness, with shorter intervals.

mod asking;
mod budget;
mod connection;
mod error;
mod far_end;
mod host;
mod load;
mod loading;
mod probes;
mod records;
mod server_name;

pub use error::Error;
pub use records::{
    Direction, HopRow, HostRow, Measured, Phase, PhaseRow, ProbeRow, RequestKind, RequestRow, Tables, TransferRow,
};
pub use server_name::{Malformed, ServerName};

use asking::{FOREIGN, MOST_FOREIGN, MOST_OWN, OWN};
use budget::Budget;
use connection::Session;
use far_end::FarEnd;
use host::Device;
use load::{Carrier, Target, carriers_of};
use loading::Loading;
use probes::{PROBE_BYTES, Prober};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Time between two looks at what is due.
const TICK: Duration = Duration::from_millis(10);

/// Time between two samples of connections and of this computer's queues.
const SAMPLE: Duration = Duration::from_millis(50);

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

/// Share of the budget for probes and requests.
const ASIDE: f64 = 0.06;
const _: () = assert!(FOREIGN.share + OWN.share <= ASIDE, "requests take no more than is set aside for them");

/// Share of the line's rate that probes may take.
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
    /// The congestion control of downloads that the far end is asked for; `None` leaves it to the far end.
    pub far_cc: Option<String>,
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
        let far = FarEnd::find(&config.server, config.far_cc.as_deref()).await?;
        Ok(Run::new(config, far, observe)?.all().await)
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    measured
}

/// What requests collect while they run in tasks of their own.
#[derive(Default)]
struct Requests {
    rows: Vec<RequestRow>,
    running: usize,
    running_own: usize,
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
    /// Requests on loaded connections so far: they take turns.
    asked_own: usize,
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
            asked_own: 0,
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
            tokio::time::sleep(TICK).await;
            let best = self.best;
            if state.may_ask(RequestKind::Foreign, best) {
                self.ask_foreign(phase);
            }
            if state.may_ask(RequestKind::Own, best) {
                self.ask_own(phase, &carriers);
            }
            if !state.may_sample() {
                continue;
            }
            self.sample(phase, &mut carriers);
            if let Some(goodput) = state.interval_ended(&carriers) {
                self.rates = goodput;
                self.best = [0, 1].map(|way| self.best[way].max(goodput[way]));
                state.judge(goodput, self.prober.latest_rtt());
                self.pace_probes();
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
        if self.locked().running >= MOST_FOREIGN || !self.aside.take(2 * FOREIGN.bytes) {
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
                used = load::on_the_line_of(&session);
            }
            let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.running -= 1;
            requests.sent_bytes += used.0;
            requests.received_bytes += used.1;
            requests.rows.push(row);
        });
    }

    /// Fetches a small object over one of the connections that carry load.
    fn ask_own(&mut self, phase: Phase, carriers: &[Carrier]) {
        let Some(carrier) = carriers.get(self.asked_own % carriers.len().max(1)) else { return };
        if carrier.host() != self.far.small.host
            || self.locked().running_own >= MOST_OWN
            || !self.aside.take(2 * OWN.bytes)
        {
            return;
        }
        self.asked_own += 1;
        self.locked().running_own += 1;
        let (requests, url) = (Arc::clone(&self.requests), self.far.small.clone());
        let (session, sent_s) = (carrier.session.requests.clone(), self.now());
        tokio::spawn(async move {
            let asked = Instant::now();
            let answer = connection::ask(session, &url).await;
            let took = asked.elapsed();
            let body = answer.ok().filter(|(status, _)| status.is_success()).map(|(_, body)| body);
            let http_ms = body.as_ref().map(|_| took.as_secs_f64() * 1e3);
            {
                let row = RequestRow { phase, kind: RequestKind::Own, sent_s, tcp_ms: None, tls_ms: None, http_ms };
                let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
                requests.running_own -= 1;
                requests.rows.push(row);
            }
            // A body that nobody reads would be refused, which costs bytes.
            if let Some(body) = body {
                let _ = connection::read(body).await;
            }
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
        let is_answered = self.prober.sent().iter().any(|probe| probe.answer.is_some());
        let why_tcp = match self.far.echo {
            None => Some("the far end has no UDP echo"),
            Some(_) if !is_answered => Some("no UDP probe came back, perhaps because of a firewall"),
            Some(_) => None,
        };
        if let Some(why) = why_tcp {
            self.notes.push(format!("{why}: delays are those of TCP handshakes, without directions"));
        }
        let half = self.half_of_least();
        let phase_at = |time: f64| phase_at(&self.tables.phases, time);
        let known = self.prober.sent();
        let probes = known.iter().filter(|_| is_answered).map(|probe| row_of(probe, half, phase_at)).collect();
        drop(known);
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

fn on_the_line(carriers: &[Carrier]) -> (u64, u64) {
    carriers.iter().map(Carrier::on_the_line).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

#[cfg(test)]
mod tests {
    use super::*;

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
