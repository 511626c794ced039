//! Checks values against each other, for contradictions that no single key shows.

use model::app::{App, Video, Write};
use model::declare::Declared;
use model::handover::Handover;
use model::impairments::{DelayChange, Impairments, Outage, Policer, RateChange};
use model::queue::Discipline;
use model::schema::{OF_THE_KERNEL, QUEUES};
use model::script::Action;
use model::section::Section;
use model::skb::truesize;
use model::units::{Bytes, Nanos, Rate};
use model::workload::{Arrivals, Pareto, Poisson, Sizes};
use model::{
    Emulator, FlowGroup, LARGEST_ACK, Limit, Link, MapContents, MechanismSource, Member, ParamValue, Queue, Scenario,
    Service, TcpRmem, Transmitter,
};
use std::collections::BTreeMap;

/// Bits of a byte.
const BITS: f64 = 8.0;
/// The largest number of flows of all groups together.
const MOST_FLOWS: u64 = 1_000_000;
/// The largest window without window scaling: the header has 16 bits for it (RFC 9293).
const UNSCALED_WINDOW: Bytes = Bytes(65_535);
/// The window controller that needs no round-trip time.
const MEASURES_NOTHING: &str = "static";
/// The longest name of a congestion control that the kernel takes (`TCP_CA_NAME_MAX` without the closing zero).
const LONGEST_KERNEL_NAME: usize = 15;

/// Checks that everything begins before it ends, and before the run ends.
pub(crate) fn times(top: &Section, groups: &[Section], scenario: &Scenario) {
    let duration = scenario.duration;
    if scenario.warmup >= duration {
        top.complain("warmup", format!("{} must be shorter than the duration, {duration}", scenario.warmup));
    }
    for (section, group) in groups.iter().zip(&scenario.flows) {
        if group.arrivals.is_some() {
            arrivals(section, group, scenario);
            continue;
        }
        let last = last_start(group);
        if last >= u128::from(duration.0) {
            let key = if group.start + group.start_spread >= duration { "start" } else { "stagger" };
            section.complain(key, format!("the last flow would start at or after the end of the run, {duration}"));
        } else if group.stop.is_some_and(|stop| u128::from(stop.0) <= last) {
            let key = if group.count > 1 && section.get("stagger").is_some() { "start and stagger" } else { "start" };
            section.complain("stop", format!("must be after the start of the last flow, which {key} set"));
        }
    }
}

/// Checks that flows of an arrival process have time to arrive, and that no other key sets their times.
fn arrivals(section: &Section, group: &FlowGroup, scenario: &Scenario) {
    for other in ["count", "stagger"].into_iter().filter(|key| section.get(key).is_some()) {
        section.complain(other, "cannot be set together with arrivals; leave one of the two out");
    }
    if group.start_spread > Nanos::ZERO {
        section.complain("start", "must be one time with arrivals, which are random themselves, not a range");
    } else if group.start >= scenario.duration {
        section.complain("start", format!("must be before the end of the run, {}", scenario.duration));
    } else if group.stop.is_some_and(|stop| stop <= group.start) {
        section.complain("stop", "must be after start");
    }
}

fn last_start(group: &FlowGroup) -> u128 {
    u128::from(group.start.0)
        + u128::from(group.start_spread.0)
        + u128::from(group.stagger.0) * u128::from(group.count - 1)
}

/// Checks that each direction of link `number` fits its packets, and that the kernel can have it if it must.
pub(crate) fn link(number: usize, forward: &Section, reverse: &Section, groups: &[Section], scenario: &Scenario) {
    for (section, is_reverse) in [(forward, false), (reverse, true)] {
        let link = scenario.links[number].direction(is_reverse);
        if scenario.shared_queue(number, is_reverse).is_none() {
            queue(section, &link.queue, scenario.largest_packet(number, is_reverse));
        }
        impairments(section, link);
        handover(section, link, scenario.duration);
        script(section, link);
        policer(section, link, scenario.largest_packet(number, is_reverse));
        kernel_link(section, link, scenario.emulator);
    }
    if reverse.get("queue").is_some() || scenario.shared_queue(number, true).is_some() {
        return;
    }
    let name = forward.name();
    let takes_it = |group: &FlowGroup| group.reverse && group.reverse_path.contains(&number);
    if let Some((group, _)) = groups.iter().zip(&scenario.flows).find(|(_, group)| takes_it(group)) {
        let message = format!(
            "sends data over the reverse direction of {name}, which needs a queue; write queue in \
             [link.{name}.reverse], such as {{ limit = \"100p\" }}"
        );
        group.complain("reverse", message);
    }
}

