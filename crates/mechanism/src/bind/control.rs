//! A congestion control, compiled, opened and bound: what the engine calls.

use crate::bind::fault::Fault;
use crate::bind::object_file::{CONG_CONTROL_ARGUMENTS, Object};
use crate::bind::ops::{Callback, CongestionOps, ReturnsNothing, ReturnsU32};
use crate::bind::parameter::Setting;
use crate::bind::watchdog;
use crate::replay::HelperResults;
use crate::sock::{AckSample, CA_PRIV_BYTES, RateSample, TCP_CONG_NEEDS_ECN, TcpSock};
use scenario::units::Nanos;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// `struct unbloat_instance`: what the helpers of one loaded instance read.
#[repr(C)]
struct Instance {
    now: u64,
    random: u64,
    traces: u64,
    jiffies: u64,
    callback: u64,
    division_fault: unsafe extern "C-unwind" fn(*const Instance, *const c_char, u32, u64),
    /// Behind what C knows.
    identity: *const Identity,
}

/// What an opened control is called in faults.
struct Identity {
    name: String,
    /// As the scenario calls its file, or the built-in's file.
    path: String,
    /// Where the program of each callback is written, `file:line`.
    places: [Option<String>; Callback::ALL.len()],
    group: Cell<usize>,
}

/// `struct unbloat_runtime`.
#[repr(C)]
struct Runtime {
    instance: *mut Instance,
    storage_free: unsafe extern "C" fn(*mut TcpSock),
}

/// One loaded instance: one algorithm with one set of parameters, its own globals, clock and generator. Any number of
/// sockets of one run share it; two runs do not. A socket belongs to the control that initialised it: no other may be
/// called with it.
///
/// Every callback may end by a [`Fault`], which unwinds.
pub struct Control {
    instance: *mut Instance,
    /// Where the shared object begins.
    base: usize,
    ops: &'static CongestionOps,
    ssthresh: ReturnsU32,
    undo_cwnd: ReturnsU32,
    cong_control_takes_ack: bool,
    storage_free: unsafe extern "C" fn(*mut TcpSock),
    identity: Box<Identity>,
    // Below what points into them: dropped last. The descriptor stays open because the loader tells libraries apart by
    // path.
    _watched: watchdog::Watched,
    _library: libloading::os::unix::Library,
    _image: File,
}

// SAFETY: the pointers lead into memory that belongs to this instance alone; moving it to another thread moves all of
// it.
unsafe impl Send for Control {}

impl Control {
    /// Opens a shared object that `object` describes, with `settings`, and binds the congestion control of the symbol
    /// `ops`, written in the file `path`. The error continues a sentence that begins with that path.
    pub(crate) fn open(
        path: &str,
        image: &[u8],
        object: &Object,
        ops: &str,
        settings: &[Setting],
        seed: u64,
    ) -> Result<Control, String> {
        let file = memory_file(&with_settings(image, settings))
            .map_err(|e| format!("cannot be opened: no room for its image: {e}"))?;
        let library = open_library(path, &format!("/proc/self/fd/{}", file.as_raw_fd()))?;
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
        let (Some(ssthresh), Some(undo_cwnd)) = (ops.ssthresh, ops.undo_cwnd) else {
            return Err("lacks a required callback".into());
        };
        let identity = Box::new(Identity {
            name: String::from_utf8_lossy(ops.name.split(|&b| b == 0).next().unwrap_or_default()).into_owned(),
            path: path.to_string(),
            places: Callback::ALL.map(|callback| object.place_of((ops.address(callback)? - base) as u64)),
            group: Cell::new(0),
        });
        // SAFETY: the runtime's pointer leads to its static instance, and the identity lives as long.
        unsafe {
            (*runtime.instance).random = seed;
            (*runtime.instance).traces = std::env::var_os("UNBLOAT_PRINTK").is_some() as u64;
            (*runtime.instance).division_fault = division_fault;
            (*runtime.instance).identity = &*identity;
        }
        let code = object.code();
        // SAFETY: the instance stays where it is as long as the library, which is dropped after this.
        let (now, callback) = unsafe { (&raw const (*runtime.instance).now, &raw const (*runtime.instance).callback) };
        Ok(Control {
            instance: runtime.instance,
            base,
            ops,
            ssthresh,
            undo_cwnd,
            cong_control_takes_ack: ops
                .cong_control
                .is_none_or(|program| object.arguments(program as usize - base) == CONG_CONTROL_ARGUMENTS),
            storage_free: runtime.storage_free,
            _watched: watchdog::Watched::new(
                Range { start: base + code.start as usize, end: base + code.end as usize },
                now,
                callback,
                Callback::ALL.map(|callback| identity.said_of(callback)),
            ),
            identity,
            _library: library,
            _image: file,
        })
    }

