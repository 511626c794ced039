//! Reads the scenario of one grid point from its tree: sections, defaults, then the checks that need more than one key.

use crate::draft::{Draft, Sections};
use crate::profile::{GroupProfile, Profile};
use crate::read_mechanism::Folder;
use crate::{read_host, read_lte, read_mesh, read_wifi};
use model::declare::Declared;
use model::handover::Handover;
use model::impairments::{Impairments, Jitter, RateChanges, Rates, Reorder};
use model::lte;
use model::mesh::Mesh;
use model::schema::SERVICES;
use model::section::{Names, Section};
use model::units::{Bytes, Nanos, Rate};
use model::value::Table;
use model::workload::Size;
use model::{
    DuplexLink, FlowGroup, FlowGroupKeys, Host, Link, LinkKeys, Member, Queue, ReverseKeys, Scenario, Service, Trace,
    Transmitter, TransmitterKeys, WifiCell,
};
use model::{Location, Problems, did_you_mean};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the grid points of a file, and has what they share.
pub(crate) struct Reader {
    folder: Folder,
    /// The scenario's name if the file has no key `name`.
    default_name: String,
    /// The place of the file as a whole, for errors.
    place: Location,
    /// The traces by path, each with its error if it could not be read.
    traces: RefCell<HashMap<PathBuf, Result<Arc<Trace>, String>>>,
}

/// The default rate of the reverse direction of a link with a trace: enough for acknowledgements.
const REVERSE_OF_TRACE: Rate = Rate(1_000_000_000);

impl Reader {
    pub fn new(folder: &Path, default_name: &str, place: Location) -> Reader {
        let folder = Folder(folder.to_path_buf());
        Reader { folder, default_name: default_name.into(), place, traces: RefCell::default() }
    }

    /// Reads one grid point, whose tree has no `[sweep]`, and adds mistakes to `problems`.
    pub fn scenario(&self, tree: &Table, problems: &Problems) -> Option<Scenario> {
        let found_before = problems.count();
        self.draft(Section::top(tree, self.place.clone(), problems)).finish(|| problems.count() == found_before)
    }

