//! Finds keys of a scenario's hosts that a kernel's host does not support.

use crate::queue::Discipline;
use crate::{
    FlowGroup, Host, Limit, Link, MechanismRef, MechanismSource, OnlyInTheSimulator, OnlyThere, ParamValue, Queue,
    Scenario, SendTuning, Service, Transmitter,
};

impl Scenario {
    /// Returns the first feature of any host that a kernel does not support.
    pub(super) fn host_only_in_the_simulator(&self) -> Option<OnlyInTheSimulator> {
        (0..).zip(&self.hosts).find_map(|(number, host)| {
            let uplink = &self.links[host.uplink].forward;
            in_host(host, &uplink.queue).or_else(|| in_uplink(uplink)).or_else(|| self.in_groups_of(number))
        })
    }

    /// Returns the first setting in which the groups of a host differ: on a kernel they share one namespace, with one
    /// device at either end.
    fn in_groups_of(&self, host: usize) -> Option<OnlyInTheSimulator> {
        let mut groups = self.flows.iter().enumerate().filter(|(_, group)| group.host == Some(host));
        let (_, first) = groups.next()?;
        let differs = |group: &FlowGroup| match () {
            () if group.stack != first.stack => Some("profile"),
            () if group.tcp_rmem != first.tcp_rmem => Some("tcp_rmem"),
            () if group.window_controller != first.window_controller
                || (group.window_controller.is_some() && group.reverse != first.reverse) =>
            {
                Some("window_controller")
            }
            () => None,
        };
        groups.find_map(|(number, group)| {
            Some(only(format!("flows.{number}.{}", differs(group)?), OnlyThere::SharedHost))
        })
    }
}

fn only(key: String, what: OnlyThere) -> OnlyInTheSimulator {
    OnlyInTheSimulator { key, what }
}

fn in_host(host: &Host, queue: &Queue) -> Option<OnlyInTheSimulator> {
    let key = |key: &str| format!("host.{}.{key}", host.name);
    match host {
        Host { small_queues: false, .. } if !counts_packets(queue) => {
            Some(only(key("small_queues"), OnlyThere::NoSmallQueues))
        }
        Host { pacing_shift: Some(_), .. } => Some(only(key("pacing_shift"), OnlyThere::PacingShift)),
        Host { ring: 1.., .. } => Some(only(key("ring"), OnlyThere::Ring)),
        Host { send_buffer, .. } if send_buffer.tuning != SendTuning::Linux => {
            Some(only(key("tcp_wmem.tuning"), OnlyThere::Tuning))
        }
        Host { small_queues: false, classifier: Some(classifier), .. } => {
            asks_what_is_in_host(classifier).map(|asks| only(key(asks), OnlyThere::InHost))
        }
        _ => None,
    }
}

/// Returns the key that makes a classifier use the amount of a connection's data in the host (`in_host`), if the key
/// can be recognised. A queue that takes packets from their sockets leaves this amount at zero.
fn asks_what_is_in_host(classifier: &MechanismRef) -> Option<&'static str> {
    match classifier.params.get("no_overtake") {
        _ if classifier.source == MechanismSource::Builtin("sorpc_fair".into()) => Some("classifier"),
        Some(ParamValue::Bool(true)) => Some("classifier_params.no_overtake"),
        _ => None,
    }
}

/// Whether a queue counts packets, in each band if it has bands, so that it can take packets from their sockets.
fn counts_packets(queue: &Queue) -> bool {
    match queue {
        Queue::Droptail { limit, .. } => !matches!(limit, Some(Limit::Bytes(_))),
        queue => matches!(queue.simulated(), Some(Discipline::Prio(_) | Discipline::PfifoFast(_))),
    }
}

fn in_uplink(link: &Link) -> Option<OnlyInTheSimulator> {
    let only = |key: &str, what| Some(only(format!("link.{}.{key}", link.name), what));
    match &link.service {
        Service::Own(Transmitter::Rate(_)) if !link.impairments.outages.is_empty() => {
            only("outages", OnlyThere::UplinkOfOneRate)
        }
        Service::Own(Transmitter::Rate(_)) => match &link.queue {
            Queue::Droptail { ecn_threshold: Some(_), .. } => only("queue.ecn_threshold", OnlyThere::HostQueue),
            queue => match queue.simulated()? {
                Discipline::Drophead(_) | Discipline::Red(_) | Discipline::Pie(_) | Discipline::FqPie(_) => {
                    only("queue.kind", OnlyThere::HostQueue)
                }
                _ => None,
            },
        },
        Service::Own(Transmitter::Rates(_)) => only("rates", OnlyThere::UplinkOfOneRate),
        Service::Own(Transmitter::Trace(_)) => only("trace", OnlyThere::UplinkOfOneRate),
        Service::Shared(member) => only(member.medium().0, OnlyThere::HostInCell),
    }
}
