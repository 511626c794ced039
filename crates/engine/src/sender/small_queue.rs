//! The segments of a sender that are in its own host.

use mechanism::{Classifier, ClassifyFlow};
use std::collections::VecDeque;
use std::rc::Rc;

/// Memory of a TCP buffer beside the payload, bytes: `SKB_TRUESIZE` of a head with room for `MAX_TCP_HEADER`
/// (`tcp_stream_alloc_skb`). That room is 320 on x86-64 with wireless meshes and tunnels, as in distributions, and 256
/// without. `struct sk_buff` and `struct skb_shared_info`, aligned to cache lines, have 256 and 320.
pub const HEAD: u64 = 320 + 256 + 320;

/// The packets of a sender that are in its host.
#[derive(Default)]
pub struct SmallQueue {
    /// The kernel's limit on packets in the host applies.
    pub is_limited: bool,
    pub classifier: Option<(Rc<Classifier>, ClassifyFlow)>,
    /// Memory of the packets that have not left the host, bytes. The kernel's `sk_wmem_alloc` is one byte more.
    pub wmem_alloc: u64,
    /// The segments among them, in the order in which they came.
    pub segments: VecDeque<InHost>,
    /// TCP hands over several segments in one buffer.
    pub offloads: bool,
    /// The time at which TCP handed over the last segments, by the socket's clock, ns.
    pub last_at: u64,
    /// The sender waits for a packet to leave (`TSQ_THROTTLED`).
    pub throttled: bool,
}

/// A segment in the host.
pub struct InHost {
    pub segment: u32,
    /// The first segment of the same buffer.
    pub first: u32,
    /// Memory that counts for the segment, bytes.
    pub truesize: u64,
}

impl SmallQueue {
    /// An empty queue, with the kernel's limit if `is_limited`.
    pub fn new(is_limited: bool, classifier: Option<Rc<Classifier>>) -> SmallQueue {
        let classifier = classifier.map(|classifier| (classifier, ClassifyFlow::default()));
        SmallQueue { is_limited, classifier, ..SmallQueue::default() }
    }
}
