//! A congestion control, compiled, opened and bound, which the engine calls.

use crate::bind::maps::MapEntry;
use crate::bind::opened::{HelperResults, Opened};
use crate::bind::ops::{Callback, CongestionOps, ReturnsNothing, ReturnsU32};
use crate::bind::parameter::Setting;
use crate::build::object_file::{CONG_CONTROL_ARGUMENTS, Object};
use crate::sock::{AckSample, CA_PRIV_BYTES, RateSample, TCP_CONG_NEEDS_ECN, TcpSock};
use model::units::Nanos;
use std::collections::HashMap;

/// One loaded instance of a congestion control: one algorithm with one set of parameters, its own globals, clock and
/// generator. Any number of sockets of one run share it; two runs do not. A socket belongs to the instance that
/// initialised it, and no other may be called with it.
///
/// Every callback may end with a [`crate::Fault`], which unwinds.
pub struct Control {
    opened: Opened,
    ops: &'static CongestionOps,
    ssthresh: ReturnsU32,
    undo_cwnd: ReturnsU32,
    cong_control_takes_ack: bool,
    /// The file is a user's, so every callback is followed by a search for writes beyond the private state.
    is_users: bool,
}

impl Control {
    /// Opens a shared object that `object` describes, with `settings`, and binds the congestion control of the symbol
    /// `ops`. Its source is the file `path`, a user's or a built-in. The error continues a sentence that begins with
    /// that path.
    pub(crate) fn open(
        path: &str,
        is_users: bool,
        image: &[u8],
        object: &Object,
        ops: &str,
        settings: &[Setting],
        seed: u64,
    ) -> Result<Control, String> {
        let opened = Opened::open(path, image, object, settings, seed)?;
        // SAFETY: the symbol table places a `struct tcp_congestion_ops` there, and nothing writes it after loading.
        let ops: &'static CongestionOps = unsafe { &*(opened.address(object, ops) as *const CongestionOps) };
        let (Some(ssthresh), Some(undo_cwnd)) = (ops.ssthresh, ops.undo_cwnd) else {
            return Err("lacks a required callback".into());
        };
        let name = String::from_utf8_lossy(ops.name.split(|&b| b == 0).next().unwrap_or_default()).into_owned();
        let opened = opened.called(object, name, |callback| ops.address(callback));
        let takes_ack = |program: ReturnsNothing| opened.arguments(object, program as usize) == CONG_CONTROL_ARGUMENTS;
        let cong_control_takes_ack = ops.cong_control.is_none_or(takes_ack);
        Ok(Control { opened, ops, ssthresh, undo_cwnd, cong_control_takes_ack, is_users })
    }

    /// Puts these entries in the mechanism's maps, before any callback runs; `object` describes its file. The error
    /// continues a sentence that begins with the file's path.
    pub(crate) fn fill_maps(&self, object: &Object, entries: &[MapEntry]) -> Result<(), String> {
        entries.iter().try_for_each(|entry| self.opened.fill(object, entry))
    }

