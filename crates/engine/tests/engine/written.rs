//! A scenario as the file that says it: for people who want to repeat what a random one showed.

use model::declare::{Written, table};
use model::impairments::{Impairments, Outage};
use model::mesh::Mesh;
use model::quantity::{Share, Start};
use model::units::{Nanos, Rate};
use model::workload::{Arrivals, Poisson};
use model::{
    DuplexLink, FlowGroup, Host, Link, Loss, MechanismRef, MechanismSource, Member, ParamValue, Queue, RepairSwitches,
    Scenario, Service, Transmitter,
};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Writes `scenario.toml` and its traces into a folder.
pub fn write(scenario: &Scenario, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    write_traces(scenario, folder)?;
    std::fs::write(folder.join("scenario.toml"), text(scenario))
}

/// Writes the traces that the text speaks of into a folder that is there.
pub fn write_traces(scenario: &Scenario, folder: &Path) -> io::Result<()> {
    for link in scenario.directions() {
        if let Service::Own(Transmitter::Trace(trace)) = &link.service {
            let file = folder.join(trace_file(link));
            // A file that is written over goes to the disk at once (ext4's auto_da_alloc), a new one need not.
            let _ = std::fs::remove_file(&file);
            std::fs::write(file, trace.text())?;
        }
    }
    Ok(())
}

/// The file's text. Traces stand beside it.
pub fn text(scenario: &Scenario) -> String {
    let mut text = String::new();
    writeln!(text, "{}", lines(scenario)).unwrap();
    for cell in &scenario.wifi {
        writeln!(text, "\n[wifi.{}]\n{}", cell.name, lines(cell)).unwrap();
        cell.queue.iter().for_each(|shared| writeln!(text, "queue = {}", queue(shared)).unwrap());
    }
    for mesh in &scenario.meshes {
        write!(text, "\n{}", section_of_mesh(mesh)).unwrap();
    }
    for DuplexLink { forward, reverse } in scenario.links.iter().filter(|link| link.hop().is_none()) {
        writeln!(text, "\n[link.{}]\n{}", forward.name, link(scenario, forward, false)).unwrap();
        writeln!(text, "\n[link.{}]\n{}", reverse.name, link(scenario, reverse, true)).unwrap();
    }
    for cell in &scenario.lte {
        writeln!(text, "\n[lte.{}]\n{}", cell.name, lines(cell)).unwrap();
    }
    for one in &scenario.hosts {
        writeln!(text, "\n[host.{}]\n{}", one.name, host(one)).unwrap();
    }
    for group in &scenario.flows {
        write!(text, "\n[[flows]]\n{}", flow_group(scenario, group)).unwrap();
    }
    text
}

/// The keys of a section, a line each.
fn lines(section: &impl Written) -> String {
    section.written().iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
}

/// Who its nodes hear, and their parents where the tree stays.
fn section_of_mesh(mesh: &Mesh) -> String {
    let Mesh { name, nodes, border_router, signals, .. } = mesh;
    let duty_cycle = mesh.duty_cycle.iter().map(lines).collect::<String>();
    let mut text = format!("[mesh.{name}]\nborder_router = {:?}\n", nodes[*border_router].name);
    text += &[lines(mesh), lines(&mesh.csma), lines(&mesh.energy), duty_cycle].concat();
    writeln!(text, "queue = {}", queue(&mesh.queue)).unwrap();
    for (number, node) in nodes.iter().enumerate() {
        writeln!(text, "[mesh.{name}.nodes.{}]", node.name).unwrap();
        if let (None, Some(parent)) = (mesh.repair_after, node.parent) {
            writeln!(text, "parent = {:?}", nodes[parent].name).unwrap();
        }
        let heard = nodes.iter().zip(signals).filter_map(|(from, row)| Some((from, row[number]?)));
        let hears: Vec<_> = heard.map(|(from, signal)| format!("{} = \"{signal}dbm\"", from.name)).collect();
        writeln!(text, "hears = {{ {} }}", hears.join(", ")).unwrap();
        let outage = |down: &Outage| format!("{{ at = \"{}ns\", for = \"{}ns\" }}", down.at.0, down.lasts.0);
        let down: Vec<_> = node.down.iter().map(outage).collect();
        if !down.is_empty() {
            writeln!(text, "down = [{}]", down.join(", ")).unwrap();
        }
    }
    text
}

fn host(host: &Host) -> String {
    let classifier = host.classifier.iter().map(|classifier| format!("classifier = {}\n", control(classifier)));
    lines(host) + &classifier.collect::<String>()
}

fn trace_file(link: &Link) -> String {
    format!("{}.trace", link.name)
}

/// Direction of a link that shares the queue of its cell's access point: that which leads to the station.
fn shares_queue(scenario: &Scenario, link: &Link, is_reverse: bool) -> bool {
    let number = scenario.links.iter().position(|each| std::ptr::eq(each.direction(is_reverse), link));
    let leads_from_station = number.is_some_and(|number| scenario.leads_from_station(number));
    match &link.service {
        Service::Shared(Member::Wifi(station)) => {
            scenario.wifi[station.cell].queue.is_some() && is_reverse == leads_from_station
        }
        _ => false,
    }
}

