//! Replays the calls that a running kernel made to a congestion control in the native build of the same file, and
//! compares the results.
//!
//! A file compiled for the kernel with `-DUNBLOAT_RECORD` records every call (`algorithms/include/unbloat/record.h`),
//! and [`crate::recording`] reads the recording. A replayed call gets the socket as it was in the kernel, the same
//! clock, jiffies and random number, and must leave the same socket.

use crate::sock_members;
use mechanism::sock::{AckSample, RateSample, TcpSock, is_ssthresh};
use mechanism::{Callback, Control, Error, Fault, HelperResults, Library};
use model::MechanismRef;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// One recorded call of a program in a kernel.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// The socket's address in the kernel, which identifies it.
    pub socket: u64,
    /// The program's name in its file.
    pub program: String,
    /// The clocks and the random number that the program saw.
    pub helper_results: HelperResults,
    /// The arguments after the socket; a pointer to a sample stands for `ack_sample` or `rate_sample`.
    pub arguments: [u64; 3],
    /// The sample of a call of `pkts_acked`.
    pub ack_sample: AckSample,
    /// The sample of a call of `cong_control`.
    pub rate_sample: RateSample,
    /// The socket when the program began.
    pub before: TcpSock,
    /// The socket when the program ended.
    pub after: TcpSock,
    /// The program's return value; zero if it returns nothing.
    pub result: u64,
    /// Whether calls of the socket just before this one may be missing in the recording.
    pub follows_gap: bool,
}

/// A member of [`TcpSock`] that both builds know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SockMember {
    path: String,
    /// The member's index among the numbers of a socket.
    number: usize,
}

impl SockMember {
    /// Finds the member of `size` bytes at `offset` bytes from the socket's start; none if no member begins and ends
    /// there. `path` is its name in C, from `struct tcp_sock`, such as `inet_conn.icsk_ca_priv[3]`.
    pub fn new(path: impl Into<String>, offset: usize, size: usize) -> Option<SockMember> {
        let mut numbers = sock_members::numbers(&TcpSock::default()).into_iter();
        let number = numbers.position(|number| (number.offset, number.size) == (offset, size))?;
        Some(SockMember { path: path.into(), number })
    }

    /// Returns the member's name in C, from `struct tcp_sock`, such as `inet_conn.icsk_ca_priv[3]`.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// The recorded calls of one loaded congestion control, in their order.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The kernel's `CONFIG_HZ`.
    pub jiffies_per_second: u64,
    /// The members of [`TcpSock`] that the kernel has, which a replay compares.
    pub members: Vec<SockMember>,
    /// The recorded calls, in their order.
    pub events: Vec<RecordedCall>,
}

impl Recording {
    /// Drops all calls after one of `ssthresh` or `undo_cwnd` that the kernel skipped ([`is_ssthresh`]), which leaves
    /// an impossible value. Windows cannot be above `i32::MAX` (`tcp_snd_cwnd_set`).
    pub fn end_at_skipped_call(&mut self) {
        let is_stray = |sk: &TcpSock| !is_ssthresh(sk.snd_ssthresh) || sk.snd_cwnd > i32::MAX as u32;
        let first = self.events.iter().position(|event| is_stray(&event.before));
        self.events.truncate(first.unwrap_or(self.events.len()));
    }
}

/// The first call after which kernel and native build differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the call in the recording, from 0.
    pub event: usize,
    /// The name of the program that was called.
    pub program: String,
    /// The member of `struct tcp_sock` that differs, or "the result".
    pub member: String,
    /// The member's value in the kernel.
    pub kernel: u64,
    /// The member's value in the native build.
    pub native: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { event, program, member, kernel, native } = self;
        write!(f, "after event {event}, a call of {program}: {member} is {kernel} in the kernel and {native} natively")
    }
}

impl std::error::Error for Difference {}

/// A native build of a congestion control that replays recordings, with the clocks of the kernel.
pub struct Replay {
    control: Control,
    programs: HashMap<String, Callback>,
    sockets: HashMap<u64, TcpSock>,
}

impl Replay {
    /// Builds and opens the congestion control; `folder` is `algorithms/`.
    ///
    /// # Errors
    /// The errors of [`Library::load`].
    pub fn open(folder: &Path, control: &MechanismRef, jiffies_per_second: u64) -> Result<Replay, Error> {
        let (control, programs) = Library::replaying(folder, jiffies_per_second).load_with_programs(control)?;
        Ok(Replay { control, programs, sockets: HashMap::new() })
    }

    /// Returns the callback that a program of the file implements; none if the file has no such program.
    pub fn callback(&self, program: &str) -> Option<Callback> {
        self.programs.get(program).copied()
    }

