//! Every key of the experiment file: type, default, range, meaning. The reader, its errors and the documentation all read this.

use crate::queue::{ATMS, DIFFSERVS, FLOW_MODES};
use serde::Serialize;

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// The section it stands in: empty is the top of the file, `flows` each `[[flows]]`, `queue` the queue of either direction,
    /// `loss` a table in the place of either direction's share, `rates` and `outages` each one of either direction's,
    /// `codel` and others of [`QUEUES`] a queue of that kind, `access`, `clock` and `arrivals` those of a group,
    /// `pareto` and the others of [`SIZES`] a table in the place of its size, `profile` a table in the place of a
    /// profile's name.
    pub section: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What is written behind it.
    pub kind: Kind,
    /// What holds without it.
    pub absence: Absence,
    /// Least and most, as written in a file; empty if the kind says it all.
    pub range: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// What is written behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A number that need not be whole.
    Number,
    /// `true` or `false`.
    Flag,
    /// A rate such as `"2mbit"`.
    Rate,
    /// A time such as `"10ms"`.
    Time,
    /// A time, or two such as `"0s..1s"` for one between them.
    Start,
    /// The same, or less than nothing such as `"-10ms"`.
    Offset,
    /// A drift such as `"100ppm"` or `"-20ppm"`.
    Drift,
    /// A size such as `"500kb"`.
    Size,
    /// A size such as `"500kb"`, or a table with a distribution of sizes.
    Sizes,
    /// A number of times a second such as `"10/s"`.
    Frequency,
    /// A size such as `"500kb"`, packets such as `"300p"`, or what the path holds such as `"1bdp"`.
    Limit,
    /// A percentage such as `"1%"`.
    Share,
    /// The same, or a table of a model's parameters.
    Loss,
    /// A list of names.
    Names,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// The name of a profile, or a table of switches.
    Profile,
    /// A table of its own keys, or keys that someone else knows.
    Table,
    /// `[[...]]`, once or more.
    Tables,
}

