//! Could the machine keep up? A run that it could not keep up with says why, in place of figures that mean something else.

use crate::apps::Flow;
use crate::host::Pair;
use measure::Histogram;
use scenario::model::{Limit, Scenario};
use scenario::units::Nanos;
use std::io;

/// Lateness that never matters: the kernel's own timers are no better.
const HARMLESS: Nanos = Nanos::from_micros(200);
/// Share of the base round-trip time that the 99th percentile of the lateness may take: a tenth of the agreement that
/// simulator and kernel are held to.
const TOLERATED: f64 = 0.01;
/// Share of a packet's own time on the bottleneck: the grain of every queueing delay is a whole one.
const OF_A_PACKET: f64 = 0.1;
/// What waking up takes anyhow.
const HARMLESS_SLACK: Nanos = Nanos::from_micros(50);

/// How much of the processors' time was left over since this was made.
pub struct Processors {
    before: Option<(u64, u64)>,
}

impl Processors {
    /// Starts to watch.
    pub fn watch() -> Processors {
        Processors { before: idle_and_total() }
    }

    /// Idle time in percent; none where the kernel does not tell.
    pub fn idle_percent(&self) -> Option<f64> {
        let (idle_before, before) = self.before?;
        let (idle, total) = idle_and_total()?;
        (total > before).then(|| 100.0 * (idle - idle_before) as f64 / (total - before) as f64)
    }
}

/// Idle and total ticks of all processors, from the first line of `/proc/stat`.
fn idle_and_total() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> =
        stat.lines().next()?.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Some((*ticks.get(3)?, ticks.iter().take(8).sum()))
}

/// The lateness that a run of this scenario bears.
pub fn tolerated(scenario: &Scenario) -> Nanos {
    let packet = scenario.packet_time().map_or(0, |time| time.0);
    tolerated_of_round_trips(scenario).max(Nanos((packet as f64 * OF_A_PACKET) as u64))
}

/// The longest lateness that a run bears: packets that were held up come in a burst, and a burst of more than half of what the queue
/// holds makes losses of its own.
fn borne_once(scenario: &Scenario) -> Nanos {
    let packet = scenario.flows.iter().map(|group| group.packet.0).max().unwrap_or(0);
    let room = match scenario.bottleneck.queue.limit() {
        Some(Limit::Bytes(bytes)) => bytes.0,
        Some(Limit::Packets(packets)) => packets * packet,
        None => return Nanos::NEVER,
    };
    let time = room as f64 * 8.0 / scenario.bottleneck.service.bits_per_second();
    tolerated(scenario).max(Nanos((time * 1e9 / 2.0) as u64))
}

/// How much too long a wait of the emulator may take on purpose, so that it does more at once. All packets are late by that, so
/// it stays small where no second packet would come meanwhile.
pub fn slack(scenario: &Scenario) -> Nanos {
    let batch = Nanos(tolerated_of_round_trips(scenario).0 / 4);
    let is_slow = scenario.packet_time().is_none_or(|time| time > batch);
    batch.min(if is_slow { HARMLESS_SLACK } else { Nanos::NEVER })
}

fn tolerated_of_round_trips(scenario: &Scenario) -> Nanos {
    let access = scenario.flows.iter().map(|group| group.access.delay.0 * 2).min().unwrap_or(0);
    let base = scenario.bottleneck.delay.0 + scenario.reverse.delay.0 + access;
    HARMLESS.max(Nanos((base as f64 * TOLERATED) as u64))
}

/// Why the run's figures mean nothing; none if they do.
pub fn complaint(
    scenario: &Scenario,
    lateness: &Histogram,
    missed_inside: u64,
    pairs: &[Pair],
    flows: &[Flow],
) -> io::Result<Option<String>> {
    let late = lateness.quantile_ms(0.99).unwrap_or(0.0);
    let bound = tolerated(scenario).as_millis_f64();
    if late > bound {
        return Ok(Some(format!(
            "one packet in a hundred was more than {late:.3} ms late; {bound:.3} ms is what these figures bear"
        )));
    }
    let (longest, bound) = (lateness.max_ms().unwrap_or(0.0), borne_once(scenario).as_millis_f64());
    if longest > bound {
        return Ok(Some(format!(
            "the machine stood still for {longest:.1} ms: what comes at once after more than {bound:.1} ms fills the queue as no scenario says"
        )));
    }
    if missed_inside > 0 {
        return Ok(Some(format!(
            "{missed_inside} packets that the kernel's queue had let go were lost before they were taken"
        )));
    }
    let mut missed = 0;
    for pair in pairs {
        missed += pair.sender.missed()? + pair.receiver.missed()?;
    }
    if missed > 0 {
        return Ok(Some(format!("{missed} packets were dropped before they reached the emulated link")));
    }
    // The receiver's window may hold a flow back only where the scenario says so.
    let groups = scenario.flows.iter().flat_map(|group| std::iter::repeat_n(group, group.count as usize));
    let held = groups.zip(flows).find(|(group, flow)| group.receive_window.is_none() && flow.held_by_buffers() > 0.01);
    Ok(held.map(|(_, flow)| {
        format!("a flow waited for the kernel's own buffers during {:.0} % of its time", 100.0 * flow.held_by_buffers())
    }))
}
