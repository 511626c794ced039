//! The queue disciplines that this program has itself. Names, units and defaults of their parameters are those of tc(8)
//! and of the kernel.

use super::red::Red;
use crate::units::{Bytes, Limit, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// A discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "snake_case")]
pub enum Discipline {
    /// Drops at random, the more the longer the mean queue.
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
    /// The same in three bands.
    PfifoFast(PfifoFast),
    /// A shaper, classes of service, fair shares for hosts and flows, and COBALT.
    Cake(Cake),
}

impl Discipline {
    /// As `tc` calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Discipline::Red(_) => "red",
            Discipline::Codel(_) => "codel",
            Discipline::FqCodel(_) => "fq_codel",
            Discipline::Pie(_) => "pie",
            Discipline::FqPie(_) => "fq_pie",
            Discipline::Prio(_) => "prio",
            Discipline::PfifoFast(_) => "pfifo_fast",
            Discipline::Cake(_) => "cake",
        }
    }

    /// Room for waiting packets, in all bands; none where it is counted in memory.
    pub fn limit(&self) -> Option<Limit> {
        let packets = match self {
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

/// CoDel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codel {
    /// Room for so many packets.
    pub limit: u32,
    /// Queueing delay that is accepted.
    pub target: Nanos,
    /// How long more than that is accepted.
    pub interval: Nanos,
    /// Packets that have waited longer are marked in any case.
    pub ce_threshold: Option<Nanos>,
    /// Marks in place of dropping.
    pub ecn: bool,
}

impl Default for Codel {
    fn default() -> Codel {
        Codel {
            limit: 1000,
            target: Nanos::from_millis(5),
            interval: Nanos::from_millis(100),
            ce_threshold: None,
            ecn: false,
        }
    }
}

/// FQ-CoDel (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FqCodel {
    /// Room for so many packets.
    pub limit: u32,
    /// Queues.
    pub flows: u32,
    /// What a queue may send in a turn; the MTU if nothing is said.
    pub quantum: Option<Bytes>,
    /// Queueing delay that is accepted.
    pub target: Nanos,
    /// How long more than that is accepted.
    pub interval: Nanos,
    /// Packets that have waited longer are marked in any case.
    pub ce_threshold: Option<Nanos>,
    /// Marks in place of dropping.
    pub ecn: bool,
    /// Room for so much memory.
    pub memory_limit: Bytes,
    /// Packets that are dropped at once where there is no more room.
    pub drop_batch: u32,
}

impl Default for FqCodel {
    fn default() -> FqCodel {
        let Codel { target, interval, ce_threshold, .. } = Codel::default();
        FqCodel {
            limit: 10_240,
            flows: 1024,
            quantum: None,
            target,
            interval,
            ce_threshold,
            ecn: true,
            memory_limit: Bytes(32 << 20),
            drop_batch: 64,
        }
    }
}

/// PIE (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pie {
    /// Room for so many packets.
    pub limit: u32,
    /// Queueing delay that is aimed at.
    pub target: Nanos,
    /// How often the probability is worked out, to be rounded up to the kernel's ticks.
    pub tupdate: Nanos,
    /// Weight of the distance from the target, in sixteenths.
    pub alpha: u32,
    /// Weight of the change, in sixteenths.
    pub beta: u32,
    /// Marks in place of dropping while the probability is 10 % at most.
    pub ecn: bool,
    /// Drops small packets less often.
    pub bytemode: bool,
    /// Tells the delay from the rate of departures in place of time stamps.
    pub dq_rate_estimator: bool,
}

impl Default for Pie {
    fn default() -> Pie {
        Pie {
            limit: 1000,
            target: Nanos::from_millis(15),
            tupdate: Nanos::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
        }
    }
}

/// FQ-PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FqPie {
    /// Room for so many packets.
    pub limit: u32,
    /// Queues.
    pub flows: u32,
    /// What a queue may send in a turn; the MTU if nothing is said.
    pub quantum: Option<Bytes>,
    /// Queueing delay that is aimed at.
    pub target: Nanos,
    /// How often the probabilities are worked out.
    pub tupdate: Nanos,
    /// Weight of the distance from the target, in sixteenths.
    pub alpha: u32,
    /// Weight of the change, in sixteenths.
    pub beta: u32,
    /// Marks in place of dropping.
    pub ecn: bool,
    /// While the probability is at most so many percent.
    pub ecn_prob: u32,
    /// Drops small packets less often.
    pub bytemode: bool,
    /// Tells the delay from the rate of departures in place of time stamps.
    pub dq_rate_estimator: bool,
}

