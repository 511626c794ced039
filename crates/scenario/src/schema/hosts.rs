//! The keys of hosts.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Choice, Flag, Integer, Size, Table, Text};
use super::key::{Key, keys};

/// The names of a send buffer's `tuning`.
pub const TUNINGS: &[&str] = &["linux", "twice_cwnd"];

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "host":
        "NAME" = Table, Required =>
            "a host, under a name of your choice, whose flows share its send buffers' rules and the queue of the link \
            that their paths begin with";
    },
    keys! {
        "host.NAME":
        "classifier" = Text, Means("the type of service chooses the band") =>
            "what chooses the band of each packet, a built-in name or the path of a .bpf.c file; the queue must be \
            prio then";
        "classifier_params" = Table, Means("the classifier's own defaults") =>
            "parameters of the classifier; a table classifier_params.NAME holds for the classifier NAME only";
        "small_queues" = Flag, Default("true") =>
            "TCP keeps no more in the queue than leaves it in a millisecond (TCP small queues, in Linux since 3.6); \
            false with a real kernel's TCP needs a queue that is a FIFO of so many packets, or has them as bands";
        "gso" = Flag, Default("false") =>
            "TCP hands over two segments or more in one buffer, as a stock kernel's does (GSO): the queue sees one \
            packet, which is split behind it; false: each segment has a buffer of its own";
        "pacing_shift" = Integer, Means("10, which is a millisecond; 7 on Wi-Fi"), "0..20" =>
            "small queues hold what leaves at the pacing rate in 2^-pacing_shift s, though two packets at least \
            (sk_pacing_shift, which drivers set); simulator only";
        "ring" = Integer, Default("0"), "0..100000" =>
            "packets that the device takes from the queue before it can send them; no queue sorts them any more; \
            simulator only";
        "byte_queue_limits" = Flag, Default("false") =>
            "the device takes no more bytes than keep it busy (BQL, in Linux since 3.3); needs ring";
        "tcp_wmem" = Table, Means("as Linux has it") =>
            "the send buffer of each connection is auto-tuned within net.ipv4.tcp_wmem";
    },
    keys! {
        "tcp_wmem":
        "default" = Size, Default("16kib"), "4kib..1gib" => "memory of the buffer at first";
        "max" = Size, Default("4mib"), "4kib..1gib" => "memory that it may grow to";
        "tuning" = Choice(TUNINGS), Default("linux") =>
            "how it grows: as in Linux, or always to twice the congestion window, in the simulator only";
        "notsent_lowat" = Size, Means("an application writes until the buffer is full"), "1b..1gib" =>
            "an application goes on writing when less than this is unsent (net.ipv4.tcp_notsent_lowat)";
    },
];
