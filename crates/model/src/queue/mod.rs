//! Where packets wait: a queue discipline, ours or the running kernel's, and its limit.

mod discipline;
mod red;

pub use discipline::{Atm, Cake, Codel, Diffserv, Discipline, FlowMode, FqCodel, FqPie, PfifoFast, Pie, Prio};
pub(crate) use discipline::{U32_BYTES, U32_MICROSECONDS, U32_PACKETS};
pub use red::{Red, RedArithmetic, RedBounds};

use crate::units::{Bytes, Limit, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// A queue discipline with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Queue {
    /// First in, first out; what finds it full is dropped.
    Droptail {
        /// Room for waiting packets (the one being transmitted has left the queue); `None` never drops.
        limit: Option<Limit>,
        /// Packets of ECN-capable flows that arrive when this much waits are marked CE (DCTCP's threshold K).
        ecn_threshold: Option<Limit>,
    },
    /// One of the running kernel's own.
    Kernel(KernelQueue),
    /// Another of this program's own.
    Discipline(Discipline),
}

/// A queue discipline of the kernel's. What is not said is left to the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelQueue {
    /// As `tc` calls it.
    pub discipline: &'static str,
    /// As `tc` calls them, in the schema's order.
    pub parameters: Vec<(&'static str, ParameterValue)>,
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ParameterValue {
    Number(u64),
    Flag(bool),
    Time(Nanos),
    Size(Bytes),
    Limit(Limit),
    Share(f64),
    Rate(Rate),
}

impl KernelQueue {
    /// The value of a parameter, if the scenario says one.
    pub fn parameter(&self, name: &str) -> Option<ParameterValue> {
        self.parameters.iter().find(|(parameter, _)| *parameter == name).map(|(_, value)| *value)
    }
}

/// A queue that never drops.
impl Default for Queue {
    fn default() -> Queue {
        Queue::Droptail { limit: None, ecn_threshold: None }
    }
}

impl Queue {
    /// Room for waiting packets; none if it never drops, if the kernel chooses, or if it is counted in memory.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Queue::Droptail { limit, .. } => *limit,
            Queue::Kernel(queue) => match queue.parameter("limit") {
                Some(ParameterValue::Limit(limit)) => Some(limit),
                _ => None,
            },
            Queue::Discipline(discipline) => discipline.limit(),
        }
    }
}
