//! Programs of this crate at the ingress and egress of devices (`clsact`).

use super::messages::listening;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Number of a filter among those of one priority; this crate's filters have each priority alone.
const HANDLE: u32 = 1;

/// The place of a program at any device.
#[derive(Clone, Copy)]
pub(super) struct TcProgram {
    pub(super) name: &'static str,
    pub(super) point: TcAttachPoint,
    /// Number that orders the filters of a device; lower numbers run first.
    pub(super) priority: u32,
}

impl TcProgram {
    /// Attaches a program to a device of the calling thread's namespace, and creates the discipline
    /// `clsact` there if it is missing.
    pub(super) fn attach(self, program: BorrowedFd, device: u32) -> libbpf_rs::Result<()> {
        clsact(program, device).create()?;
        self.hook(program, device).attach().map(|_| ())
    }

    /// Takes the program from a device, if it is there.
    pub(super) fn detach(self, device: u32) {
        if self.maps_at(device).is_some() {
            let _ = self.hook(io::stdin().as_fd(), device).detach();
        }
    }

    /// Returns the maps of the program, if this device has it.
    pub(super) fn maps_at(self, device: u32) -> Option<Vec<u32>> {
        let (id, _) = listening(|| self.hook(io::stdin().as_fd(), device).query().ok());
        let options = ProgInfoQueryOptions::default().include_map_ids(true);
        let program = ProgInfoIter::with_query_opts(options).find(|program| Some(program.id) == id)?;
        (program.name.to_string_lossy() == self.name).then_some(program.map_ids)
    }

    fn hook(self, program: BorrowedFd, device: u32) -> TcHook {
        TcHookBuilder::new(program).ifindex(device as i32).priority(self.priority).handle(HANDLE).hook(self.point)
    }
}

/// Removes the discipline `clsact` from a device.
pub(super) fn remove_clsact(device: u32) {
    let _ = clsact(io::stdin().as_fd(), device).destroy();
}

fn clsact(any: BorrowedFd, device: u32) -> TcHook {
    TcHookBuilder::new(any).ifindex(device as i32).hook(TC_INGRESS | TC_EGRESS)
}
