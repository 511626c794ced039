//! The queue disciplines. Their parameters have the names, units and defaults of tc(8) and the kernel.

use super::red::{Red, RedBounds};
use crate::declare::{Packets, Room, Said, choice, kinds, section};
use crate::schema::{KeyType, OF_THE_KERNEL};
use crate::section::Section;
use crate::units::{Bytes, Limit, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// The range of a number of packets that the kernel counts in 32 bits.
pub const U32_PACKETS: &str = "1p..4294967295p";
pub(crate) const U32_BYTES: &str = "1b..4294967295b";
pub(crate) const U32_MICROSECONDS: &str = "1us..4294s";
const U32: &str = "1..4294967295";
/// The range of times that CoDel's clock of 32 bits can represent.
const CODEL_TIMES: &str = "1us..1000s";
/// The range of PIE's `alpha` and `beta`.
const GAINS: &str = "0..32";
const MEMORY: &str = "1b..2gib";
/// The range of `txqueuelen`, the limit of each band.
const BAND_PACKETS: &str = "1p..1000000p";

kinds! {
    /// A discipline with its parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "discipline", rename_all = "snake_case")]
    pub enum Discipline {
        /// Drops the oldest packets of a full queue.
        Drophead(Drophead),
        /// Drops at random, more often the longer the mean queue is.
        Red(Red),
        /// Drops when packets have waited too long for too long.
        Codel(Codel),
        /// A queue for each flow, each with CoDel.
        FqCodel(FqCodel),
        /// Drops at random, so that the delay stays near a target.
        Pie(Pie),
        /// A queue for each flow, each with PIE.
        FqPie(FqPie),
        /// Strict priorities by the type of service.
        Prio(Prio),
        /// Strict priorities by the type of service, in three bands.
        PfifoFast(PfifoFast),
        /// A shaper, classes of service, fair shares for hosts and flows, and COBALT.
        Cake(Cake),
    }
}

section! {
    /// The kernel's FIFO that counts packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Pfifo in "kernel:pfifo" {
        "kind" = KeyType::Choice(&["kernel:pfifo"]), Required => "the kernel's own drop-tail queue in packets";
        /// room for waiting packets
        pub limit: Option<Packets> = Means("the kernel's, 1000p"), U32_PACKETS;
    }
}

section! {
    /// The kernel's FIFO that counts bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Bfifo in "kernel:bfifo" {
        "kind" = KeyType::Choice(&["kernel:bfifo"]), Required => "the kernel's own drop-tail queue in bytes";
        /// room for waiting packets
        pub limit: Option<Room> = Means("the kernel's, 1000 packets' worth"), U32_BYTES;
    }
}

kinds! {
    /// A drop-tail queue of the kernel's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(tag = "discipline", rename_all = "snake_case")]
    pub enum KernelFifo {
        /// A FIFO whose limit is in packets.
        Pfifo(Pfifo),
        /// A FIFO whose limit is in bytes.
        Bfifo(Bfifo),
    }
}

impl KernelFifo {
    /// Returns the room for waiting packets, if the scenario sets it.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            KernelFifo::Pfifo(fifo) => fifo.limit.map(Limit::from),
            KernelFifo::Bfifo(fifo) => fifo.limit.map(Limit::from),
        }
    }
}

impl Discipline {
    /// Reads a section of one of the kernel's disciplines, and notes which keys it has; none for other sections.
    pub fn of_the_kernel(section: &Section) -> Option<(Discipline, Said)> {
        let discipline = Discipline::read_keys(&section.described_as(section.shape.strip_prefix(OF_THE_KERNEL)?))?;
        Some((discipline, Said::of(section, discipline.keys())))
    }

    /// Fills in what a section says in other words: RED's bounds from the others (tc-red(8)), CAKE's keywords. Returns
    /// the keys of the keywords too.
    pub(super) fn filled(mut self, section: &Section) -> (Discipline, Said) {
        let mut said = Said::NONE;
        match &mut self {
            Discipline::Red(red) => {
                let (min, max, burst) = (section.read("min"), section.read("max"), section.read("burst"));
                (red.min, red.max, red.burst) =
                    RedBounds { limit: red.limit, min, max, avpkt: red.avpkt, burst }.fill();
            }
            Discipline::Cake(cake) => said = cake.expand(section),
            _ => {}
        }
        (self, said)
    }