    /// Replays every call and compares the socket after each one.
    ///
    /// # Errors
    /// The first difference.
    ///
    /// # Panics
    /// If the recording is of another file, with a program that this one does not have. If the native build does
    /// something that a kernel forbids; the message contains the call.
    pub fn play(&mut self, recording: &Recording) -> Result<(), Difference> {
        for (number, event) in recording.events.iter().enumerate() {
            let stepped = Fault::catch(|| self.step(event, &recording.members));
            let stepped = stepped.unwrap_or_else(|fault| panic!("event {number}: {fault}; the call was {event:?}"));
            stepped.map_err(|(member, kernel, native)| Difference {
                event: number,
                program: event.program.clone(),
                member,
                kernel,
                native,
            })?;
        }
        Ok(())
    }

    /// Replays one call. The error is the member that differs, its value in the kernel, and its native value.
    fn step(&mut self, event: &RecordedCall, members: &[SockMember]) -> Result<(), (String, u64, u64)> {
        let callback = self.programs[&event.program];
        let known = self.sockets.entry(event.socket).and_modify(|sk| take_over(sk, event));
        let sk = known.or_insert_with(|| event.before.clone());
        self.control.set_helper_results(&event.helper_results);
        let result = call(&self.control, callback, sk, event);
        if result != event.result {
            return Err(("the result".into(), event.result, result));
        }
        let transmitted = sk.sim.send_ack_pending != 0;
        let (after, left) = (sock_members::numbers(&event.after), sock_members::numbers(sk));
        for member in members.iter().filter(|member| is_comparable(&member.path, transmitted)) {
            let (kernel, native) = (after[member.number].value, left[member.number].value);
            if kernel != native {
                return Err((member.path.clone(), kernel, native));
            }
        }
        if callback == Callback::Release {
            self.sockets.remove(&event.socket);
        }
        Ok(())
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        for sk in self.sockets.values_mut() {
            self.control.release(sk);
        }
    }
}

/// Gives the socket the kernel's state before a call. The congestion control's private state stays the native one, so
/// that errors in it show. It is the kernel's after missing calls, and when the kernel has cleared it because the
/// socket begins to use the congestion control.
fn take_over(sk: &mut TcpSock, event: &RecordedCall) {
    let before = &event.before;
    let cleared = before.inet_conn.icsk_ca_priv.iter().all(|&word| word == 0);
    let own = sk.inet_conn.icsk_ca_priv;
    let storage = std::mem::take(&mut sk.sim.storage);
    *sk = before.clone();
    sk.sim.storage = storage;
    if !cleared && !event.follows_gap {
        sk.inet_conn.icsk_ca_priv = own;
    }
}

/// Calls the program as the kernel did and returns its result; zero if it returns nothing.
fn call(control: &Control, callback: Callback, sk: &mut TcpSock, event: &RecordedCall) -> u64 {
    let [first, second, _] = event.arguments;
    match callback {
        Callback::Ssthresh => return control.ssthresh(sk).into(),
        Callback::UndoCwnd => return control.undo_cwnd(sk).into(),
        Callback::MinTsoSegs => return control.min_tso_segs(sk).unwrap_or_default().into(),
        Callback::SndbufExpand => return control.sndbuf_expand(sk).unwrap_or_default().into(),
        Callback::CongAvoid => control.cong_avoid(sk, first as u32, second as u32),
        Callback::SetState => control.set_state(sk, first as u8),
        Callback::CwndEvent => control.cwnd_event(sk, first as u32),
        Callback::InAckEvent => control.in_ack_event(sk, first as u32),
        Callback::PktsAcked => control.pkts_acked(sk, &event.ack_sample),
        Callback::CongControl => control.cong_control(sk, first as u32, second as i32, &event.rate_sample),
        Callback::Init => control.init(sk),
        Callback::Release => control.release(sk),
        Callback::Window | Callback::Classify => unreachable!("recorded are calls of congestion controls"),
    }
    0
}

/// Whether only the congestion control changes this member during a call. The kernel counts incoming segments even
/// while a program runs. It sends the ACK of `bpf_tcp_send_ack` during the call, the simulator after it. In a call with
/// such an ACK, only members that congestion controls set can be compared.
fn is_comparable(path: &str, transmitted: bool) -> bool {
    const COUNTED_MEANWHILE: &[&str] = &["segs_in", "data_segs_in"];
    const OF_CONTROL: &[&str] = &["snd_cwnd", "snd_cwnd_cnt", "snd_ssthresh", "app_limited"];
    let of_control =
        OF_CONTROL.contains(&path) || path.starts_with("inet_conn.icsk_ca_priv") || path.ends_with("sk_pacing_rate");
    if transmitted { of_control } else { !COUNTED_MEANWHILE.contains(&path) }
}
