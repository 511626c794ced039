//! The keys of flow groups: when they come, how much they send, and how their TCP ends behave.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{
    App, Choice, Drift, Flag, Frequency, Integer, Names, Number, Offset, Profile, Rate, Size, Sizes, Start, Table,
    Text, Time,
};
use super::key::{ARRIVALS, DELAYS, Key, PROFILES, RATES, SIZES, SOME_TIME, TIMES, keys};

const SIZES_RANGE: &str = "1b..1000000gb";

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "flows":
        "name" = Text, Means("the congestion control's name") => "what tables and figures call the group's flows";
        "cc" = Text, Required =>
            "the congestion control, a built-in name, the path of a .bpf.c file (#NAME behind it picks one of \
            several), or kernel:NAME for the running kernel's own";
        "params" = Table, Means("the control's own defaults") =>
            "parameters of the control; a table params.NAME holds for the control NAME only";
        "maps" = Table, Means("as the control's file has them, empty or zero") =>
            "what BPF maps of the control hold when the run begins, such as rates = { 0 = 1250000 }: by map and key the \
            value, a whole number or a list of them for a struct's members; a table maps.CC holds for the control CC \
            only";
        "count" = Integer, Default("1"), "1..1000000" => "number of flows in the group";
        "arrivals" = Table, Means("as count and stagger say") =>
            "flows that come by a random process in place of count and stagger, from start until stop";
        "reverse" = Flag, Default("false") =>
            "the data takes the reverse path, whose links need queues then; acknowledgements take the forward one";
        "mesh" = Text, Means("the senders are hosts at the first link") =>
            "the mesh whose nodes are the senders, one flow each: their packets go along its tree to the border \
            router, and from there along path";
        "nodes" = Names, Means("all but the border router, in the file's order") =>
            "the nodes of the mesh that send";
        "path" = Names, Means("every link, in the file's order") =>
            "the links between senders and receivers, from the senders on: the forward path passes their forward \
            directions";
        "reverse_path" = Names, Means("those of path, the other way round") =>
            "the links whose reverse directions the reverse path passes, in this order";
        "app" = App, Means("a transfer, of the size that size says") =>
            "what the flows' programs do: messenger, game, upload, web and video over TCP, with two flows for each \
            connection, and voice, ping and udp, which need no cc";
        "host" = Text, Means("none that has a queue of its own") =>
            "the host that the flows send from; with reverse = true the one that they come to, by whose queue their \
            acknowledgements leave";
        "access" = Table, Means("no constraint") => "each sender's own link to the bottleneck";
        "clock" = Table, Means("as the sender's") =>
            "the receiver's clock, as its timestamps (RFC 7323) show it, relative to the sender's";
        "start" = Start, Default("0s"), TIMES =>
            "when the first flow opens its connection; of a range such as 0s..1s each flow draws its own time, \
            evenly, to which stagger is added";
        "stagger" = Time, Default("0s"), TIMES => "each next flow opens this much later";
        "stop" = Time, Means("the end of the run"), SOME_TIME =>
            "when the applications stop writing, and no more flows arrive";
        "size" = Sizes, Means("without end"), SIZES_RANGE => "how much the application writes";
        "packet" = Size, Means("1500b, or 104b with profile lln"), "100b..65535b" => "IP length of a full data packet";
        "tos" = Integer, Default("0"), "0..252" =>
            "type of service of the flows' packets, such as 0x10 (low delay), which prio, pfifo_fast and cake look at";
        "receive_window" = Size, Means("the largest that can be advertised; four segments with profile lln"),
            "100b..1gib" => "room that the receiver offers";
        "tcp_rmem" = Table, Means("a buffer of fixed size, SO_RCVBUF, as large as receive_window needs") =>
            "the receiver's buffer is auto-tuned within net.ipv4.tcp_rmem";
        "read_rate" = Rate, Means("all that has come, at once"), RATES =>
            "how fast the receiving application reads at most, segment by segment";
        "write_rate" = Rate, Means("as much as TCP takes"), RATES =>
            "payload that the sending application writes, a segment at a time; data that finds four unsent segments is \
            lost";
        "receiver" = Text, Means("the stack alone decides") =>
            "what lowers the window that the receiver shows, a built-in name or the path of a .bpf.c file";
        "receiver_params" = Table, Means("the receiver's own defaults") =>
            "parameters of the receiver; a table receiver_params.NAME holds for the receiver NAME only";
        "profile" = Profile, Means("the experiment's") => "how this group's TCP ends behave";
        "delayed_ack" = Flag, Means("as the profile says") => "acknowledge every second segment, or after 40 ms";
        "ecn" = Flag, Means("as the profile says") => "negotiate ECN";
        "pacing" = Flag, Means("as the profile says") => "pace every flow at Linux's default rates";
        "initial_window" = Integer, Means("as the profile says"), "1..10000" => "initial window in segments";
        "rto_min" = Time, Means("as the profile says"), "1ms..120s" =>
            "lower bound of the retransmission timeout's variance term";
    },
    keys! {
        "arrivals":
        "kind" = Choice(ARRIVALS), Default("poisson") => "the process: exponential times between flows";
        "rate" = Frequency, Required, "0.000001/s..1000000/s" => "flows a second, in the mean";
    },
    keys! {
        "pareto":
        "kind" = Choice(SIZES), Required => "pareto: many small sizes and a few very large";
        "mean" = Size, Required, SIZES_RANGE => "the mean size, of the bounded distribution if there is a bound";
        "shape" = Number, Default("1.2"), "1.01..100" => "exponent of the tail: the smaller, the heavier";
        "most" = Size, Means("no bound"), SIZES_RANGE => "where the distribution ends (bounded Pareto)";
    },
    keys! {
        "lognormal":
        "kind" = Choice(&["lognormal"]), Required => "sizes whose logarithm is normal";
        "mean" = Size, Required, SIZES_RANGE => "the mean size";
        "sigma" = Number, Default("1"), "0..10" => "standard deviation of the size's natural logarithm";
    },
    keys! {
        "exponential":
        "kind" = Choice(&["exponential"]), Required => "sizes without a heavy tail";
        "mean" = Size, Required, SIZES_RANGE => "the mean size";
    },
    keys! {
        "access":
        "rate" = Rate, Means("no constraint"), RATES => "what a sender's own link carries";
        "queue" = Table, Means("a queue that never drops") =>
            "where a sender's packets wait for its own link, which needs a rate then: any but the kernel's";
        "small_queues" = Flag, Default("false") =>
            "each sender is told when a packet has left its host, and keeps few there (TCP small queues); needs a \
             rate; simulator only";
        "delay" = Time, Default("0s"), DELAYS =>
            "propagation from the sender to the bottleneck, one way; acknowledgements take it too";
    },
    keys! {
        "tcp_rmem":
        "default" = Size, Default("131072b"), "4kib..1gib" =>
            "memory of the buffer at first; half of it is offered in the handshake";
        "max" = Size, Default("6mib"), "4kib..1gib" => "memory that it may grow to";
    },
    keys! {
        "clock":
        "offset" = Offset, Default("0s"), "-1000000s..1000000s" =>
            "how much it is ahead of the sender's when the run starts; a kernel gives each connection a random one in \
            its place";
        "drift" = Drift, Default("0ppm"), "-10000ppm..10000ppm" =>
            "how much faster it runs than the sender's (clock skew, as RFC 6817 calls it); simulator only";
    },
    keys! {
        "profile":
        "base" = Choice(PROFILES), Means("linux, or for a group the experiment's profile") =>
            "where the switches start from";
        "sack" = Flag, Means("as the base says") =>
            "selective acknowledgements (RFC 2018), with duplicate SACK (RFC 2883)";
        "timestamps" = Flag, Means("as the base says") => "timestamps option (RFC 7323)";
        "tcp_usec_ts" = Flag, Means("as the base says") =>
            "count microseconds in timestamps, not milliseconds, as Linux does from 6.7 on where the route says so; \
            needs timestamps";
        "window_scaling" = Flag, Means("as the base says") => "window scaling (RFC 7323)";
        "rack" = Flag, Means("as the base says") => "time-based loss detection (RFC 8985); needs sack";
        "tlp" = Flag, Means("as the base says") => "tail loss probe (RFC 8985); needs sack";
        "prr" = Flag, Means("as the base says") => "proportional rate reduction (RFC 6937)";
        "rate_halving" = Flag, Means("as the base says") =>
            "in place of prr and rack, repair as ns-2.35's TCP-Linux does: a segment for every second acknowledgement \
            until the window is down; a loss is found by three SACKed segments above";
        "frto" = Flag, Means("as the base says") => "forward RTO recovery (RFC 5682)";
        "undo" = Flag, Means("as the base says") => "undo of a reduction that proves spurious";
        "delayed_ack" = Flag, Means("as the base says") => "acknowledge every second segment, or after 40 ms";
        "quick_ack" = Flag, Means("as the base says") => "acknowledge a connection's first segments at once";
        "sack_compression" = Flag, Means("as the base says") =>
            "let duplicates wait up to a millisecond for one acknowledgement";
        "limited_transmit" = Flag, Means("as the base says") => "new data on the first two duplicates (RFC 3042)";
        "cwnd_validation" = Flag, Means("as the base says") =>
            "no growth of an unused window, decay when idle (RFC 7661 as Linux does it)";
        "gate" = Flag, Means("as the base says") =>
            "where a control asks for it, wait before each window and send that at once, in place of pacing; simulator \
            only";
        "ecn" = Flag, Means("as the base says") => "negotiate ECN (RFC 3168)";
        "pacing" = Flag, Means("as the base says") => "pace every flow at Linux's default rates";
        "initial_window" = Integer, Means("as the base says"), "1..10000" => "initial window in segments (RFC 6928)";
        "rto_min" = Time, Means("as the base says"), "1ms..120s" =>
            "lower bound of the retransmission timeout's variance term";
    },
];
