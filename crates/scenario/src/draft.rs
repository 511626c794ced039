//! A scenario under construction: queues, the uplinks of hosts and the links of meshes depend on the rest of it.

use crate::{checks, read_host, read_mesh, read_wifi};
use model::bdp::Product;
use model::section::Section;
use model::{Queue, Scenario};

/// The sections of a grid point, in the order of its scenario.
pub(crate) struct Sections<'a> {
    pub top: Section<'a>,
    /// The sections of each link: its reverse direction, and its forward direction.
    pub links: Vec<(Section<'a>, Section<'a>)>,
    pub groups: Vec<Section<'a>>,
    pub hosts: Vec<Section<'a>>,
    pub wifi: Vec<Section<'a>>,
    pub mesh: Vec<Section<'a>>,
}

/// A scenario whose sections have been read one by one. Queues are unlimited, hosts have no uplink, and meshes have no
/// links yet.
pub(crate) struct Draft<'a> {
    pub scenario: Scenario,
    pub sections: Sections<'a>,
}

impl Draft<'_> {
    /// Reads the rest, and checks values against each other; none if something is wrong.
    pub fn finish(mut self, is_right: impl Fn() -> bool) -> Option<Scenario> {
        read_host::find_uplinks(&mut self.scenario, &self.sections.groups);
        read_mesh::add_links(&mut self.scenario, &self.sections.mesh);
        read_wifi::queues(&mut self.scenario, &self.sections.wifi, &self.sections.links);
        self.read_queues();
        if is_right() {
            self.check();
        }
        is_right().then_some(self.scenario)
    }

    /// Reads the queues, whose limits may be multiples of the bandwidth-delay product.
    fn read_queues(&mut self) {
        let Draft { scenario, sections } = self;
        for (number, (reverse, forward)) in sections.links.iter().enumerate() {
            for (section, is_reverse) in [(forward, false), (reverse, true)] {
                if scenario.shared_queue(number, is_reverse).is_some() {
                    continue;
                }
                let product = Product::at(scenario, number, is_reverse);
                scenario.links[number].direction_mut(is_reverse).queue = Queue::read(&section.queue().with(product));
            }
        }
        for (number, group) in sections.groups.iter().enumerate() {
            let queue = group.child("access", "access").queue();
            if queue.is_there() {
                let product = Product::at_access(scenario, &scenario.flows[number]);
                scenario.flows[number].access.queue = Some(Queue::read(&queue.with(product)));
            }
        }
    }

    fn check(&self) {
        let Draft { scenario, sections: Sections { top, links, groups, hosts, wifi, mesh } } = self;
        checks::times(top, groups, scenario);
        for (number, (reverse, forward)) in links.iter().enumerate() {
            checks::link(number, forward, reverse, groups, scenario);
        }
        checks::groups(groups, scenario);
        read_wifi::check(wifi, links, groups, scenario);
        read_host::check(hosts, links, groups, scenario);
        read_mesh::check(mesh, groups, scenario);
    }
}
