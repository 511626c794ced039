//! Records from what a run counted.

use crate::measure::Interval;
use crate::network::Network;
use crate::receiver::Receiver;
use crate::sender::Sender;
use path::{Link, Packet};
use scenario::records;
use scenario::units::Nanos;

fn mbps(bytes: u64, over: Interval) -> f64 {
    let seconds = over.seconds();
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
