//! What the two ends of a flow count, and the records made of it.

use crate::network::Network;
use crate::receiver::Receiver;
use crate::sender::Sender;
use path::Histogram;
use path::{Link, Packet};
use scenario::model::Scenario;
use scenario::records;
use scenario::units::Nanos;

/// The part of a run that statistics speak of.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub from: Nanos,
    pub to: Nanos,
}

/// What a sender counts.
#[derive(Clone, Debug)]
pub struct SenderMeter {
    interval: Interval,
    sent: u64,
    retransmitted: u64,
    total_sent: u64,
    total_retransmitted: u64,
    timeouts: u64,
    rtt: Histogram,
    latest_rtt_us: Option<u32>,
    cwnd: u32,
    cwnd_since: Nanos,
    cwnd_ns: u128,
    opened: Nanos,
    /// When it stopped being active before the end of the interval.
    ended: Option<Nanos>,
    completion: Option<Nanos>,
}

impl SenderMeter {
    /// For a flow that opens at `opened`.
    pub fn new(interval: Interval, opened: Nanos) -> SenderMeter {
        SenderMeter {
            interval,
            sent: 0,
            retransmitted: 0,
            total_sent: 0,
            total_retransmitted: 0,
            timeouts: 0,
            rtt: Histogram::default(),
            latest_rtt_us: None,
            cwnd: 0,
            cwnd_since: interval.from.max(opened),
            cwnd_ns: 0,
            opened,
            ended: None,
            completion: None,
        }
    }

    fn covers(&self, now: Nanos) -> bool {
        now >= self.interval.from
    }

    #[inline]
    pub fn sent(&mut self, now: Nanos, again: bool) {
        self.total_sent += 1;
        self.total_retransmitted += again as u64;
        if self.covers(now) {
            self.sent += 1;
            self.retransmitted += again as u64;
        }
    }

    #[inline]
    pub fn rtt(&mut self, now: Nanos, us: u32) {
        self.latest_rtt_us = Some(us);
        if self.covers(now) {
            self.rtt.record(Nanos::from_micros(us as u64));
        }
    }

    /// Notes the window that holds from `now` on.
    #[inline]
    pub fn cwnd(&mut self, now: Nanos, cwnd: u32) {
        if now > self.cwnd_since {
            self.cwnd_ns += (now - self.cwnd_since).0 as u128 * self.cwnd as u128;
            self.cwnd_since = now;
        }
        self.cwnd = cwnd;
    }

    pub fn timeout(&mut self, now: Nanos) {
        self.timeouts += self.covers(now) as u64;
    }

    /// The application stopped writing.
    pub fn stop(&mut self, now: Nanos) {
        self.cwnd(now, self.cwnd);
        self.ended.get_or_insert(now);
    }

    /// The last byte of a finite transfer was acknowledged. After a stop it is none.
    pub fn complete(&mut self, now: Nanos, started: Nanos) {
        if self.ended.is_none() {
            self.completion = Some(now - started);
            self.stop(now);
        }
    }

    /// Data packets sent since the start of the run.
    pub fn total_sent(&self) -> u64 {
        self.total_sent
    }

    fn active(&self) -> Interval {
        let to = self.ended.unwrap_or(self.interval.to).min(self.interval.to);
        Interval { from: self.interval.from.max(self.opened).min(to), to }
    }

    fn cwnd_mean(&mut self) -> f64 {
        let active = self.active();
        if self.ended.is_none() {
            self.cwnd(active.to, self.cwnd);
        }
        let span = (active.to - active.from).0;
        if span == 0 { 0.0 } else { self.cwnd_ns as f64 / span as f64 }
    }
}

/// What a receiver counts.
#[derive(Clone, Debug)]
pub struct ReceiverMeter {
    interval: Interval,
    arrived_bytes: u64,
    delivered_bytes: u64,
    total_delivered: u64,
    /// `total_delivered` at the previous sample.
    sampled: u64,
}

impl ReceiverMeter {
    pub fn new(interval: Interval) -> ReceiverMeter {
        ReceiverMeter { interval, arrived_bytes: 0, delivered_bytes: 0, total_delivered: 0, sampled: 0 }
    }

    fn covers(&self, now: Nanos) -> bool {
        now >= self.interval.from && now <= self.interval.to
    }

    #[inline]
    pub fn arrived(&mut self, now: Nanos, bytes: u32) {
        if self.covers(now) {
            self.arrived_bytes += bytes as u64;
        }
    }

    #[inline]
    pub fn delivered(&mut self, now: Nanos, bytes: u64) {
        self.total_delivered += bytes;
        if self.covers(now) {
            self.delivered_bytes += bytes;
        }
    }
}

fn mbps(bytes: u64, over: Interval) -> f64 {
    let seconds = (over.to - over.from).as_secs_f64();
    if seconds > 0.0 { bytes as f64 * 8.0 / 1e6 / seconds } else { 0.0 }
}

/// The record of one flow.
pub fn flow_record(flow: u32, cc: &str, sender: &mut Sender, receiver: &Receiver, network: &Network) -> records::Flow {
    let cwnd_packets_mean = sender.meter.cwnd_mean();
    let meter = &sender.meter;
    let active = meter.active();
    let lost = network.lost(flow);
    let rtt = &meter.rtt;
    records::Flow {
        flow,
        cc: cc.to_owned(),
        goodput_mbps: mbps(receiver.meter.delivered_bytes, active),
        throughput_mbps: mbps(receiver.meter.arrived_bytes, active),
        sent_packets: meter.sent,
        lost_packets: lost,
        retransmitted_packets: meter.retransmitted,
        timeouts: meter.timeouts,
        loss_percent: if meter.sent > 0 { 100.0 * lost as f64 / meter.sent as f64 } else { 0.0 },
        cwnd_packets_mean,
        completion_s: meter.completion.map(Nanos::as_secs_f64),
        rtt: records::RttStats {
            rtt_ms_mean: rtt.mean_ms(),
            rtt_ms_p50: rtt.quantile_ms(0.5),
            rtt_ms_p95: rtt.quantile_ms(0.95),
            rtt_ms_p99: rtt.quantile_ms(0.99),
            rtt_ms_max: rtt.max_ms(),
        },
    }
}

