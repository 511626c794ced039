//! Time series: the inside of a run, sampled at equal steps.

use crate::Histogram;
use model::series::{Distribution, FlowRow, LinkRow, Series, Step};
use model::units::Nanos;

/// A sample of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// The values that are known at once, which leaves out the goodput.
    pub row: FlowRow,
    /// Payload delivered in order since the start of the run.
    pub total_delivered: u64,
}

/// A sample of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// Number of the link.
    pub link: u32,
    /// Bytes and packets that wait in the queue.
    pub waiting: (u64, u64),
    /// For a host's device with a ring: bytes that it has taken and not sent, and their limit.
    pub ring: Option<(u64, Option<u64>)>,
    /// Drops since the start of the run.
    pub total_drops: u64,
    /// Bytes transmitted since the start of the run.
    pub total_sent: u64,
}

/// Takes samples of the inside of a run at equal steps.
pub struct Sampler {
    step: Nanos,
    next: Nanos,
    series: Series,
    latest: Step,
    /// Bytes that each flow had delivered at the sample before; `sent_bytes` is the same for links.
    delivered_bytes: Vec<u64>,
    sent_bytes: Vec<u64>,
}

impl Sampler {
    /// Creates a sampler that takes a sample every `step`, the first one `step` after the start.
    pub fn new(step: Nanos, flows: usize) -> Sampler {
        Sampler {
            step,
            next: step,
            series: Series::default(),
            latest: Step::default(),
            delivered_bytes: vec![0; flows],
            sent_bytes: vec![],
        }
    }

    /// Returns the time between samples.
    pub fn step(&self) -> Nanos {
        self.step
    }

    /// Returns when the next sample is due.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Adds one row for each flow and each link.
    pub fn take(
        &mut self,
        now: Nanos,
        flows: impl Iterator<Item = FlowSample>,
        links: impl Iterator<Item = LinkSample>,
    ) {
        self.latest.at = now;
        self.latest.flows.clear();
        self.latest.links.clear();
        flows.for_each(|flow| self.take_flow(flow));
        links.for_each(|link| self.take_link(link));
        self.series.push(&self.latest);
        self.next += self.step;
    }

    /// Returns the rows of the latest step.
    pub fn latest(&self) -> &Step {
        &self.latest
    }

    /// Discards all rows so far: a run without an end has no series.
    pub fn forget(&mut self) {
        self.series = Series::default();
    }

    fn take_flow(&mut self, flow: FlowSample) {
        let before = std::mem::replace(&mut self.delivered_bytes[flow.row.flow as usize], flow.total_delivered);
        self.latest.flows.push(FlowRow { goodput_mbps: self.mbps(flow.total_delivered - before), ..flow.row });
    }

    fn take_link(&mut self, link: LinkSample) {
        let place = link.link as usize;
        if place >= self.sent_bytes.len() {
            self.sent_bytes.resize(place + 1, 0);
        }
        let before = std::mem::replace(&mut self.sent_bytes[place], link.total_sent);
        self.latest.links.push(LinkRow {
            link: link.link,
            queue_bytes: link.waiting.0,
            queue_packets: link.waiting.1,
            ring_bytes: link.ring.map(|(bytes, _)| bytes),
            bql_limit_bytes: link.ring.and_then(|(_, limit)| limit),
            drops: link.total_drops,
            throughput_mbps: self.mbps(link.total_sent - before),
        });
    }

    fn mbps(&self, bytes_in_a_step: u64) -> f64 {
        bytes_in_a_step as f64 * 8.0 / 1e6 / self.step.as_secs_f64()
    }

    /// Returns the series, after adding the distributions of the flows' round-trip times and of the
    /// links' queueing delays. Each queueing delay has the number of its link.
    pub fn finish<'a>(
        mut self,
        rtt: impl Iterator<Item = &'a Histogram>,
        queue_delay: impl Iterator<Item = (u32, &'a Histogram)>,
    ) -> Series {
        add(&mut self.series.rtt, (0..).zip(rtt));
        add(&mut self.series.queue_delay, queue_delay);
        self.series
    }
}

fn add<'a>(to: &mut Distribution, histograms: impl Iterator<Item = (u32, &'a Histogram)>) {
    for (subject, histogram) in histograms {
        for (_, high, count) in histogram.bins() {
            to.subject.push(subject);
            to.upper_ms.push(high as f64 / 1e6);
            to.count.push(count);
        }
    }
}