    /// Returns the room for waiting packets in all bands; none if the limit is in memory.
    pub fn limit(&self) -> Option<Limit> {
        let packets = match self {
            Discipline::Drophead(drophead) => return Some(drophead.limit),
            Discipline::Red(red) => return Some(Limit::Bytes(red.limit)),
            Discipline::Cake(_) => return None,
            Discipline::Codel(codel) => codel.limit,
            Discipline::FqCodel(fq_codel) => fq_codel.limit,
            Discipline::Pie(pie) => pie.limit,
            Discipline::FqPie(fq_pie) => fq_pie.limit,
            Discipline::Prio(prio) => prio.bands * prio.limit,
            Discipline::PfifoFast(pfifo_fast) => Prio::default().bands * pfifo_fast.limit,
        };
        Some(Limit::Packets(packets.into()))
    }
}

section! {
    /// A FIFO that drops from its head.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Drophead in "drophead" {
        "kind" = KeyType::Choice(&["drophead"]), Required =>
            "first in, first out; a full queue drops its oldest packets to make room for a new one";
        /// room for waiting packets, without the one in transmission
        pub limit: Limit = Required;
    }
}

section! {
    /// CoDel (RFC 8289).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Codel: Default in "codel" {
        "kind" = KeyType::Choice(&["codel"]), Required =>
            "drops when the waiting time has been too long for too long (RFC 8289)";
        /// room for waiting packets
        #[kernel(Attribute(2))]
        pub limit: u32 [Packets] = Default("1000p"), U32_PACKETS;
        /// acceptable standing queueing delay
        #[kernel(Attribute(1))]
        pub target: Nanos = Default("5ms"), CODEL_TIMES;
        /// how long the delay must exceed target before packets are dropped
        #[kernel(Attribute(3))]
        pub interval: Nanos = Default("100ms"), CODEL_TIMES;
        /// waiting time from which on every packet is marked
        #[kernel(Attribute(5))]
        pub ce_threshold: Option<Nanos> = Means("no packet is"), CODEL_TIMES;
        /// mark packets of ECN-capable flows instead of dropping them
        #[kernel(Attribute(4))]
        pub ecn: bool = Default("false");
    }
}

section! {
    /// FQ-CoDel (RFC 8290).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FqCodel: Default in "fq_codel" {
        "kind" = KeyType::Choice(&["fq_codel"]), Required =>
            "one queue for each flow, served in turn, each with CoDel (RFC 8290)";
        /// room for waiting packets
        #[kernel(Attribute(2))]
        pub limit: u32 [Packets] = Default("10240p"), U32_PACKETS;
        /// number of queues over which flows are spread
        #[kernel(Attribute(5))]
        pub flows: u32 = Default("1024"), "1..65536";
        /// bytes that a queue may send before the next one's turn
        #[kernel(Attribute(6))]
        pub quantum: Option<Bytes> = Means("one packet"), "256b..1mib";
        /// acceptable standing queueing delay
        #[kernel(Attribute(1))]
        pub target: Nanos = Default("5ms"), CODEL_TIMES;
        /// how long the delay must exceed target before packets are dropped
        #[kernel(Attribute(3))]
        pub interval: Nanos = Default("100ms"), CODEL_TIMES;
        /// waiting time from which on every packet is marked
        #[kernel(Attribute(7))]
        pub ce_threshold: Option<Nanos> = Means("no packet is"), CODEL_TIMES;
        /// mark packets of ECN-capable flows instead of dropping them
        #[kernel(Attribute(4))]
        pub ecn: bool = Default("true");
        /// room for packets as the kernel's memory counts them, 2304 bytes for a full one
        #[kernel(Attribute(9))]
        pub memory_limit: Bytes = Default("32mib"), MEMORY;
        /// packets to drop at once when the queue is full
        #[kernel(Attribute(8))]
        pub drop_batch: u32 = Default("64"), U32;
    }
}

