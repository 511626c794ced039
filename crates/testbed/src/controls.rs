//! The mechanisms of a run in the kernel: each group's congestion control and its receivers' window controller. They
//! are unloaded when the run is over.

use crate::error::Error;
use crate::host::Host;
use kernel::{Loaded, WindowPrograms, tun};
use mechanism::{Library, Role, WindowScope};
use model::{FlowGroup, MechanismRef, MechanismSource, Scenario};
use nix::net::if_::if_nametoindex;
use std::io;

/// The kernel's own congestion control that needs ECN at both ends.
const DCTCP: &str = "dctcp";

/// The name of the congestion control in records of datagrams, which have none.
const NONE: &str = "none";

/// The congestion control and window controller that a group's hosts use.
pub struct GroupControl {
    /// The congestion control's name in the kernel; empty if the group has none.
    pub name: String,
    /// The congestion control's name in the scenario.
    pub listed: String,
    /// Whether the congestion control needs ECN at both ends.
    pub needs_ecn: bool,
    /// Keeps our own congestion control registered until it is dropped.
    loaded: Option<Loaded>,
    /// The window controller of the group's receivers, if it has one.
    window_controller: Option<WindowPrograms>,
}

impl GroupControl {
    /// Returns the congestion control that was loaded; none if the group uses one of the kernel's own.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }

    /// Returns the congestion control of programs that do not choose one; none leaves the kernel's default.
    pub(crate) fn preferred(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    /// Returns the programs of the group's window controller, if it has one.
    pub fn window_controller(&self) -> Option<&WindowPrograms> {
        self.window_controller.as_ref()
    }

    /// Attaches the group's window controller to a receiving host.
    pub(crate) fn attach_to(&self, host: &Host) -> io::Result<()> {
        let Some(programs) = &self.window_controller else { return Ok(()) };
        host.namespace.within(|| programs.attach(if_nametoindex(tun::NAME)?).map_err(io::Error::other))
    }
}

/// Loads the mechanisms of each flow group of `scenario`.
///
/// # Errors
/// If a mechanism cannot be built, or the kernel rejects it or has none of that name.
pub fn load(scenario: &Scenario, library: &Library) -> Result<Vec<GroupControl>, Error> {
    let control = |(group, flows): (usize, &FlowGroup)| {
        let control = one(&flows.cc, library, scenario.control_seed(group));
        let mut control = control.map_err(|error| error.of(Role::CongestionControl(group)))?;
        // The host's device has frames without a link header, and no other connections.
        let load = |controller| WindowPrograms::load(library, controller, &WindowScope::default(), None);
        let controller = flows.window_controller.as_ref().map(load).transpose();
        control.window_controller = controller.map_err(|error| error.of(Role::WindowController(group)))?;
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
            return Ok(GroupControl { name: name.clone(), listed, needs_ecn, loaded: None, window_controller: None });
        }
        MechanismSource::Builtin(name) => name.clone(),
        MechanismSource::File(path) => path.display().to_string(),
        MechanismSource::None => {
            let (name, listed) = (String::new(), NONE.into());
            return Ok(GroupControl { name, listed, needs_ecn: false, loaded: None, window_controller: None });
        }
    };
    let loaded = kernel::load_for_run(library, cc, seed)?;
    let (name, needs_ecn) = (loaded.kernel_name.to_string(), loaded.needs_ecn);
    Ok(GroupControl { name, listed, needs_ecn, loaded: Some(loaded), window_controller: None })
}
