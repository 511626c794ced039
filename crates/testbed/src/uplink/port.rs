//! The transmitter and channel behind the queue of a host's device. A packet comes out of the queue when its
//! transmission begins.

use crate::kernel_qdisc::shaper_lag::ShaperLag;
use crate::packet::PacketInfo;
use crate::surroundings::Surroundings;
use crate::uplink::{HostQueue, discipline};
use measure::LinkSample;
use model::units::Nanos;
use model::{Link, Scenario};
use path::{DropReason, Ecn, External, ExternalPort, Gone, LinkOutput, Packet, PacketId, Pool, Transit};
use std::io;

/// The network port of a host's uplink: its transmitter and channel.
pub struct UplinkPort {
    output: LinkOutput,
    warmup: Nanos,
    lag: ShaperLag,
    /// The queue before the transmitter; none until the hosts are set up.
    queue: Option<HostQueue>,
    /// The number of packets that the queue had dropped when the warm-up ended.
    dropped_before: Option<u64>,
}

impl UplinkPort {
    /// Makes the port of a link of `scenario`; `purpose` selects its random stream.
    pub fn new(scenario: &Scenario, link: &Link, purpose: u64) -> UplinkPort {
        let Scenario { seed, warmup, duration, .. } = *scenario;
        let output = LinkOutput::new(link, seed, purpose, warmup, duration);
        let mtu = scenario.flows.iter().map(|group| group.largest_packet().0 as u32).max().unwrap_or(0);
        let lag = ShaperLag::new(discipline::tolerance(link, mtu));
        UplinkPort { output, warmup, lag, queue: None, dropped_before: None }
    }

    /// Connects the port to the queue before it.
    pub fn stand_behind(&mut self, queue: HostQueue) {
        self.queue = Some(queue);
    }

    /// Records the drops of the queue at the end of the run.
    pub fn finish(&mut self) -> io::Result<()> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let dropped = queue.dropped()?;
        let before = self.dropped_before.unwrap_or(dropped);
        let stats = &mut self.output.stats;
        (0..before).for_each(|_| stats.dropped(Nanos::ZERO));
        (before..dropped).for_each(|_| stats.dropped(self.warmup));
        Ok(())
    }

    /// Returns when a packet, which left the queue at `now`, entered it.
    fn arrival(&self, now: Nanos, packet: &[u8]) -> Nanos {
        self.queue.as_ref().map_or(now, |queue| queue.reader.came(now, packet))
    }

    /// Notes the drops of the warm-up when the first packet after it passes.
    fn note_drops(&mut self, now: Nanos) -> io::Result<()> {
        if let (Some(queue), None) = (&self.queue, self.dropped_before)
            && now >= self.warmup
        {
            self.dropped_before = Some(queue.dropped()?);
        }
        Ok(())
    }
}

impl ExternalPort for UplinkPort {
    fn next(&self) -> Nanos {
        self.output.next()
    }

    fn sample(&self, link: u32) -> LinkSample {
        // The kernel has reported before; if it no longer does, the end of the run reports the error.
        let queue = self.queue.as_ref();
        let total_drops = queue.map_or(0, |queue| queue.dropped().unwrap_or(0));
        let waiting = queue.map_or((0, 0), |queue| queue.waiting().unwrap_or_default());
        LinkSample { link, waiting, ring: None, total_drops, total_sent: self.output.stats.total_bytes }
    }

    fn output(&self) -> &LinkOutput {
        &self.output
    }
}

impl External<PacketInfo, Surroundings> for UplinkPort {
    fn offer(
        &mut self,
        now: Nanos,
        id: PacketId,
        packets: &mut Pool<PacketInfo>,
        around: &mut Surroundings,
        gone: &mut Vec<Gone>,
    ) {
        if let Err(error) = self.note_drops(now) {
            around.fail(error);
        }
        let info = packets.get(id);
        let arrival = self.arrival(now, around.buffers.bytes(info));
        let could_begin = arrival.max(self.output.free_at());
        let ready = self.lag.ready(now, could_begin, &mut around.lateness);
        if info.ecn() == Ecn::Ce {
            // Senders do not send packets with this mark.
            self.output.stats.marked(arrival);
        }
        let bytes = info.bytes();
        let (_, lost) = self.output.send(arrival, ready, bytes, id, packets);
        if lost {
            gone.push(Gone { id, reason: DropReason::Channel });
        }
    }

    fn step(&mut self, _: Nanos, _: &mut Pool<PacketInfo>, _: &mut Surroundings, _: &mut Vec<Gone>) -> Transit {
        self.output.take()
    }
}
