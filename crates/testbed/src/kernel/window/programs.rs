//! The two programs of a window controller: loaded, at a device, and taken from it.

use crate::kernel::error::Error;
use crate::kernel::loader::{explained, opened};
use crate::kernel::messages::listening;
use crate::kernel::rights;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, Object, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder};
use mechanism::{Library, WindowObject, WindowScope};
use scenario::model::CongestionControl;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The programs by where they stand (`include/window_program.h`).
const PROGRAMS: [(TcAttachPoint, &str); 2] = [(TC_INGRESS, "unbloat_ingress"), (TC_EGRESS, "unbloat_egress")];
/// The flows, by both ends.
pub(super) const FLOWS: &str = "unbloat_flows";
/// The control group whose sockets are meant.
const GROUP: &str = "unbloat_group";
/// By these the kernel tells filters of a device apart; ours are the same everywhere.
const PRIORITY: u32 = 0x4247;
const HANDLE: u32 = 1;

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
        receiver: &CongestionControl,
        scope: &WindowScope,
        group: Option<&File>,
    ) -> Result<WindowPrograms, Error> {
        rights::require("loading a window controller")?;
        let mut object = library.window_object(receiver)?;
        object.set_scope(scope);
        let WindowObject { bytes, source, parameters, .. } = object;
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
            for (point, name) in PROGRAMS {
                let program = self.object.progs().find(|program| program.name() == name);
                let program = program.expect("the header declares it");
                clsact(program.as_fd(), device).create()?;
                hook(program.as_fd(), device, point).attach()?;
            }
            Ok(())
        });
        done
    }
}

/// Takes them from a device, if it has them; with `and_clsact` also the discipline.
pub(super) fn detach(device: u32, and_clsact: impl FnOnce() -> bool) {
    let any = io::stdin();
    // What is not there any more need not be taken away.
    let (_, _) = listening(|| {
        for (point, name) in PROGRAMS {
            if program_at(device, point).is_some_and(|program| program.name == name) {
                let _ = hook(any.as_fd(), device, point).detach();
            }
        }
        if and_clsact() {
            let _ = clsact(any.as_fd(), device).destroy();
        }
    });
}

/// Has this device both?
pub(super) fn is_attached(device: u32) -> bool {
    PROGRAMS.into_iter().all(|(point, name)| program_at(device, point).is_some_and(|found| found.name == name))
}

/// The maps of the programs that this device has.
pub(super) fn attached(device: u32) -> Option<Vec<u32>> {
    program_at(device, TC_EGRESS).map(|program| program.maps)
}

/// A program in the kernel.
struct Found {
    name: String,
    maps: Vec<u32>,
}

/// The one at our place of a device.
fn program_at(device: u32, point: TcAttachPoint) -> Option<Found> {
    let (id, _) = listening(|| hook(io::stdin().as_fd(), device, point).query().ok());
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let program = ProgInfoIter::with_query_opts(options).find(|program| Some(program.id) == id)?;
    Some(Found { name: program.name.to_string_lossy().into_owned(), maps: program.map_ids })
}

fn clsact(any: BorrowedFd, device: u32) -> TcHook {
    TcHookBuilder::new(any).ifindex(device as i32).hook(TC_INGRESS | TC_EGRESS)
}

fn hook(program: BorrowedFd, device: u32, point: TcAttachPoint) -> TcHook {
    TcHookBuilder::new(program).ifindex(device as i32).priority(PRIORITY).handle(HANDLE).hook(point)
}