    /// The name under which it registers, as the kernel would list it.
    pub fn name(&self) -> &str {
        self.opened.name()
    }
    /// Sets the flow group of the scenario that it serves, which faults name.
    pub fn set_group(&mut self, group: usize) {
        self.opened.set_group(group);
    }
    /// Reports whether it works on connections with ECN only (`TCP_CONG_NEEDS_ECN`).
    pub fn needs_ecn(&self) -> bool {
        self.ops.flags & TCP_CONG_NEEDS_ECN != 0
    }
    /// Reports whether it replaces the window's growth and reduction altogether: `cong_avoid` and the proportional rate
    /// reduction stay unused.
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ops.cong_control.is_some()
    }
    /// Reports whether it has `tcp_congestion_ops.pkts_acked`.
    #[inline]
    pub fn has_pkts_acked(&self) -> bool {
        self.ops.pkts_acked.is_some()
    }
    /// Reports whether it has `tcp_congestion_ops.in_ack_event`.
    #[inline]
    pub fn has_in_ack_event(&self) -> bool {
        self.ops.in_ack_event.is_some()
    }
    /// Reports whether it has `tcp_congestion_ops.cwnd_event`.
    #[inline]
    pub fn has_cwnd_event(&self) -> bool {
        self.ops.cwnd_event.is_some()
    }
    /// Reports whether it has `tcp_congestion_ops.set_state`.
    #[inline]
    pub fn has_set_state(&self) -> bool {
        self.ops.set_state.is_some()
    }

    /// Sets the clock that the next callbacks read.
    #[inline]
    pub fn set_now(&self, now: Nanos) {
        self.opened.set_now(now);
    }

    /// Sets the helpers' answers in the next callbacks, if it was built for a replay.
    pub fn set_helper_results(&self, results: &HelperResults) {
        self.opened.set_helper_results(results);
    }

    /// The callbacks of the congestion control, by the names of their programs; `object` describes its file.
    pub(crate) fn programs(&self, object: &Object) -> HashMap<String, Callback> {
        let named = Callback::ALL.into_iter().filter_map(|callback| {
            let address = self.ops.address(callback)? - self.opened.base;
            Some((object.program_at(address as u64)?.to_string(), callback))
        });
        named.collect()
    }

    /// `tcp_congestion_ops.init`: a connection starts to use this congestion control.
    pub fn init(&self, sk: &mut TcpSock) {
        self.call(Callback::Init, self.ops.init, &[sk as *mut TcpSock as u64]);
    }
    /// `tcp_congestion_ops.release`, after which the socket's local storage is freed. Call it once for every socket
    /// after its `init`.
    pub fn release(&self, sk: &mut TcpSock) {
        self.call(Callback::Release, self.ops.release, &[sk as *mut TcpSock as u64]);
        if wrote_beyond(sk) {
            self.opened.fault(format_args!("\"{}\" {WROTE_BEHIND}", self.name()));
        }
        // SAFETY: the runtime made the list and forgets it here.
        unsafe { (self.opened.storage_free)(sk) }
    }
    /// `tcp_congestion_ops.ssthresh`: the threshold after a loss, in segments.
    #[inline]
    pub fn ssthresh(&self, sk: &mut TcpSock) -> u32 {
        self.call_for_u32(Callback::Ssthresh, self.ssthresh, sk)
    }
    /// `tcp_congestion_ops.undo_cwnd`: the window after a reduction that proved spurious, in segments.
    #[inline]
    pub fn undo_cwnd(&self, sk: &mut TcpSock) -> u32 {
        let window = self.call_for_u32(Callback::UndoCwnd, self.undo_cwnd, sk);
        if !is_window(window) {
            self.opened.refuse(Callback::UndoCwnd, format_args!("returned {}, {NO_WINDOW}", shown(window)));
        }
        window
    }
    /// `tcp_congestion_ops.cong_avoid`: `acked` segments were newly acknowledged, up to the sequence number `ack`.
    #[inline]
    pub fn cong_avoid(&self, sk: &mut TcpSock, ack: u32, acked: u32) {
        self.call(Callback::CongAvoid, self.ops.cong_avoid, &[sk as *mut TcpSock as u64, ack as u64, acked as u64]);
    }
    /// `tcp_congestion_ops.set_state`, called before `icsk_ca_state` changes to `state`.
    #[inline]
    pub fn set_state(&self, sk: &mut TcpSock, state: u8) {
        self.call(Callback::SetState, self.ops.set_state, &[sk as *mut TcpSock as u64, state as u64]);
    }
    /// `tcp_congestion_ops.cwnd_event` with an event of [`crate::sock::ca_event`].
    #[inline]
    pub fn cwnd_event(&self, sk: &mut TcpSock, event: u32) {
        self.call(Callback::CwndEvent, self.ops.cwnd_event, &[sk as *mut TcpSock as u64, event as u64]);
    }
    /// `tcp_congestion_ops.in_ack_event` with flags of [`crate::sock::ack_event`].
    #[inline]
    pub fn in_ack_event(&self, sk: &mut TcpSock, flags: u32) {
        self.call(Callback::InAckEvent, self.ops.in_ack_event, &[sk as *mut TcpSock as u64, flags as u64]);
    }
    /// `tcp_congestion_ops.pkts_acked`.
    #[inline]
    pub fn pkts_acked(&self, sk: &mut TcpSock, sample: &AckSample) {
        self.call(
            Callback::PktsAcked,
            self.ops.pkts_acked,
            &[sk as *mut TcpSock as u64, sample as *const AckSample as u64],
        );
    }
    /// `tcp_congestion_ops.cong_control`; a program written before Linux 6.10 takes the socket and the sample only.
    #[inline]
    pub fn cong_control(&self, sk: &mut TcpSock, ack: u32, flag: i32, sample: &RateSample) {
        let sample = sample as *const RateSample as u64;
        if self.cong_control_takes_ack {
            self.call(
                Callback::CongControl,
                self.ops.cong_control,
                &[sk as *mut TcpSock as u64, ack as u64, flag as u32 as u64, sample],
            );
        } else {
            self.call(Callback::CongControl, self.ops.cong_control, &[sk as *mut TcpSock as u64, sample]);
        }
    }
    /// `tcp_congestion_ops.sndbuf_expand`: the send buffer in congestion windows; `None` without this callback.
    #[inline]
    pub fn sndbuf_expand(&self, sk: &mut TcpSock) -> Option<u32> {
        self.ops.sndbuf_expand.map(|program| self.call_for_u32(Callback::SndbufExpand, program, sk))
    }
    /// `tcp_congestion_ops.min_tso_segs`: the least segments of a burst; `None` without this callback.
    #[inline]
    pub fn min_tso_segs(&self, sk: &mut TcpSock) -> Option<u32> {
        self.ops.min_tso_segs.map(|program| self.call_for_u32(Callback::MinTsoSegs, program, sk))
    }

    /// Runs a program that may be absent. The first argument is the socket.
    #[inline]
    fn call<const N: usize>(&self, callback: Callback, program: Option<ReturnsNothing>, arguments: &[u64; N]) {
        if let Some(program) = program {
            self.enter(callback);
            // SAFETY: the arguments are those that the kernel passes to this callback; references among them outlive
            // the call.
            unsafe {
                program(arguments.as_ptr());
                self.check(callback, &*(arguments[0] as *const TcpSock));
            }
        }
    }

    /// Runs a program of the socket that returns a number.
    #[inline]
    fn call_for_u32(&self, callback: Callback, program: ReturnsU32, sk: &mut TcpSock) -> u32 {
        self.enter(callback);
        // SAFETY: as in `call`; only the low 32 bits of the result are read.
        let answer = unsafe { program([sk as *mut TcpSock as u64].as_ptr()) };
        self.check(callback, sk);
        answer
    }

    /// Records the callback that is called now, for faults and for the watchdog.
    #[inline]
    fn enter(&self, callback: Callback) {
        self.opened.enter(callback);
    }

    /// Checks that the socket is still one that a kernel would have. For a user's file it checks the memory behind the
    /// private state after every call. For built-ins, which the tests have called, it does so when the socket is
    /// released.
    #[inline]
    fn check(&self, callback: Callback, sk: &TcpSock) {
        // A cong_control of the kernel's own form (`tcp_cwnd_reduction`) leaves 0 for a moment when nothing is in
        // flight.
        let may_be_zero = callback == Callback::CongControl && sk.snd_cwnd == 0;
        if self.is_users && wrote_beyond(sk) || !(is_window(sk.snd_cwnd) || may_be_zero) {
            self.refuse_socket(callback, sk);
        }
    }

    #[cold]
    fn refuse_socket(&self, callback: Callback, sk: &TcpSock) -> ! {
        if wrote_beyond(sk) {
            self.opened.refuse(callback, format_args!("{WROTE_BEHIND}"));
        }
        self.opened.refuse(callback, format_args!("left snd_cwnd = {}, {NO_WINDOW}", shown(sk.snd_cwnd)))
    }
}

/// Reports whether the program wrote behind its private state, where a kernel has no member.
#[inline]
fn wrote_beyond(sk: &TcpSock) -> bool {
    sk.inet_conn.unbloat_guard.iter().fold(0, |all, word| all | word) != 0
}

const WROTE_BEHIND: &str = "wrote beyond its private state, which has 104 bytes";
const _: () = assert!(CA_PRIV_BYTES == 104);
const NO_WINDOW: &str = "which is not a valid window: the kernel warns about it (tcp_snd_cwnd_set, \
                         tcp_init_cwnd_reduction)";

/// Reports whether this is a window; `tcp_snd_cwnd_set` warns about any other.
#[inline]
fn is_window(cwnd: u32) -> bool {
    cwnd as i32 > 0
}

/// A window as text for its author, who may have meant a negative one.
fn shown(cwnd: u32) -> String {
    if cwnd as i32 >= -(1 << 20) && (cwnd as i32) < 0 { format!("{cwnd} ({})", cwnd as i32) } else { cwnd.to_string() }
}
