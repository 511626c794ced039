//! Buffers of several segments, as TCP sends them (generic segmentation offload, GSO). A discipline
//! treats each as one large packet, and the kernel splits it when it has left the discipline
//! (`validate_xmit_skb`).

use super::Skb;
use super::packets::Packets;
use std::collections::HashMap;

/// The buffers of several segments in a discipline.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// The segments so far of the buffer that is being completed.
    open: Vec<Skb>,
    /// The segments of each buffer in the discipline, by the number of the first.
    inside: HashMap<u32, Vec<Skb>>,
    /// Segments in the discipline beyond the first of each buffer.
    more: u64,
    /// Segments of a buffer that has left the discipline, which the device has not taken yet
    /// (`gso_skb` of `struct Qdisc`).
    split: Packets,
}

impl Batches {
    /// Adds a segment, and returns the buffers that are complete then. In rare cases that includes
    /// a buffer whose last segment never came; the segment's own is complete if this is its last.
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

    /// Returns the segments of a buffer that has left the discipline, with the mark of the buffer.
    fn segments(&mut self, whole: Skb) -> Vec<Skb> {
        let Some(mut segments) = self.inside.remove(&whole.id) else { return vec![whole] };
        self.more -= segments.len() as u64 - 1;
        for skb in &mut segments {
            (skb.ecn, skb.enqueued_at) = (whole.ecn, whole.enqueued_at);
        }
        segments
    }

    /// Splits a buffer that has left the discipline.
    pub fn split(&mut self, whole: Skb) {
        self.segments(whole).into_iter().for_each(|skb| self.split.push(skb));
    }

    /// Takes the next segment of a buffer that has left the discipline.
    pub fn next(&mut self) -> Option<Skb> {
        self.split.pop()
    }

    /// Reports whether segments remain of a buffer that has left the discipline.
    pub fn is_splitting(&self) -> bool {
        !self.split.is_empty()
    }

    /// Replaces the buffers that a discipline dropped, from `first` on in `dropped`, by their
    /// segments.
    pub fn drop_whole(&mut self, dropped: &mut Vec<Skb>, first: usize) {
        for whole in dropped.split_off(first) {
            dropped.append(&mut self.segments(whole));
        }
    }

    /// Returns the bytes and packets that wait beyond the discipline's own count, in which a buffer
    /// is one packet.
    pub fn beyond(&self) -> (u64, u64) {
        (self.split.bytes(), self.split.len() + self.more)
    }
}
