//! Checks whether the machine could keep up. A run that it could not keep up with reports why, because its figures mean
//! nothing.

use crate::flows::apps::Flow;
use crate::flows::plan::Planned;
use crate::host::Pair;
use crate::timing::lateness::Steps;
use measure::Histogram;
use model::radio::ieee80211::LONGEST_AGGREGATE;
use model::units::Nanos;
use model::{Limit, Link, Member, Scenario, Service};
use std::io;
use std::time::Instant;

/// A lateness that never matters: the kernel's own timers are no better.
const HARMLESS: Nanos = Nanos::from_micros(200);
/// The share of the base round-trip time that the 99th percentile of the lateness may reach. It is a tenth of the
/// agreement required between simulator and kernel.
const TOLERATED: f64 = 0.01;
/// The share of the time of one transmission at the bottleneck that the lateness may reach: queueing delays come in
/// whole transmissions.
const OF_A_TRANSMISSION: f64 = 0.1;
/// The least idle time of a processor in virtual time, percent. A processor that is always busy makes packets wait,
/// although no lateness shows it. It includes the last 5 % that Linux never gives to real-time threads, such as the
/// emulator's (`sched_rt_runtime_us`).
const LEAST_IDLE: f64 = 10.0;
/// The slack of a wait on slow links: a wake-up takes about that long anyway.
const HARMLESS_SLACK: Nanos = Nanos::from_micros(50);

/// The share of a run for which the emulator may stand still.
const TOLERATED_STANDSTILL: f64 = 0.01;
/// The share of its own steps that a thread may miss.
const TOLERATED_MISSES: f64 = 0.01;

/// Returns why a run is unsound whose emulator stood still for `total`; none if that is short enough.
pub fn standstill(scenario: &Scenario, total: Nanos) -> Option<String> {
    let share = total.as_secs_f64() / scenario.duration.as_secs_f64();
    (share > TOLERATED_STANDSTILL).then(|| {
        format!(
            "the emulator stopped for {:.1} % of the run: it or other programs kept the processors busy",
            100.0 * share
        )
    })
}

/// Returns why the series of a run, with this step, is unsound; none if few enough steps were missed.
pub fn missed_steps(steps: &Steps, step: Option<Nanos>) -> Option<String> {
    let (step, missed) = (step?, steps.missed as f64 / steps.due.max(1) as f64);
    (missed > TOLERATED_MISSES).then(|| {
        format!(
            "{} of {} samples at steps of {} ms were late: use a longer step",
            steps.missed,
            steps.due,
            step.as_millis_f64()
        )
    })
}

/// Returns why a run is unsound in which `flows` flows were opened without any packet; none if `flows` is 0.
pub fn nothing_carried(flows: usize) -> Option<String> {
    let what = if flows == 1 { "a flow".to_string() } else { format!("{flows} flows") };
    (flows > 0).then(|| format!("no packet of {what} was carried, though its application had opened it"))
}

/// Returns why a run is unsound in which a flow had this impossible slow-start threshold.
pub fn skipped_program(stray_ssthresh: u32) -> String {
    format!(
        "a flow's ssthresh became {stray_ssthresh} packets, which no congestion control returns: this kernel \
             skips programs"
    )
}

/// Measures the processors' idle time since it was made.
pub struct Processors {
    since: Instant,
    before: Option<Idle>,
}

/// The processors' idle time since boot. A kernel measures it by the clock, but other times of processors by ticks.
#[derive(Clone, Copy, Debug)]
struct Idle {
    processors: usize,
    time_s: f64,
}

impl Processors {
    /// Starts to measure.
    pub fn watch() -> Processors {
        Processors { since: Instant::now(), before: idle() }
    }

    /// Returns the idle time in percent; none if the kernel does not report it.
    pub fn idle_percent(&self) -> Option<f64> {
        let elapsed_s = self.since.elapsed().as_secs_f64();
        let (before, now) = (self.before?, idle()?);
        let share = (now.time_s - before.time_s) / (elapsed_s * now.processors as f64);
        Some(100.0 * share.clamp(0.0, 1.0))
    }
}

/// Reads the idle time of all processors from the first line of `/proc/stat`.
fn idle() -> Option<Idle> {
    /// The ticks per second in which `/proc` counts times, whatever the kernel's own ticks are.
    const USER_HZ: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat.lines().next()?.split_whitespace().nth(4)?.parse().ok()?;
    let processors = stat.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    Some(Idle { processors, time_s: ticks as f64 / USER_HZ })
}

/// Returns the 99th percentile of lateness up to which the figures of this scenario are sound.
pub fn tolerated(scenario: &Scenario) -> Nanos {
    let part = transmission_time(scenario).0 as f64 * OF_A_TRANSMISSION;
    tolerated_of_round_trips(scenario).max(Nanos(part as u64))
}

/// Returns the time of one transmission: of a packet, or of an aggregate, whose packets arrive together.
fn transmission_time(scenario: &Scenario) -> Nanos {
    let aggregates = scenario
        .links
        .iter()
        .any(|link| matches!(&link.forward.service, Service::Shared(Member::Wifi(station)) if station.standard.most_frames() > 1));
    let longest = if aggregates { LONGEST_AGGREGATE } else { Nanos::ZERO };
    longest.max(scenario.packet_time().unwrap_or(Nanos::ZERO))
}