impl FqPie {
    /// That of each queue.
    pub fn pie(&self) -> Pie {
        let FqPie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator, .. } = *self;
        Pie { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator }
    }
}

impl Default for FqPie {
    fn default() -> FqPie {
        let Pie { target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator, .. } = Pie::default();
        FqPie {
            limit: 10_240,
            flows: 1024,
            quantum: None,
            target,
            tupdate,
            alpha,
            beta,
            ecn,
            ecn_prob: 10,
            bytemode,
            dq_rate_estimator,
        }
    }
}

/// Strict priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prio {
    /// Queues, the lower first.
    pub bands: u32,
    /// Room in each band: the device's `txqueuelen`.
    pub limit: u32,
}

impl Default for Prio {
    fn default() -> Prio {
        Prio { bands: 3, limit: 1000 }
    }
}

/// Strict priorities in three bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfifoFast {
    /// Room in each band: the device's `txqueuelen`.
    pub limit: u32,
}

impl Default for PfifoFast {
    fn default() -> PfifoFast {
        PfifoFast { limit: Prio::default().limit }
    }
}

/// CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cake {
    /// What it lets through; nothing is held back if nothing is said.
    pub bandwidth: Option<Rate>,
    /// Classes of service.
    pub diffserv: Diffserv,
    /// What gets equal shares.
    pub flowmode: FlowMode,
    /// Round-trip time of the paths: CoDel's interval, and twenty times its target.
    pub rtt: Nanos,
    /// Bytes that each packet takes on the wire beside its IP length.
    pub overhead: u32,
    /// Bytes that each takes at least.
    pub mpu: u32,
    /// How the wire frames them.
    pub atm: Atm,
    /// It stands behind the bottleneck, so that what it drops has taken its time.
    pub ingress: bool,
    /// Room for so much memory.
    pub memlimit: Option<Bytes>,
}

impl Default for Cake {
    fn default() -> Cake {
        Cake {
            bandwidth: None,
            diffserv: Diffserv::Diffserv3,
            flowmode: FlowMode::TripleIsolate,
            rtt: Nanos::from_millis(100),
            overhead: 0,
            mpu: 0,
            atm: Atm::Noatm,
            ingress: false,
            memlimit: None,
        }
    }
}

/// Names of a choice, in the order of the kernel's numbers.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $names:ident: $($variant:ident = $text:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum $name { $(#[serde(rename = $text)] $variant),+ }

        /// Their names.
        pub const $names: &[&str] = &[$($text),+];

        impl $name {
            /// The one of this name.
            pub(crate) fn named(name: &str) -> Option<$name> {
                let all = [$($name::$variant),+];
                $names.iter().position(|other| *other == name).map(|n| all[n])
            }
        }
    };
}

choice! {
    /// Classes of service of CAKE.
    Diffserv, DIFFSERVS:
    Diffserv3 = "diffserv3",
    Diffserv4 = "diffserv4",
    Diffserv8 = "diffserv8",
    Besteffort = "besteffort",
    Precedence = "precedence",
}

choice! {
    /// What CAKE gives equal shares.
    FlowMode, FLOW_MODES:
    Flowblind = "flowblind",
    Srchost = "srchost",
    Dsthost = "dsthost",
    Hosts = "hosts",
    Flows = "flows",
    DualSrchost = "dual-srchost",
    DualDsthost = "dual-dsthost",
    TripleIsolate = "triple-isolate",
}

choice! {
    /// How a wire frames packets.
    Atm, ATMS:
    Noatm = "noatm",
    Atm = "atm",
    Ptm = "ptm",
}

impl FlowMode {
    /// Does it look at the hosts that packets come from?
    pub const fn sources(self) -> bool {
        self as u8 & 1 != 0
    }
    /// At those that they go to?
    pub const fn destinations(self) -> bool {
        self as u8 & 2 != 0
    }
    /// At single flows?
    pub const fn flows(self) -> bool {
        self as u8 & 4 != 0
    }
}
