//! The record of a flow, and what flows are to each other.

use crate::{ReceiverMeter, SenderMeter};
use model::families::RttStats;
use model::records;
use model::units::Nanos;

/// The record of flow number `flow`; `lost` of the data packets that its sender counted were dropped or lost on the
/// path.
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

/// Jain's index of the flows' goodputs; none when nothing was delivered.
pub fn jain_index(flows: &[records::Flow]) -> Option<f64> {
    let sum: f64 = flows.iter().map(|f| f.goodput_mbps).sum();
    let squares: f64 = flows.iter().map(|f| f.goodput_mbps * f.goodput_mbps).sum();
    (squares > 0.0).then(|| sum * sum / (flows.len() as f64 * squares))
}
