//! A congestion control, compiled, opened and bound: what the engine calls.

use crate::object_file::{CONG_CONTROL_ARGUMENTS, Object};
use crate::operations::NAME_LENGTH;
use crate::parameter::Setting;
use crate::replay::{Callback, Moment};
use crate::sock::{AckSample, RateSample, TCP_CONG_NEEDS_ECN, TcpSock};
use scenario::units::Nanos;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;

/// A program that returns nothing: its arguments stand in an array, as the kernel passes them.
type Action = unsafe extern "C" fn(*const u64);
/// A program that returns a number of segments, or a factor.
type Question = unsafe extern "C" fn(*const u64) -> u32;

/// `struct tcp_congestion_ops` of the native target.
#[repr(C)]
pub(crate) struct CongestionOps {
    pub(crate) ssthresh: Option<Question>,
    pub(crate) cong_avoid: Option<Action>,
    set_state: Option<Action>,
    cwnd_event: Option<Action>,
    in_ack_event: Option<Action>,
    pkts_acked: Option<Action>,
    min_tso_segs: Option<Question>,
    pub(crate) cong_control: Option<Action>,
    pub(crate) undo_cwnd: Option<Question>,
    sndbuf_expand: Option<Question>,
    pub(crate) get_info: Option<Action>,
    init: Option<Action>,
    release: Option<Action>,
    pub(crate) name: [u8; NAME_LENGTH],
    pub(crate) flags: u32,
    owner: *mut c_void,
}

/// `struct unbloat_instance`: what the helpers of one loaded instance read.
#[repr(C)]
struct Instance {
    now: u64,
    random: u64,
    traces: u64,
    jiffies: u64,
}

/// `struct unbloat_runtime`.
#[repr(C)]
struct Runtime {
    instance: *mut Instance,
    storage_free: unsafe extern "C" fn(*mut TcpSock),
}

/// One loaded instance: one algorithm with one set of parameters, its own globals, clock and generator. Any number of
/// sockets of one run share it; two runs do not.
pub struct Control {
    name: String,
    instance: *mut Instance,
    /// Where the shared object begins.
    base: usize,
    ops: &'static CongestionOps,
    ssthresh: Question,
    undo_cwnd: Question,
    cong_control_takes_ack: bool,
    storage_free: unsafe extern "C" fn(*mut TcpSock),
    // Below what points into them: dropped last. The descriptor stays open because the loader tells libraries apart by path.
    _library: libloading::os::unix::Library,
    _image: File,
}

// SAFETY: the pointers lead into memory that belongs to this instance alone; moving it to another thread moves all of it.
unsafe impl Send for Control {}