    fn draft<'a>(&self, top: Section<'a>) -> Draft<'a> {
        let wifi = top.child("wifi", "wifi").named_children("wifi.NAME");
        let cells: Vec<_> = wifi.iter().map(read_wifi::cell).collect();
        let link = top.child("link", "link");
        let links = link.named_children("link.NAME");
        if link.is_empty() {
            top.complain("link", "is empty; write at least one [link.NAME]");
        }
        let with_reverse = |link: Section<'a>| (link.child("reverse", "link.NAME.reverse"), link);
        let links: Vec<_> = links.into_iter().map(with_reverse).collect();
        let keys = Scenario::read(&top);
        let duration = keys.duration;
        let lte = read_lte::cells(&top);
        let mesh = top.child("mesh", "mesh").named_children("mesh.NAME");
        let meshes: Vec<_> = mesh.iter().map(read_mesh::mesh).collect();
        let link = |(reverse, forward): &(Section, Section)| self.duplex_link(forward, reverse, duration, &cells, &lte);
        let duplex_links: Vec<_> = links.iter().map(link).collect();
        let profile = Profile::of_experiment(&top);
        let groups = top.children("flows");
        let hosts = top.child("host", "host").named_children("host.NAME");
        let named_hosts = read_host::hosts(&hosts, &self.folder);
        let flow_group = |group| self.flow_group(group, &profile, &duplex_links, &named_hosts, &meshes);
        let mut scenario = Scenario {
            name: if top.get("name").is_some() { keys.name } else { self.default_name.clone() },
            compile: self.folder.compile(&top.child("compile", "compile")),
            flows: groups.iter().map(flow_group).collect(),
            wifi: cells,
            links: duplex_links,
            lte,
            hosts: named_hosts,
            meshes,
            ..keys
        };
        scenario.draw_handovers();
        Draft { scenario, sections: Sections { top, links, groups, hosts, wifi, mesh } }
    }

    /// Reads a link except for its queues, whose limits may depend on the flows through them.
    fn duplex_link(
        &self,
        forward: &Section,
        reverse: &Section,
        duration: Nanos,
        wifi: &[WifiCell],
        lte: &[lte::Cell],
    ) -> DuplexLink {
        let station = read_wifi::station(forward, wifi);
        let user = read_lte::user(forward, lte);
        let mut link = self.forward(forward, duration);
        let mut back = self.reverse(reverse, &link, duration);
        if let Some(station) = station {
            read_wifi::refuse_transmitter(reverse);
            (link.service, back.service) =
                (Service::Shared(Member::Wifi(station)), Service::Shared(Member::Wifi(station)));
        } else if let Some((down, up)) = user {
            read_lte::refuse_transmitter(reverse);
            (link.service, back.service) = (Service::Shared(Member::Lte(down)), Service::Shared(Member::Lte(up)));
        }
        DuplexLink { reverse: back, forward: link }
    }

    fn forward(&self, section: &Section, duration: Nanos) -> Link {
        let has_service = SERVICES.iter().any(|(key, _)| section.get(key).is_some());
        if section.is_there() && !has_service && section.unknown_keys().next().is_none() {
            section.complain(
                "rate",
                "is missing; write rate such as \"2mbit\", trace with the name of a file, or wifi or lte with that of \
                 a cell",
            );
        }
        let TransmitterKeys { rate, trace } = TransmitterKeys::read(section);
        let LinkKeys { delay, loss } = LinkKeys::read(section);
        let service = self.service(section, rate, trace, None, duration);
        Link {
            name: section.name().into(),
            service: service.unwrap_or(Rate(1).into()),
            delay,
            queue: Queue::default(),
            loss,
            impairments: read_impairments(section),
        }
    }

    fn reverse(&self, section: &Section, forward: &Link, duration: Nanos) -> Link {
        let as_forward = match &forward.service {
            Service::Own(transmitter) => transmitter.first_rate().unwrap_or(REVERSE_OF_TRACE),
            Service::Shared(_) => REVERSE_OF_TRACE,
        };
        let ReverseKeys { rate, trace, delay, loss } = ReverseKeys::read(section);
        Link {
            name: format!("{}.reverse", forward.name),
            service: self.service(section, rate, trace, Some(as_forward), duration).unwrap_or(as_forward.into()),
            delay: delay.unwrap_or(forward.delay),
            queue: Queue::default(),
            loss,
            impairments: Impairments { handover: handover_back(section, forward), ..read_impairments(section) },
        }
    }

    /// Returns the transmitter of a direction: a rate with its changes, or a trace. Without `rate` and `trace`, changes
    /// of the rate start from `otherwise`; none if nothing is set.
    fn service(
        &self,
        section: &Section,
        rate: Option<Rate>,
        trace: Option<String>,
        otherwise: Option<Rate>,
        duration: Nanos,
    ) -> Option<Service> {
        let changes = RateChanges::read(section).rates;
        let changes: Vec<_> = changes.iter().map(|change| (change.at, change.rate)).collect();
        if section.get("trace").is_some() && !changes.is_empty() {
            section.complain(
                "rates",
                "cannot be set together with trace, which has the changes of the rate; leave one of the two out",
            );
            return None;
        }
        let rate = rate.or(if changes.is_empty() { None } else { otherwise }).map(|rate| match changes.is_empty() {
            true => rate.into(),
            false => Service::Own(Transmitter::Rates(Rates::new(rate, &changes, duration))),
        });
        if section.get("rate").is_some() && section.get("trace").is_some() {
            section.complain("trace", "cannot be set together with rate; a link has one of the two");
            return None;
        }
        let Some(file) = trace else {
            return rate;
        };
        match self.trace(&self.folder.resolve(&file, &section.place_of("trace"))) {
            Ok(trace) => Some(Service::Own(Transmitter::Trace(trace))),
            Err(why) => {
                section.complain("trace", why);
                None
            }
        }
    }

    fn trace(&self, path: &Path) -> Result<Arc<Trace>, String> {
        let mut traces = self.traces.borrow_mut();
        let read = || Trace::read(path).map(Arc::new);
        traces.entry(path.to_path_buf()).or_insert_with(read).clone()
    }

    fn flow_group(
        &self,
        group: &Section,
        profile: &Profile,
        links: &[DuplexLink],
        hosts: &[Host],
        meshes: &[Mesh],
    ) -> FlowGroup {
        let keys = FlowGroupKeys::read(group);
        let GroupProfile { stack, packet, window } = profile.of_group(group, &keys);
        let path = path(group, "path", keys.path, links).unwrap_or_else(|| (0..links.len()).collect());
        // By default the reverse path is the forward path in the opposite order.
        let reverse_path = self::path(group, "reverse_path", keys.reverse_path, links);
        let own = FlowGroup::read(group);
        let origin = read_mesh::origin(group, keys.mesh, keys.nodes, meshes);
        let (size, sizes) = match keys.size {
            Some(Size::Equal(size)) => (Some(size), None),
            Some(Size::Drawn(sizes)) => (None, Some(sizes)),
            None => (None, None),
        };
        let mut group = FlowGroup {
            cc: self.folder.congestion_control(group, keys.cc, keys.params, keys.maps),
            window_controller: self.folder.mechanism(
                group,
                ("window_controller", keys.window_controller),
                ("window_controller_params", keys.window_controller_params),
            ),
            app: keys.app,
            count: origin.as_ref().map_or(own.count, |from| from.nodes.len() as u32),
            origin,
            host: read_host::of_group(group, keys.host, hosts),
            reverse_path: reverse_path.unwrap_or_else(|| path.iter().rev().copied().collect()),
            path,
            start: keys.start.from,
            start_spread: keys.start.until.since(keys.start.from),
            size,
            sizes,
            packet: if group.get("packet").is_some() { own.packet } else { packet },
            stack,
            ..own
        };
        if group.tcp_rmem.is_none() && group.receive_window.is_none() {
            group.receive_window = window.map(|segments| Bytes(segments * group.mss().0));
        }
        group
    }
}

