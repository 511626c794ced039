//! The two programs of a window controller: loads them, attaches them to a device, and takes them
//! away.

use crate::loader::{explained, opened};
use crate::messages::listening;
use crate::rights;
use crate::tc_program::{TcProgram, remove_clsact};
use libbpf_rs::{MapCore, MapFlags, Object, TC_EGRESS, TC_INGRESS};
use mechanism::Error;
use mechanism::{DeviceObject, Library, MechanismKind, WindowScope};
use model::MechanismRef;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};

/// The programs (`include/window_program.h`).
const PROGRAMS: [TcProgram; 2] = [
    TcProgram { name: "unbloat_ingress", point: TC_INGRESS, priority: PRIORITY },
    TcProgram { name: "unbloat_egress", point: TC_EGRESS, priority: PRIORITY },
];
const PRIORITY: u32 = 0x4247;
/// Name of the map of flows, by both ends.
pub(super) const FLOWS: &str = "unbloat_flows";
/// Name of the map with the control group whose sockets are selected.
const GROUP: &str = "unbloat_group";
/// The programs of one window controller in the kernel.
pub struct WindowPrograms {
    /// Name of the built-in, or path of the source file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    object: Object,
}

impl WindowPrograms {
    /// Builds a window controller and loads its programs for these acknowledgements. `group` is the
    /// folder of a control group if only its sockets are selected.
    ///
    /// # Errors
    /// Fails if the mechanism does not exist, it cannot be built or refuses its parameters. Also
    /// fails if this process lacks the rights, the kernel has no types (BTF), or its verifier
    /// refuses a program.
    pub fn load(
        library: &Library,
        controller: &MechanismRef,
        scope: &WindowScope,
        group: Option<&File>,
    ) -> Result<WindowPrograms, Error> {
        rights::require("loading a window controller")?;
        let mut object = library.device_object(MechanismKind::WindowController, controller)?;
        object.set_scope(scope);
        let DeviceObject { bytes, source, parameters, .. } = object;
        let (loaded, said) = listening(|| opened("unbloat_window", &bytes)?.load());
        let object = loaded.map_err(|error| explained(&source, &error, said))?;
        if let Some(group) = group {
            let map = object.maps().find(|map| map.name() == GROUP).expect("the header declares it");
            let folder = group.as_raw_fd().to_ne_bytes();
            map.update(&0_u32.to_ne_bytes(), &folder, MapFlags::ANY)
                .map_err(|e| Error::machine(format!("the kernel refuses the control group: {e}")))?;
        }
        Ok(WindowPrograms { source, parameters, object })
    }

    /// Returns the loaded object, with its maps and programs.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Attaches the programs to a device of the calling thread's namespace, and creates the
    /// discipline `clsact` there if it is missing.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn attach(&self, device: u32) -> libbpf_rs::Result<()> {
        let (done, _) = listening(|| {
            for place in PROGRAMS {
                let program = self.object.progs().find(|program| program.name() == place.name);
                place.attach(program.expect("the header declares it").as_fd(), device)?;
            }
            Ok(())
        });
        done
    }
}

/// Takes the programs from a device, if they are there; if `and_clsact` says so, also the
/// discipline.
pub(super) fn detach(device: u32, and_clsact: impl FnOnce() -> bool) {
    // Programs that are gone need not be taken away.
    let (_, _) = listening(|| {
        PROGRAMS.into_iter().for_each(|place| place.detach(device));
        if and_clsact() {
            remove_clsact(device);
        }
    });
}

/// Reports whether this device has both programs.
pub(super) fn is_attached(device: u32) -> bool {
    PROGRAMS.into_iter().all(|place| place.maps_at(device).is_some())
}

/// Returns the maps of the programs at this device; none without them.
pub(super) fn attached(device: u32) -> Option<Vec<u32>> {
    PROGRAMS[1].maps_at(device)
}
