//! Writes a scenario as the text of a file.

use model::declare::{Written, table};
use model::impairments::{Impairments, RateChange, RateChanges};
use model::lte::UserKeys;
use model::mechanism_ref::{Maps, Params};
use model::mesh::{Down, Hears, Mesh, Node, NodeKeys};
use model::quantity::Start;
use model::schema::OF_THE_KERNEL;
use model::section::Names;
use model::value::in_quotes;
use model::workload::Size;
use model::{
    Compile, CompileKeys, DuplexLink, FlowGroup, FlowGroupKeys, Host, HostKeys, Link, LinkKeys, MechanismRef,
    MechanismSource, Member, NamedControl, Queue, RepairSwitches, ReverseKeys, Scenario, Service, StationKeys,
    TcpProfile, TcpProfileKeys, Transmitter, TransmitterKeys,
};
use std::fmt::Write;
use std::path::Path;

/// Returns the text of a scenario file, with every key. Relative paths are written as the scenario has them, so reading
/// the text again needs the folder at which they start.
///
/// ```
/// let text = "duration = '10s'\n[link.home]\nrate = '10mbit'\ndelay = '20ms'\nqueue = { limit = '50kb' }\n[[flows]]\ncc = 'cubic'";
/// let read = |text: &str| unbloat_scenario::load_text(text, "text", "".as_ref(), &[]).map(|read| read.points[0].scenario.clone());
/// let scenario = read(text)?;
/// assert_eq!(read(&unbloat_scenario::to_toml(&scenario))?, scenario);
/// # Ok::<(), unbloat_scenario::Error>(())
/// ```
pub fn to_toml(scenario: &Scenario) -> String {
    let mut text = Text::default();
    text.keys(scenario);
    if !scenario.compile.is_empty() {
        text.section("compile", &keys_of_compile(&scenario.compile));
    }
    for cell in &scenario.wifi {
        text.section(&format!("wifi.{}", cell.name), cell);
        cell.queue.iter().for_each(|shared| text.queue(shared));
    }
    scenario.meshes.iter().for_each(|mesh| text.mesh(mesh));
    for (number, DuplexLink { forward, reverse }) in scenario.links.iter().enumerate() {
        if scenario.links[number].hop().is_none() {
            text.forward(scenario, number, forward);
            text.reverse(scenario, number, reverse);
        }
    }
    for cell in &scenario.lte {
        text.section(&format!("lte.{}", cell.name), cell);
    }
    for host in &scenario.hosts {
        text.section(&format!("host.{}", host.name), host);
        text.keys(&keys_of_host(host));
    }
    for group in &scenario.flows {
        text.group(scenario, group);
    }
    text.0
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn key(&mut self, name: &str, value: &str) {
        writeln!(self.0, "{name} = {value}").expect("a string takes all");
    }

    fn keys(&mut self, keys: &impl Written) {
        keys.written().iter().for_each(|(name, value)| self.key(name, value));
    }

    fn queue(&mut self, queue: &Queue) {
        self.key("queue", &table(&queue.written()));
    }

    fn section(&mut self, name: &str, keys: &impl Written) {
        writeln!(self.0, "\n[{name}]").expect("a string takes all");
        self.keys(keys);
    }

    fn mesh(&mut self, mesh: &Mesh) {
        self.section(&format!("mesh.{}", mesh.name), mesh);
        self.key("border_router", &in_quotes(&mesh.nodes[mesh.border_router].name));
        self.keys(&mesh.csma);
        self.keys(&mesh.energy);
        mesh.duty_cycle.iter().for_each(|duty_cycle| self.keys(duty_cycle));
        self.queue(&mesh.queue);
        for (number, node) in mesh.nodes.iter().enumerate() {
            let keys = keys_of_node(mesh, number, node);
            self.section(&format!("mesh.{}.nodes.{}", mesh.name, node.name), &keys);
        }
    }

    fn forward(&mut self, scenario: &Scenario, number: usize, link: &Link) {
        let Link { name, service, delay, loss, .. } = link;
        self.section(&format!("link.{name}"), &LinkKeys { delay: *delay, loss: *loss });
        match service {
            Service::Own(transmitter) => {
                let (rate, trace) = (transmitter.first_rate(), trace(transmitter));
                self.keys(&TransmitterKeys { rate, trace });
            }
            Service::Shared(Member::Wifi(station)) => self.keys(&StationKeys {
                wifi: Some(scenario.wifi[station.cell].name.clone()),
                signal: None,
                phy_rate: Some(station.phy_rate),
                frame_errors: station.frame_errors,
            }),
            Service::Shared(Member::Lte(user)) => self.keys(&UserKeys {
                lte: Some(scenario.lte[user.cell].name.clone()),
                snr: None,
                cqi: Some(user.cqi.0),
            }),
            // The links of a mesh follow from it.
            Service::Shared(Member::Mesh(_)) => {}
        }
        self.direction(scenario, number, link, false);
    }

    /// Writes the keys of the reverse direction. The forward direction has the key of a shared medium.
    fn reverse(&mut self, scenario: &Scenario, number: usize, link: &Link) {
        let Link { name, service, delay, loss, .. } = link;
        let (rate, trace) = match service {
            Service::Own(transmitter) => (transmitter.first_rate(), trace(transmitter)),
            Service::Shared(_) => (None, None),
        };
        self.section(&format!("link.{name}"), &ReverseKeys { rate, trace, delay: Some(*delay), loss: *loss });
        self.direction(scenario, number, link, true);
    }

    /// Writes the keys that both directions of a link have.
    fn direction(&mut self, scenario: &Scenario, number: usize, link: &Link, is_reverse: bool) {
        let handover = &link.impairments.handover;
        if let (Service::Own(Transmitter::Rates(rates)), None) = (&link.service, handover.and_then(|it| it.rate)) {
            let change = |(at, rate): &(_, _)| RateChange { at: *at, rate: *rate };
            self.keys(&RateChanges { rates: rates.steps[1..].iter().map(change).collect() });
        }
        if scenario.shared_queue(number, is_reverse).is_none() {
            self.queue(&link.queue);
        }
        let Impairments { jitter, reorder, .. } = &link.impairments;
        jitter.iter().for_each(|jitter| self.keys(jitter));
        reorder.iter().for_each(|reorder| self.keys(reorder));
        // A handover is written in place of the outages and delays that it makes.
        let (outages, delays) = match handover {
            Some(_) => (vec![], vec![]),
            None => (link.impairments.outages.clone(), link.impairments.delays.clone()),
        };
        self.keys(&Impairments { outages, delays, ..link.impairments.clone() });
    }

    fn group(&mut self, scenario: &Scenario, group: &FlowGroup) {
        self.0 += "\n[[flows]]\n";
        self.keys(&keys_of_group(scenario, group));
        // Keys that another key replaces are left out.
        let is_said = |name: &str| match name {
            "count" => group.arrivals.is_none() && group.origin.is_none(),
            "stagger" => group.arrivals.is_none(),
            "access" => false,
            _ => true,
        };
        for (name, value) in group.written().iter().filter(|(name, _)| is_said(name)) {
            self.key(name, value);
        }
        if group.app.is_none() {
            let queue = group.access.queue.iter().map(|queue| ("queue", table(&queue.written())));
            self.key("access", &table(&group.access.written().into_iter().chain(queue).collect::<Vec<_>>()));
        }
        let switches = [keys_of_stack(&group.stack).written(), group.stack.written()].concat();
        self.key("profile", &table(&switches));
    }
}

