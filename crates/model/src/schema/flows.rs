//! The keys of flow groups: when they come, how much they send, and how their TCP ends behave.

use super::key::Key;
use crate::declare::Declared;
use crate::workload::{Exponential, Lognormal, Pareto, Poisson};
use crate::{Access, Clock, FlowGroup, TcpProfile, TcpRmem};

/// Section by section.
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
];
