//! Samples and records of a run.

#[cfg(debug_assertions)]
use super::End;
use super::{Group, Simulation, Timer};
use crate::Outcome;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::tap::Tap;
use measure::{FlowSample, SendBufferMeter};
use model::records::Run;
use model::series::FlowRow;
use model::units::Nanos;

impl<T: Tap> Simulation<'_, T> {
    /// Takes a sample of each flow. Flows that arrive at random may be many, so only those that have lived since the
    /// last sample get one.
    pub(super) fn sample(&mut self, now: Nanos) {
        if let Some(sampler) = &mut self.sampler {
            let before = now.since(sampler.step());
            let many = |flow: u32| self.scenario.flows[self.group_of[flow as usize] as usize].arrivals.is_some();
            let lives = |s: &Sender| s.meter.opened <= now && (!many(s.number()) || s.has_lived_since(before));
            let ends = self.senders.iter().zip(&self.receivers).filter(|(sender, _)| lives(sender));
            let links = self.network.samples(now);
            sampler.take(now, ends.map(|(s, r)| flow_sample(s, r)), links.into_iter());
            let next = sampler.next();
            self.set_timer(Timer::Sample, next);
        }
    }

    /// Makes the records of the run.
    pub(super) fn into_records(mut self) -> (Outcome, T) {
        #[cfg(debug_assertions)]
        if self.network.packets.count() == 0 {
            let is_idle = |s: &Sender| s.in_host() == (0, false) || self.is_foreign(End::Sender(s.number()));
            assert!(self.senders.iter().all(is_idle), "nothing in the network, but in hosts");
        }
        let mut flows = vec![];
        for (flow, (sender, receiver)) in self.senders.iter_mut().zip(&mut self.receivers).enumerate() {
            let Group { control, .. } = &self.groups[self.group_of[flow] as usize];
            let mut record = measure::flow_record(
                flow as u32,
                control.name(),
                &mut sender.meter,
                &receiver.meter,
                self.monitor.lost(flow as u32),
            );
            record.app = self.programs.stats(flow as u32);
            if self.programs.is_stream(flow as u32) {
                record.cc = "none".into();
            }
            record.send_buffer = sender.send_buffer_meter().map(SendBufferMeter::stats);
            flows.push(record);
            sender.close(control);
            receiver.close(control);
        }
        let run = Run {
            scenario: self.scenario.name.clone(),
            on: "simulator".into(),
            kernel: None,
            seed: self.scenario.seed,
            duration_s: self.scenario.duration.as_secs_f64(),
            jain_index: measure::jain_index(&flows),
            sound: true,
            unsound_because: None,
            lateness_us_p99: None,
            cpu_idle_percent: None,
            links: self.network.records(),
            nodes: self.network.node_records(),
            flows,
        };
        let data_packets = self.senders.iter().map(|s| s.meter.total_sent()).sum();
        let series = self
            .sampler
            .map(|sampler| sampler.finish(self.senders.iter().map(|s| &s.meter.rtt), self.network.queue_delays()));
        (Outcome { run, series, data_packets }, self.monitor.tap)
    }
}

/// The state of a flow at this instant, for the series.
pub(super) fn flow_sample(sender: &Sender, receiver: &Receiver) -> FlowSample {
    let sk = &sender.sk;
    let send_buffer = sender.send_buffer_memory();
    let row = FlowRow {
        flow: sender.number(),
        cwnd_packets: sk.snd_cwnd,
        ssthresh_packets: (sk.snd_ssthresh < mechanism::sock::INFINITE_SSTHRESH).then_some(sk.snd_ssthresh),
        in_flight_packets: sk.packets_in_flight(),
        rtt_ms: sender.meter.latest_rtt_us.map(|us| us as f64 / 1000.0),
        // The largest number stands for all larger ones.
        srtt_ms: (sk.srtt_us > 0 && sk.srtt_us < u32::MAX).then_some(sk.srtt_us as f64 / 8000.0),
        retransmitted_packets: sender.meter.total_retransmitted,
        wmem_queued_bytes: send_buffer.map(|(queued, _)| queued),
        sndbuf_bytes: send_buffer.map(|(_, sndbuf)| sndbuf),
        ..FlowRow::default()
    };
    FlowSample { row, total_delivered: receiver.meter.total_delivered }
}
