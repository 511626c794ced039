//! The two programs of a window controller: loaded, at a device, and taken from it.

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
/// The flows, by both ends.
pub(super) const FLOWS: &str = "unbloat_flows";
/// The control group whose sockets are meant.
const GROUP: &str = "unbloat_group";
/// The programs of one window controller in the kernel.
pub struct WindowPrograms {
    /// The built-in's name, or the path of the file that it was written in.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    object: Object,
}

impl WindowPrograms {
    /// Builds `receiver` and loads its programs for these acknowledgements; `group` is the folder of the control group
    /// if only its sockets are meant.
    ///
    /// # Errors
    /// If there is no such mechanism, it cannot be built or does not take its parameters; if this process may not load;
    /// if the kernel has no types (BTF) or its verifier refuses a program.
    pub fn load(
        library: &Library,
        receiver: &MechanismRef,
        scope: &WindowScope,
        group: Option<&File>,
    ) -> Result<WindowPrograms, Error> {
        rights::require("loading a window controller")?;
        let mut object = library.device_object(MechanismKind::WindowController, receiver)?;
        object.set_scope(scope);
        let DeviceObject { bytes, source, parameters, .. } = object;
        let (loaded, said) = listening(|| opened("unbloat_window", &bytes)?.load());
        let object = loaded.map_err(|error| explained(&source, &error, said))?;
        if let Some(group) = group {
            let map = object.maps().find(|map| map.name() == GROUP).expect("the header declares it");
            let folder = group.as_raw_fd().to_ne_bytes();
            map.update(&0_u32.to_ne_bytes(), &folder, MapFlags::ANY)
                .map_err(|e| Error::machine(format!("the kernel does not take the control group: {e}")))?;
        }
        Ok(WindowPrograms { source, parameters, object })
    }

    /// The loaded object: its maps and programs.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Gives them to a device of the calling thread's namespace; makes the discipline `clsact` there if it has none.
    ///
    /// # Errors
    /// What the kernel says.
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

/// Takes them from a device, if it has them; with `and_clsact` also the discipline.
pub(super) fn detach(device: u32, and_clsact: impl FnOnce() -> bool) {
    // What is not there any more need not be taken away.
    let (_, _) = listening(|| {
        PROGRAMS.into_iter().for_each(|place| place.detach(device));
        if and_clsact() {
            remove_clsact(device);
        }
    });
}

/// Has this device both?
pub(super) fn is_attached(device: u32) -> bool {
    PROGRAMS.into_iter().all(|place| place.maps_at(device).is_some())
}

/// The maps of the programs that this device has.
pub(super) fn attached(device: u32) -> Option<Vec<u32>> {
    PROGRAMS[1].maps_at(device)
}
