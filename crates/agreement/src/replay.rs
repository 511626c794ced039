//! The equality of both targets: calls that a running kernel made to a congestion control, played to the native build
//! of the same file.
//!
//! A file compiled for the kernel with `-DUNBLOAT_RECORD` writes every call down
//! (`algorithms/include/unbloat/record.h`); [`crate::recording`] reads that. Here each call finds the socket as it was in the
//! kernel, the same clock, jiffies and random number, and must leave the same socket.

use crate::sock_members;
use mechanism::sock::{AckSample, RateSample, TcpSock, is_ssthresh};
use mechanism::{Callback, Control, Error, Fault, HelperResults, Library};
use model::MechanismRef;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// One call of a program in a kernel.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// Which socket: its address there.
    pub socket: u64,
    /// The program's name in its file.
    pub program: String,
    /// Clocks and random number.
    pub helper_results: HelperResults,
    /// The arguments beside the socket; a pointer to a sample means one of the next two.
    pub arguments: [u64; 3],
    /// For `pkts_acked`.
    pub ack_sample: AckSample,
    /// For `cong_control`.
    pub rate_sample: RateSample,
    /// The socket when the program began ...
    pub before: TcpSock,
    /// ... and when it ended.
    pub after: TcpSock,
    /// What it returned; zero if nothing.
    pub result: u64,
    /// The socket may have had calls before this one that are not in the recording.
    pub follows_gap: bool,
}

/// A member of [`TcpSock`] that both targets know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SockMember {
    path: String,
    /// Its place among the numbers of a socket.
    number: usize,
}

impl SockMember {
    /// The member of `size` bytes that begins `offset` bytes from the socket's start; `path` is its name as in C, from
    /// `struct tcp_sock`: `inet_conn.icsk_ca_priv[3]`. None if no member begins and ends there.
    pub fn new(path: impl Into<String>, offset: usize, size: usize) -> Option<SockMember> {
        let mut numbers = sock_members::numbers(&TcpSock::default()).into_iter();
        let number = numbers.position(|number| (number.offset, number.size) == (offset, size))?;
        Some(SockMember { path: path.into(), number })
    }

    /// Its name as in C, from `struct tcp_sock`.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// What one loaded control was called with, in the order of the calls.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The kernel's `CONFIG_HZ`.
    pub jiffies_per_second: u64,
    /// What is compared: the members of [`TcpSock`] that this kernel has.
    pub members: Vec<SockMember>,
    /// The calls.
    pub events: Vec<RecordedCall>,
}

impl Recording {
    /// Leaves out what follows a call of `ssthresh` or `undo_cwnd` that the kernel skipped ([`is_ssthresh`]). No window
    /// is above `i32::MAX` (`tcp_snd_cwnd_set`).
    pub fn end_at_skipped_call(&mut self) {
        let is_stray = |sk: &TcpSock| !is_ssthresh(sk.snd_ssthresh) || sk.snd_cwnd > i32::MAX as u32;
        let first = self.events.iter().position(|event| is_stray(&event.before));
        self.events.truncate(first.unwrap_or(self.events.len()));
    }
}

/// The first call after which the targets do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its number in the recording, from 0.
    pub event: usize,
    /// The program.
    pub program: String,
    /// The member of `struct tcp_sock`, or "the result".
    pub member: String,
    /// What the kernel left.
    pub kernel: u64,
    /// What the native build left.
    pub native: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { event, program, member, kernel, native } = self;
        write!(f, "after event {event}, a call of {program}: {member} is {kernel} in the kernel and {native} natively")
    }
}

impl std::error::Error for Difference {}

/// A native build that answers as the kernel's clocks did.
pub struct Replay {
    control: Control,
    programs: HashMap<String, Callback>,
    sockets: HashMap<u64, TcpSock>,
}

impl Replay {
    /// Builds and opens the control; `folder` is `algorithms/`.
    ///
    /// # Errors
    /// As [`Library::load`].
    pub fn open(folder: &Path, control: &MechanismRef, jiffies_per_second: u64) -> Result<Replay, Error> {
        let (control, programs) = Library::replaying(folder, jiffies_per_second).load_with_programs(control)?;
        Ok(Replay { control, programs, sockets: HashMap::new() })
    }

    /// The callback that a program of the file serves.
    pub fn callback(&self, program: &str) -> Option<Callback> {
        self.programs.get(program).copied()
    }

    /// Plays every call and compares the socket after each.
    ///
    /// # Errors
    /// The first difference.
    ///
    /// # Panics
    /// If the recording is of another file: it has a program that this one has not. If the native build does in a call
    /// what no kernel lets it do; the message has the call.
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

    /// One call; where it differs: the member, its value in the kernel, its native value.
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

/// Puts the socket into the state that the kernel's had. What the control keeps for itself stays its own, until the
/// kernel clears it because the socket takes the control; after calls that are not known it is the kernel's.
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

/// Calls the program as the kernel did and returns what it returns.
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

/// Does nobody but the control change this during a call? What counts segments in does so while others hold the socket.
/// The ACK that `bpf_tcp_send_ack` asks for is sent by the kernel during the call, by the simulator after it: then only
/// what controls set is left.
fn is_comparable(path: &str, transmitted: bool) -> bool {
    const COUNTED_MEANWHILE: &[&str] = &["segs_in", "data_segs_in"];
    const OF_CONTROL: &[&str] = &["snd_cwnd", "snd_cwnd_cnt", "snd_ssthresh", "app_limited"];
    let of_control =
        OF_CONTROL.contains(&path) || path.starts_with("inet_conn.icsk_ca_priv") || path.ends_with("sk_pacing_rate");
    if transmitted { of_control } else { !COUNTED_MEANWHILE.contains(&path) }
}
