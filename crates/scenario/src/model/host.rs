//! Hosts: what stands between an application that writes and the link that its packets leave by.

use super::flow::CongestionControl;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A host whose flows share one transmit queue: that of the first link of their paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name in the file.
    pub name: String,
    /// The link whose forward queue its packets wait in.
    pub uplink: usize,
    /// What chooses the band of each packet, if the queue has bands; `None` = the type of service does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<CongestionControl>,
    /// TCP keeps few packets in the queue (TCP small queues).
    pub small_queues: bool,
    /// TCP hands over several segments in one buffer (GSO).
    #[serde(default, skip_serializing_if = "is_false")]
    pub gso: bool,
    /// They hold what leaves in 2^-`pacing_shift` s (`sk_pacing_shift`); `None` = as the device's driver has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_shift: Option<u8>,
    /// Packets that the device takes from the queue before it can send them.
    pub ring: u32,
    /// The bytes among them are limited to what the device needs (byte queue limits).
    pub byte_queue_limits: bool,
    /// The send buffer of each of its connections.
    pub send_buffer: SendBuffer,
}

/// What is left out of a scenario's JSON, whose hash the seeds of a sweep are.
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The memory of a send buffer, which is auto-tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendBuffer {
    /// At first (`net.ipv4.tcp_wmem[1]`).
    pub default: Bytes,
    /// What it may grow to (`net.ipv4.tcp_wmem[2]`).
    pub max: Bytes,
    /// How it grows.
    pub tuning: SendTuning,
    /// An application has less than this unsent when it goes on writing (`net.ipv4.tcp_notsent_lowat`); `None` = it
    /// writes until the buffer is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notsent_lowat: Option<Bytes>,
}

impl Default for SendBuffer {
    fn default() -> SendBuffer {
        SendBuffer { default: Bytes(16 << 10), max: Bytes(4 << 20), tuning: SendTuning::Linux, notsent_lowat: None }
    }
}

/// How a send buffer grows; it never shrinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendTuning {
    /// As Linux does it (`tcp_sndbuf_expand`): when it is full and the window is not, to twice the window, or what the
    /// congestion control says, in units of the largest buffer that a segment may take.
    #[default]
    Linux,
    /// Always to twice the window, in packets as they are.
    TwiceCwnd,
}
