//! Builds the tree that RPL reaches with the expected transmission count (ETX) as its metric (RFC 6719). Each node's
//! parent is the next node on the way with the least sum.

use crate::radio::ieee802154::{frames, phy};

/// The largest ETX of a link that is used (RFC 6719, MAX_LINK_METRIC).
const MOST: f64 = 4.0;

/// Returns the mean number of transmissions until a full frame is acknowledged, if nobody else transmits; none for a
/// link that is too bad.
fn etx(there: Option<f64>, back: Option<f64>) -> Option<f64> {
    let heard = |signal: Option<f64>| signal.filter(|dbm| *dbm >= phy::SENSITIVITY);
    let (there, back) = (heard(there)?, heard(back)?);
    let delivery = phy::delivery(there, frames::LARGEST_FRAME) * phy::delivery(back, phy::ACK_BYTES);
    Some(1.0 / delivery).filter(|etx| *etx <= MOST)
}

/// Returns the parent of each node; none for the root, and for nodes without a way to it. Of equal ways the first in
/// the nodes' order counts.
pub fn etx_tree(signals: &[Vec<Option<f64>>], root: usize) -> Vec<Option<usize>> {
    let mut parents = vec![None; signals.len()];
    let mut costs = vec![f64::INFINITY; signals.len()];
    let mut left: Vec<_> = (0..signals.len()).collect();
    costs[root] = 0.0;
    while let Some(place) = nearest(&left, &costs) {
        let node = left.remove(place);
        for other in &left {
            let Some(etx) = etx(signals[*other][node], signals[node][*other]) else { continue };
            if costs[node] + etx < costs[*other] {
                (costs[*other], parents[*other]) = (costs[node] + etx, Some(node));
            }
        }
    }
    parents
}

/// Returns the place in `left` of the node with the least cost, if that is finite.
fn nearest(left: &[usize], costs: &[f64]) -> Option<usize> {
    let place = (0..left.len()).min_by(|a, b| costs[left[*a]].total_cmp(&costs[left[*b]]))?;
    costs[left[place]].is_finite().then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain: each node hears the next one well, the one after it badly, and no others.
    #[test]
    fn a_chain_goes_hop_by_hop() {
        let signal = |distance: usize| match distance {
            1 => Some(-80.0),
            2 => Some(-96.5),
            _ => None,
        };
        let signals: Vec<Vec<_>> =
            (0..5_usize).map(|from| (0..5).map(|to: usize| signal(from.abs_diff(to))).collect()).collect();
        assert_eq!(etx_tree(&signals, 0), [None, Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(etx_tree(&signals, 2), [Some(1), Some(2), None, Some(2), Some(3)]);
    }

    #[test]
    fn one_good_hop_is_better_than_two() {
        let signals = vec![
            vec![None, Some(-60.0), Some(-85.0)],
            vec![Some(-60.0), None, Some(-60.0)],
            vec![Some(-85.0), Some(-60.0), None],
        ];
        assert_eq!(etx_tree(&signals, 0), [None, Some(0), Some(0)]);
    }

    #[test]
    fn who_hears_nobody_has_no_parent() {
        assert_eq!(etx_tree(&[vec![None, None], vec![Some(-50.0), None]], 0), [None, None]);
    }
}