fn link(scenario: &Scenario, link: &Link, is_reverse: bool) -> String {
    let mut lines = match &link.service {
        // They stand with the forward direction, and hold for both.
        Service::Shared(Member::Wifi(_)) | Service::Shared(Member::Lte(_)) if is_reverse => vec![],
        Service::Shared(Member::Wifi(station)) => {
            let cell = &scenario.wifi[station.cell];
            let keys = [
                format!("wifi = {:?}", cell.name),
                format!("phy_rate = \"{}bit\"", station.phy_rate.0),
                format!("frame_errors = \"{}\"", Share(station.frame_errors)),
            ];
            keys.to_vec()
        }
        Service::Shared(Member::Lte(user)) => {
            let cell = &scenario.lte[user.cell].name;
            vec![format!("lte = {cell:?}"), format!("cqi = {}", user.cqi.0)]
        }
        service => transmitter(link, service),
    };
    let loss = match link.loss {
        Loss::Uniform(share) => format!("\"{}\"", Share(share)),
        Loss::Gemodel(model) => table(&model.written()),
    };
    lines.push(format!("loss = {loss}\ndelay = \"{}\"", link.delay));
    if !shares_queue(scenario, link, is_reverse) {
        lines.push(format!("queue = {}", queue(&link.queue)));
    }
    let Impairments { jitter, reorder, .. } = &link.impairments;
    let jitter = jitter.iter().flat_map(Written::written);
    let keys = jitter.chain(reorder.iter().flat_map(Written::written)).chain(link.impairments.written());
    lines.extend(keys.map(|(name, value)| format!("{name} = {value}")));
    lines.join("\n")
}

fn transmitter(link: &Link, service: &Service) -> Vec<String> {
    match service {
        Service::Own(Transmitter::Rate(rate)) => vec![format!("rate = \"{}bit\"", rate.0)],
        Service::Own(Transmitter::Rates(rates)) => {
            let change = |(at, rate): &(Nanos, Rate)| format!("{{ at = \"{}ns\", rate = \"{}bit\" }}", at.0, rate.0);
            let changes: Vec<_> = rates.steps[1..].iter().map(change).collect();
            vec![format!("rate = \"{}bit\"", rates.steps[0].1.0), format!("rates = [{}]", changes.join(", "))]
        }
        Service::Own(Transmitter::Trace(_)) => vec![format!("trace = {:?}", trace_file(link))],
        Service::Shared(Member::Wifi(_)) | Service::Shared(Member::Lte(_)) | Service::Shared(Member::Mesh(_)) => {
            unreachable!("it has none")
        }
    }
}

fn queue(queue: &Queue) -> String {
    table(&queue.written())
}

fn flow_group(scenario: &Scenario, group: &FlowGroup) -> String {
    let mut lines = vec![];
    if group.cc.source != MechanismSource::None {
        lines.push(format!("cc = {}\nparams = {}", control(&group.cc), parameters(&group.cc)));
    }
    lines.extend(group.host.map(|host| format!("host = {:?}", scenario.hosts[host].name)));
    if let Some(receiver) = &group.receiver {
        lines.push(format!("receiver = {}\nreceiver_params = {}", control(receiver), parameters(receiver)));
    }
    let names = |path: &[usize]| {
        let names = path.iter().map(|link| scenario.links[*link].forward.name.as_str());
        format!("{:?}", names.collect::<Vec<_>>())
    };
    lines.push(format!("path = {}", names(&group.path)));
    lines.push(format!("reverse_path = {}", names(&group.reverse_path)));
    if let Some(origin) = &group.origin {
        let mesh = &scenario.meshes[origin.mesh];
        let nodes: Vec<_> = origin.nodes.iter().map(|node| mesh.nodes[*node].name.as_str()).collect();
        lines.push(format!("mesh = {:?}\nnodes = {nodes:?}", mesh.name));
    }
    let is_said = |name: &str| match name {
        "count" => group.arrivals.is_none() && group.origin.is_none(),
        "stagger" => group.arrivals.is_none(),
        "access" => false,
        _ => true,
    };
    let keys = group.written().into_iter().filter(|(name, _)| is_said(name));
    lines.extend(keys.map(|(name, value)| format!("{name} = {value}")));
    let waits = group.access.queue.iter().map(|waits| ("queue", queue(waits)));
    match &group.app {
        Some(of_group) => lines.push(format!("app = {}", table(&of_group.written()))),
        None => {
            let access: Vec<_> = group.access.written().into_iter().chain(waits).collect();
            lines.push(format!("access = {}", table(&access)));
        }
    }
    if let Some(Arrivals::Poisson(Poisson { rate })) = &group.arrivals {
        lines.push(format!("arrivals = {{ rate = \"{rate}\" }}"));
    }
    lines.extend(group.size.iter().map(|size| format!("size = \"{size}\"")));
    lines.extend(group.sizes.iter().map(|sizes| format!("size = {}", table(&sizes.written()))));
    let RepairSwitches { rack, prr, rate_halving } = group.stack.repair.into();
    let by_hand = [("gate", group.stack.gate), ("rack", rack), ("prr", prr), ("rate_halving", rate_halving)];
    let by_hand = by_hand.map(|(name, is_on)| (name, is_on.to_string())).to_vec();
    let switches = [group.stack.written(), by_hand].concat();
    lines.push(format!("profile = {}", table(&switches)));
    let start = Start { from: group.start, until: group.start + group.start_spread };
    lines.push(format!("start = \"{start}\""));
    lines.join("\n") + "\n"
}

fn parameters(of: &MechanismRef) -> String {
    let params = of.params.iter().map(|(name, value)| format!("{name} = {}", parameter(value)));
    format!("{{ {} }}", params.collect::<Vec<_>>().join(", "))
}

fn parameter(value: &ParamValue) -> String {
    match value {
        ParamValue::Bool(flag) => flag.to_string(),
        ParamValue::Integer(number) => number.to_string(),
        ParamValue::Text(text) => format!("{text:?}"),
    }
}

fn control(cc: &MechanismRef) -> String {
    match &cc.source {
        MechanismSource::Builtin(name) => format!("{name:?}"),
        MechanismSource::File(path) => format!("{path:?}"),
        MechanismSource::Kernel(name) => format!("\"kernel:{name}\""),
        MechanismSource::None => unreachable!("datagrams have none"),
    }
}
