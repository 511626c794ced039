//! The keys of flow groups: their start, the data that they send, and the behaviour of their TCP ends.

use super::key::Key;
use crate::app::Write;
use crate::declare::Declared;
use crate::workload::{Exponential, Lognormal, Pareto, Poisson};
use crate::{Access, Clock, FlowGroup, TcpProfile, TcpRmem};

/// The keys of flow groups, section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    FlowGroup::KEYS,
    Poisson::KEYS,
    Pareto::KEYS,
    Lognormal::KEYS,
    Exponential::KEYS,
    Access::KEYS,
    TcpRmem::KEYS,
    Clock::KEYS,
    TcpProfile::KEYS,
    Write::KEYS,
];