section! {
    /// PIE (RFC 8033).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Pie: Default in "pie" {
        "kind" = KeyType::Choice(&["pie"]), Required =>
            "drops at random, so that the delay stays near a target (RFC 8033)";
        /// room for waiting packets
        #[kernel(Attribute(2))]
        pub limit: u32 [Packets] = Default("1000p"), U32_PACKETS;
        /// target of the queueing delay
        #[kernel(Attribute(1))]
        pub target: Nanos = Default("15ms"), U32_MICROSECONDS;
        /// how often the drop probability is computed, rounded up to the kernel's ticks: 15ms becomes 20ms
        #[kernel(Attribute(3))]
        pub tupdate: Nanos = Default("15ms"), U32_MICROSECONDS;
        /// weight of the distance from the target, in sixteenths
        #[kernel(Attribute(4))]
        pub alpha: u32 = Default("2"), GAINS;
        /// weight of the change of the delay, in sixteenths
        #[kernel(Attribute(5))]
        pub beta: u32 = Default("20"), GAINS;
        /// mark packets of ECN-capable flows instead of dropping them
        #[kernel(Attribute(6))]
        pub ecn: bool = Default("false");
        /// drop small packets less often
        #[kernel(Attribute(7))]
        pub bytemode: bool = Default("false");
        /// estimate the delay from the departure rate instead of time stamps
        #[kernel(Attribute(8))]
        pub dq_rate_estimator: bool = Default("false");
    }
}

section! {
    /// FQ-PIE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FqPie: Default in "fq_pie" {
        "kind" = KeyType::Choice(&["fq_pie"]), Required =>
            "one queue for each flow, served in turn, each with PIE";
        /// room for waiting packets
        #[kernel(Attribute(1))]
        pub limit: u32 [Packets] = Default("10240p"), U32_PACKETS;
        /// number of queues over which flows are spread
        #[kernel(Attribute(2))]
        pub flows: u32 = Default("1024"), "1..65536";
        /// bytes that a queue may send before the next one's turn
        #[kernel(Attribute(7))]
        pub quantum: Option<Bytes> = Means("one packet"), "256b..1mib";
        /// target of the queueing delay
        #[kernel(Attribute(3))]
        pub target: Nanos = Default("15ms"), U32_MICROSECONDS;
        /// how often the drop probability is computed, rounded up to the kernel's ticks: 15ms becomes 20ms
        #[kernel(Attribute(4))]
        pub tupdate: Nanos = Default("15ms"), U32_MICROSECONDS;
        /// weight of the distance from the target, in sixteenths
        #[kernel(Attribute(5))]
        pub alpha: u32 = Default("2"), GAINS;
        /// weight of the change of the delay, in sixteenths
        #[kernel(Attribute(6))]
        pub beta: u32 = Default("20"), GAINS;
        /// mark packets of ECN-capable flows instead of dropping them
        #[kernel(Attribute(10))]
        pub ecn: bool = Default("false");
        /// drop probability in percent up to which packets are marked, and above which they are dropped
        #[kernel(Attribute(9))]
        pub ecn_prob: u32 = Default("10"), "0..100";
        /// drop small packets less often
        #[kernel(Attribute(11))]
        pub bytemode: bool = Default("false");
        /// estimate the delay from the departure rate instead of time stamps
        #[kernel(Attribute(12))]
        pub dq_rate_estimator: bool = Default("false");
    }
}

impl FqPie {
    /// Returns the parameters of the PIE of each queue.
    pub fn pie(&self) -> Pie {
        let FqPie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator, .. } = *self;
        Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator }
    }
}

section! {
    /// Strict priorities.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Prio: Default in "prio" {
        "kind" = KeyType::Choice(&["prio"]), Required =>
            "strict priorities by the type of service";
        /// number of bands, of which the lowest sends first; the type of service chooses one of the first three
        pub bands: u32 = Default("3"), "2..16";
        /// room for packets in each band: the device's txqueuelen
        #[kernel(Lacks)]
        pub limit: u32 [Packets] = Default("1000p"), BAND_PACKETS;
    }
}

