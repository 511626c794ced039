//! A scenario as the file that says it: for people who want to repeat what a random one showed.

use scenario::Written;
use scenario::app::{App, DatagramKind, Datagrams, RequestKind, Requests, WhenFull};
use scenario::impairments::{Distribution, Impairments, Outage};
use scenario::model::{
    DuplexLink, FlowGroup, Host, Link, Loss, MechanismRef, MechanismSource, ParamValue, Queue, Scenario, Service,
};
use scenario::schema::{self, KeyType};
use scenario::units::{Bytes, Nanos, Rate};
use scenario::wifi::Slot;
use scenario::workload::{Arrivals, Sizes};
use serde_json::{Value, json};
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
        if let Service::Trace(trace) = &link.service {
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
    for (name, value) in leaves("", &in_json(scenario)) {
        writeln!(text, "{name} = {value}").unwrap();
    }
    for cell in &scenario.wifi {
        write!(text, "\n[wifi.{}]\nstandard = {:?}\n", cell.name, cell.standard.name()).unwrap();
        writeln!(text, "short_slot = {}", cell.slot == Slot::Short).unwrap();
        cell.queue.iter().for_each(|shared| writeln!(text, "queue = {}", queue(shared)).unwrap());
    }
    for DuplexLink { forward, reverse } in &scenario.links {
        writeln!(text, "\n[link.{}]\n{}", forward.name, link(scenario, forward, false)).unwrap();
        writeln!(text, "\n[link.{}]\n{}", reverse.name, link(scenario, reverse, true)).unwrap();
    }
    for cell in &scenario.lte {
        writeln!(text, "\n[lte.{}]\nbandwidth = {:?}", cell.name, cell.bandwidth.name()).unwrap();
        for (name, value) in leaves("lte.NAME", &in_json(cell)).into_iter().filter(|(name, _)| name != "bandwidth") {
            writeln!(text, "{name} = {value}").unwrap();
        }
    }
    for one in &scenario.hosts {
        writeln!(text, "\n[host.{}]\n{}", one.name, host(one)).unwrap();
    }
    for group in &scenario.flows {
        write!(text, "\n[[flows]]\n{}", flow_group(scenario, group)).unwrap();
    }
    text
}

fn host(host: &Host) -> String {
    let keys = host.written().into_iter().map(|(name, value)| format!("{name} = {value}"));
    let classifier = host.classifier.iter().map(|classifier| format!("classifier = {}", control(classifier)));
    keys.chain(classifier).collect::<Vec<_>>().join("\n")
}

fn app(app: &App) -> String {
    let time = |name: &str, time: Nanos| format!("{name} = \"{}ns\"", time.0);
    let size = |name: &str, size: Bytes| format!("{name} = \"{}b\"", size.0);
    let keys = match app {
        App::Datagrams(Datagrams { kind, every, packet }) => match kind {
            DatagramKind::Ping => vec!["kind = \"ping\"".into(), time("every", *every), size("packet", *packet)],
            DatagramKind::Voice => vec!["kind = \"voice\"".into(), time("every", *every), size("packet", *packet)],
            DatagramKind::Udp => {
                let rate = packet.0 * 8 * 1_000_000_000 / every.0;
                vec!["kind = \"udp\"".into(), format!("rate = \"{rate}bit\""), size("packet", *packet)]
            }
        },
        App::Requests(Requests { kind, connections, request, response }) => {
            let messages = [size("request", *request), size("response", *response)];
            let kind = match kind {
                RequestKind::Periodic { every, when_full } => {
                    let when_full = match when_full {
                        WhenFull::Wait => "wait",
                        WhenFull::Skip => "skip",
                        WhenFull::Delay => "delay",
                    };
                    let when_full = format!("when_full = \"{when_full}\"");
                    vec!["kind = \"messenger\"".into(), time("every", *every), when_full]
                }
                RequestKind::Chunks { pause } => {
                    let keys = ["kind = \"upload\"".into(), time("pause", *pause), size("chunk", *request)];
                    return format!("{{ {}, {} }}", keys.join(", "), messages[1]);
                }
                RequestKind::Web { objects, pause } => {
                    let connections = format!("connections = {connections}, objects = {objects}");
                    vec!["kind = \"web\"".into(), connections, time("pause", *pause)]
                }
                RequestKind::Video { lowest, highest, piece, startup, most } => {
                    let rates = format!("lowest = \"{}bit\", highest = \"{}bit\"", lowest.0, highest.0);
                    let times = [time("piece", *piece), time("startup", *startup), time("most", *most)];
                    let keys = ["kind = \"video\"".into(), rates, times.join(", ")];
                    return format!("{{ {}, {} }}", keys.join(", "), messages[0]);
                }
            };
            [kind, messages.to_vec()].concat()
        }
    };
    format!("{{ {} }}", keys.join(", "))
}

