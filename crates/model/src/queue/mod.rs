//! Queues: a queue discipline, simulated or the running kernel's, and its limit.

mod cake_keywords;
mod discipline;
mod red;

pub use crate::declare::Said;
use crate::declare::Written;
pub use discipline::{
    Atm, Bfifo, Cake, Codel, Diffserv, Discipline, Drophead, FlowMode, FqCodel, FqPie, KernelFifo, Pfifo, PfifoFast,
    Pie, Prio,
};
pub use red::{Red, RedArithmetic, RedBounds};

use crate::schema::{DROPTAIL, OF_THE_KERNEL};
use crate::section::Section;
use crate::units::Limit;
use serde::{Deserialize, Serialize};

/// A queue discipline with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub enum Queue {
    /// Drop-tail: first in, first out; packets that meet a full queue are dropped.
    Droptail {
        /// Room for waiting packets, without the one in transmission; `None` never drops.
        limit: Option<Limit>,
        /// The marking threshold (DCTCP's K): packets of ECN-capable flows are marked CE if at least this much waits
        /// when they arrive.
        ecn_threshold: Option<Limit>,
    },
    /// The running kernel's own FIFO.
    KernelFifo(KernelFifo),
    /// Any other discipline.
    Managed {
        /// The program that runs the discipline.
        who: Who,
        /// The discipline.
        discipline: Discipline,
    },
}

/// The program that runs a queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// This program.
    Simulated,
    /// The running kernel, which gets the keys that the scenario sets, and has its own defaults for the rest.
    Kernel(Said),
}

/// A queue in JSON, whose hash gives the seeds of a sweep.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Form {
    Droptail {
        limit: Option<Limit>,
        ecn_threshold: Option<Limit>,
    },
    KernelFifo(KernelFifo),
    Kernel {
        said: Said,
        #[serde(flatten)]
        discipline: Discipline,
    },
    Discipline(Discipline),
}

impl From<Queue> for Form {
    fn from(queue: Queue) -> Form {
        match queue {
            Queue::Droptail { limit, ecn_threshold } => Form::Droptail { limit, ecn_threshold },
            Queue::KernelFifo(fifo) => Form::KernelFifo(fifo),
            Queue::Managed { who: Who::Kernel(said), discipline } => Form::Kernel { said, discipline },
            Queue::Managed { who: Who::Simulated, discipline } => Form::Discipline(discipline),
        }
    }
}

impl From<Form> for Queue {
    fn from(form: Form) -> Queue {
        match form {
            Form::Droptail { limit, ecn_threshold } => Queue::Droptail { limit, ecn_threshold },
            Form::KernelFifo(fifo) => Queue::KernelFifo(fifo),
            Form::Kernel { said, discipline } => Queue::Managed { who: Who::Kernel(said), discipline },
            Form::Discipline(discipline) => discipline.into(),
        }
    }
}

/// A queue that never drops.
impl Default for Queue {
    fn default() -> Queue {
        Queue::Droptail { limit: None, ecn_threshold: None }
    }
}

impl From<Discipline> for Queue {
    fn from(discipline: Discipline) -> Queue {
        Queue::Managed { who: Who::Simulated, discipline }
    }
}

impl Written for Queue {
    fn written(&self) -> Vec<(&'static str, String)> {
        match self {
            Queue::Droptail { limit, ecn_threshold } => [("limit", limit), ("ecn_threshold", ecn_threshold)]
                .into_iter()
                .filter_map(|(name, limit)| Some((name, format!("\"{}\"", (*limit)?))))
                .collect(),
            Queue::KernelFifo(fifo) => fifo.written(),
            Queue::Managed { who: Who::Simulated, discipline } => discipline.written(),
            Queue::Managed { who: Who::Kernel(said), discipline } => {
                let mut keys = discipline.written();
                keys.retain(|(name, _)| *name != "kind" && said.has(discipline.keys(), name));
                [vec![("kind", format!("{:?}", self.name()))], keys].concat()
            }
        }
    }
}

impl Queue {
    /// Reads a queue from its section; a limit may be a multiple of the section's bandwidth-delay product.
    pub fn read(section: &Section) -> Queue {
        if let Some((discipline, said)) = Discipline::of_the_kernel(section) {
            let (discipline, filled) = discipline.filled(section);
            let said = said.and(filled).without(discipline.keys(), "keywords");
            return Queue::Managed { who: Who::Kernel(said), discipline };
        }
        if let Some(fifo) = KernelFifo::read(section) {
            return Queue::KernelFifo(fifo);
        }
        match Discipline::read(section) {
            Some(discipline) => discipline.filled(section).0.into(),
            None => Queue::Droptail {
                limit: section.read_limit("limit"),
                ecn_threshold: section.read_limit("ecn_threshold"),
            },
        }
    }

    /// Returns the room for waiting packets; none if the queue never drops, if the kernel chooses, or if the limit is
    /// in memory.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Queue::Droptail { limit, .. } => *limit,
            Queue::KernelFifo(fifo) => fifo.limit(),
            Queue::Managed { who: Who::Kernel(said), discipline } if !said.has(discipline.keys(), "limit") => None,
            Queue::Managed { discipline, .. } => discipline.limit(),
        }
    }

    /// Returns the kind of the queue, as in a file.
    pub fn name(&self) -> String {
        match self {
            Queue::Droptail { .. } => DROPTAIL.into(),
            Queue::KernelFifo(fifo) => fifo.name().into(),
            Queue::Managed { who: Who::Kernel(_), discipline } => format!("{OF_THE_KERNEL}{}", discipline.name()),
            Queue::Managed { who: Who::Simulated, discipline } => discipline.name().into(),
        }
    }

    /// Whether the running kernel runs the discipline.
    pub fn is_of_kernel(&self) -> bool {
        matches!(self, Queue::KernelFifo(_) | Queue::Managed { who: Who::Kernel(_), .. })
    }

    /// Returns the discipline if this program runs it and it is not drop-tail.
    pub fn simulated(&self) -> Option<&Discipline> {
        match self {
            Queue::Managed { who: Who::Simulated, discipline } => Some(discipline),
            _ => None,
        }
    }
}