section! {
    /// Strict priorities in three bands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PfifoFast: Default in "pfifo_fast" {
        "kind" = KeyType::Choice(&["pfifo_fast"]), Required =>
            "strict priorities by the type of service, in three bands";
        /// room for packets in each band: the device's txqueuelen
        #[kernel(Lacks)]
        pub limit: u32 [Packets] = Default("1000p"), BAND_PACKETS;
    }
}

section! {
    /// CAKE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Cake: Default in "cake" {
        "kind" = KeyType::Choice(&["cake"]), Required =>
            "a shaper, classes of service, equal shares for hosts and flows, and COBALT, which is CoDel and BLUE";
        /// rate of the shaper
        #[kernel(Attribute(2))]
        pub bandwidth: Option<Rate> = Means("no shaping"), "1kbit..1tbit";
        /// classes of service by the Diffserv code point
        #[kernel(Attribute(3))]
        pub diffserv: Diffserv = Default("diffserv3");
        /// unit that gets equal shares: flows, hosts, or hosts and the flows of each
        #[kernel(Attribute(5))]
        pub flowmode: FlowMode = Default("triple-isolate");
        /// round-trip time of the paths: CoDel's interval, and twenty times its target
        #[kernel(Attribute(7))]
        pub rtt: Nanos = Default("100ms"), U32_MICROSECONDS;
        /// bytes on the wire that each packet takes beyond its IP length
        #[kernel(Attribute(6))]
        pub overhead: u32 = Default("0"), "0..256";
        /// least number of bytes that a packet takes on the wire
        #[kernel(Attribute(14))]
        pub mpu: u32 = Default("0"), "0..256";
        /// framing of the wire: ATM in units of 53 bytes, or PTM, which takes a byte in 65
        #[kernel(Attribute(4))]
        pub atm: Atm = Default("noatm");
        /// shape behind the bottleneck: dropped packets count against the bandwidth
        #[kernel(Attribute(15))]
        pub ingress: bool = Default("false");
        /// room for packets as the kernel's memory counts them, 2304 bytes for a full one
        #[kernel(Attribute(10))]
        pub memlimit: Option<Bytes> = Means("four round trips at bandwidth, 4mib at least"), MEMORY;
        "keywords" = KeyType::Names, Means("no keywords") =>
            "keywords of tc-cake(8) in place of overhead, mpu, atm and rtt, such as docsis, pppoe-ptm, metro, satellite";
    }
}

choice! {
    /// Classes of service of CAKE.
    #[allow(missing_docs)]
    pub enum Diffserv {
        Diffserv3 = "diffserv3",
        Diffserv4 = "diffserv4",
        Diffserv8 = "diffserv8",
        Besteffort = "besteffort",
        Precedence = "precedence",
    }
}

choice! {
    /// The units to which CAKE gives equal shares.
    #[allow(missing_docs)]
    pub enum FlowMode {
        Flowblind = "flowblind",
        Srchost = "srchost",
        Dsthost = "dsthost",
        Hosts = "hosts",
        Flows = "flows",
        DualSrchost = "dual-srchost",
        DualDsthost = "dual-dsthost",
        TripleIsolate = "triple-isolate",
    }
}

choice! {
    /// How a wire frames packets.
    #[allow(missing_docs)]
    pub enum Atm {
        Noatm = "noatm",
        Atm = "atm",
        Ptm = "ptm",
    }
}

impl FlowMode {
    /// Whether it separates packets by their source hosts.
    pub const fn sources(self) -> bool {
        self as u8 & 1 != 0
    }
    /// Whether it separates packets by their destination hosts.
    pub const fn destinations(self) -> bool {
        self as u8 & 2 != 0
    }
    /// Whether it separates packets by flows.
    pub const fn flows(self) -> bool {
        self as u8 & 4 != 0
    }
}
