//! Programs of ours at the ingress and egress of devices (`clsact`).

use super::messages::listening;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// By this the kernel tells filters of one priority apart; ours has each priority alone.
const HANDLE: u32 = 1;

/// Where a program stands at any device.
#[derive(Clone, Copy)]
pub(super) struct TcProgram {
    pub(super) name: &'static str,
    pub(super) point: TcAttachPoint,
    /// By this the kernel tells filters of a device apart; the lower goes first.
    pub(super) priority: u32,
}

impl TcProgram {
    /// Gives it to a device of the calling thread's namespace; makes the discipline `clsact` there if it has none.
    pub(super) fn attach(self, program: BorrowedFd, device: u32) -> libbpf_rs::Result<()> {
        clsact(program, device).create()?;
        self.hook(program, device).attach().map(|_| ())
    }

    /// Takes it from a device, if it has it.
    pub(super) fn detach(self, device: u32) {
        if self.maps_at(device).is_some() {
            let _ = self.hook(io::stdin().as_fd(), device).detach();
        }
    }

    /// The maps of the program, if this device has it.
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

/// Takes the discipline from a device.
pub(super) fn remove_clsact(device: u32) {
    let _ = clsact(io::stdin().as_fd(), device).destroy();
}

fn clsact(any: BorrowedFd, device: u32) -> TcHook {
    TcHookBuilder::new(any).ifindex(device as i32).hook(TC_INGRESS | TC_EGRESS)
}
