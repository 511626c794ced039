//! How the tree follows nodes that go down and come up again, as RPL's local repair and its announcements have it
//! (RFC 6550, sections 3.2.2 and 3.7): whose parent is found to be gone chooses another.

use super::{Mesh, etx_tree};
use crate::units::Nanos;

/// A tree, by its nodes' parents, and since when it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// From when on nodes go by it.
    pub since: Nanos,
    /// The parent of each; the border router has none, nor has who has no way to it.
    pub parents: Vec<Option<usize>>,
}

impl Mesh {
    /// The trees that follow the first, in order of time. A node that is down for longer than others need to find that
    /// out is left out of the tree from then on, and until they have found, as late, that it is back. None if the
    /// file gives the tree.
    pub fn later_trees(&self) -> Vec<Tree> {
        let Some(late) = self.repair_after else { return vec![] };
        let is_out = |node: usize, at: Nanos| {
            let noticed = self.nodes[node].down.iter().filter(|outage| outage.lasts > late);
            noticed.into_iter().any(|outage| outage.at + late <= at && at < outage.end() + late)
        };
        let ends =
            |node: &super::Node| node.down.iter().flat_map(|outage| [outage.at, outage.end()]).collect::<Vec<_>>();
        let mut times: Vec<_> = self.nodes.iter().flat_map(ends).map(|at| at + late).collect();
        times.sort_unstable();
        times.dedup();
        let tree = |since: Nanos| Tree { since, parents: self.tree_without(|node| is_out(node, since)) };
        times.into_iter().map(tree).collect()
    }

    /// The tree of least ETX among the nodes that are not out of it.
    fn tree_without(&self, is_out: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
        if is_out(self.border_router) {
            return vec![None; self.nodes.len()];
        }
        let mut signals = self.signals.clone();
        for (from, row) in signals.iter_mut().enumerate() {
            for (to, signal) in row.iter_mut().enumerate() {
                if is_out(from) || is_out(to) {
                    *signal = None;
                }
            }
        }
        etx_tree(&signals, self.border_router)
    }
}