impl Control {
    /// Opens a shared object that `object` describes, with `settings`, and binds the congestion control of the symbol `ops`.
    /// The error continues a sentence that begins with the file's path.
    pub(crate) fn open(
        image: &[u8],
        object: &Object,
        ops: &str,
        settings: &[Setting],
        seed: u64,
    ) -> Result<Control, String> {
        let file = memory_file(&with_settings(image, settings))
            .map_err(|e| format!("cannot be opened: no room for its image: {e}"))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: the object has no initialisers but the C library's; what it does in callbacks is the user's own program.
        let library = unsafe { libloading::os::unix::Library::open(Some(&path), libloading::os::unix::RTLD_NOW) }
            .map_err(|e| format!("cannot be opened: {e}"))?;
        // SAFETY: the symbol has this type in include/unbloat/runtime.h.
        let runtime: &'static Runtime = unsafe {
            let symbol = library.get::<*const Runtime>(b"unbloat_runtime\0").map_err(|e| e.to_string())?;
            &*symbol.into_raw().cast()
        };
        let base = (runtime as *const Runtime as usize) - object.address_of("unbloat_runtime") as usize;
        // SAFETY: the symbol table places a `struct tcp_congestion_ops` there, and nothing writes it after loading.
        let ops: &'static CongestionOps =
            unsafe { &*((base + object.address_of(ops) as usize) as *const CongestionOps) };
        store_settings(base, settings);
        // SAFETY: the runtime's pointer leads to its static instance.
        unsafe {
            (*runtime.instance).random = seed;
            (*runtime.instance).traces = std::env::var_os("UNBLOAT_PRINTK").is_some() as u64;
        }
        let (Some(ssthresh), Some(undo_cwnd)) = (ops.ssthresh, ops.undo_cwnd) else {
            return Err("lacks a required callback".into());
        };
        Ok(Control {
            name: String::from_utf8_lossy(ops.name.split(|&b| b == 0).next().unwrap_or_default()).into_owned(),
            instance: runtime.instance,
            base,
            ops,
            ssthresh,
            undo_cwnd,
            cong_control_takes_ack: ops
                .cong_control
                .is_none_or(|program| object.arguments(program as usize - base) == CONG_CONTROL_ARGUMENTS),
            storage_free: runtime.storage_free,
            _library: library,
            _image: file,
        })
    }

    /// The name that it registers under, as the kernel would list it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// It works on connections with ECN only (`TCP_CONG_NEEDS_ECN`).
    pub fn needs_ecn(&self) -> bool {
        self.ops.flags & TCP_CONG_NEEDS_ECN != 0
    }
    /// It replaces the window's growth and reduction altogether: `cong_avoid` and the proportional rate reduction stay unused.
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ops.cong_control.is_some()
    }
    /// It has `tcp_congestion_ops.pkts_acked`.
    #[inline]
    pub fn has_pkts_acked(&self) -> bool {
        self.ops.pkts_acked.is_some()
    }
    /// It has `tcp_congestion_ops.in_ack_event`.
    #[inline]
    pub fn has_in_ack_event(&self) -> bool {
        self.ops.in_ack_event.is_some()
    }
    /// It has `tcp_congestion_ops.cwnd_event`.
    #[inline]
    pub fn has_cwnd_event(&self) -> bool {
        self.ops.cwnd_event.is_some()
    }
    /// It has `tcp_congestion_ops.set_state`.
    #[inline]
    pub fn has_set_state(&self) -> bool {
        self.ops.set_state.is_some()
    }

    /// Sets the clock that the next callbacks read.
    #[inline]
    pub fn set_now(&self, now: Nanos) {
        // SAFETY: the instance lives as long as the library, and only this thread's callbacks read it.
        unsafe { (*self.instance).now = now.0 }
    }

    /// What the helpers answer in the next callbacks, if it was built for a replay.
    pub(crate) fn set_moment(&self, moment: &Moment) {
        // SAFETY: as in `set_now`.
        unsafe {
            (*self.instance).now = moment.ns;
            (*self.instance).jiffies = moment.jiffies;
            (*self.instance).random = moment.random;
        }
    }

    /// The callbacks that it has, by the names of the programs that serve them; `object` describes its file.
    pub(crate) fn programs(&self, object: &Object) -> HashMap<String, Callback> {
        let action = |program: Option<Action>| program.map(|program| program as usize);
        let question = |program: Option<Question>| program.map(|program| program as usize);
        let callbacks = [
            (Callback::Ssthresh, question(self.ops.ssthresh)),
            (Callback::CongAvoid, action(self.ops.cong_avoid)),
            (Callback::SetState, action(self.ops.set_state)),
            (Callback::CwndEvent, action(self.ops.cwnd_event)),
            (Callback::InAckEvent, action(self.ops.in_ack_event)),
            (Callback::PktsAcked, action(self.ops.pkts_acked)),
            (Callback::MinTsoSegs, question(self.ops.min_tso_segs)),
            (Callback::CongControl, action(self.ops.cong_control)),
            (Callback::UndoCwnd, question(self.ops.undo_cwnd)),
            (Callback::SndbufExpand, question(self.ops.sndbuf_expand)),
            (Callback::Init, action(self.ops.init)),
            (Callback::Release, action(self.ops.release)),
        ];
        let named = callbacks.into_iter().filter_map(|(callback, program)| {
            Some((object.program_at((program? - self.base) as u64)?.to_string(), callback))
        });
        named.collect()
    }

    /// `tcp_congestion_ops.init`: a connection takes this control.
    pub fn init(&self, sk: &mut TcpSock) {
        act(self.ops.init, &[sk as *mut TcpSock as u64]);
    }
    /// `tcp_congestion_ops.release`, then the socket's local storage goes: call it once for every socket after its `init`.
    pub fn release(&self, sk: &mut TcpSock) {
        act(self.ops.release, &[sk as *mut TcpSock as u64]);
        // SAFETY: the runtime made the list and forgets it here.
        unsafe { (self.storage_free)(sk) }
    }
    /// `tcp_congestion_ops.ssthresh`: the threshold after a loss, in segments.
    #[inline]
    pub fn ssthresh(&self, sk: &mut TcpSock) -> u32 {
        ask(self.ssthresh, sk)
    }
    /// `tcp_congestion_ops.undo_cwnd`: the window after a reduction that proved spurious, in segments.
    #[inline]
    pub fn undo_cwnd(&self, sk: &mut TcpSock) -> u32 {
        ask(self.undo_cwnd, sk)
    }
    /// `tcp_congestion_ops.cong_avoid`: `acked` segments were newly acknowledged; `ack` is the sequence number.
    #[inline]
    pub fn cong_avoid(&self, sk: &mut TcpSock, ack: u32, acked: u32) {
        act(self.ops.cong_avoid, &[sk as *mut TcpSock as u64, ack as u64, acked as u64]);
    }
    /// `tcp_congestion_ops.set_state`, called before `icsk_ca_state` changes to `state`.
    #[inline]
    pub fn set_state(&self, sk: &mut TcpSock, state: u8) {
        act(self.ops.set_state, &[sk as *mut TcpSock as u64, state as u64]);
    }
    /// `tcp_congestion_ops.cwnd_event` with an event of [`crate::sock::ca_event`].
    #[inline]
    pub fn cwnd_event(&self, sk: &mut TcpSock, event: u32) {
        act(self.ops.cwnd_event, &[sk as *mut TcpSock as u64, event as u64]);
    }
    /// `tcp_congestion_ops.in_ack_event` with flags of [`crate::sock::ack_event`].
    #[inline]
    pub fn in_ack_event(&self, sk: &mut TcpSock, flags: u32) {
        act(self.ops.in_ack_event, &[sk as *mut TcpSock as u64, flags as u64]);
    }
    /// `tcp_congestion_ops.pkts_acked`.
    #[inline]
    pub fn pkts_acked(&self, sk: &mut TcpSock, sample: &AckSample) {
        act(self.ops.pkts_acked, &[sk as *mut TcpSock as u64, sample as *const AckSample as u64]);
    }
    /// `tcp_congestion_ops.cong_control`; a program written before Linux 6.10 takes the socket and the sample only.
    #[inline]
    pub fn cong_control(&self, sk: &mut TcpSock, ack: u32, flag: i32, sample: &RateSample) {
        let (sk, sample) = (sk as *mut TcpSock as u64, sample as *const RateSample as u64);
        if self.cong_control_takes_ack {
            act(self.ops.cong_control, &[sk, ack as u64, flag as u32 as u64, sample]);
        } else {
            act(self.ops.cong_control, &[sk, sample]);
        }
    }
    /// `tcp_congestion_ops.sndbuf_expand`: the send buffer in congestion windows; none if the control does not say.
    #[inline]
    pub fn sndbuf_expand(&self, sk: &mut TcpSock) -> Option<u32> {
        self.ops.sndbuf_expand.map(|program| ask(program, sk))
    }
    /// `tcp_congestion_ops.min_tso_segs`: the least segments of a burst; none if the control does not say.
    #[inline]
    pub fn min_tso_segs(&self, sk: &mut TcpSock) -> Option<u32> {
        self.ops.min_tso_segs.map(|program| ask(program, sk))
    }
}

