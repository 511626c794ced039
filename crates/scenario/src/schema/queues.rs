//! The keys of queue disciplines, ours and those of the running kernel, under the names that tc(8) has.

use super::key::Absence::{Default, Means, Required};
use super::key::KeyType::{Choice, Flag, Integer, Limit, Rate, Share, Size, Time};
use super::key::{Key, QUEUES, keys};
use crate::queue::{ATMS, DIFFSERVS, FLOW_MODES};

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
const CODEL_TARGET: &str = "acceptable standing queueing delay";
const CODEL_INTERVAL: &str = "how long the delay must exceed target before packets are dropped";
const CE_THRESHOLD: &str = "packets that have waited longer than this are marked in any case";
const MEMORY_LIMIT: &str = "room for packets as the kernel's memory counts them, 2304 bytes for a full one";
const DROP_BATCH: &str = "packets that are dropped at once where there is no more room";
const PIE_TARGET: &str = "queueing delay to keep";
const TUPDATE: &str = "how often the drop probability is computed, rounded up to the kernel's ticks: 15ms becomes 20ms";
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
const INGRESS: &str = "the shaper stands behind the bottleneck: packets that it drops count against the bandwidth";

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "queue":
        "kind" = Choice(QUEUES), Default("droptail") => "the queue discipline";
        "limit" = Limit, Means("it never drops") =>
            "room for waiting packets, the one in transmission not counted; 1bdp is the link's mean rate times the \
            largest propagation round-trip time of the flows that pass it, rounded up to a byte (where limits are in \
            packets, to a packet of the largest size that passes), one packet at least";
        "ecn_threshold" = Limit, Means("it never marks") =>
            "packets of ECN-capable flows that find this much waiting are marked";
    },
    keys! {
        "red":
        "kind" = Choice(&["red"]), Required =>
            "drops at random, more often the longer the mean queue is (Floyd and Jacobson, 1993)";
        "limit" = Limit, Required, U32_BYTES => LIMIT;
        "min" = Size, Means("a third of max"), U32_BYTES => RED_MIN;
        "max" = Size, Means("three times min, or a quarter of limit"), U32_BYTES => RED_MAX;
        "probability" = Share, Default("2%"), "0.0001%..100%" => RED_PROBABILITY;
        "avpkt" = Size, Default("1000b"), "1b..65535b" => "mean packet";
        "burst" = Integer, Means("(2 min + max) / (3 avpkt)"), "1..1000000" => RED_BURST;
        "ecn" = Flag, Default("false") => MARKS;
        "harddrop" = Flag, Default("false") => HARDDROP;
        "adaptive" = Flag, Default("false") => ADAPTIVE;
        "gentle" = Flag, Default("false") =>
            "let the probability rise to 1 between max and twice max in place of dropping all from max on; Linux has \
            no such thing";
    },
    keys! {
        "codel":
        "kind" = Choice(&["codel"]), Required => "drops when packets have waited too long for too long (RFC 8289)";
        "limit" = Limit, Default("1000p"), U32_PACKETS => LIMIT;
        "target" = Time, Default("5ms"), CODEL_TIMES => CODEL_TARGET;
        "interval" = Time, Default("100ms"), CODEL_TIMES => CODEL_INTERVAL;
        "ce_threshold" = Time, Means("none are"), CODEL_TIMES => CE_THRESHOLD;
        "ecn" = Flag, Default("false") => MARKS;
    },
    keys! {
        "fq_codel":
        "kind" = Choice(&["fq_codel"]), Required => "a queue for each flow, served in turn, each with CoDel (RFC 8290)";
        "limit" = Limit, Default("10240p"), U32_PACKETS => LIMIT;
        "flows" = Integer, Default("1024"), "1..65536" => FLOWS;
        "quantum" = Size, Means("one packet"), "256b..1mib" => QUANTUM;
        "target" = Time, Default("5ms"), CODEL_TIMES => CODEL_TARGET;
        "interval" = Time, Default("100ms"), CODEL_TIMES => CODEL_INTERVAL;
        "ce_threshold" = Time, Means("none are"), CODEL_TIMES => CE_THRESHOLD;
        "ecn" = Flag, Default("true") => MARKS;
        "memory_limit" = Size, Default("32mib"), MEMORY => MEMORY_LIMIT;
        "drop_batch" = Integer, Default("64"), U32 => DROP_BATCH;
    },
    keys! {
        "pie":
        "kind" = Choice(&["pie"]), Required => "drops at random, so that the delay stays near a target (RFC 8033)";
        "limit" = Limit, Default("1000p"), U32_PACKETS => LIMIT;
        "target" = Time, Default("15ms"), U32_MICROSECONDS => PIE_TARGET;
        "tupdate" = Time, Default("15ms"), U32_MICROSECONDS => TUPDATE;
        "alpha" = Integer, Default("2"), GAINS => ALPHA;
        "beta" = Integer, Default("20"), GAINS => BETA;
        "ecn" = Flag, Default("false") => MARKS;
        "bytemode" = Flag, Default("false") => BYTEMODE;
        "dq_rate_estimator" = Flag, Default("false") => ESTIMATOR;
    },
    keys! {
        "fq_pie":
        "kind" = Choice(&["fq_pie"]), Required => "a queue for each flow, served in turn, each with PIE";
        "limit" = Limit, Default("10240p"), U32_PACKETS => LIMIT;
        "flows" = Integer, Default("1024"), "1..65536" => FLOWS;
        "quantum" = Size, Means("one packet"), "256b..1mib" => QUANTUM;
        "target" = Time, Default("15ms"), U32_MICROSECONDS => PIE_TARGET;
        "tupdate" = Time, Default("15ms"), U32_MICROSECONDS => TUPDATE;
        "alpha" = Integer, Default("2"), GAINS => ALPHA;
        "beta" = Integer, Default("20"), GAINS => BETA;
        "ecn" = Flag, Default("false") => MARKS;
        "ecn_prob" = Integer, Default("10"), "0..100" => ECN_PROB;
        "bytemode" = Flag, Default("false") => BYTEMODE;
        "dq_rate_estimator" = Flag, Default("false") => ESTIMATOR;
    },
    keys! {
        "prio":
        "kind" = Choice(&["prio"]), Required => "strict priorities by the type of service";
        "bands" = Integer, Default("3"), "2..16" => BANDS;
        "limit" = Limit, Default("1000p"), BAND_PACKETS => BAND_LIMIT;
    },
    keys! {
        "pfifo_fast":
        "kind" = Choice(&["pfifo_fast"]), Required => "strict priorities by the type of service, in three bands";
        "limit" = Limit, Default("1000p"), BAND_PACKETS => BAND_LIMIT;
    },
    keys! {
        "cake":
        "kind" = Choice(&["cake"]), Required =>
            "a shaper, classes of service, equal shares for hosts and flows, and COBALT, which is CoDel and BLUE";
        "bandwidth" = Rate, Means("nothing is held back"), "1kbit..1tbit" => BANDWIDTH;
        "diffserv" = Choice(DIFFSERVS), Default("diffserv3") => DIFFSERV;
        "flowmode" = Choice(FLOW_MODES), Default("triple-isolate") => FLOWMODE;
        "rtt" = Time, Default("100ms"), U32_MICROSECONDS => RTT;
        "overhead" = Integer, Default("0"), "0..256" => OVERHEAD;
        "mpu" = Integer, Default("0"), "0..256" => MPU;
        "atm" = Choice(ATMS), Default("noatm") => ATM;
        "ingress" = Flag, Default("false") => INGRESS;
        "memlimit" = Size, Means("four round trips at bandwidth, 4mib at least"), MEMORY => MEMORY_LIMIT;
    },
    keys! {
        "kernel:fq_codel":
        "kind" = Choice(&["kernel:fq_codel"]), Required =>
            "the kernel's own: a queue for each flow, served in turn, each with CoDel (RFC 8290)";
        "limit" = Limit, Means("the kernel's, 10240p"), U32_PACKETS => LIMIT;
        "flows" = Integer, Means("the kernel's, 1024"), "1..65536" => FLOWS;
        "quantum" = Size, Means("the kernel's, one packet"), "256b..1mib" => QUANTUM;
        "target" = Time, Means("the kernel's, 5ms"), U32_MICROSECONDS => CODEL_TARGET;
        "interval" = Time, Means("the kernel's, 100ms"), U32_MICROSECONDS => CODEL_INTERVAL;
        "ecn" = Flag, Means("the kernel's, true") => MARKS;
        "ce_threshold" = Time, Means("none are"), U32_MICROSECONDS => CE_THRESHOLD;
        "memory_limit" = Size, Means("the kernel's, 32mib"), MEMORY => MEMORY_LIMIT;
        "drop_batch" = Integer, Means("the kernel's, 64"), U32 => DROP_BATCH;
    },
    keys! {
        "kernel:codel":
        "kind" = Choice(&["kernel:codel"]), Required =>
            "the kernel's own: drops when packets have waited too long for too long (RFC 8289)";
        "limit" = Limit, Means("the kernel's, 1000p"), U32_PACKETS => LIMIT;
        "target" = Time, Means("the kernel's, 5ms"), U32_MICROSECONDS => CODEL_TARGET;
        "interval" = Time, Means("the kernel's, 100ms"), U32_MICROSECONDS => CODEL_INTERVAL;
        "ecn" = Flag, Means("the kernel's, false") => MARKS;
        "ce_threshold" = Time, Means("none are"), U32_MICROSECONDS => CE_THRESHOLD;
    },
    keys! {
        "kernel:pie":
        "kind" = Choice(&["kernel:pie"]), Required =>
            "the kernel's own: drops at random, so that the delay stays near a target (RFC 8033)";
        "limit" = Limit, Means("the kernel's, 1000p"), U32_PACKETS => LIMIT;
        "target" = Time, Means("the kernel's, 15ms"), U32_MICROSECONDS => PIE_TARGET;
        "tupdate" = Time, Means("the kernel's, 15ms"), U32_MICROSECONDS => TUPDATE;
        "alpha" = Integer, Means("the kernel's, 2"), "0..32" => ALPHA;
        "beta" = Integer, Means("the kernel's, 20"), "0..32" => BETA;
        "ecn" = Flag, Means("the kernel's, false") => MARKS;
        "bytemode" = Flag, Means("the kernel's, false") => BYTEMODE;
        "dq_rate_estimator" = Flag, Means("the kernel's, false") => ESTIMATOR;
    },
    keys! {
        "kernel:fq_pie":
        "kind" = Choice(&["kernel:fq_pie"]), Required =>
            "the kernel's own: a queue for each flow, served in turn, each with PIE";
        "limit" = Limit, Means("the kernel's, 10240p"), U32_PACKETS => LIMIT;
        "flows" = Integer, Means("the kernel's, 1024"), "1..65536" => FLOWS;
        "quantum" = Size, Means("the kernel's, one packet"), "256b..1mib" => QUANTUM;
        "target" = Time, Means("the kernel's, 15ms"), U32_MICROSECONDS => PIE_TARGET;
        "tupdate" = Time, Means("the kernel's, 15ms"), U32_MICROSECONDS => TUPDATE;
        "alpha" = Integer, Means("the kernel's, 2"), GAINS => ALPHA;
        "beta" = Integer, Means("the kernel's, 20"), GAINS => BETA;
        "ecn" = Flag, Means("the kernel's, false") => MARKS;
        "ecn_prob" = Integer, Means("the kernel's, 10"), "0..100" => ECN_PROB;
        "bytemode" = Flag, Means("the kernel's, false") => BYTEMODE;
        "dq_rate_estimator" = Flag, Means("the kernel's, false") => ESTIMATOR;
    },
    keys! {
        "kernel:red":
        "kind" = Choice(&["kernel:red"]), Required =>
            "the kernel's own: drops at random, more often the longer the mean queue is";
        "limit" = Limit, Required, U32_BYTES => LIMIT;
        "min" = Size, Means("a third of max"), U32_BYTES => RED_MIN;
        "max" = Size, Means("three times min, or a quarter of limit"), U32_BYTES => RED_MAX;
        "probability" = Share, Default("2%"), "0.0001%..100%" => RED_PROBABILITY;
        "avpkt" = Size, Default("1000b"), "1b..65535b" => "mean packet";
        "burst" = Integer, Means("(2 min + max) / (3 avpkt)"), "1..1000000" => RED_BURST;
        "ecn" = Flag, Default("false") => MARKS;
        "harddrop" = Flag, Default("false") => HARDDROP;
        "adaptive" = Flag, Default("false") => ADAPTIVE;
    },
    keys! {
        "kernel:prio":
        "kind" = Choice(&["kernel:prio"]), Required => "the kernel's own: strict priorities by the type of service";
        "bands" = Integer, Means("the kernel's, 3"), "3..16" => BANDS;
    },
    keys! {
        "kernel:pfifo_fast":
        "kind" = Choice(&["kernel:pfifo_fast"]), Required =>
            "the kernel's own: strict priorities by the type of service, in three bands";
    },
    keys! {
        "kernel:cake":
        "kind" = Choice(&["kernel:cake"]), Required =>
            "the kernel's own: a shaper, classes of service, equal shares for hosts and flows, and COBALT";
        "bandwidth" = Rate, Means("nothing is held back"), "1kbit..1tbit" => BANDWIDTH;
        "diffserv" = Choice(DIFFSERVS), Means("the kernel's, diffserv3") => DIFFSERV;
        "flowmode" = Choice(FLOW_MODES), Means("the kernel's, triple-isolate") => FLOWMODE;
        "rtt" = Time, Means("the kernel's, 100ms"), U32_MICROSECONDS => RTT;
        "overhead" = Integer, Means("the kernel's, 0"), "0..256" => OVERHEAD;
        "mpu" = Integer, Means("the kernel's, 0"), "0..256" => MPU;
        "atm" = Choice(ATMS), Means("the kernel's, noatm") => ATM;
        "ingress" = Flag, Means("the kernel's, false") => INGRESS;
        "memlimit" = Size, Means("the kernel's, four round trips at bandwidth, 4mib at least"), MEMORY => MEMORY_LIMIT;
    },
    keys! {
        "kernel:pfifo":
        "kind" = Choice(&["kernel:pfifo"]), Required => "the kernel's own drop-tail queue in packets";
        "limit" = Limit, Means("the kernel's, 1000p"), U32_PACKETS => LIMIT;
    },
    keys! {
        "kernel:bfifo":
        "kind" = Choice(&["kernel:bfifo"]), Required => "the kernel's own drop-tail queue in bytes";
        "limit" = Limit, Means("the kernel's, 1000 packets' worth"), U32_BYTES => LIMIT;
    },
];