/// Returns the longest single lateness up to which a run is sound. Delayed packets come in a burst, and a burst of more
/// than half of the queue causes losses of its own.
fn tolerated_once(scenario: &Scenario) -> Nanos {
    let packet = scenario.flows.iter().map(|group| group.packet.0).max().unwrap_or(0);
    let time = |link: &Link| {
        let room = match link.queue.limit()? {
            Limit::Bytes(bytes) => bytes.0,
            Limit::Packets(packets) => packets.saturating_mul(packet),
        };
        Some(Nanos((room as f64 * 8.0 / link.service.capacity().mean * 1e9 / 2.0) as u64))
    };
    let least = scenario.flows.iter().flat_map(|group| scenario.data_path(group)).filter_map(time).min();
    least.map_or(Nanos::NEVER, |least| least.max(tolerated(scenario)))
}

/// Returns how much longer than needed the emulator waits on purpose, to handle more packets at once. All packets are
/// late by that time, so it is short where no second packet would come meanwhile.
pub fn slack(scenario: &Scenario) -> Nanos {
    let batch = Nanos(tolerated_of_round_trips(scenario).0 / 4);
    let is_slow = scenario.packet_time().is_none_or(|time| time > batch);
    batch.min(if is_slow { HARMLESS_SLACK } else { Nanos::NEVER })
}

fn tolerated_of_round_trips(scenario: &Scenario) -> Nanos {
    let base = scenario.flows.iter().map(|group| scenario.propagation_rtt(group).0).min().unwrap_or(0);
    HARMLESS.max(Nanos((base as f64 * TOLERATED) as u64))
}

/// Returns why a run in virtual time is unsound; none if its processor was idle for long enough.
pub fn saturation(idle_percent: Option<f64>) -> Option<String> {
    let busy = 100.0 - idle_percent.filter(|idle| *idle < LEAST_IDLE)?;
    Some(format!(
        "the guest's processor was busy for {busy:.0} % of the run, so its hosts were slower than the scenario's"
    ))
}

/// Returns why a run is unsound; none if the machine kept up.
pub fn complaint(
    scenario: &Scenario,
    lateness: &Histogram,
    missed_inside: u64,
    pairs: &[Pair],
    flows: &[(&Planned, &Flow)],
) -> io::Result<Option<String>> {
    let late = lateness.quantile_ms(0.99).unwrap_or(0.0);
    let bound = tolerated(scenario).as_millis_f64();
    if late > bound {
        return Ok(Some(format!(
            "one packet in a hundred was more than {late:.3} ms late, above the bound of {bound:.3} ms"
        )));
    }
    let (longest, bound) = (lateness.max_ms().unwrap_or(0.0), tolerated_once(scenario).as_millis_f64());
    if longest > bound {
        return Ok(Some(format!(
            "the machine stopped for {longest:.1} ms, above the bound of {bound:.1} ms; packets then arrive at once, which \
             the scenario does not describe"
        )));
    }
    if missed_inside > 0 {
        return Ok(Some(format!("{missed_inside} packets were lost after the kernel's queue had released them")));
    }
    let mut missed = 0;
    for pair in pairs {
        missed += pair.sender.missed()? + pair.receiver.missed()?;
    }
    if missed > 0 {
        return Ok(Some(format!("{missed} packets were dropped before they reached the emulated link")));
    }
    // The receiver's window may limit a flow only where the scenario says so, and the send buffer only where the kernel
    // tunes it.
    let free = flows.iter().filter(|(planned, _)| !planned.settings.receiver_may_limit());
    let shares = free.map(|(planned, flow)| {
        let (window, room) = flow.held_by_buffers();
        (window, if planned.has_send_buffer() { 0.0 } else { room })
    });
    let held = shares.into_iter().find(|(window, room)| window + room > 0.01);
    Ok(held.map(|(window, room)| {
        let [window, room] = [window, room].map(|share| 100.0 * share);
        format!(
            "a flow waited {window:.1} % of its time for its receiver's window, {room:.1} % for room in its own buffer"
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(duration: &str) -> Scenario {
        let text = format!(
            "duration = \"{duration}\"\n[link.bottleneck]\nrate = \"10mbit\"\ndelay = \"5ms\"\nqueue = {{}}\n\
             [[flows]]\ncc = \"kernel:reno\"\n"
        );
        scenario::load_text(&text, "test", "".as_ref(), &[]).unwrap().points.remove(0).scenario
    }

    #[test]
    fn an_emulator_that_stands_still_for_more_than_a_hundredth_of_the_run() {
        assert_eq!(standstill(&scenario("10s"), Nanos::from_millis(99)), None);
        let complaint = standstill(&scenario("10s"), Nanos::from_millis(450)).unwrap();
        assert!(complaint.starts_with("the emulator stopped for 4.5 % of the run"), "{complaint}");
    }

    #[test]
    fn a_flow_of_which_nothing_was_carried() {
        assert_eq!(nothing_carried(0), None);
        assert!(nothing_carried(1).unwrap().starts_with("no packet of a flow was carried"));
        assert!(nothing_carried(3).unwrap().starts_with("no packet of 3 flows was carried"));
    }

    #[test]
    fn a_series_whose_steps_were_missed() {
        let step = Some(Nanos::from_millis(1));
        assert_eq!(missed_steps(&Steps { due: 1000, missed: 10 }, step), None);
        assert_eq!(missed_steps(&Steps { due: 1000, missed: 500 }, None), None);
        let complaint = missed_steps(&Steps { due: 1000, missed: 11 }, step).unwrap();
        assert!(complaint.starts_with("11 of 1000 samples at steps of 1 ms were late"), "{complaint}");
    }
}