/// What holds when a key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// It must not be.
    Required,
    /// The same as if this stood there.
    Default(&'static str),
    /// What the words say.
    Means(&'static str),
}

use Absence::{Default, Means, Required};

/// Before the name of a control, or of a queue discipline, that the running kernel has of its own.
pub(crate) const OF_THE_KERNEL: &str = "kernel:";

/// The names of `profile`.
pub const PROFILES: &[&str] = &["linux", "sack", "newreno"];
/// The queue that a link has where nothing else is said.
pub(crate) const DROPTAIL: &str = "droptail";
/// The names of a queue's `kind`.
pub const QUEUES: &[&str] = &[
    DROPTAIL,
    "red",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "prio",
    "pfifo_fast",
    "cake",
    "kernel:fq_codel",
    "kernel:codel",
    "kernel:pie",
    "kernel:fq_pie",
    "kernel:red",
    "kernel:prio",
    "kernel:pfifo_fast",
    "kernel:cake",
    "kernel:pfifo",
    "kernel:bfifo",
];
/// The names of a loss model's `kind`.
pub const LOSSES: &[&str] = &["gemodel"];
/// The names of `jitter_distribution`.
pub const JITTERS: &[&str] = &["uniform", "normal"];
/// The names of `emulator`.
pub const EMULATORS: &[&str] = &["unbloat", "netem"];

/// The names of a process of `arrivals`.
pub const ARRIVALS: &[&str] = &["poisson"];
/// The names of a distribution of sizes.
pub const SIZES: &[&str] = &["pareto", "lognormal", "exponential"];

const TIMES: &str = "0s..1000000s";
const SOME_TIME: &str = "1ns..1000000s";
const SIZES_RANGE: &str = "1b..1000000gb";
const DELAYS: &str = "0s..3600s";
const SHORT_DELAYS: &str = "1ns..3600s";
const RATES: &str = "1bit..100tbit";
/// What the kernel counts in 32 bits.
const U32_PACKETS: &str = "1p..4294967295p";
const U32_BYTES: &str = "1b..4294967295b";
const U32_MICROSECONDS: &str = "1us..4294s";
const U32: &str = "1..4294967295";
/// What CoDel's clock of 32 bits can tell apart.
const CODEL_TIMES: &str = "1us..1000s";
/// Both `alpha` and `beta` of PIE.
const GAINS: &str = "0..32";
const MEMORY: &str = "1b..2gib";
/// `txqueuelen`, which all bands of a discipline have.
const BAND_PACKETS: &str = "1p..1000000p";

const MARKS: &str = "mark packets of ECN-capable flows in place of dropping them";
const LIMIT: &str = "room for waiting packets";
const FLOWS: &str = "queues over which flows are spread";
const QUANTUM: &str = "what a queue may send before it is the next one's turn";
const CODEL_TARGET: &str = "queueing delay that is accepted";
const CODEL_INTERVAL: &str = "how long more than that is accepted";
const CE_THRESHOLD: &str = "packets that have waited longer than this are marked in any case";
const MEMORY_LIMIT: &str = "room for packets as the kernel's memory counts them, 2304 bytes for a full one";
const DROP_BATCH: &str = "packets that are dropped at once where there is no more room";
const PIE_TARGET: &str = "queueing delay that is aimed at";
const TUPDATE: &str = "how often the drop probability is worked out, rounded up to the kernel's ticks: 15ms are 20";
const ALPHA: &str = "weight of the distance from the target, in sixteenths";
const BETA: &str = "weight of the change of the delay, in sixteenths";
const BYTEMODE: &str = "drop small packets less often";
const ESTIMATOR: &str = "tell the delay from the rate of departures in place of time stamps";
const ECN_PROB: &str = "percent: up to this drop probability packets are marked, above it dropped";
const RED_MIN: &str = "mean queue from which on packets are dropped";
const RED_MAX: &str = "mean queue at which probability is reached";
const RED_PROBABILITY: &str = "share of the packets that is dropped at max";
const RED_BURST: &str = "packets that may come at once while the mean queue stays below min";
const HARDDROP: &str = "drop from max on, ECN or not";
const ADAPTIVE: &str = "let probability follow the load, between 1 % and 50 %";
const BANDS: &str = "queues, the lower first; packets go to the first three by their type of service";
const BAND_LIMIT: &str = "room in each band: the device's txqueuelen";
const BANDWIDTH: &str = "what it lets through";
const DIFFSERV: &str = "classes of service by the Diffserv code point";
const FLOWMODE: &str = "what gets equal shares: flows, hosts, or flows of a host and hosts";
const RTT: &str = "round-trip time of the paths: CoDel's interval, and twenty times its target";
const OVERHEAD: &str = "bytes that each packet takes on the wire beside its IP length";
const MPU: &str = "bytes that each packet takes on the wire at least";
const ATM: &str = "framing of the wire: cells of ATM, or a byte in 65 of PTM";
const INGRESS: &str = "it stands behind the bottleneck: what it drops has taken its time";

const RATE_CHANGES: &str =
    "changes of the rate, in order of time; the packet under way sends the rest of its bits at the new rate";
const JITTER: &str = "how far the delay varies from packet to packet, up to the delay itself, as in tc-netem(8)";
const JITTER_DISTRIBUTION: &str = "uniform: from delay - jitter to delay + jitter; normal: jitter is the standard deviation, and no delay is below 0s";
const JITTER_REORDER: &str = "a packet with less delay overtakes those before it, as in tc-netem(8); by default it arrives behind them, as on most paths";
const REORDER: &str =
    "share of the packets that leave the order, as in tc-netem(8): they arrive without any delay, ahead of others";
const REORDER_GAP: &str = "behind a packet that has left the order, gap - 1 keep it, as in tc-netem(8)";
const REORDER_BY: &str = "packets that leave the order are held back by this in place of arriving ahead";
const DUPLICATE: &str = "share of the packets of which the channel delivers a second copy, with a delay of its own";
const OUTAGES: &str = "when this direction is down, in order of time";

/// Every key, section by section.
#[rustfmt::skip] // one line a key
pub const KEYS: &[Key] = &[
    key("", "name", Kind::Text, Means("the file's name"), "", "what the experiment calls itself"),
    key("", "duration", Kind::Time, Required, SOME_TIME, "how long the run lasts"),
    key("", "warmup", Kind::Time, Default("0s"), TIMES, "the first part of the run, left out of the statistics"),
    key("", "seed", Kind::Integer, Default("1"), "0..9223372036854775807", "seeds every random draw of the run"),
    key("", "emulator", Kind::Choice(EMULATORS), Default("unbloat"), "", "what queues, delays and loses real packets: this program, or the kernel's own FIFOs and netem"),
    key("", "profile", Kind::Profile, Default("linux"), "", "how the TCP ends behave"),
    key("", "link", Kind::Table, Required, "", "the links"),
    key("", "flows", Kind::Tables, Required, "", "the flow groups, one [[flows]] each"),
    key("", "sweep", Kind::Table, Means("a single run"), "", "a grid over other keys, the last axis fastest"),
    key("link", "NAME", Kind::Table, Required, "", "a link, under a name of your choice; one that all flows share is mostly called bottleneck"),
    key("link.NAME", "rate", Kind::Rate, Means("a trace must be given"), RATES, "what the transmitter sends"),
    key("link.NAME", "trace", Kind::Text, Means("a rate must be given"), "", "a file of recorded delivery opportunities, beside the experiment file"),
    key("link.NAME", "delay", Kind::Time, Required, DELAYS, "propagation, one way"),
    key("link.NAME", "queue", Kind::Table, Required, "", "where packets wait for the transmitter"),
    key("link.NAME", "loss", Kind::Loss, Default("0%"), "", "share of the packets that the channel loses, or a model of how it loses them"),
    key("link.NAME", "rates", Kind::Tables, Means("one rate"), "", RATE_CHANGES),
    key("link.NAME", "jitter", Kind::Time, Default("0s"), DELAYS, JITTER),
    key("link.NAME", "jitter_distribution", Kind::Choice(JITTERS), Default("uniform"), "", JITTER_DISTRIBUTION),
    key("link.NAME", "jitter_reorder", Kind::Flag, Default("false"), "", JITTER_REORDER),
    key("link.NAME", "reorder", Kind::Share, Default("0%"), "", REORDER),
    key("link.NAME", "reorder_gap", Kind::Integer, Default("1"), "1..1000000", REORDER_GAP),
    key("link.NAME", "reorder_by", Kind::Time, Means("they arrive ahead"), SHORT_DELAYS, REORDER_BY),
    key("link.NAME", "duplicate", Kind::Share, Default("0%"), "", DUPLICATE),
    key("link.NAME", "outages", Kind::Tables, Means("always up"), "", OUTAGES),
    key("link.NAME", "reverse", Kind::Table, Means("as its keys say"), "", "its reverse direction, for acknowledgements, and for the data of reverse flows"),
    key("link.NAME.reverse", "rate", Kind::Rate, Means("the forward direction's, or 1gbit beside a trace"), RATES, "what the reverse direction's transmitter sends"),
    key("link.NAME.reverse", "trace", Kind::Text, Means("a rate holds"), "", "the reverse direction's delivery opportunities"),
    key("link.NAME.reverse", "delay", Kind::Time, Means("the forward direction's"), DELAYS, "propagation, one way"),
    key("link.NAME.reverse", "queue", Kind::Table, Means("a queue that never drops"), "", "where packets wait for the reverse direction's transmitter"),
    key("link.NAME.reverse", "loss", Kind::Loss, Default("0%"), "", "likewise in the reverse direction"),
    key("link.NAME.reverse", "rates", Kind::Tables, Means("one rate"), "", RATE_CHANGES),
    key("link.NAME.reverse", "jitter", Kind::Time, Default("0s"), DELAYS, JITTER),
    key("link.NAME.reverse", "jitter_distribution", Kind::Choice(JITTERS), Default("uniform"), "", JITTER_DISTRIBUTION),
    key("link.NAME.reverse", "jitter_reorder", Kind::Flag, Default("false"), "", JITTER_REORDER),
    key("link.NAME.reverse", "reorder", Kind::Share, Default("0%"), "", REORDER),
    key("link.NAME.reverse", "reorder_gap", Kind::Integer, Default("1"), "1..1000000", REORDER_GAP),
    key("link.NAME.reverse", "reorder_by", Kind::Time, Means("they arrive ahead"), SHORT_DELAYS, REORDER_BY),
    key("link.NAME.reverse", "duplicate", Kind::Share, Default("0%"), "", DUPLICATE),
    key("link.NAME.reverse", "outages", Kind::Tables, Means("always up"), "", OUTAGES),
    key("rates", "at", Kind::Time, Required, SOME_TIME, "from when on the rate holds"),
    key("rates", "rate", Kind::Rate, Required, RATES, "what the transmitter sends from then on"),
    key("outages", "at", Kind::Time, Required, TIMES, "when the link goes down"),
    key("outages", "for", Kind::Time, Required, SOME_TIME, "how long it is down"),
    key("outages", "lose", Kind::Flag, Default("false"), "", "the transmitter goes on, and packets whose last bit it sends meanwhile are lost; by default nothing is sent, and packets wait in the queue"),
    key("loss", "kind", Kind::Choice(LOSSES), Default("gemodel"), "", "bursts after Gilbert and Elliott, as tc-netem(8) has them: the wire is good or bad, and good at first"),
    key("loss", "p", Kind::Share, Required, "", "probability that a wire that was good for a packet is bad for the next"),
    key("loss", "r", Kind::Share, Means("100% - p, so that each packet is lost by itself"), "", "probability that a wire that was bad for a packet is good for the next: the mean stay is 1/r packets"),
    key("loss", "1-h", Kind::Share, Default("100%"), "", "share of the packets that a bad wire loses"),
    key("loss", "1-k", Kind::Share, Default("0%"), "", "share of the packets that a good wire loses"),
    key("queue", "kind", Kind::Choice(QUEUES), Default("droptail"), "", "the queue discipline"),
    key("queue", "limit", Kind::Limit, Means("it never drops"), "", "room for waiting packets, the one in transmission not counted; 1bdp is the link's mean rate times the largest propagation round-trip time of the flows that pass it, rounded up to a byte (where limits are in packets, to a packet of the largest size that passes), one packet at least"),
    key("queue", "ecn_threshold", Kind::Limit, Means("it never marks"), "", "packets of ECN-capable flows that find this much waiting are marked"),
    queue(&["red"], "drops at random, the more the longer the mean queue (Floyd and Jacobson, 1993)"),
    key("red", "limit", Kind::Limit, Required, U32_BYTES, LIMIT),
    key("red", "min", Kind::Size, Means("a third of max"), U32_BYTES, RED_MIN),
    key("red", "max", Kind::Size, Means("three times min, or a quarter of limit"), U32_BYTES, RED_MAX),
    key("red", "probability", Kind::Share, Default("2%"), "0.0001%..100%", RED_PROBABILITY),
    key("red", "avpkt", Kind::Size, Default("1000b"), "1b..65535b", "mean packet"),
    key("red", "burst", Kind::Integer, Means("(2 min + max) / (3 avpkt)"), "1..1000000", RED_BURST),
    key("red", "ecn", Kind::Flag, Default("false"), "", MARKS),
    key("red", "harddrop", Kind::Flag, Default("false"), "", HARDDROP),
    key("red", "adaptive", Kind::Flag, Default("false"), "", ADAPTIVE),
    key("red", "gentle", Kind::Flag, Default("false"), "", "let the probability rise to 1 between max and twice max in place of dropping all from max on; Linux has no such thing"),
    queue(&["codel"], "drops when packets have waited too long for too long (RFC 8289)"),
    key("codel", "limit", Kind::Limit, Default("1000p"), U32_PACKETS, LIMIT),
    key("codel", "target", Kind::Time, Default("5ms"), CODEL_TIMES, CODEL_TARGET),
    key("codel", "interval", Kind::Time, Default("100ms"), CODEL_TIMES, CODEL_INTERVAL),
    key("codel", "ce_threshold", Kind::Time, Means("none are"), CODEL_TIMES, CE_THRESHOLD),
    key("codel", "ecn", Kind::Flag, Default("false"), "", MARKS),
    queue(&["fq_codel"], "a queue for each flow, served in turn, each with CoDel (RFC 8290)"),
    key("fq_codel", "limit", Kind::Limit, Default("10240p"), U32_PACKETS, LIMIT),
    key("fq_codel", "flows", Kind::Integer, Default("1024"), "1..65536", FLOWS),
    key("fq_codel", "quantum", Kind::Size, Means("one packet"), "256b..1mib", QUANTUM),
    key("fq_codel", "target", Kind::Time, Default("5ms"), CODEL_TIMES, CODEL_TARGET),
    key("fq_codel", "interval", Kind::Time, Default("100ms"), CODEL_TIMES, CODEL_INTERVAL),
    key("fq_codel", "ce_threshold", Kind::Time, Means("none are"), CODEL_TIMES, CE_THRESHOLD),
    key("fq_codel", "ecn", Kind::Flag, Default("true"), "", MARKS),
    key("fq_codel", "memory_limit", Kind::Size, Default("32mib"), MEMORY, MEMORY_LIMIT),
    key("fq_codel", "drop_batch", Kind::Integer, Default("64"), U32, DROP_BATCH),
    queue(&["pie"], "drops at random, so that the delay stays near a target (RFC 8033)"),
    key("pie", "limit", Kind::Limit, Default("1000p"), U32_PACKETS, LIMIT),
    key("pie", "target", Kind::Time, Default("15ms"), U32_MICROSECONDS, PIE_TARGET),
    key("pie", "tupdate", Kind::Time, Default("15ms"), U32_MICROSECONDS, TUPDATE),
    key("pie", "alpha", Kind::Integer, Default("2"), GAINS, ALPHA),
    key("pie", "beta", Kind::Integer, Default("20"), GAINS, BETA),
    key("pie", "ecn", Kind::Flag, Default("false"), "", MARKS),
    key("pie", "bytemode", Kind::Flag, Default("false"), "", BYTEMODE),
    key("pie", "dq_rate_estimator", Kind::Flag, Default("false"), "", ESTIMATOR),
    queue(&["fq_pie"], "a queue for each flow, served in turn, each with PIE"),
    key("fq_pie", "limit", Kind::Limit, Default("10240p"), U32_PACKETS, LIMIT),
    key("fq_pie", "flows", Kind::Integer, Default("1024"), "1..65536", FLOWS),
    key("fq_pie", "quantum", Kind::Size, Means("one packet"), "256b..1mib", QUANTUM),
    key("fq_pie", "target", Kind::Time, Default("15ms"), U32_MICROSECONDS, PIE_TARGET),
    key("fq_pie", "tupdate", Kind::Time, Default("15ms"), U32_MICROSECONDS, TUPDATE),
    key("fq_pie", "alpha", Kind::Integer, Default("2"), GAINS, ALPHA),
    key("fq_pie", "beta", Kind::Integer, Default("20"), GAINS, BETA),
    key("fq_pie", "ecn", Kind::Flag, Default("false"), "", MARKS),
    key("fq_pie", "ecn_prob", Kind::Integer, Default("10"), "0..100", ECN_PROB),
    key("fq_pie", "bytemode", Kind::Flag, Default("false"), "", BYTEMODE),
    key("fq_pie", "dq_rate_estimator", Kind::Flag, Default("false"), "", ESTIMATOR),
    queue(&["prio"], "strict priorities by the type of service"),
    key("prio", "bands", Kind::Integer, Default("3"), "3..16", BANDS),
    key("prio", "limit", Kind::Limit, Default("1000p"), BAND_PACKETS, BAND_LIMIT),
    queue(&["pfifo_fast"], "strict priorities by the type of service, in three bands"),
    key("pfifo_fast", "limit", Kind::Limit, Default("1000p"), BAND_PACKETS, BAND_LIMIT),
    queue(&["cake"], "a shaper, classes of service, equal shares for hosts and flows, and COBALT, which is CoDel and BLUE"),
    key("cake", "bandwidth", Kind::Rate, Means("nothing is held back"), "1kbit..1tbit", BANDWIDTH),
    key("cake", "diffserv", Kind::Choice(DIFFSERVS), Default("diffserv3"), "", DIFFSERV),
    key("cake", "flowmode", Kind::Choice(FLOW_MODES), Default("triple-isolate"), "", FLOWMODE),
    key("cake", "rtt", Kind::Time, Default("100ms"), U32_MICROSECONDS, RTT),
    key("cake", "overhead", Kind::Integer, Default("0"), "0..256", OVERHEAD),
    key("cake", "mpu", Kind::Integer, Default("0"), "0..256", MPU),
    key("cake", "atm", Kind::Choice(ATMS), Default("noatm"), "", ATM),
    key("cake", "ingress", Kind::Flag, Default("false"), "", INGRESS),
    key("cake", "memlimit", Kind::Size, Means("four round trips at bandwidth, 4mib at least"), MEMORY, MEMORY_LIMIT),
    queue(&["kernel:fq_codel"], "the kernel's own: a queue for each flow, served in turn, each with CoDel (RFC 8290)"),
    key("kernel:fq_codel", "limit", Kind::Limit, Means("the kernel's, 10240p"), U32_PACKETS, LIMIT),
    key("kernel:fq_codel", "flows", Kind::Integer, Means("the kernel's, 1024"), "1..65536", FLOWS),
    key("kernel:fq_codel", "quantum", Kind::Size, Means("the kernel's, one packet"), "256b..1mib", QUANTUM),
    key("kernel:fq_codel", "target", Kind::Time, Means("the kernel's, 5ms"), U32_MICROSECONDS, CODEL_TARGET),
    key("kernel:fq_codel", "interval", Kind::Time, Means("the kernel's, 100ms"), U32_MICROSECONDS, CODEL_INTERVAL),
    key("kernel:fq_codel", "ecn", Kind::Flag, Means("the kernel's, true"), "", MARKS),
    key("kernel:fq_codel", "ce_threshold", Kind::Time, Means("none are"), U32_MICROSECONDS, CE_THRESHOLD),
    key("kernel:fq_codel", "memory_limit", Kind::Size, Means("the kernel's, 32mib"), MEMORY, MEMORY_LIMIT),
    key("kernel:fq_codel", "drop_batch", Kind::Integer, Means("the kernel's, 64"), U32, DROP_BATCH),
    queue(&["kernel:codel"], "the kernel's own: drops when packets have waited too long for too long (RFC 8289)"),
    key("kernel:codel", "limit", Kind::Limit, Means("the kernel's, 1000p"), U32_PACKETS, LIMIT),
    key("kernel:codel", "target", Kind::Time, Means("the kernel's, 5ms"), U32_MICROSECONDS, CODEL_TARGET),
    key("kernel:codel", "interval", Kind::Time, Means("the kernel's, 100ms"), U32_MICROSECONDS, CODEL_INTERVAL),
    key("kernel:codel", "ecn", Kind::Flag, Means("the kernel's, false"), "", MARKS),
    key("kernel:codel", "ce_threshold", Kind::Time, Means("none are"), U32_MICROSECONDS, CE_THRESHOLD),
    queue(&["kernel:pie"], "the kernel's own: drops at random, so that the delay stays near a target (RFC 8033)"),
    key("kernel:pie", "limit", Kind::Limit, Means("the kernel's, 1000p"), U32_PACKETS, LIMIT),
    key("kernel:pie", "target", Kind::Time, Means("the kernel's, 15ms"), U32_MICROSECONDS, PIE_TARGET),
    key("kernel:pie", "tupdate", Kind::Time, Means("the kernel's, 15ms"), U32_MICROSECONDS, TUPDATE),
    key("kernel:pie", "alpha", Kind::Integer, Means("the kernel's, 2"), "0..32", ALPHA),
    key("kernel:pie", "beta", Kind::Integer, Means("the kernel's, 20"), "0..32", BETA),
    key("kernel:pie", "ecn", Kind::Flag, Means("the kernel's, false"), "", MARKS),
    key("kernel:pie", "bytemode", Kind::Flag, Means("the kernel's, false"), "", BYTEMODE),
    key("kernel:pie", "dq_rate_estimator", Kind::Flag, Means("the kernel's, false"), "", ESTIMATOR),
    queue(&["kernel:fq_pie"], "the kernel's own: a queue for each flow, served in turn, each with PIE"),
    key("kernel:fq_pie", "limit", Kind::Limit, Means("the kernel's, 10240p"), U32_PACKETS, LIMIT),
    key("kernel:fq_pie", "flows", Kind::Integer, Means("the kernel's, 1024"), "1..65536", FLOWS),
    key("kernel:fq_pie", "quantum", Kind::Size, Means("the kernel's, one packet"), "256b..1mib", QUANTUM),
    key("kernel:fq_pie", "target", Kind::Time, Means("the kernel's, 15ms"), U32_MICROSECONDS, PIE_TARGET),
    key("kernel:fq_pie", "tupdate", Kind::Time, Means("the kernel's, 15ms"), U32_MICROSECONDS, TUPDATE),
    key("kernel:fq_pie", "alpha", Kind::Integer, Means("the kernel's, 2"), GAINS, ALPHA),
    key("kernel:fq_pie", "beta", Kind::Integer, Means("the kernel's, 20"), GAINS, BETA),
    key("kernel:fq_pie", "ecn", Kind::Flag, Means("the kernel's, false"), "", MARKS),
    key("kernel:fq_pie", "ecn_prob", Kind::Integer, Means("the kernel's, 10"), "0..100", ECN_PROB),
    key("kernel:fq_pie", "bytemode", Kind::Flag, Means("the kernel's, false"), "", BYTEMODE),
    key("kernel:fq_pie", "dq_rate_estimator", Kind::Flag, Means("the kernel's, false"), "", ESTIMATOR),
    queue(&["kernel:red"], "the kernel's own: drops at random, the more the longer the mean queue"),
    key("kernel:red", "limit", Kind::Limit, Required, U32_BYTES, LIMIT),
    key("kernel:red", "min", Kind::Size, Means("a third of max"), U32_BYTES, RED_MIN),
    key("kernel:red", "max", Kind::Size, Means("three times min, or a quarter of limit"), U32_BYTES, RED_MAX),
    key("kernel:red", "probability", Kind::Share, Default("2%"), "0.0001%..100%", RED_PROBABILITY),
    key("kernel:red", "avpkt", Kind::Size, Default("1000b"), "1b..65535b", "mean packet"),
    key("kernel:red", "burst", Kind::Integer, Means("(2 min + max) / (3 avpkt)"), "1..1000000", RED_BURST),
    key("kernel:red", "ecn", Kind::Flag, Default("false"), "", MARKS),
    key("kernel:red", "harddrop", Kind::Flag, Default("false"), "", HARDDROP),
    key("kernel:red", "adaptive", Kind::Flag, Default("false"), "", ADAPTIVE),
    queue(&["kernel:prio"], "the kernel's own: strict priorities by the type of service"),
    key("kernel:prio", "bands", Kind::Integer, Means("the kernel's, 3"), "3..16", BANDS),
    queue(&["kernel:pfifo_fast"], "the kernel's own: strict priorities by the type of service, in three bands"),
    queue(&["kernel:cake"], "the kernel's own: a shaper, classes of service, equal shares for hosts and flows, and COBALT"),
    key("kernel:cake", "bandwidth", Kind::Rate, Means("nothing is held back"), "1kbit..1tbit", BANDWIDTH),
    key("kernel:cake", "diffserv", Kind::Choice(DIFFSERVS), Means("the kernel's, diffserv3"), "", DIFFSERV),
    key("kernel:cake", "flowmode", Kind::Choice(FLOW_MODES), Means("the kernel's, triple-isolate"), "", FLOWMODE),
    key("kernel:cake", "rtt", Kind::Time, Means("the kernel's, 100ms"), U32_MICROSECONDS, RTT),
    key("kernel:cake", "overhead", Kind::Integer, Means("the kernel's, 0"), "0..256", OVERHEAD),
    key("kernel:cake", "mpu", Kind::Integer, Means("the kernel's, 0"), "0..256", MPU),
    key("kernel:cake", "atm", Kind::Choice(ATMS), Means("the kernel's, noatm"), "", ATM),
    key("kernel:cake", "ingress", Kind::Flag, Means("the kernel's, false"), "", INGRESS),
    key("kernel:cake", "memlimit", Kind::Size, Means("the kernel's, four round trips at bandwidth, 4mib at least"), MEMORY, MEMORY_LIMIT),
    queue(&["kernel:pfifo"], "the kernel's own drop-tail queue in packets"),
    key("kernel:pfifo", "limit", Kind::Limit, Means("the kernel's, 1000p"), U32_PACKETS, LIMIT),
    queue(&["kernel:bfifo"], "the kernel's own drop-tail queue in bytes"),
    key("kernel:bfifo", "limit", Kind::Limit, Means("the kernel's, 1000 packets' worth"), U32_BYTES, LIMIT),
    key("flows", "cc", Kind::Text, Required, "", "the congestion control, a built-in name, the path of a .bpf.c file (#NAME behind it picks one of several), or kernel:NAME for the running kernel's own"),
    key("flows", "params", Kind::Table, Means("the control's own defaults"), "", "parameters of the control; a table params.NAME holds for the control NAME only"),
    key("flows", "count", Kind::Integer, Default("1"), "1..1000000", "number of flows in the group"),
    key("flows", "arrivals", Kind::Table, Means("as count and stagger say"), "", "flows that come by a random process in place of count and stagger, from start until stop"),
    key("flows", "reverse", Kind::Flag, Default("false"), "", "the data takes the reverse path, whose links need queues then; acknowledgements take the forward one"),
    key("flows", "path", Kind::Names, Means("every link, in the file's order"), "", "the links between senders and receivers, from the senders on: the forward path passes their forward directions"),
    key("flows", "reverse_path", Kind::Names, Means("those of path, the other way round"), "", "the links whose reverse directions the reverse path passes, in this order"),
    key("flows", "access", Kind::Table, Means("no constraint"), "", "each sender's own link to the bottleneck"),
    key("flows", "clock", Kind::Table, Means("as the sender's"), "", "the receiver's clock that its timestamps (RFC 7323) show, against the sender's"),
    key("flows", "start", Kind::Start, Default("0s"), TIMES, "when the first flow opens its connection; of a range such as 0s..1s each flow draws its own time, evenly, to which stagger is added"),
    key("flows", "stagger", Kind::Time, Default("0s"), TIMES, "each next flow opens this much later"),
    key("flows", "stop", Kind::Time, Means("the end of the run"), SOME_TIME, "when the applications stop writing, and no more flows arrive"),
    key("flows", "size", Kind::Sizes, Means("without end"), SIZES_RANGE, "how much the application writes"),
    key("flows", "packet", Kind::Size, Default("1500b"), "100b..65535b", "IP length of a full data packet"),
    key("flows", "tos", Kind::Integer, Default("0"), "0..252", "type of service of the flows' packets, such as 0x10 (low delay), which prio, pfifo_fast and cake look at"),
    key("flows", "receive_window", Kind::Size, Means("the largest that can be advertised"), "100b..1gib", "room that the receiver offers"),
    key("flows", "profile", Kind::Profile, Means("the experiment's"), "", "how this group's TCP ends behave"),
    key("flows", "delayed_ack", Kind::Flag, Means("as the profile says"), "", "acknowledge every second segment, or after 40 ms"),
    key("flows", "ecn", Kind::Flag, Means("as the profile says"), "", "negotiate ECN"),
    key("flows", "pacing", Kind::Flag, Means("as the profile says"), "", "pace every flow at Linux's default rates"),
    key("flows", "initial_window", Kind::Integer, Means("as the profile says"), "1..10000", "initial window in segments"),
    key("flows", "rto_min", Kind::Time, Means("as the profile says"), "1ms..120s", "lower bound of the retransmission timeout's variance term"),
    key("arrivals", "kind", Kind::Choice(ARRIVALS), Default("poisson"), "", "the process: exponential times between flows"),
    key("arrivals", "rate", Kind::Frequency, Required, "0.000001/s..1000000/s", "flows a second, in the mean"),
    key("pareto", "kind", Kind::Choice(SIZES), Required, "", "pareto: many small sizes and a few very large"),
    key("pareto", "mean", Kind::Size, Required, SIZES_RANGE, "the mean size, of the bounded distribution if there is a bound"),
    key("pareto", "shape", Kind::Number, Default("1.2"), "1.01..100", "exponent of the tail: the smaller, the heavier"),
    key("pareto", "most", Kind::Size, Means("no bound"), SIZES_RANGE, "where the distribution ends (bounded Pareto)"),
    key("lognormal", "kind", Kind::Choice(&["lognormal"]), Required, "", "sizes whose logarithm is normal"),
    key("lognormal", "mean", Kind::Size, Required, SIZES_RANGE, "the mean size"),
    key("lognormal", "sigma", Kind::Number, Default("1"), "0..10", "standard deviation of the size's natural logarithm"),
    key("exponential", "kind", Kind::Choice(&["exponential"]), Required, "", "sizes without a heavy tail"),
    key("exponential", "mean", Kind::Size, Required, SIZES_RANGE, "the mean size"),
    key("access", "rate", Kind::Rate, Means("no constraint"), RATES, "what a sender's own link carries"),
    key("access", "queue", Kind::Table, Means("a queue that never drops"), "", "where a sender's packets wait for its own link, which needs a rate then: any but the kernel's"),
    key("access", "small_queues", Kind::Flag, Default("false"), "", "each sender is told when a packet has left its host, and keeps few there (TCP small queues); needs a rate; simulator only"),
    key("access", "delay", Kind::Time, Default("0s"), DELAYS, "propagation from the sender to the bottleneck, one way; acknowledgements take it too"),
    key("clock", "offset", Kind::Offset, Default("0s"), "-1000000s..1000000s", "how much it is ahead of the sender's when the run starts; a kernel gives each connection a random one in its place"),
    key("clock", "drift", Kind::Drift, Default("0ppm"), "-10000ppm..10000ppm", "how much faster it runs than the sender's (clock skew, as RFC 6817 calls it); simulator only"),
    key("profile", "base", Kind::Choice(PROFILES), Means("linux, or for a group the experiment's profile"), "", "where the switches start from"),
    switch("sack", "selective acknowledgements (RFC 2018), with duplicate SACK (RFC 2883)"),
    switch("timestamps", "timestamps option (RFC 7323)"),
    switch("tcp_usec_ts", "count microseconds in timestamps, not milliseconds, as Linux does from 6.7 on where the route says so; needs timestamps"),
    switch("window_scaling", "window scaling (RFC 7323)"),
    switch("rack", "time-based loss detection (RFC 8985); needs sack"),
    switch("tlp", "tail loss probe (RFC 8985); needs sack"),
    switch("prr", "proportional rate reduction (RFC 6937)"),
    switch("frto", "forward RTO recovery (RFC 5682)"),
    switch("undo", "undo of a reduction that proves spurious"),
    switch("delayed_ack", "acknowledge every second segment, or after 40 ms"),
    switch("quick_ack", "acknowledge a connection's first segments at once"),
    switch("sack_compression", "let duplicates wait up to a millisecond for one acknowledgement"),
    switch("limited_transmit", "new data on the first two duplicates (RFC 3042)"),
    switch("cwnd_validation", "no growth of an unused window, decay when idle (RFC 7661 as Linux does it)"),
    switch("ecn", "negotiate ECN (RFC 3168)"),
    switch("pacing", "pace every flow at Linux's default rates"),
    key("profile", "initial_window", Kind::Integer, Means("as the base says"), "1..10000", "initial window in segments (RFC 6928)"),
    key("profile", "rto_min", Kind::Time, Means("as the base says"), "1ms..120s", "lower bound of the retransmission timeout's variance term"),
];

const fn key(
    section: &'static str,
    name: &'static str,
    kind: Kind,
    absence: Absence,
    range: &'static str,
    meaning: &'static str,
) -> Key {
    Key { section, name, kind, absence, range, meaning }
}

const fn switch(name: &'static str, meaning: &'static str) -> Key {
    key("profile", name, Kind::Flag, Means("as the base says"), "", meaning)
}

const fn queue(kind: &'static [&'static str; 1], meaning: &'static str) -> Key {
    key(kind[0], "kind", Kind::Choice(kind), Required, "", meaning)
}

