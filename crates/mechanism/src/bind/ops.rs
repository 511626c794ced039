//! `struct tcp_congestion_ops` of the native target, and its callbacks.

use std::ffi::c_void;
use std::fmt;

/// Bytes of a name with the zero at its end (`TCP_CA_NAME_MAX`).
pub(crate) const NAME_LENGTH: usize = 16;

/// A program that returns nothing. Its arguments are in an array, as the kernel passes them. A fault unwinds through
/// it.
pub(crate) type ReturnsNothing = unsafe extern "C-unwind" fn(*const u64);
/// A program that returns a number of segments, or a factor.
pub(crate) type ReturnsU32 = unsafe extern "C-unwind" fn(*const u64) -> u32;

/// `struct tcp_congestion_ops` of the native target.
#[repr(C)]
pub(crate) struct CongestionOps {
    pub(crate) ssthresh: Option<ReturnsU32>,
    pub(crate) cong_avoid: Option<ReturnsNothing>,
    pub(crate) set_state: Option<ReturnsNothing>,
    pub(crate) cwnd_event: Option<ReturnsNothing>,
    pub(crate) in_ack_event: Option<ReturnsNothing>,
    pub(crate) pkts_acked: Option<ReturnsNothing>,
    pub(crate) min_tso_segs: Option<ReturnsU32>,
    pub(crate) cong_control: Option<ReturnsNothing>,
    pub(crate) undo_cwnd: Option<ReturnsU32>,
    pub(crate) sndbuf_expand: Option<ReturnsU32>,
    pub(crate) get_info: Option<ReturnsNothing>,
    pub(crate) init: Option<ReturnsNothing>,
    pub(crate) release: Option<ReturnsNothing>,
    pub(crate) name: [u8; NAME_LENGTH],
    pub(crate) flags: u32,
    owner: *mut c_void,
}

/// A member of `struct tcp_congestion_ops` that is a program, or the one function of a window controller or a
/// classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Callback {
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    MinTsoSegs,
    CongControl,
    UndoCwnd,
    SndbufExpand,
    Init,
    Release,
    Window,
    Classify,
}

impl Callback {
    /// All callbacks, each at the index that is its number.
    pub(crate) const ALL: [Callback; 14] = [
        Callback::Ssthresh,
        Callback::CongAvoid,
        Callback::SetState,
        Callback::CwndEvent,
        Callback::InAckEvent,
        Callback::PktsAcked,
        Callback::MinTsoSegs,
        Callback::CongControl,
        Callback::UndoCwnd,
        Callback::SndbufExpand,
        Callback::Init,
        Callback::Release,
        Callback::Window,
        Callback::Classify,
    ];
}

impl fmt::Display for Callback {
    /// Writes the callback's name in `struct tcp_congestion_ops`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Callback::Ssthresh => "ssthresh",
            Callback::CongAvoid => "cong_avoid",
            Callback::SetState => "set_state",
            Callback::CwndEvent => "cwnd_event",
            Callback::InAckEvent => "in_ack_event",
            Callback::PktsAcked => "pkts_acked",
            Callback::MinTsoSegs => "min_tso_segs",
            Callback::CongControl => "cong_control",
            Callback::UndoCwnd => "undo_cwnd",
            Callback::SndbufExpand => "sndbuf_expand",
            Callback::Init => "init",
            Callback::Release => "release",
            Callback::Window => "window",
            Callback::Classify => "classify",
        })
    }
}

impl CongestionOps {
    /// The address of a callback's program, if there is one.
    pub(crate) fn address(&self, callback: Callback) -> Option<usize> {
        let action = |program: Option<ReturnsNothing>| program.map(|program| program as usize);
        let question = |program: Option<ReturnsU32>| program.map(|program| program as usize);
        match callback {
            Callback::Ssthresh => question(self.ssthresh),
            Callback::CongAvoid => action(self.cong_avoid),
            Callback::SetState => action(self.set_state),
            Callback::CwndEvent => action(self.cwnd_event),
            Callback::InAckEvent => action(self.in_ack_event),
            Callback::PktsAcked => action(self.pkts_acked),
            Callback::MinTsoSegs => question(self.min_tso_segs),
            Callback::CongControl => action(self.cong_control),
            Callback::UndoCwnd => question(self.undo_cwnd),
            Callback::SndbufExpand => question(self.sndbuf_expand),
            Callback::Init => action(self.init),
            Callback::Release => action(self.release),
            Callback::Window | Callback::Classify => None,
        }
    }
}