    /// The name that it registers under, as the kernel would list it.
    pub fn name(&self) -> &str {
        &self.identity.name
    }
    /// Tells which flow group of the scenario it serves, for faults.
    pub fn set_group(&mut self, group: usize) {
        self.identity.group.set(group);
        self._watched.set_group(group);
    }
    /// It works on connections with ECN only (`TCP_CONG_NEEDS_ECN`).
    pub fn needs_ecn(&self) -> bool {
        self.ops.flags & TCP_CONG_NEEDS_ECN != 0
    }
    /// It replaces the window's growth and reduction altogether: `cong_avoid` and the proportional rate reduction stay
    /// unused.
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
    pub(crate) fn set_helper_results(&self, results: &HelperResults) {
        // SAFETY: as in `set_now`.
        unsafe {
            (*self.instance).now = results.ns;
            (*self.instance).jiffies = results.jiffies;
            (*self.instance).random = results.random;
        }
    }

    /// The callbacks that it has, by the names of the programs that serve them; `object` describes its file.
    pub(crate) fn programs(&self, object: &Object) -> HashMap<String, Callback> {
        let named = Callback::ALL.into_iter().filter_map(|callback| {
            let address = self.ops.address(callback)? - self.base;
            Some((object.program_at(address as u64)?.to_string(), callback))
        });
        named.collect()
    }

    /// `tcp_congestion_ops.init`: a connection takes this control.
    pub fn init(&self, sk: &mut TcpSock) {
        self.call(Callback::Init, self.ops.init, &[sk as *mut TcpSock as u64]);
    }
    /// `tcp_congestion_ops.release`, then the socket's local storage goes: call it once for every socket after its
    /// `init`.
    pub fn release(&self, sk: &mut TcpSock) {
        self.call(Callback::Release, self.ops.release, &[sk as *mut TcpSock as u64]);
        if sk.inet_conn.unbloat_guard.iter().any(|&word| word != 0) {
            self.identity.fault(&self.identity.path, format!("\"{}\" {WROTE_BEHIND}", self.name()));
        }
        // SAFETY: the runtime made the list and forgets it here.
        unsafe { (self.storage_free)(sk) }
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
            self.identity.refuse(Callback::UndoCwnd, format_args!("returned {}, {NO_WINDOW}", shown(window)));
        }
        window
    }
    /// `tcp_congestion_ops.cong_avoid`: `acked` segments were newly acknowledged; `ack` is the sequence number.
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
    /// `tcp_congestion_ops.sndbuf_expand`: the send buffer in congestion windows; none if the control does not say.
    #[inline]
    pub fn sndbuf_expand(&self, sk: &mut TcpSock) -> Option<u32> {
        self.ops.sndbuf_expand.map(|program| self.call_for_u32(Callback::SndbufExpand, program, sk))
    }
    /// `tcp_congestion_ops.min_tso_segs`: the least segments of a burst; none if the control does not say.
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

    /// Runs a program of the socket that gives a number.
    #[inline]
    fn call_for_u32(&self, callback: Callback, program: ReturnsU32, sk: &mut TcpSock) -> u32 {
        self.enter(callback);
        // SAFETY: as in `call`; only the low 32 bits of the result are read.
        let answer = unsafe { program([sk as *mut TcpSock as u64].as_ptr()) };
        self.check(callback, sk);
        answer
    }

    /// Writes down which callback is called now, for whoever finds the process inside.
    #[inline]
    fn enter(&self, callback: Callback) {
        // SAFETY: as in `set_now`.
        unsafe { (*self.instance).callback = callback as u64 }
    }

    /// Is the socket still one that a kernel would have? The first word behind the private state is looked at after
    /// every call, the rest when the socket is released.
    #[inline]
    fn check(&self, callback: Callback, sk: &TcpSock) {
        // A cong_control of the kernel's own form (`tcp_cwnd_reduction`) leaves 0 for a moment when nothing is in
        // flight.
        let may_be_zero = callback == Callback::CongControl && sk.snd_cwnd == 0;
        if sk.inet_conn.unbloat_guard[0] != 0 || !(is_window(sk.snd_cwnd) || may_be_zero) {
            self.refuse_socket(callback, sk);
        }
    }

    #[cold]
    fn refuse_socket(&self, callback: Callback, sk: &TcpSock) -> ! {
        if sk.inet_conn.unbloat_guard[0] != 0 {
            self.identity.refuse(callback, format_args!("{WROTE_BEHIND}"));
        }
        self.identity.refuse(callback, format_args!("left snd_cwnd = {}, {NO_WINDOW}", shown(sk.snd_cwnd)))
    }
}