/// What a group's sizes are drawn from.
fn sizes(sizes: &Sizes) -> String {
    match sizes {
        Sizes::Pareto { mean, shape, most } => {
            let most = most.map_or(String::new(), |most| format!(", most = \"{}b\"", most.0));
            format!("{{ kind = \"pareto\", mean = \"{}b\", shape = {shape:?}{most} }}", mean.0)
        }
        Sizes::Lognormal { mean, sigma } => {
            format!("{{ kind = \"lognormal\", mean = \"{}b\", sigma = {sigma:?} }}", mean.0)
        }
        Sizes::Exponential { mean } => format!("{{ kind = \"exponential\", mean = \"{}b\" }}", mean.0),
    }
}

fn trace_file(link: &Link) -> String {
    format!("{}.trace", link.name)
}

/// Direction of a link that shares the queue of its cell's access point: that which leads to the station.
fn shares_queue(scenario: &Scenario, link: &Link, is_reverse: bool) -> bool {
    let number = scenario.links.iter().position(|each| std::ptr::eq(each.direction(is_reverse), link));
    let leads_from_station = number.is_some_and(|number| scenario.leads_from_station(number));
    match &link.service {
        Service::Wifi(station) => scenario.wifi[station.cell].queue.is_some() && is_reverse == leads_from_station,
        _ => false,
    }
}

fn link(scenario: &Scenario, link: &Link, is_reverse: bool) -> String {
    let mut lines = match &link.service {
        // They stand with the forward direction, and hold for both.
        Service::Wifi(_) | Service::Lte(_) if is_reverse => vec![],
        Service::Wifi(station) => {
            let cell = &scenario.wifi[station.cell];
            let keys = [
                format!("wifi = {:?}", cell.name),
                format!("phy_rate = \"{}bit\"", station.phy_rate.0),
                format!("frame_errors = {}", percentage(station.frame_errors)),
            ];
            keys.to_vec()
        }
        Service::Lte(user) => {
            let cell = &scenario.lte[user.cell].name;
            vec![format!("lte = {cell:?}"), format!("cqi = {}", user.cqi.0)]
        }
        service => transmitter(link, service),
    };
    let loss = match link.loss {
        Loss::Uniform(share) => percentage(share),
        Loss::Gemodel(model) => {
            let [p, r, h, k] = [model.p, model.r, model.lost_while_bad, model.lost_while_good].map(percentage);
            format!("{{ p = {p}, r = {r}, \"1-h\" = {h}, \"1-k\" = {k} }}")
        }
    };
    lines.push(format!("loss = {loss}"));
    if !shares_queue(scenario, link, is_reverse) {
        lines.push(format!("queue = {}", queue(&link.queue)));
    }
    lines.extend(impairments(&link.impairments));
    let shown: Vec<_> = lines.iter().map(|line| line.split(' ').next().unwrap_or("").to_string()).collect();
    let others = leaves("link.NAME", &in_json(link)).into_iter().filter(|(name, _)| !shown.contains(name));
    lines.extend(others.map(|(name, value)| format!("{name} = {value}")));
    lines.join("\n")
}