/// Checks that the packets of a group fit `what`, which takes at most `largest` bytes.
pub(crate) fn packet(section: &Section, group: &FlowGroup, largest: Bytes, what: &str) {
    let packet = group.largest_packet();
    if packet > largest {
        let key = if group.datagrams().is_some() { "app" } else { "packet" };
        let path = if key == "app" { "app.packet" } else { key };
        section.complain_about(&section.place_of(key), section.path_of(path), format!("{packet} do not fit {what}"));
    }
}

/// Checks that a packet of `largest` bytes fits the queue of a link or radio cell, and that its marking threshold can
/// be reached.
pub(crate) fn queue(link: &Section, queue: &Queue, largest: Bytes) {
    let section = link.queue();
    if let Some(Limit::Bytes(limit)) = queue.limit()
        && limit < largest
    {
        section.complain("limit", format!("{limit} has no room for one packet of {largest}; write at least that"));
    }
    if let Queue::Droptail { limit: Some(limit), ecn_threshold: Some(threshold) } = queue
        && threshold > limit
    {
        section.complain("ecn_threshold", format!("{threshold} is never reached, because the limit is {limit}"));
    }
    // Any rate will do: the errors do not depend on it.
    if let Some(Discipline::Red(red)) = queue.simulated()
        && let Err(why) = red.arithmetic(Rate(1_000_000))
    {
        section.complain("kind", why);
    }
}

/// Checks that a link's changes and outages are in order, and that it has a delay for jitter and reordering to change.
fn impairments(section: &Section, link: &Link) {
    let Impairments { jitter, reorder, .. } = &link.impairments;
    let least_delay = link.shortest_delay();
    if let Some(jitter) = jitter.filter(|jitter| jitter.spread > least_delay) {
        let message = format!("{} must not exceed the delay, {least_delay}", jitter.spread);
        section.complain("jitter", message);
    }
    if reorder.is_some_and(|reorder| reorder.by.is_none()) && least_delay == Nanos::ZERO {
        section.complain("reorder", "needs a delay above 0s to skip, or reorder_by to hold packets back");
    }
    let delay_changes = !link.impairments.delays.is_empty() || link.impairments.handover.is_some();
    for (base, refinements) in
        [("jitter", ["jitter_distribution", "jitter_reorder"]), ("reorder", ["reorder_gap", "reorder_by"])]
    {
        let is_there = section.get(base).is_some() || base == "jitter" && delay_changes;
        if !is_there && let Some(alone) = refinements.into_iter().find(|key| section.get(key).is_some()) {
            section.complain(alone, format!("needs {base} beside it; write {base} too, or leave this out"));
        }
    }
    let of_outages = if section.get("outages").is_some() { "outages" } else { "handover" };
    match link.service {
        _ if link.impairments.waiting_outages().next().is_none() => {}
        Service::Shared(Member::Lte(_)) => {
            section.complain(
                of_outages,
                "cannot stop an LTE cell; write lose = true in each outage of a link to its \
                                         user",
            );
        }
        Service::Shared(_) => {
            section.complain(
                of_outages,
                "cannot stop the air that other stations share; write lose = true in each \
                                         outage",
            );
        }
        Service::Own(_) => {}
    }
    in_order(section, "rates", "rate", |step| RateChange::read(step).at);
    in_order(section, "delays", "delay", |step| DelayChange::read(step).at);
    let mut end = Nanos::ZERO;
    for section in section.list("outages") {
        let outage = Outage::read(&section);
        if outage.at < end {
            section.complain("at", format!("{} must not be before {end}, where the outage before it ends", outage.at));
        }
        end = outage.end();
    }
}