/// Runs a program that may be absent.
#[inline]
fn act<const N: usize>(program: Option<Action>, arguments: &[u64; N]) {
    if let Some(program) = program {
        // SAFETY: the arguments are those that the kernel passes to this callback; references among them outlive the call.
        unsafe { program(arguments.as_ptr()) }
    }
}

/// Runs a program of the socket that gives a number.
#[inline]
fn ask(program: Question, sk: &mut TcpSock) -> u32 {
    // SAFETY: as in `act`; only the low 32 bits of the result are read.
    unsafe { program([sk as *mut TcpSock as u64].as_ptr()) }
}

/// The file with the globals that have bytes in it set.
fn with_settings(image: &[u8], settings: &[Setting]) -> Vec<u8> {
    let mut image = image.to_vec();
    for setting in settings {
        if let Some(range) = setting.symbol.file_range.clone() {
            image[range].copy_from_slice(&setting.bytes);
        }
    }
    image
}

/// Sets the globals that the file leaves out because they are zero.
fn store_settings(base: usize, settings: &[Setting]) {
    for setting in settings.iter().filter(|setting| setting.symbol.file_range.is_none()) {
        let address = (base + setting.symbol.address as usize) as *mut u8;
        // SAFETY: the symbol has as many bytes, zeroed and writable by the loader, and no program runs yet.
        unsafe { address.copy_from_nonoverlapping(setting.bytes.as_ptr(), setting.bytes.len()) }
    }
}

/// A file in memory, so that each instance is opened under a path of its own.
fn memory_file(image: &[u8]) -> std::io::Result<File> {
    let mut file = memfd::MemfdOptions::default()
        .close_on_exec(true)
        .create("unbloat")
        .map_err(std::io::Error::other)?
        .into_file();
    file.write_all(image)?;
    Ok(file)
}
