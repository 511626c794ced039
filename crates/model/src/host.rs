//! Hosts: the send buffers, queue and device between applications and the uplink.

use crate::declare::{choice, section};
use crate::mechanism_ref::{MechanismRef, Params};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

section! {
    /// A host whose flows share one transmit queue, that of the first link of their paths.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Host in "host.NAME" with HostKeys {
        /// The host's name in the file.
        pub name: String;
        /// The number of the link in whose forward queue the host's packets wait.
        pub uplink: usize;
        /// The classifier, if the queue has bands; `None` = the type of service chooses the band.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub classifier: Option<MechanismRef>;
        key classifier: Option<String> = Means("the type of service chooses the band") =>
            "mechanism that chooses the band of each packet, a built-in name or the path of a .bpf.c file; it needs \
             queue kind prio";
        key classifier_params: Option<Params> = Means("the classifier's own defaults") =>
            "parameters of the classifier; a table classifier_params.NAME is for the classifier NAME only";
        /// limit a flow's queued packets to a millisecond (TCP small queues, Linux 3.6); on a kernel false needs
        /// droptail in packets, prio or pfifo_fast
        pub small_queues: bool = Default("true");
        /// let TCP hand over several segments as one packet, which is split behind the queue, as stock kernels do
        /// (GSO); false: one packet per segment
        #[serde(default, skip_serializing_if = "is_false")]
        pub gso: bool = Default("false");
        /// limit small queues to 2^-pacing_shift s at the pacing rate, and at least two packets (sk_pacing_shift, which
        /// drivers set); simulator only
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pacing_shift: Option<u8> = Means("10, which is a millisecond; 7 on Wi-Fi"), "0..20";
        /// length of the device's transmit ring, in packets, which no queue discipline can reorder; simulator only
        pub ring: u32 = Default("0"), "0..100000";
        /// limit the bytes in the ring to what keeps the device busy (BQL, Linux 3.3); needs ring
        pub byte_queue_limits: bool = Default("false");
        /// bounds of each connection's auto-tuned send buffer (net.ipv4.tcp_wmem)
        pub send_buffer("tcp_wmem"): SendBuffer = Means("Linux's defaults");
    }
}

/// Whether a value is left out of a scenario's JSON, whose hash gives the seeds of a sweep.
fn is_false(flag: &bool) -> bool {
    !flag
}

section! {
    /// The memory of an auto-tuned send buffer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SendBuffer: Default in "tcp_wmem" {
        /// initial memory of the buffer
        pub default: Bytes = Default("16kib"), "4kib..1gib";
        /// largest memory of the buffer
        pub max: Bytes = Default("4mib"), "4kib..1gib";
        /// how the buffer grows: as in Linux, or always to twice the congestion window (simulator only)
        pub tuning: SendTuning = Default("linux");
        /// unsent bytes below which the application continues to write (net.ipv4.tcp_notsent_lowat)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub notsent_lowat: Option<Bytes> = Means("an application writes until the buffer is full"), "1b..1gib";
    }
}

choice! {
    /// How a send buffer grows; it never shrinks.
    pub enum SendTuning {
        /// As in Linux (`tcp_sndbuf_expand`). When the buffer is full and the congestion window is not, it grows to
        /// twice the window, or to the congestion control's multiple. Its unit is the largest memory that a segment may
        /// take.
        Linux = "linux",
        /// Always to twice the congestion window, in packets of their real size.
        TwiceCwnd = "twice_cwnd",
    }
}
