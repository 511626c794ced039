//! Deficit round robin with new flows first (RFC 8290, section 4.2), which FQ-CoDel and FQ-PIE share.

use super::chains::Chains;
use model::units::Bytes;

/// The lists of flows with packets, or with a turn left.
const NEW: usize = 0;
const OLD: usize = 1;
/// The smallest and the largest quantum that Linux accepts.
const QUANTUM: std::ops::RangeInclusive<u64> = 256..=1 << 20;

/// The order in which flows take turns.
#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    quantum: i64,
    deficits: Vec<i64>,
    chains: Chains,
}

impl RoundRobin {
    /// Creates the turns of `flows` flows without packets. The default quantum is a packet of the
    /// device's MTU.
    pub fn new(flows: usize, quantum: Option<Bytes>, mtu: u32) -> RoundRobin {
        let quantum = quantum.map_or(mtu as u64, |Bytes(bytes)| bytes);
        RoundRobin {
            quantum: quantum.clamp(*QUANTUM.start(), *QUANTUM.end()) as i64,
            deficits: vec![0; flows],
            chains: Chains::new(flows, 2),
        }
    }

    /// Notes that a flow has got a packet.
    #[inline]
    pub fn wake(&mut self, flow: usize) {
        if !self.chains.contains(flow) {
            self.chains.move_to_back(NEW, flow);
            self.deficits[flow] = self.quantum;
        }
    }

    /// Returns the flow whose turn it is; none if no flow has packets.
    #[inline]
    pub fn turn(&mut self) -> Option<usize> {
        loop {
            let flow = self.chains.front(NEW).or_else(|| self.chains.front(OLD))?;
            if self.deficits[flow] > 0 {
                return Some(flow);
            }
            self.deficits[flow] += self.quantum;
            self.chains.move_to_back(OLD, flow);
        }
    }

    /// Charges a flow for `bytes` that it sent in its turn.
    #[inline]
    pub fn sent(&mut self, flow: usize, bytes: u32) {
        self.deficits[flow] -= bytes as i64;
    }

    /// Notes that the flow whose turn it was is empty. A new flow first gets a turn among the old
    /// ones, so that it cannot return as new again and again.
    #[inline]
    pub fn found_empty(&mut self, flow: usize) {
        if self.chains.front(NEW) == Some(flow) && !self.chains.is_empty(OLD) {
            self.chains.move_to_back(OLD, flow);
        } else {
            self.chains.remove(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantum is brought between the kernel's bounds (`INVALID_LIMIT`).
    #[test]
    fn a_quantum_has_bounds() {
        let quantum = |said: Option<u64>, mtu| RoundRobin::new(1, said.map(Bytes), mtu).quantum;
        assert_eq!([quantum(None, 1514), quantum(None, 100), quantum(Some(1 << 30), 1500)], [1514, 256, 1 << 20]);
    }

    #[test]
    fn nobody_has_a_turn_where_nobody_has_packets() {
        assert_eq!(RoundRobin::new(3, None, 1500).turn(), None);
    }
}
