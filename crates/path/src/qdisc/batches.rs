//! Buffers of several segments, as TCP hands them over (generic segmentation offload, GSO): a discipline sees each as
//! one large packet, and the kernel splits it when it has left the discipline (`validate_xmit_skb`).

use super::Skb;
use super::packets::Packets;
use std::collections::HashMap;

/// The buffers of several segments that are in a discipline.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// The segments of the buffer that is being handed over.
    open: Vec<Skb>,
    /// The segments of each buffer in the discipline, by the number of the first.
    inside: HashMap<u32, Vec<Skb>>,
    /// Segments in the discipline beyond one a buffer.
    more: u64,
    /// Segments of a buffer that has left the discipline, which the device has not taken (`gso_skb` of `struct Qdisc`).
    split: Packets,
}

impl Batches {
    /// A segment is handed over. Gives what is complete with it: seldom a buffer whose last segment never came, and the
    /// segment's own if it is the last.
    pub fn join(&mut self, skb: Skb) -> [Option<Skb>; 2] {
        let is_other = |first: &Skb| (first.flow_hash, first.enqueued_at) != (skb.flow_hash, skb.enqueued_at);
        let abandoned = if self.open.first().is_some_and(is_other) { self.close() } else { None };
        self.open.push(skb);
        [abandoned, if skb.is_followed { None } else { self.close() }]
    }

    fn close(&mut self) -> Option<Skb> {
        let first = *self.open.first()?;
        let whole = Skb { bytes: self.open.iter().map(|skb| skb.bytes).sum(), ..first };
        if self.open.len() > 1 {
            self.more += self.open.len() as u64 - 1;
            self.inside.insert(first.id, self.open.drain(..).collect());
        }
        self.open.clear();
        Some(whole)
    }

    /// The segments of a buffer that is not in the discipline any more, marked as it is.
    fn segments(&mut self, whole: Skb) -> Vec<Skb> {
        let Some(mut segments) = self.inside.remove(&whole.id) else { return vec![whole] };
        self.more -= segments.len() as u64 - 1;
        for skb in &mut segments {
            (skb.ecn, skb.enqueued_at) = (whole.ecn, whole.enqueued_at);
        }
        segments
    }

    /// A buffer has left the discipline.
    pub fn split(&mut self, whole: Skb) {
        self.segments(whole).into_iter().for_each(|skb| self.split.push(skb));
    }

    /// The next segment of what has left the discipline.
    pub fn next(&mut self) -> Option<Skb> {
        self.split.pop()
    }

    /// Has a buffer left the discipline of which segments remain?
    pub fn is_splitting(&self) -> bool {
        !self.split.is_empty()
    }

    /// A discipline has dropped buffers: what lies in `dropped` from `first` on. With a buffer its segments are gone.
    pub fn drop_whole(&mut self, dropped: &mut Vec<Skb>, first: usize) {
        for whole in dropped.split_off(first) {
            dropped.append(&mut self.segments(whole));
        }
    }

    /// Bytes and packets that wait beyond what the discipline itself tells, which counts a buffer as one packet.
    pub fn beyond(&self) -> (u64, u64) {
        (self.split.bytes(), self.split.len() + self.more)
    }
}
