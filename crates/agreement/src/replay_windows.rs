//! The equality for window controllers: what a running kernel told one and was answered, played to the native
//! build of the same file.
//!
//! A file compiled for the kernel with `-DUNBLOAT_RECORD` writes every question down
//! (`algorithms/include/unbloat/record_window.h`); [`crate::recording`] reads that.

use mechanism::{Error, Library, WindowAck, WindowController, WindowFlow};
use model::MechanismRef;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// Addresses and ports of both ends, as the kernel's map of flows has them.
pub type Ends = [u8; 36];

/// `struct unbloat_window_snapshot`: one question in a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WindowEvent {
    /// Which connection.
    pub ends: Ends,
    /// What was answered.
    pub answer: u32,
    /// What was told.
    pub ack: WindowAck,
    /// The controller's state when it was asked ...
    pub before: WindowFlow,
    /// ... and when it had answered.
    pub after: WindowFlow,
}

/// The first question after which the targets do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowDifference {
    /// Its number in the recording, from 0.
    pub event: usize,
    /// "the answer", or a word of the state.
    pub what: String,
    /// What the kernel left.
    pub kernel: u64,
    /// What the native build left.
    pub native: u64,
}

impl fmt::Display for WindowDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WindowDifference { event, what, kernel, native } = self;
        write!(f, "after question {event} {what} is {kernel} in the kernel and {native} natively")
    }
}

impl std::error::Error for WindowDifference {}

/// A native build that is told what the kernel's was.
pub struct WindowReplay {
    controller: WindowController,
    flows: HashMap<Ends, WindowFlow>,
}

impl WindowReplay {
    /// Builds and opens the controller; `folder` is `algorithms/`.
    ///
    /// # Errors
    /// As [`Library::load_window`].
    pub fn open(folder: &Path, receiver: &MechanismRef) -> Result<WindowReplay, Error> {
        Ok(WindowReplay { controller: Library::open(folder).load_window(receiver, 0)?, flows: HashMap::new() })
    }

    /// Asks everything again, and compares answer and state after each question. What the controller keeps for itself
    /// stays its own, until the kernel begins a connection anew.
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
