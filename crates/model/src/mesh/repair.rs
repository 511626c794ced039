//! Repairs the tree when nodes go down and come up again, as RPL's local repair does (RFC 6550, sections 3.2.2 and
//! 3.7). A node that finds its parent gone chooses another.

use super::{Mesh, etx_tree};
use crate::units::Nanos;

/// A tree, given by its nodes' parents, and the time from which it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The time from which nodes use the tree.
    pub since: Nanos,
    /// The parent of each node; none for the border router, and for nodes without a way to it.
    pub parents: Vec<Option<usize>>,
}

impl Mesh {
    /// Returns the trees after the first, in order of time; empty if the file sets the parents. A node that is down for
    /// longer than `repair_after` is left out once others have noticed. It is in the tree again `repair_after` after it
    /// is back.
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

    /// Builds the tree of least ETX without the nodes for which `is_out` returns true.
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
