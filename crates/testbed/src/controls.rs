//! The mechanisms of a run, each group's congestion control and its receivers' window controller: their instances in
//! the kernel, gone when the run is over.

use crate::error::Error;
use crate::host::Host;
use kernel::{Loaded, WindowPrograms, tun};
use mechanism::{Library, Role, WindowScope};
use model::{FlowGroup, MechanismRef, MechanismSource, Scenario};
use nix::net::if_::if_nametoindex;
use std::io;

/// The kernel's own control that needs ECN at both ends.
const DCTCP: &str = "dctcp";

/// What datagrams have, as their records say.
const NONE: &str = "none";

/// What a group's hosts use.
pub struct GroupControl {
    /// The kernel's name for it; empty where there is none.
    pub name: String,
    /// What the scenario calls it.
    pub listed: String,
    /// It works with ECN only, and the receiver needs it too.
    pub needs_ecn: bool,
    /// Ours is registered as long as this lives.
    loaded: Option<Loaded>,
    /// What lowers the windows of its receivers, if anything does.
    receiver: Option<WindowPrograms>,
}

impl GroupControl {
    /// What was loaded; none of the kernel's own.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }

    /// What programs get that do not choose: the kernel's own where the group has none.
    pub(crate) fn preferred(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    /// The programs of its window controller; none if it has none.
    pub fn receiver(&self) -> Option<&WindowPrograms> {
        self.receiver.as_ref()
    }

    /// Gives a receiving host of the group its window controller.
    pub(crate) fn attach_to(&self, host: &Host) -> io::Result<()> {
        let Some(programs) = &self.receiver else { return Ok(()) };
        host.namespace.within(|| programs.attach(if_nametoindex(tun::NAME)?).map_err(io::Error::other))
    }
}

/// Loads one instance for each group of `scenario`.
///
/// # Errors
/// If a mechanism cannot be built, or the kernel does not take it or has none of that name.
pub fn load(scenario: &Scenario, library: &Library) -> Result<Vec<GroupControl>, Error> {
    let control = |(group, flows): (usize, &FlowGroup)| {
        let control = one(&flows.cc, library, scenario.control_seed(group));
        let mut control = control.map_err(|error| error.of(Role::CongestionControl(group)))?;
        // Its device has frames without a header of their own, and no other connections.
        let load = |receiver| WindowPrograms::load(library, receiver, &WindowScope::default(), None);
        let receiver = flows.receiver.as_ref().map(load).transpose();
        control.receiver = receiver.map_err(|error| error.of(Role::WindowController(group)))?;
        Ok(control)
    };
    scenario.flows.iter().enumerate().map(control).collect()
}

fn one(cc: &MechanismRef, library: &Library, seed: u64) -> Result<GroupControl, kernel::Error> {
    let listed = match &cc.source {
        MechanismSource::Kernel(name) => {
            kernel::require_own(name)?;
            let needs_ecn = name == DCTCP;
            let listed = format!("kernel:{name}");
            return Ok(GroupControl { name: name.clone(), listed, needs_ecn, loaded: None, receiver: None });
        }
        MechanismSource::Builtin(name) => name.clone(),
        MechanismSource::File(path) => path.display().to_string(),
        MechanismSource::None => {
            let (name, listed) = (String::new(), NONE.into());
            return Ok(GroupControl { name, listed, needs_ecn: false, loaded: None, receiver: None });
        }
    };
    let loaded = kernel::load_for_run(library, cc, seed)?;
    let (name, needs_ecn) = (loaded.kernel_name.to_string(), loaded.needs_ecn);
    Ok(GroupControl { name, listed, needs_ecn, loaded: Some(loaded), receiver: None })
}