const WROTE_BEHIND: &str = "wrote beyond its private state, which has 104 bytes";
const _: () = assert!(CA_PRIV_BYTES == 104);
const NO_WINDOW: &str = "which is no window: the kernel warns about it (tcp_snd_cwnd_set, tcp_init_cwnd_reduction)";

/// `tcp_snd_cwnd_set` warns about any other.
#[inline]
fn is_window(cwnd: u32) -> bool {
    cwnd as i32 > 0
}

/// A window as its author sees it, who may have meant a negative one.
fn shown(cwnd: u32) -> String {
    if cwnd as i32 >= -(1 << 20) && (cwnd as i32) < 0 { format!("{cwnd} ({})", cwnd as i32) } else { cwnd.to_string() }
}

impl Identity {
    /// Subject of a sentence about a callback.
    fn said_of(&self, callback: Callback) -> String {
        let place = self.places[callback as usize].as_ref().unwrap_or(&self.path);
        format!("{place}: {callback} of \"{}\"", self.name)
    }

    #[cold]
    fn refuse(&self, callback: Callback, did: std::fmt::Arguments) -> ! {
        Fault { group: self.group.get(), sentence: format!("{} {did}", self.said_of(callback)) }.raise()
    }

    #[cold]
    fn fault(&self, place: &str, did: String) -> ! {
        Fault { group: self.group.get(), sentence: format!("{place}: {did}") }.raise()
    }
}

/// Called by the runtime in place of a division that has no result; `file` and `line` are the division's.
unsafe extern "C-unwind" fn division_fault(instance: *const Instance, file: *const c_char, line: u32, divisor: u64) {
    // SAFETY: the instance is that of an opened control, whose identity lives; the compiler made the file's name.
    let (identity, callback, file) = unsafe { (&*(*instance).identity, (*instance).callback, CStr::from_ptr(file)) };
    let callback = Callback::ALL[callback as usize];
    let what = match divisor {
        0 => "divides by zero; a kernel goes on with 0, or with the dividend as the remainder, and the simulator stops",
        _ => "divides the least number of its type by -1, which overflows; the simulator stops",
    };
    identity.fault(&format!("{}:{line}", file.to_string_lossy()), format!("{callback} of \"{}\" {what}", identity.name))
}

/// Opens a shared object; a constructor that does not end, or crashes, is the file's at `path`.
fn open_library(path: &str, object: &str) -> Result<libloading::os::unix::Library, String> {
    let _opening = watchdog::Opening::new(path);
    // SAFETY: what initialisers and callbacks do is the user's own program.
    unsafe { libloading::os::unix::Library::open(Some(object), libloading::os::unix::RTLD_NOW) }
        .map_err(|e| format!("cannot be opened: {e}"))
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
