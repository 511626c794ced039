//! The counters of a flow's sending end, and the record of a flow.

use crate::{Histogram, Interval, ReceiverMeter};
use model::families::RttStats;
use model::records;
use model::units::Nanos;

/// Counts the actions of a sender.
#[derive(Clone, Debug)]
pub struct SenderMeter {
    interval: Interval,
    /// Data packets sent in the interval.
    pub sent: u64,
    /// Data packets in the interval that were sent before.
    pub retransmitted: u64,
    total_sent: u64,
    /// Retransmissions of data packets since the start of the run.
    pub total_retransmitted: u64,
    /// Retransmission timeouts in the interval.
    pub timeouts: u64,
    /// Number of times that losses were detected in the interval, by timeouts and otherwise; none
    /// if they are not counted.
    pub loss_events: Option<u64>,
    /// Mean over time of the wait before a window that the congestion control sets; none if it
    /// never does.
    wait: Option<TimeAverage>,
    /// Round-trip times in the interval.
    pub rtt: Histogram,
    /// The latest round-trip time.
    pub latest_rtt_us: Option<u64>,
    cwnd: u32,
    cwnd_since: Nanos,
    cwnd_ns: u128,
    /// When the flow opens its connection.
    pub opened: Nanos,
    /// Whether the SYN was answered, in the warm-up or after it; none before the first SYN.
    pub connected: Option<bool>,
    /// When the flow stopped being active, if before the end of the interval.
    ended: Option<Nanos>,
    /// Time from the start of the flow to the acknowledgement of its last byte.
    pub completion: Option<Nanos>,
}

/// The mean of a value over time.
#[derive(Clone, Copy, Debug)]
struct TimeAverage {
    value: u64,
    since: Nanos,
    sum: u128,
}

impl TimeAverage {
    /// Creates the mean of a value that is 0, and counts from `from` on.
    fn new(from: Nanos) -> TimeAverage {
        TimeAverage { value: 0, since: from, sum: 0 }
    }

    fn set(&mut self, now: Nanos, value: u64) {
        if now > self.since {
            self.sum += u128::from((now - self.since).0) * u128::from(self.value);
            self.since = now;
        }
        self.value = value;
    }

    fn mean(mut self, from: Nanos, to: Nanos) -> f64 {
        self.set(to, self.value);
        if to > from { self.sum as f64 / (to - from).0 as f64 } else { 0.0 }
    }
}

impl SenderMeter {
    /// Creates the counters of a flow that opens at `opened`.
    pub fn new(interval: Interval, opened: Nanos) -> SenderMeter {
        SenderMeter {
            interval,
            sent: 0,
            retransmitted: 0,
            total_sent: 0,
            total_retransmitted: 0,
            timeouts: 0,
            loss_events: None,
            wait: None,
            rtt: Histogram::default(),
            latest_rtt_us: None,
            cwnd: 0,
            cwnd_since: interval.from.max(opened),
            cwnd_ns: 0,
            opened,
            connected: None,
            ended: None,
            completion: None,
        }
    }

    fn covers(&self, now: Nanos) -> bool {
        now >= self.interval.from
    }

    /// Counts a SYN, maybe not the first.
    pub fn connects(&mut self) {
        self.connected.get_or_insert(false);
    }

    /// Notes that the answer to the SYN has arrived.
    pub fn is_answered(&mut self) {
        self.connected = Some(true);
    }

    /// Counts a data packet that is sent for the first time or `again`, and returns whether it
    /// counts. Only such a packet counts as lost if it is dropped later, so both counts cover the
    /// same packets.
    #[inline]
    pub fn sent(&mut self, now: Nanos, again: bool) -> bool {
        self.total_sent += 1;
        let counts = self.covers(now);
        if counts {
            self.sent += 1;
        }
        if again {
            self.total_retransmitted += 1;
            self.retransmitted += counts as u64;
        }
        counts
    }

    /// Counts a round-trip time of `us`.
    #[inline]
    pub fn rtt(&mut self, now: Nanos, us: u64) {
        self.latest_rtt_us = Some(us);
        if self.covers(now) {
            self.rtt.record(Nanos::from_micros(us));
        }
    }

