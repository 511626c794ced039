//! A receiver's window controller, compiled, opened and bound: what the simulated receiver calls.

use crate::bind::opened::{Function, Opened};
use crate::bind::ops::Callback;

/// The function that `WINDOW_CONTROL` leaves (`include/window_control.h`).
pub(crate) const WINDOW: Function = Function {
    symbol: "unbloat_window",
    missing: "is no window controller: it has no WINDOW_CONTROL(...) (include/window_control.h)",
    callback: Callback::Window,
};
/// Words of a controller's own state (`WINDOW_STATE_WORDS`).
const STATE_WORDS: usize = 16;

/// `struct window_flow`: one connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowFlow {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// The controller's own state.
    pub own: [u64; STATE_WORDS],
}

impl WindowFlow {
    /// A new one.
    pub fn new(mss: u32) -> WindowFlow {
        WindowFlow { mss, ..WindowFlow::default() }
    }
}

/// `struct window_ack`: an acknowledgement that is about to leave.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowAck {
    /// Clock, us.
    pub now_us: u64,
    /// Bytes that the application has read since the one before.
    pub copied: u32,
    /// The latest RTT that was measured since then, us; 0 without one.
    pub rtt_us: u32,
    /// A segment is missing.
    pub has_hole: u32,
    /// No RTT can be measured: the connection has no timestamps.
    pub no_rtts: u32,
}

type Window = unsafe extern "C-unwind" fn(*mut WindowFlow, *const WindowAck) -> u32;

/// One loaded instance, shared by any number of connections of one run.
///
/// A call may end by a [`crate::Fault`], which unwinds.
pub struct WindowController {
    opened: Opened,
    window: Window,
}

impl WindowController {
    /// That of an opened file, with the address of [`WINDOW`].
    pub(crate) fn new((opened, address): (Opened, usize)) -> WindowController {
        // SAFETY: the macro gives the function this type.
        let window = unsafe { std::mem::transmute::<usize, Window>(address) };
        WindowController { opened, window }
    }

    /// Tells which flow group of the scenario it serves, for faults.
    pub fn set_group(&mut self, group: usize) {
        self.opened.set_group(group);
    }

    /// The largest window that an acknowledgement may show, bytes; 0 = whatever the stack offers.
    pub fn window(&self, flow: &mut WindowFlow, ack: &WindowAck) -> u32 {
        self.opened.set_now(model::units::Nanos::from_micros(ack.now_us));
        self.opened.enter(Callback::Window);
        // SAFETY: both are what the function takes, and outlive the call.
        unsafe { (self.window)(flow, ack) }
    }
}