/// Returns the numbers of the links that `key` lists by name.
fn path(group: &Section, key: &str, names: Option<Names>, links: &[DuplexLink]) -> Option<Vec<usize>> {
    let mut path = vec![];
    for name in names?.0 {
        match links.iter().position(|link| link.forward.name == name) {
            Some(link) if path.contains(&link) => group.complain(
                key,
                format!(
                    "passes the link {name} twice; leave \
                                                                               one out"
                ),
            ),
            Some(link) => path.push(link),
            None => {
                let known: Vec<_> = links.iter().map(|link| link.forward.name.as_str()).collect();
                let hint = did_you_mean(&name, known.iter().copied());
                group.complain(key, format!("unknown link {name}{hint}; valid: {}", known.join(", ")));
            }
        }
    }
    Some(path)
}

/// Returns the handover of a reverse direction: by default the forward direction's, except
/// for a rate and a delay that it sets itself.
fn handover_back(section: &Section, forward: &Link) -> Option<Handover> {
    let makes_its_own = ["outages", "delays", "rates"].iter().any(|key| section.get(key).is_some());
    if section.get("handover").is_some() || makes_its_own {
        return Impairments::read(section).handover;
    }
    let has_own_rate = ["rate", "trace"].iter().any(|key| section.get(key).is_some());
    let inherited = |handover: Handover| Handover {
        rate: handover.rate.filter(|_| !has_own_rate),
        delay: handover.delay.filter(|_| section.get("delay").is_none()),
        ..handover
    };
    forward.impairments.handover.map(inherited)
}

fn read_impairments(link: &Section) -> Impairments {
    Impairments {
        jitter: Some(Jitter::read(link)).filter(|jitter| jitter.spread > Nanos::ZERO || jitter.reorder),
        reorder: Some(Reorder::read(link)).filter(|reorder| reorder.share > 0.0),
        ..Impairments::read(link)
    }
}