    /// Sets the congestion window from `now` on.
    #[inline]
    pub fn cwnd(&mut self, now: Nanos, cwnd: u32) {
        if now > self.cwnd_since {
            self.cwnd_ns += (now - self.cwnd_since).0 as u128 * self.cwnd as u128;
            self.cwnd_since = now;
        }
        self.cwnd = cwnd;
    }

    /// Counts a retransmission timeout.
    pub fn timeout(&mut self, now: Nanos) {
        self.timeouts += self.covers(now) as u64;
    }

    /// Counts a detection of losses.
    pub fn finds_losses(&mut self, now: Nanos) {
        let counts = self.covers(now) as u64;
        self.loss_events.iter_mut().for_each(|events| *events += counts);
    }

    /// Sets the wait before each window from `now` on.
    pub fn waits(&mut self, now: Nanos, wait: Nanos) {
        if self.wait.is_some() || wait > Nanos::ZERO {
            let from = self.interval.from.max(self.opened);
            self.wait.get_or_insert(TimeAverage::new(from)).set(now, wait.0);
        }
    }

    /// Returns the mean over time of the wait before a window, in milliseconds.
    pub fn wait_ms_mean(&self) -> Option<f64> {
        let active = self.active();
        self.wait.as_ref().map(|wait| wait.mean(active.from, active.to) / 1e6)
    }

    /// Notes that the application stopped writing.
    pub fn stop(&mut self, now: Nanos) {
        self.cwnd(now, self.cwnd);
        self.ended.get_or_insert(now);
    }

    /// Notes that the last byte of a finite transfer was acknowledged. It has no effect after a
    /// stop.
    pub fn complete(&mut self, now: Nanos, started: Nanos) {
        if self.ended.is_none() {
            self.completion = Some(now - started);
            self.stop(now);
        }
    }

    /// Returns the data packets sent since the start of the run.
    pub fn total_sent(&self) -> u64 {
        self.total_sent
    }

    /// Returns the time within the interval when the flow was active.
    pub fn active(&self) -> Interval {
        let to = self.ended.unwrap_or(self.interval.to).min(self.interval.to);
        Interval { from: self.interval.from.max(self.opened).min(to), to }
    }

    /// Returns the mean over time of the congestion window while the flow was active.
    pub fn cwnd_mean(&mut self) -> f64 {
        let active = self.active();
        if self.ended.is_none() {
            self.cwnd(active.to, self.cwnd);
        }
        let span = (active.to - active.from).0;
        if span == 0 { 0.0 } else { self.cwnd_ns as f64 / span as f64 }
    }
}

/// Returns the record of flow number `flow`. `lost` of the data packets that its sender counted
/// were dropped or lost on the path.
pub fn flow_record(
    flow: u32,
    cc: &str,
    sender: &mut SenderMeter,
    receiver: &ReceiverMeter,
    lost: u64,
) -> records::Flow {
    let cwnd_packets_mean = sender.cwnd_mean();
    let active = sender.active();
    let rtt = &sender.rtt;
    records::Flow {
        flow,
        cc: cc.to_owned(),
        goodput_mbps: active.mbps(receiver.delivered_bytes),
        throughput_mbps: active.mbps(receiver.arrived_bytes),
        sent_packets: sender.sent,
        lost_packets: lost,
        retransmitted_packets: sender.retransmitted,
        timeouts: sender.timeouts,
        loss_events: sender.loss_events,
        wait_ms_mean: sender.wait_ms_mean(),
        loss_percent: (sender.sent > 0).then(|| 100.0 * lost as f64 / sender.sent as f64),
        connected: sender.connected,
        cwnd_packets_mean,
        completion_s: sender.completion.map(Nanos::as_secs_f64),
        rtt: RttStats::of(rtt),
        receiver_rtt_ms_mean: receiver.rtt_mean_ms(),
        send_buffer: None,
        app: None,
        setup: model::FlowSetup::default(),
    }
}
