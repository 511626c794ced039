//! The congestion controls of a run: each group's instance in the kernel, gone when the run is over.

use crate::error::Error;
use crate::kernel::{self, CONTROL_PREFIX, Loaded};
use mechanism::Library;
use scenario::model::{CcSource, CongestionControl, FlowGroup, Scenario};
use std::sync::atomic::{AtomicU32, Ordering};

/// The kernel's own control that needs ECN at both ends.
const DCTCP: &str = "dctcp";

/// What a group's sockets use.
pub struct GroupControl {
    /// The kernel's name for it.
    pub name: String,
    /// What the scenario calls it.
    pub listed: String,
    /// It works with ECN only, and the receiver needs it too.
    pub needs_ecn: bool,
    /// Ours is registered as long as this lives.
    loaded: Option<Loaded>,
}

impl GroupControl {
    /// What was loaded; none of the kernel's own.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }
}

/// Loads one instance for each group of `scenario`.
///
/// # Errors
/// If a control cannot be built, or the kernel does not take it or has none of that name.
pub fn load(scenario: &Scenario, library: &Library) -> Result<Vec<GroupControl>, Error> {
    let control = |(group, flows): (usize, &FlowGroup)| {
        let control = one(&flows.cc, library, scenario.control_seed(group));
        control.map_err(|error| Error::Mechanism { group, error })
    };
    scenario.flows.iter().enumerate().map(control).collect()
}

fn one(cc: &CongestionControl, library: &Library, seed: u64) -> Result<GroupControl, kernel::Error> {
    let listed = match &cc.source {
        CcSource::Kernel(name) => {
            kernel::require_own(name)?;
            let needs_ecn = name == DCTCP;
            return Ok(GroupControl { name: name.clone(), listed: format!("kernel:{name}"), needs_ecn, loaded: None });
        }
        CcSource::Builtin(name) => name.clone(),
        CcSource::File(path) => path.display().to_string(),
    };
    let loaded = kernel::load(library, cc, Some(&private_name()), Some(seed))?;
    Ok(GroupControl { name: loaded.kernel_name.clone(), listed, needs_ecn: loaded.needs_ecn, loaded: Some(loaded) })
}

/// A name that no other run has: of 15 characters at most, as the kernel wants it.
fn private_name() -> String {
    static LOADED: AtomicU32 = AtomicU32::new(0);
    format!("{CONTROL_PREFIX}{}_{}", std::process::id(), LOADED.fetch_add(1, Ordering::Relaxed) % 10_000)
}