/// Checks that the changes of a list are in order of time.
fn in_order(section: &Section, list: &'static str, what: &str, at: impl Fn(&Section) -> Nanos) {
    let mut latest = Nanos::ZERO;
    for step in section.list(list) {
        let at = at(&step);
        if at <= latest && latest > Nanos::ZERO {
            step.complain("at", format!("{at} must be after {latest}, where the {what} before it begins"));
        }
        latest = at;
    }
}

/// Checks that a handover ends before the next, and that nothing else sets what it sets.
fn handover(section: &Section, link: &Link, duration: Nanos) {
    let Some(handover) = link.impairments.handover.filter(|_| section.get("handover").is_some()) else { return };
    for other in ["rates", "delays", "outages"].into_iter().filter(|key| section.get(key).is_some()) {
        section.complain(other, "cannot be set together with handover, which makes them; leave one of the two out");
    }
    let table = section.child("handover", Handover::SECTION);
    if handover.outage >= handover.every {
        table.complain("outage", format!("{} must be shorter than every, {}", handover.outage, handover.every));
    }
    if handover.count(duration) > Handover::MOST {
        let message = format!(
            "{} is too short for a run of {duration}; at most {} handovers are possible",
            handover.every,
            Handover::MOST
        );
        table.complain("every", message);
    }
    if handover.rate.is_some() && !matches!(&link.service, Service::Own(Transmitter::Rate(_) | Transmitter::Rates(_))) {
        table.complain("rate", "needs a link with a rate; leave it out here");
    }
}

/// Checks that each rule of a link's script can take effect.
fn script(section: &Section, link: &Link) {
    if let (Service::Shared(_), Some(_)) = (&link.service, section.get("script")) {
        section.complain("script", "is not supported on links of Wi-Fi and LTE; set it on another link of the path");
    }
    for (rule, section) in link.impairments.script.iter().zip(section.list("script")) {
        if rule.action == Action::Hold && rule.time.is_none() {
            section.complain("time", "is missing; write a time such as \"10ms\": how long held packets arrive later");
        } else if rule.action != Action::Hold && rule.time.is_some() {
            section.complain("time", "holds packets; write do = \"hold\", or leave it out");
        }
        if let Some(to) = rule.to.filter(|to| *to <= rule.from) {
            section.complain("to", format!("{to} must be after from, {}", rule.from));
        }
    }
}

/// Checks that a packet of `largest` bytes fits the policer's bucket.
fn policer(section: &Section, link: &Link, largest: Bytes) {
    if let Some(Policer { burst, .. }) = link.impairments.policer
        && burst < largest
    {
        let message = format!("{burst} has no room for one packet of {largest}; write at least that");
        section.child("policer", Policer::SECTION).complain("burst", message);
    }
}

/// Checks that the kernel's shaper and queues can be a link.
fn kernel_link(section: &Section, link: &Link, emulator: Emulator) {
    if let (Some(discipline), Emulator::Netem) = (link.queue.simulated(), emulator) {
        let name = discipline.name();
        let kernels = format!("{OF_THE_KERNEL}{name}");
        let instead = match QUEUES.contains(&kernels.as_str()) {
            true => format!("with \"netem\" write {kernels}"),
            false => "\"netem\" does not have it".into(),
        };
        section.queue().complain("kind", format!("{name} needs emulator = \"unbloat\"; {instead}"));
    }
    let whose = match (&link.queue, emulator) {
        (queue, _) if queue.is_of_kernel() => queue.name(),
        (Queue::Droptail { .. }, Emulator::Netem) => "netem".to_string(),
        _ => return,
    };
    match link.service {
        Service::Own(Transmitter::Trace(_)) => {
            section.complain("trace", format!("is not supported by the kernel's shaper; {whose} needs a rate"));
        }
        Service::Own(Transmitter::Rates(_)) => {
            let message = format!("is not supported by the kernel's shaper; {whose} needs one rate");
            section.complain(if section.get("rates").is_some() { "rates" } else { "handover" }, message);
        }
        Service::Shared(Member::Lte(_)) => not_in_a_cell(section, link, &whose),
        Service::Own(Transmitter::Rate(_)) | Service::Shared(Member::Mesh(_)) => {}
        Service::Shared(member) => {
            let message = format!("is not supported by the kernel's shaper; {whose} needs a rate");
            section.complain(member.medium().0, message);
        }
    }
    if link.impairments.waiting_outages().next().is_some() {
        let message = format!("cannot stop the kernel's shaper; {whose} needs lose = true in each outage");
        section.complain(if section.get("outages").is_some() { "outages" } else { "handover" }, message);
    }
    if emulator == Emulator::Netem {
        netem(section, &link.impairments);
    }
    if let Queue::Droptail { ecn_threshold: Some(_), .. } = link.queue {
        let message = "is not supported by the kernel's FIFOs, which do not mark; leave it out, or write emulator = \
                       \"unbloat\"";
        section.queue().complain("ecn_threshold", message);
    }
}

