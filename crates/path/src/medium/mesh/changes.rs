//! When nodes go down and come up again, and the trees that follow.

use model::mesh;
use model::units::Nanos;

/// What happens to a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A node goes down.
    Down(usize),
    /// It is back.
    Up(usize),
    /// The others have found that out: another tree, by its nodes' parents.
    Tree(Vec<Option<usize>>),
}

impl Change {
    /// Does it happen to this node?
    pub(super) fn is_of(&self, node: usize) -> bool {
        matches!(self, Change::Down(one) | Change::Up(one) if *one == node)
    }
}

/// All that will happen, the next last.
pub(super) fn plan(model: &mesh::Mesh) -> Vec<(Nanos, Change)> {
    let of_node = |(number, node): (usize, &mesh::Node)| {
        let both = |outage: &model::impairments::Outage| {
            [(outage.at, Change::Down(number)), (outage.end(), Change::Up(number))]
        };
        node.down.iter().flat_map(both).collect::<Vec<_>>()
    };
    let mut plan: Vec<_> = model.nodes.iter().enumerate().flat_map(of_node).collect();
    plan.extend(model.later_trees().into_iter().map(|tree| (tree.since, Change::Tree(tree.parents))));
    // Of one time in this order: who is down just until another outage begins is down all the time.
    plan.sort_by_key(|(at, change)| (*at, matches!(change, Change::Down(_))));
    plan.reverse();
    plan
}