fn transmitter(link: &Link, service: &Service) -> Vec<String> {
    match service {
        Service::Rate(rate) => vec![format!("rate = \"{}bit\"", rate.0)],
        Service::Rates(rates) => {
            let change = |(at, rate): &(Nanos, Rate)| format!("{{ at = \"{}ns\", rate = \"{}bit\" }}", at.0, rate.0);
            let changes: Vec<_> = rates.steps[1..].iter().map(change).collect();
            vec![format!("rate = \"{}bit\"", rates.steps[0].1.0), format!("rates = [{}]", changes.join(", "))]
        }
        Service::Trace(_) => vec![format!("trace = {:?}", trace_file(link))],
        Service::Wifi(_) | Service::Lte(_) | Service::Mesh(_) => unreachable!("it has none"),
    }
}

fn impairments(impairments: &Impairments) -> Vec<String> {
    let mut lines = vec![];
    if let Some(jitter) = &impairments.jitter {
        let distribution = match jitter.distribution {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
        };
        lines.push(format!("jitter = \"{}ns\"", jitter.spread.0));
        lines.push(format!("jitter_distribution = \"{distribution}\""));
        lines.push(format!("jitter_reorder = {}", jitter.reorder));
    }
    if let Some(reorder) = &impairments.reorder {
        lines.push(format!("reorder = {}", percentage(reorder.share)));
        lines.push(format!("reorder_gap = {}", reorder.gap));
        lines.extend(reorder.by.map(|by| format!("reorder_by = \"{}ns\"", by.0)));
    }
    lines.push(format!("duplicate = {}", percentage(impairments.duplicate)));
    if !impairments.outages.is_empty() {
        let outage = |Outage { at, lasts, lose }: &Outage| {
            format!("{{ at = \"{}ns\", for = \"{}ns\", lose = {lose} }}", at.0, lasts.0)
        };
        let outages: Vec<_> = impairments.outages.iter().map(outage).collect();
        lines.push(format!("outages = [{}]", outages.join(", ")));
    }
    lines
}

fn queue(queue: &Queue) -> String {
    match queue {
        Queue::Droptail { .. } => table(leaves("queue", &in_json(queue))),
        Queue::Discipline(discipline) => {
            let kind = ("kind".to_string(), format!("{:?}", discipline.name()));
            table([vec![kind], leaves(discipline.name(), &in_json(discipline))].concat())
        }
        Queue::Kernel(_) => panic!("no random scenario has a queue of the kernel's"),
    }
}

