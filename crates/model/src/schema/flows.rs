//! The keys of flow groups: when they come, how much they send, and how their TCP ends behave.

use super::key::Absence::{Default, Required};
use super::key::KeyType::{Choice, Frequency};
use super::key::{ARRIVALS, Key, keys};
use crate::declare::Declared;
use crate::workload::{Exponential, Lognormal, Pareto};
use crate::{Access, Clock, FlowGroup, TcpProfile, TcpRmem};

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    FlowGroup::KEYS,
    keys! {
        "arrivals":
        "kind" = Choice(ARRIVALS), Default("poisson") => "the process: exponential times between flows";
        "rate" = Frequency, Required, "0.000001/s..1000000/s" => "flows a second, in the mean";
    },
    Pareto::KEYS,
    Lognormal::KEYS,
    Exponential::KEYS,
    Access::KEYS,
    TcpRmem::KEYS,
    Clock::KEYS,
    TcpProfile::KEYS,
];
