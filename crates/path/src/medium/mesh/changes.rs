//! The times at which nodes go down and come up again, and the trees that follow.

use model::mesh;
use model::units::Nanos;

/// A change in a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A node goes down.
    Down(usize),
    /// A node comes up again.
    Up(usize),
    /// The other nodes have noticed: another tree applies, given as the parent of each node.
    Tree(Vec<Option<usize>>),
}

impl Change {
    /// Reports whether the change happens to this node.
    pub(super) fn is_of(&self, node: usize) -> bool {
        matches!(self, Change::Down(one) | Change::Up(one) if *one == node)
    }
}

/// Lists all future changes in reverse order, so that the next is last.
pub(super) fn plan(model: &mesh::Mesh) -> Vec<(Nanos, Change)> {
    let of_node = |(number, node): (usize, &mesh::Node)| {
        let both = |outage: &model::impairments::Outage| {
            [(outage.at, Change::Down(number)), (outage.end(), Change::Up(number))]
        };
        node.down.iter().flat_map(both).collect::<Vec<_>>()
    };
    let mut plan: Vec<_> = model.nodes.iter().enumerate().flat_map(of_node).collect();
    plan.extend(model.later_trees().into_iter().map(|tree| (tree.since, Change::Tree(tree.parents))));
    // Downs follow ups of equal times: a node whose outages adjoin stays down.
    plan.sort_by_key(|(at, change)| (*at, matches!(change, Change::Down(_))));
    plan.reverse();
    plan
}
