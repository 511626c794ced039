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
            "what chooses the band of each packet, a built-in name or the path of a .bpf.c file; the queue must be \
            prio then";
        key classifier_params: Option<Params> = Means("the classifier's own defaults") =>
            "parameters of the classifier; a table classifier_params.NAME holds for the classifier NAME only";
        /// TCP keeps no more in the queue than leaves it in a millisecond (TCP small queues, in Linux since 3.6); false
        /// with a real kernel's TCP needs a queue that is a FIFO of so many packets, or has them as bands
        pub small_queues: bool = Default("true");
        /// TCP hands over two segments or more in one buffer, as a stock kernel's does (GSO): the queue sees one
        /// packet, which is split behind it; false: each segment has a buffer of its own
        #[serde(default, skip_serializing_if = "is_false")]
        pub gso: bool = Default("false");
        /// small queues hold what leaves at the pacing rate in 2^-pacing_shift s, though two packets at least
        /// (sk_pacing_shift, which drivers set); simulator only
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pacing_shift: Option<u8> = Means("10, which is a millisecond; 7 on Wi-Fi"), "0..20";
        /// packets that the device takes from the queue before it can send them; no queue sorts them any more;
        /// simulator only
        pub ring: u32 = Default("0"), "0..100000";
        /// the device takes no more bytes than keep it busy (BQL, in Linux since 3.3); needs ring
        pub byte_queue_limits: bool = Default("false");
        /// the send buffer of each connection is auto-tuned within net.ipv4.tcp_wmem
        pub send_buffer("tcp_wmem"): SendBuffer = Means("as Linux has it");
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
        /// memory of the buffer at first
        pub default: Bytes = Default("16kib"), "4kib..1gib";
        /// memory that it may grow to
        pub max: Bytes = Default("4mib"), "4kib..1gib";
        /// how it grows: as in Linux, or always to twice the congestion window, in the simulator only
        pub tuning: SendTuning = Default("linux");
        /// an application goes on writing when less than this is unsent (net.ipv4.tcp_notsent_lowat)
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