/// The record of one direction of a link.
pub fn link_record<P: Packet>(name: &str, link: &Link<P>) -> records::Link {
    let usage = link.usage();
    let delay = &usage.queue_delay;
    records::Link {
        link: name.to_owned(),
        drops: usage.drops,
        wire_losses: usage.wire_losses,
        marks: usage.marks,
        utilisation_percent: link.utilisation_percent(),
        queue_percent_mean: usage.queue_percent_mean(),
        queue_bytes_mean: usage.queue_bytes_mean(),
        queue_delay: records::QueueDelayStats {
            queue_delay_ms_mean: delay.mean_ms(),
            queue_delay_ms_p50: delay.quantile_ms(0.5),
            queue_delay_ms_p95: delay.quantile_ms(0.95),
            queue_delay_ms_p99: delay.quantile_ms(0.99),
            queue_delay_ms_max: delay.max_ms(),
        },
    }
}

/// Jain's index of the goodputs.
pub fn jain_index(goodputs: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = goodputs.clone().count() as f64;
    let sum: f64 = goodputs.clone().sum();
    let squares: f64 = goodputs.map(|g| g * g).sum();
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

/// Samples of the inside of a run, taken at equal steps.
pub struct Sampler {
    step: Nanos,
    pub next: Nanos,
    series: records::Series,
    sent_bytes: [u64; 2],
}

impl Sampler {
    pub fn new(step: Nanos) -> Sampler {
        Sampler { step, next: step, series: records::Series::default(), sent_bytes: [0; 2] }
    }

    /// Takes one row per flow that has opened, and one per link.
    pub fn take(&mut self, now: Nanos, senders: &[Sender], receivers: &mut [Receiver], network: &mut Network) {
        for (sender, receiver) in senders.iter().zip(receivers).filter(|(s, _)| s.meter.opened <= now) {
            self.take_flow(now, sender, receiver);
        }
        network.forward.advance(now);
        network.reverse.advance(now);
        self.take_link(now, 0, &network.forward);
        self.take_link(now, 1, &network.reverse);
        self.next += self.step;
    }

    fn take_flow(&mut self, now: Nanos, sender: &Sender, receiver: &mut Receiver) {
        let s = &mut self.series.flows;
        let sk = &sender.sk;
        let infinite = mechanism::sock::INFINITE_SSTHRESH;
        s.time_s.push(now.as_secs_f64());
        s.flow.push(sender.number());
        s.cwnd_packets.push(sk.snd_cwnd);
        s.ssthresh_packets.push((sk.snd_ssthresh < infinite).then_some(sk.snd_ssthresh));
        s.in_flight_packets.push(sk.packets_in_flight());
        s.rtt_ms.push(sender.meter.latest_rtt_us.map(|us| us as f64 / 1000.0));
        s.srtt_ms.push((sk.srtt_us > 0).then_some(sk.srtt_us as f64 / 8000.0));
        let delivered = receiver.meter.total_delivered;
        let fresh = delivered - std::mem::replace(&mut receiver.meter.sampled, delivered);
        s.goodput_mbps.push(fresh as f64 * 8.0 / 1e6 / self.step.as_secs_f64());
        s.retransmitted_packets.push(sender.meter.total_retransmitted);
    }

    fn take_link<P: Packet>(&mut self, now: Nanos, number: usize, link: &Link<P>) {
        let s = &mut self.series.links;
        let (bytes, packets) = link.waiting();
        s.time_s.push(now.as_secs_f64());
        s.link.push(number as u32);
        s.queue_bytes.push(bytes);
        s.queue_packets.push(packets);
        s.drops.push(link.usage().total_drops);
        let sent = link.usage().total_bytes - bytes;
        let fresh = sent - std::mem::replace(&mut self.sent_bytes[number], sent);
        s.throughput_mbps.push(fresh as f64 * 8.0 / 1e6 / self.step.as_secs_f64());
    }

    /// Adds the distributions and hands the series over.
    pub fn finish(mut self, senders: &[Sender], network: &Network) -> records::Series {
        for sender in senders {
            add_distribution(&mut self.series.rtt, sender.number(), &sender.meter.rtt);
        }
        add_distribution(&mut self.series.queue_delay, 0, &network.forward.usage().queue_delay);
        add_distribution(&mut self.series.queue_delay, 1, &network.reverse.usage().queue_delay);
        self.series
    }
}

fn add_distribution(to: &mut records::Distribution, subject: u32, histogram: &Histogram) {
    for (_, high, count) in histogram.bins() {
        to.subject.push(subject);
        to.upper_ms.push(high as f64 / 1e6);
        to.count.push(count as u64);
    }
}

/// The intervals of a flow that opens at `opened` and may stop at `stop`: for the sender, and for the receiver.
pub fn interval(scenario: &Scenario, stop: Option<Nanos>) -> Interval {
    Interval { from: scenario.warmup, to: stop.unwrap_or(scenario.duration).min(scenario.duration) }
}
