//! Time series: what a run looks like inside, at equal steps.

use crate::network::Network;
use crate::receiver::Receiver;
use crate::sender::Sender;
use path::{Histogram, Link, Packet};
use scenario::records;
use scenario::units::Nanos;

/// Samples of the inside of a run, taken at equal steps.
pub struct Sampler {
    step: Nanos,
    pub next: Nanos,
    series: records::Series,
    /// Bytes that each flow had delivered, and each link had sent, at the sample before.
    delivered_bytes: Vec<u64>,
    sent_bytes: [u64; 2],
}

impl Sampler {
    pub fn new(step: Nanos, flows: usize) -> Sampler {
        Sampler {
            step,
            next: step,
            series: records::Series::default(),
            delivered_bytes: vec![0; flows],
            sent_bytes: [0; 2],
        }
    }

    /// Takes one row per flow that has opened, and one per link.
    pub fn take(&mut self, now: Nanos, senders: &[Sender], receivers: &[Receiver], network: &mut Network) {
        for (sender, receiver) in senders.iter().zip(receivers).filter(|(s, _)| s.meter.opened <= now) {
            self.take_flow(now, sender, receiver);
        }
        network.forward.advance(now);
        network.reverse.advance(now);
        self.take_link(now, 0, &network.forward);
        self.take_link(now, 1, &network.reverse);
        self.next += self.step;
    }

    fn take_flow(&mut self, now: Nanos, sender: &Sender, receiver: &Receiver) {
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
        let before = &mut self.delivered_bytes[sender.number() as usize];
        let fresh = delivered - std::mem::replace(before, delivered);
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
