//! Replays the calls that a running kernel made to a window controller in the native build of the same file, and
//! compares the answers.
//!
//! A file compiled for the kernel with `-DUNBLOAT_RECORD` records every call
//! (`algorithms/include/unbloat/record_window.h`), and [`crate::recording`] reads the recording.

use mechanism::{Error, Library, WindowAck, WindowController, WindowFlow};
use model::MechanismRef;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// Addresses and ports of both ends of a connection, as the kernel's map of flows has them.
pub type Ends = [u8; 36];

/// `struct unbloat_window_snapshot`: one recorded call of a window controller in a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WindowEvent {
    /// The addresses and ports of the connection.
    pub ends: Ends,
    /// The window that the controller returned.
    pub answer: u32,
    /// The acknowledgement that the controller got.
    pub ack: WindowAck,
    /// The controller's state when the call began.
    pub before: WindowFlow,
    /// The controller's state when the call ended.
    pub after: WindowFlow,
}

/// The first call after which kernel and native build differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowDifference {
    /// The number of the call in the recording, from 0.
    pub event: usize,
    /// The value that differs: "the answer", or a word of the state.
    pub what: String,
    /// The value in the kernel.
    pub kernel: u64,
    /// The value in the native build.
    pub native: u64,
}

impl fmt::Display for WindowDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WindowDifference { event, what, kernel, native } = self;
        write!(f, "after question {event} {what} is {kernel} in the kernel and {native} natively")
    }
}

impl std::error::Error for WindowDifference {}

/// A native build of a window controller that replays recordings.
pub struct WindowReplay {
    controller: WindowController,
    flows: HashMap<Ends, WindowFlow>,
}

impl WindowReplay {
    /// Builds and opens the window controller; `folder` is `algorithms/`.
    ///
    /// # Errors
    /// The errors of [`Library::load_window`].
    pub fn open(folder: &Path, controller: &MechanismRef) -> Result<WindowReplay, Error> {
        Ok(WindowReplay { controller: Library::open(folder).load_window(controller, 0)?, flows: HashMap::new() })
    }

    /// Replays every call and compares the answer and the state after each one. The controller's private state stays
    /// the native one, until the kernel starts a connection with empty state.
    ///
    /// # Errors
    /// The first difference.
    pub fn play(&mut self, events: &[WindowEvent]) -> Result<(), WindowDifference> {
        for (number, event) in events.iter().enumerate() {
            let differs = |what: String, kernel, native| WindowDifference { event: number, what, kernel, native };
            let flow = self.flows.entry(event.ends).or_insert(event.before);
            if event.before.own.iter().all(|&word| word == 0) {
                *flow = event.before;
            }
            flow.mss = event.before.mss;
            let answer = self.controller.window(flow, &event.ack);
            if answer != event.answer {
                return Err(differs("the answer".into(), event.answer.into(), answer.into()));
            }
            for (word, (kernel, native)) in event.after.own.iter().zip(&flow.own).enumerate() {
                if kernel != native {
                    return Err(differs(format!("word {word} of the state"), *kernel, *native));
                }
            }
        }
        Ok(())
    }
}