/// Rejects the kernel's shaper and queues on links of LTE cells. A mistake in both directions is reported once.
fn not_in_a_cell(section: &Section, link: &Link, whose: &str) {
    if section.get("lte").is_some() {
        section.complain("lte", format!("is not supported by the kernel's shaper; {whose} needs a rate"));
    } else if link.queue.is_of_kernel() {
        let message = format!("{whose} cannot wait for the grants of an LTE cell; write a queue without \"kernel:\"");
        section.queue().complain("kind", message);
    }
}

/// Rejects policers, and impairments of the channel other than delay and losses, for `netem`: reordered or duplicated
/// packets would look like lost ones.
fn netem(section: &Section, impairments: &Impairments) {
    for key in impairments.in_the_channel().chain(impairments.policer.map(|_| "policer")) {
        section.complain(
            key,
            "is not supported with emulator = \"netem\"; leave it out, or write emulator = \
                               \"unbloat\"",
        );
    }
}

/// Checks that `name` can be the name of a kernel's congestion control, which has no parameters and maps to set.
pub(crate) fn kernel_control(
    group: &Section,
    name: &str,
    params: &BTreeMap<String, ParamValue>,
    maps: &BTreeMap<String, MapContents>,
) {
    if name.is_empty() || name.len() > LONGEST_KERNEL_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message =
            format!("kernel: must be followed by a name that the kernel lists, such as kernel:cubic, not \"{name}\"");
        group.complain("cc", message);
    }
    if let Some(param) = params.keys().next() {
        let message = format!("kernel:{name} belongs to the running kernel and has no parameter {param}");
        group.complain("params", message);
    }
    if let Some(map) = maps.keys().next() {
        group.complain("maps", format!("kernel:{name} belongs to the running kernel and has no map {map}"));
    }
}

/// Checks that each flow group is consistent, and that all groups together have few enough flows.
pub(crate) fn groups(groups: &[Section], scenario: &Scenario) {
    for (section, group) in groups.iter().zip(&scenario.flows) {
        if let Some(app) = &group.app {
            self::app(section, app);
        }
        access(&section.child("access", "access"), group);
        if let (Some(Sizes::Pareto(Pareto { mean, most: Some(most), .. })), Some(size)) = (group.sizes, section.sizes())
            && mean >= most
        {
            size.complain("most", format!("{most} must be more than the mean, {mean}"));
        }
        if let Some(size) = group.size.filter(|size| *size > group.largest_size()) {
            let (most, packet) = (group.largest_size(), group.packet);
            section.complain(
                "size",
                format!("{size} is too much for one flow; with packets of {packet} the largest size is {most}"),
            );
        }
        receive_buffer(section, group);
        window_controller(section, group);
    }
    let flows: u64 = scenario.flows.iter().map(|group| flows_of(group, scenario)).sum();
    if let (true, Some(last)) = (flows > MOST_FLOWS, groups.last()) {
        let key = if last.get("arrivals").is_some() { "arrivals" } else { "count" };
        last.complain(
            key,
            format!(
                "makes {flows} flows together with the other groups; at most {MOST_FLOWS} are \
                                    possible"
            ),
        );
    }
}

/// Checks that a built-in window controller can measure round-trip times if it needs them. A user's own file learns at
/// run time that it cannot.
fn window_controller(section: &Section, group: &FlowGroup) {
    let Some(MechanismSource::Builtin(name)) = group.window_controller.as_ref().map(|controller| &controller.source)
    else {
        return;
    };
    if !group.stack.timestamps && name != MEASURES_NOTHING {
        let message = format!(
            "{name} measures round-trip times by timestamps, which this profile lacks; set timestamps = true, or \
             write {MEASURES_NOTHING}"
        );
        section.complain("window_controller", message);
    }
}