fn flow_group(scenario: &Scenario, group: &FlowGroup) -> String {
    let mut lines = vec![];
    if group.cc.source != MechanismSource::None {
        lines.push(format!("cc = {}", control(&group.cc)));
    }
    lines.extend(group.host.map(|host| format!("host = {:?}", scenario.hosts[host].name)));
    assert!(group.cc.params.is_empty(), "no random scenario has parameters of a control");
    if let Some(receiver) = &group.receiver {
        let params = receiver.params.iter().map(|(name, value)| (name.clone(), parameter(value)));
        lines.push(format!("receiver = {}", control(receiver)));
        lines.push(format!("receiver_params = {}", table(params.collect())));
    }
    let names = |path: &[usize]| {
        let names = path.iter().map(|link| scenario.links[*link].forward.name.as_str());
        format!("{:?}", names.collect::<Vec<_>>())
    };
    lines.push(format!("path = {}", names(&group.path)));
    lines.push(format!("reverse_path = {}", names(&group.reverse_path)));
    let waits = group.access.queue.iter().map(|waits| ("queue".to_string(), queue(waits)));
    let access = leaves("access", &in_json(&group.access)).into_iter().chain(waits);
    match &group.app {
        Some(of_group) => lines.push(format!("app = {}", app(of_group))),
        None => lines.push(format!("access = {}", table(access.collect()))),
    }
    if let Some(Arrivals::Poisson { rate }) = &group.arrivals {
        lines.push(format!("arrivals = {{ rate = \"{:.6}/s\" }}", rate.per_second()));
    }
    lines.extend(group.sizes.iter().map(|of_group| format!("size = {}", sizes(of_group))));
    lines.push(format!("clock = {}", table(leaves("clock", &in_json(&group.clock)))));
    if let Some(tcp_rmem) = &group.tcp_rmem {
        lines.push(format!("tcp_rmem = {}", table(leaves("tcp_rmem", &in_json(tcp_rmem)))));
    }
    let switches = table(leaves("profile", &in_json(&group.stack)));
    lines.push(format!("profile = {switches}"));
    let (from, spread) = (group.start, group.start_spread);
    lines.push(match spread {
        Nanos::ZERO => format!("start = \"{}ns\"", from.0),
        spread => format!("start = \"{}ns..{}ns\"", from.0, (from + spread).0),
    });
    let is_said = |(name, _): &(String, String)| group.arrivals.is_none() || (name != "count" && name != "stagger");
    let leaves = leaves("flows", &in_json(group)).into_iter().filter(is_said);
    lines.extend(leaves.map(|(name, value)| format!("{name} = {value}")));
    lines.join("\n") + "\n"
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

fn table(entries: Vec<(String, String)>) -> String {
    let entries: Vec<_> = entries.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// The keys of a section that the register can put into one value, with their values.
fn leaves(section: &str, object: &Value) -> Vec<(String, String)> {
    let leaf = |key: &schema::Key| Some((key.name.to_string(), written(key, object.get(key.name)?)?));
    schema::keys_of(section).filter_map(leaf).collect()
}

fn written(key: &schema::Key, value: &Value) -> Option<String> {
    let units = |unit: &str| value.as_i64().map(|number| format!("\"{number}{unit}\""));
    match key.kind {
        KeyType::Integer | KeyType::Number | KeyType::Flag => (!value.is_null()).then(|| value.to_string()),
        KeyType::Rate => units("bit"),
        KeyType::Time | KeyType::Offset => units("ns"),
        KeyType::Signal => units("dbm"),
        KeyType::Drift => value.as_i64().map(|billionths| format!("\"{}ppm\"", billionths as f64 / 1000.0)),
        KeyType::Size | KeyType::Sizes => units("b"),
        KeyType::Limit => limit(key, value),
        KeyType::Share | KeyType::Loss => value.as_f64().map(percentage),
        KeyType::Text | KeyType::Choice(_) => value.as_str().map(|text| format!("{text:?}")),
        // Whoever knows more of the section writes these.
        KeyType::App
        | KeyType::Frequency
        | KeyType::Ratio
        | KeyType::Names
        | KeyType::Start
        | KeyType::Profile
        | KeyType::Table
        | KeyType::Tables => None,
    }
}

/// A limit of the model's own type, or a number of what its range is in.
fn limit(key: &schema::Key, value: &Value) -> Option<String> {
    if let Some(bytes) = value.get("Bytes") {
        return Some(format!("\"{bytes}b\""));
    }
    if let Some(packets) = value.get("Packets") {
        return Some(format!("\"{packets}p\""));
    }
    let unit = if key.range.ends_with('p') { "p" } else { "b" };
    value.as_u64().map(|number| format!("\"{number}{unit}\""))
}

/// To a billionth: what is read from it is what runs.
fn percentage(share: f64) -> String {
    format!("\"{:.7}%\"", share * 100.0)
}

fn in_json<T: serde::Serialize>(part: &T) -> Value {
    let value = serde_json::to_value(part).expect("the model is plain data");
    if value.is_object() { value } else { json!({}) }
}