fn keys_of_compile(Compile { include, define }: &Compile) -> CompileKeys {
    let names = |names: Vec<String>| Some(Names(names)).filter(|names| !names.0.is_empty());
    let include = names(include.iter().map(|folder| path(folder)).collect());
    CompileKeys { include, define: names(define.clone()) }
}

fn trace(transmitter: &Transmitter) -> Option<String> {
    match transmitter {
        Transmitter::Trace(trace) => Some(path(&trace.path)),
        Transmitter::Rate(_) | Transmitter::Rates(_) => None,
    }
}

/// Returns the keys of a node. The scenario no longer has its place, but the signals that it hears there. A parent is
/// written only if the tree never changes.
fn keys_of_node(mesh: &Mesh, number: usize, node: &Node) -> NodeKeys {
    let name = |node: usize| mesh.nodes[node].name.clone();
    let heard = (0..).zip(&mesh.signals).filter_map(|(from, row)| Some((name(from), row[number]?)));
    NodeKeys {
        hears: Some(Hears(heard.collect())),
        parent: node.parent.filter(|_| mesh.repair_after.is_none()).map(name),
        down: node.down.iter().map(|outage| Down { at: outage.at, lasts: outage.lasts }).collect(),
        ..NodeKeys::default()
    }
}

fn keys_of_host(host: &Host) -> HostKeys {
    HostKeys {
        classifier: host.classifier.as_ref().and_then(name_of),
        classifier_params: host.classifier.as_ref().map(params_of),
    }
}

fn keys_of_group(scenario: &Scenario, group: &FlowGroup) -> FlowGroupKeys {
    let link = |link: &usize| scenario.links[*link].forward.name.clone();
    let mesh = |group: &FlowGroup| Some(&scenario.meshes[group.origin.as_ref()?.mesh]);
    let nodes = group.origin.iter().flat_map(|origin| &origin.nodes);
    FlowGroupKeys {
        cc: NamedControl(name_of(&group.cc)),
        params: params_of(&group.cc),
        maps: Maps(group.cc.maps.clone()),
        mesh: mesh(group).map(|mesh| mesh.name.clone()),
        nodes: mesh(group).map(|mesh| Names(nodes.map(|node| mesh.nodes[*node].name.clone()).collect())),
        path: Some(Names(group.path.iter().map(link).collect())),
        reverse_path: Some(Names(group.reverse_path.iter().map(link).collect())),
        app: group.app.clone(),
        host: group.host.map(|host| scenario.hosts[host].name.clone()),
        start: Start { from: group.start, until: group.start + group.start_spread },
        size: group.size.map(Size::Equal).or(group.sizes.map(Size::Drawn)),
        window_controller: group.window_controller.as_ref().and_then(name_of),
        window_controller_params: group.window_controller.as_ref().map(params_of),
        // The profile has these keys.
        delayed_ack: None,
        ecn: None,
        pacing: None,
        initial_window: None,
        rto_min: None,
    }
}

fn keys_of_stack(stack: &TcpProfile) -> TcpProfileKeys {
    let RepairSwitches { rack, prr, rate_halving } = stack.repair.into();
    TcpProfileKeys {
        base: None,
        rack: Some(rack),
        prr: Some(prr),
        rate_halving: Some(rate_halving),
        gate: Some(stack.gate),
    }
}

/// Returns a mechanism's name as in a file; none for datagrams, which have no congestion control.
fn name_of(mechanism: &MechanismRef) -> Option<String> {
    match &mechanism.source {
        MechanismSource::Builtin(name) => Some(name.clone()),
        MechanismSource::File(file) => Some(path(file)),
        MechanismSource::Kernel(name) => Some(format!("{OF_THE_KERNEL}{name}")),
        MechanismSource::None => None,
    }
}

fn params_of(mechanism: &MechanismRef) -> Params {
    Params(mechanism.params.clone())
}
