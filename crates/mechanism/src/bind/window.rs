//! A window controller, compiled, opened and bound, which the simulated receiver calls.

use crate::bind::opened::{Function, Opened};
use crate::bind::ops::Callback;

/// The function that the macro `WINDOW_CONTROL` defines (`include/window_control.h`).
pub(crate) const WINDOW: Function = Function {
    symbol: "unbloat_window",
    missing: "is not a window controller: it lacks WINDOW_CONTROL(...) (include/window_control.h)",
    callback: Callback::Window,
};
/// Number of words of a controller's own state (`WINDOW_STATE_WORDS`).
const STATE_WORDS: usize = 16;

/// `struct window_flow`: one connection, with the controller's own state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowFlow {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// The controller's own state.
    pub own: [u64; STATE_WORDS],
}

impl WindowFlow {
    /// A new connection, for segments with `mss` bytes of payload.
    pub fn new(mss: u32) -> WindowFlow {
        WindowFlow { mss, ..WindowFlow::default() }
    }
}

/// `struct window_ack`: an acknowledgement that is about to leave.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowAck {
    /// The clock of the receiver, us.
    pub now_us: u64,
    /// Bytes that the application has read since the acknowledgement before.
    pub copied: u32,
    /// The latest RTT measured since then, us; 0 without one.
    pub rtt_us: u32,
    /// A segment is missing.
    pub has_hole: u32,
    /// No RTT can be measured: the connection has no timestamps.
    pub no_rtts: u32,
}

type Window = unsafe extern "C-unwind" fn(*mut WindowFlow, *const WindowAck) -> u32;

/// One loaded instance of a window controller, shared by any number of connections of one run.
///
/// A call may end with a [`crate::Fault`], which unwinds.
pub struct WindowController {
    opened: Opened,
    window: Window,
}

impl WindowController {
    /// The window controller of an opened file, with the address of [`WINDOW`].
    pub(crate) fn new((opened, address): (Opened, usize)) -> WindowController {
        // SAFETY: the macro gives the function this type.
        let window = unsafe { std::mem::transmute::<usize, Window>(address) };
        WindowController { opened, window }
    }

    /// Sets the flow group of the scenario that it serves, which faults name.
    pub fn set_group(&mut self, group: usize) {
        self.opened.set_group(group);
    }

    /// The largest window that an acknowledgement may show, bytes; 0 for the stack's own window.
    pub fn window(&self, flow: &mut WindowFlow, ack: &WindowAck) -> u32 {
        self.opened.set_now(model::units::Nanos::from_micros(ack.now_us));
        self.opened.enter(Callback::Window);
        // SAFETY: both are what the function takes, and outlive the call.
        unsafe { (self.window)(flow, ack) }
    }
}
