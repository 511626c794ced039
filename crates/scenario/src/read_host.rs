//! Reads hosts and checks them, with the flow groups on them.

use crate::read_mechanism::Folder;
use model::declare::Declared;
use model::did_you_mean;
use model::queue::Discipline;
use model::section::Section;
use model::skb::truesize;
use model::units::{Bytes, Nanos};
use model::{Host, HostKeys, LARGEST_ACK, Member, Scenario, SendBuffer, Service};

/// The uplink of a host before the paths of its flow groups have been read.
const NO_LINK: usize = usize::MAX;

/// Reads the hosts of a file.
pub(crate) fn hosts(sections: &[Section], folder: &Folder) -> Vec<Host> {
    let host = |section: &Section| {
        let HostKeys { classifier, classifier_params } = HostKeys::read(section);
        let params = ("classifier_params", classifier_params);
        let classifier = folder.mechanism(section, ("classifier", classifier), params);
        Host { name: section.name().into(), uplink: NO_LINK, classifier, ..Host::read(section) }
    };
    sections.iter().map(host).collect()
}

/// Returns the number of the host that a group names, if it names one.
pub(crate) fn of_group(group: &Section, name: Option<String>, hosts: &[Host]) -> Option<usize> {
    let name = name?;
    let found = hosts.iter().position(|host| host.name == name);
    if found.is_none() {
        let known: Vec<_> = hosts.iter().map(|host| host.name.as_str()).collect();
        let message = match known.is_empty() {
            true => format!("unknown host {name}; write [host.{name}], which may be empty"),
            false => {
                let hint = did_you_mean(&name, known.iter().copied());
                format!("unknown host {name}{hint}; valid: {}", known.join(", "))
            }
        };
        group.complain("host", message);
    }
    found
}

/// Sets each host's uplink: the link with which the paths of its groups begin.
pub(crate) fn find_uplinks(scenario: &mut Scenario, groups: &[Section]) {
    let name = |links: &[model::DuplexLink], link: usize| links[link].forward.name.clone();
    for (section, group) in groups.iter().zip(&scenario.flows) {
        let (Some(host), Some(first)) = (group.host, group.path.first()) else { continue };
        let host = &mut scenario.hosts[host];
        if host.uplink == NO_LINK {
            host.uplink = *first;
        } else if host.uplink != *first {
            let (uplink, other) = (name(&scenario.links, host.uplink), name(&scenario.links, *first));
            let message =
                format!("[host.{}] has one device; earlier flows leave by {uplink}, these by {other}", host.name);
            section.complain("path", message);
        }
    }
    for uplink in scenario.hosts.iter().map(|host| host.uplink).filter(|uplink| *uplink != NO_LINK) {
        let link = &mut scenario.links[uplink];
        if let (Service::Shared(Member::Lte(_)), Service::Shared(Member::Lte(_))) =
            (&link.forward.service, &link.reverse.service)
        {
            // The uplink of an LTE user leads from the user, so the directions are swapped.
            std::mem::swap(&mut link.forward.service, &mut link.reverse.service);
        }
    }
}

/// Checks that each host has flows, a queue of its own that its classifier can sort, and a possible uplink.
pub(crate) fn check(hosts: &[Section], links: &[(Section, Section)], groups: &[Section], scenario: &Scenario) {
    for (number, (section, host)) in hosts.iter().zip(&scenario.hosts).enumerate() {
        if host.uplink == NO_LINK {
            let message =
                format!("has no flows; write host = \"{}\" in a flow group, or leave the host out", host.name);
            section.complain_about(&section.place, section.path.clone(), message);
            continue;
        }
        if let Some(other) = scenario.hosts[..number].iter().find(|other| other.uplink == host.uplink) {
            let link = &scenario.links[host.uplink].forward.name;
            let message = format!(
                "shares the device {link} with [host.{}]; begin one of their paths with another link",
                other.name
            );
            section.complain_about(&section.place, section.path.clone(), message);
        }
        check_host(section, host, scenario.leads_from_station(host.uplink));
        check_uplink(section, &links[host.uplink].1, host, scenario);
    }
    for (section, group) in groups.iter().zip(&scenario.flows) {
        let begins_at = |host: &&Host| group.path.first() == Some(&host.uplink);
        if let (None, Some(host)) = (group.host, scenario.hosts.iter().find(begins_at)) {
            let link = &scenario.links[host.uplink].forward.name;
            let message = format!(
                "begins with {link}, which is the device of [host.{0}]; write host = \"{0}\", or put a link before it",
                host.name
            );
            section.complain("path", message);
        }
        if let (Some(_), true) = (group.host, group.write_rate.is_some()) {
            section.complain(
                "write_rate",
                "cannot be set together with host, whose send buffer limits writing; leave it out",
            );
        }
        if let (Some(_), true) = (group.host, group.access.rate.is_some()) {
            section.complain(
                "access",
                "cannot have a rate together with host, whose own link is the first of path; \
                                        leave it out",
            );
        }
        if let (Some(_), true) = (group.host, group.access.delay > Nanos::ZERO) {
            section.complain("access", "cannot have a delay together with host; write it in the first link of path");
        }
    }
}

fn check_host(section: &Section, host: &Host, in_cell: bool) {
    if host.byte_queue_limits && host.ring == 0 {
        section.complain("byte_queue_limits", "needs a ring to limit; write ring beside it");
    } else if host.byte_queue_limits && in_cell {
        section.complain("byte_queue_limits", "is not supported by devices of Wi-Fi and LTE; leave it out");
    }
    let SendBuffer { default, max, .. } = host.send_buffer;
    let table = section.child("tcp_wmem", "tcp_wmem");
    let two_packets = Bytes(2 * truesize(LARGEST_ACK.0));
    if default > max {
        table.complain("default", format!("{default} must not exceed max, {max}"));
    } else if max < two_packets {
        table.complain("max", format!("{max} has no room for two packets, which take {two_packets} at least"));
    }
}

fn check_uplink(section: &Section, link: &Section, host: &Host, scenario: &Scenario) {
    let forward = &scenario.links[host.uplink].forward;
    let sorts = matches!(forward.queue.simulated(), Some(Discipline::Prio(_)));
    if host.classifier.is_some() && !sorts {
        let message = format!(
            "needs bands to sort packets into; write queue = {{ kind = \"prio\", bands = 2 }} in [link.{}]",
            forward.name
        );
        section.complain("classifier", message);
    }
    let whose = format!("is not supported on the device of [host.{}]", host.name);
    if forward.queue.is_of_kernel() {
        link.queue().complain(
            "kind",
            format!(
                "{whose}; write it without \"kernel:\", and with --on kernel the kernel runs \
                                       its own"
            ),
        );
    }
    let impairments = &forward.impairments;
    if impairments.policer.is_some() {
        let message = format!("{whose}, whose flows would learn of each drop; set it on a later link");
        link.complain("policer", message);
    }
    for key in impairments.in_the_channel().filter(|key| *key != "outages") {
        link.complain(key, format!("{whose}, where packets keep their order; set it on a later link"));
    }
}