/// Checks that the receive buffer has room for packets, and that only one kind of buffer is set.
fn receive_buffer(section: &Section, group: &FlowGroup) {
    if let Some(window) = group.receive_window {
        if window < group.packet {
            section.complain("receive_window", format!("{window} has no room for one packet of {}", group.packet));
        } else if window > UNSCALED_WINDOW && !group.stack.window_scaling {
            let message = format!(
                "{window} needs window_scaling = true; without it a receiver advertises at most \
                         {UNSCALED_WINDOW}"
            );
            section.complain("receive_window", message);
        }
    }
    let offers_all = "needs quick_ack = true; without it the receiver advertises one constant window";
    for key in ["tcp_rmem", "read_rate"] {
        if section.get(key).is_some() && !group.stack.quick_ack {
            section.complain(key, offers_all);
        }
    }
    let Some(TcpRmem { default, max }) = group.tcp_rmem else { return };
    let table = section.child("tcp_rmem", "tcp_rmem");
    if group.receive_window.is_some() {
        section.complain(
            "tcp_rmem",
            "cannot be set together with receive_window, which fixes the buffer's size; write one of the two",
        );
    }
    let two_packets = Bytes(2 * truesize(group.packet.0));
    if default > max {
        table.complain("default", format!("{default} must not exceed max, {max}"));
    } else if default < two_packets {
        let message = format!("{default} has no room for two packets of {}, which take {two_packets}", group.packet);
        table.complain("default", message);
    }
}

/// Checks that the queue of an access link fits its packets and its link.
fn access(section: &Section, group: &FlowGroup) {
    if group.access.small_queues && group.access.rate.is_none() {
        section.complain("small_queues", "needs a link with a rate; write rate beside it");
    }
    let Some(written) = &group.access.queue else { return };
    if group.access.rate.is_none() {
        section.complain("queue", "needs a link with a rate, for without one no packet waits; write rate beside it");
    }
    if written.is_of_kernel() {
        let name = written.name();
        let message = format!("{name} works on links only; for an access link write a queue without \"kernel:\"");
        section.queue().complain("kind", message);
        return;
    }
    queue(section, written, group.packet.max(LARGEST_ACK));
}

/// Returns the mean number of a group's flows.
fn flows_of(group: &FlowGroup, scenario: &Scenario) -> u64 {
    let Some(Arrivals::Poisson(Poisson { rate })) = group.arrivals else {
        return u64::from(group.count) * u64::from(group.flows_of_one());
    };
    let end = group.stop.unwrap_or(scenario.duration).min(scenario.duration);
    (rate.per_second() * end.since(group.start).as_secs_f64()) as u64
}

/// Checks that no other key sets what an application decides itself, and that its own keys fit each other.
fn app(section: &Section, app: &App) {
    for key in ["size", "arrivals", "window_controller", "tcp_rmem", "read_rate", "write_rate", "access"] {
        if section.get(key).is_some() {
            section.complain(
                key,
                "cannot be set together with app, which decides what the flow sends; leave one of the \
                                two out",
            );
        }
    }
    if let App::Writer(_) = app {
        let mut latest = Nanos::ZERO;
        for write in section.child("app", "writer").list("writes") {
            let Write { at, .. } = Write::read(&write);
            if at < latest {
                write.complain("at", format!("{at} must not be before {latest}, the time of the write before it"));
            }
            latest = at;
        }
    }
    let App::Video(Video { lowest, highest, piece, startup, most, .. }) = app else { return };
    let table = || section.child("app", "video");
    if lowest > highest {
        table().complain("lowest", format!("{lowest} must not exceed highest, {highest}"));
    }
    if lowest.0 as f64 * piece.as_secs_f64() < 2.0 * BITS {
        table().complain(
            "piece",
            format!(
                "{piece} at {lowest} is less than one byte; write a longer piece or a \
                                           higher rate"
            ),
        );
    }
    if startup > most {
        table().complain("startup", format!("{startup} must not exceed most, {most}, or the film would never play"));
    }
}