/// The keys of one section.
pub fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.section == section)
}

/// One key; the reader asks for keys of the register only.
pub(crate) fn find(section: &str, name: &str) -> &'static Key {
    keys_of(section).find(|key| key.name == name).unwrap_or_else(|| panic!("[{section}] {name} is not in the register"))
}

impl Key {
    /// Least and most, as written in a file.
    pub fn bounds(&self) -> Option<(&'static str, &'static str)> {
        self.range.split_once("..")
    }

    /// The section and the name, with a dot between them.
    pub fn path(&self) -> String {
        match self.section {
            "" => self.name.to_string(),
            section => format!("{section}.{}", self.name),
        }
    }
}

impl Kind {
    /// In words, with an article.
    pub fn words(self) -> String {
        match self {
            Kind::Text => "a string".into(),
            Kind::Integer => "a whole number".into(),
            Kind::Number => "a number such as 1.2".into(),
            Kind::Flag => "true or false".into(),
            Kind::Rate => "a rate such as \"2mbit\"".into(),
            Kind::Time => "a time such as \"10ms\"".into(),
            Kind::Start => "a time such as \"10ms\", or \"0s..1s\" for any between".into(),
            Kind::Offset => "a time such as \"10ms\" or \"-10ms\"".into(),
            Kind::Drift => "a drift such as \"100ppm\" or \"-20ppm\"".into(),
            Kind::Size => "a size such as \"500kb\"".into(),
            Kind::Sizes => format!("a size such as \"500kb\", or a table of kind {}", SIZES.join(", ")),
            Kind::Frequency => "a number of times a second such as \"10/s\"".into(),
            Kind::Limit => "a size such as \"500kb\", packets such as \"300p\", or \"1bdp\"".into(),
            Kind::Share => "a percentage such as \"1%\"".into(),
            Kind::Loss => "a percentage such as \"1%\", or a table such as { p = \"1%\", r = \"30%\" }".into(),
            Kind::Names => "a list of names such as [\"home\", \"core\"]".into(),
            Kind::Choice(names) => format!("one of {}", names.join(", ")),
            Kind::Profile => format!("one of {}, or a table of switches", PROFILES.join(", ")),
            Kind::Table => "a table".into(),
            Kind::Tables => "tables".into(),
        }
    }
}

/// Every key as a Markdown table, for the documentation.
pub fn describe() -> String {
    let mut table = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in KEYS {
        let absence = match key.absence {
            Required => "required".to_string(),
            Default(value) => format!("`{value}`"),
            Means(words) => words.to_string(),
        };
        let range = key.bounds().map(|(least, most)| format!(", {least} to {most}")).unwrap_or_default();
        let value = format!("{}{range}", key.kind.words());
        table += &format!("| `{}` | {value} | {absence} | {} |\n", key.path(), key.meaning);
    }
    table
}
