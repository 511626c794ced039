//! A mechanism and a socket to drive by hand.

pub mod one_way;

use model::units::Nanos;
use model::{MechanismRef, MechanismSource, ParamValue};
use std::path::{Path, PathBuf};
use unbloat_mechanism::sock::{AckSample, HZ, RateSample, TcpSock, ca_event, ca_state};
use unbloat_mechanism::{Control, Error, Library};

/// The library of this repository.
pub fn library() -> Library {
    Library::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms"))
}

/// A file of `tests/sources`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources").join(name)
}

/// A built-in mechanism with its default parameters.
pub fn builtin(name: &str) -> Control {
    with_params(name, &[])
}

/// A built-in mechanism with parameters.
pub fn with_params(name: &str, params: &[(&str, ParamValue)]) -> Control {
    load(MechanismSource::Builtin(name.into()), params).unwrap_or_else(|e| panic!("{e}"))
}

/// Loads a congestion control with parameters.
pub fn load(source: MechanismSource, params: &[(&str, ParamValue)]) -> Result<Control, Error> {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    library().load(&MechanismRef::new(source, params), 1)
}

/// A socket whose window is in use.
pub fn socket(cwnd: u32, ssthresh: u32) -> TcpSock {
    TcpSock {
        snd_cwnd: cwnd,
        snd_ssthresh: ssthresh,
        max_packets_out: cwnd,
        packets_out: cwnd,
        is_cwnd_limited: 1,
        mss_cache: 1448,
        ..TcpSock::default()
    }
}

/// A socket whose window is in use, of a connection with timestamps.
pub fn socket_with_timestamps(cwnd: u32, ssthresh: u32) -> TcpSock {
    let mut sk = socket(cwnd, ssthresh);
    sk.rx_opt.tstamp_ok = 1;
    sk
}

/// Makes the next ACK show this one-way delay, by clocks that agree.
pub fn delay_ms(sk: &mut TcpSock, ms: u32) {
    sk.rx_opt.saw_tstamp = 1;
    sk.rx_opt.rcv_tsecr = 1000;
    sk.rx_opt.rcv_tsval = 1000 + ms;
}

/// Plays a short life to a congestion control, as the engine would: slow start, growth, a loss with recovery, a
/// timeout, a pause, marks. Returns the window after each step.
pub fn live(control: &Control) -> Vec<u32> {
    let mut sk = socket(10, unbloat_mechanism::sock::INFINITE_SSTHRESH);
    let mut windows = Vec::new();
    sk.ecn_flags = unbloat_mechanism::sock::ecn::OK;
    sk.srtt_us = 8 * 20_000;
    sk.snd_cwnd_clamp = 5_000;
    at(control, &mut sk, 20_000);
    control.init(&mut sk);
    for round in 1..200_u64 {
        at(control, &mut sk, 20_000 * (round + 1));
        match round {
            8 | 60 => lose(control, &mut sk, ca_state::RECOVERY),
            10 | 62 | 122 => change_state(control, &mut sk, ca_state::OPEN),
            120 => lose(control, &mut sk, ca_state::LOSS),
            150 => control.cwnd_event(&mut sk, ca_event::TX_START),
            160 => sk.snd_cwnd = control.undo_cwnd(&mut sk),
            _ => {}
        }
        if round % 10 == 0 {
            control.cwnd_event(&mut sk, ca_event::ECN_IS_CE);
            control.cwnd_event(&mut sk, ca_event::ECN_NO_CE);
            sk.delivered_ce += 1;
        }
        acknowledge(control, &mut sk, 20_000 + 100 * ((round - 1) % 50) as i32);
        windows.push(sk.snd_cwnd);
    }
    control.release(&mut sk);
    assert!(!sk.sim.has_storage());
    windows
}

/// Sets the clock of the congestion control and of the socket.
pub fn at(control: &Control, sk: &mut TcpSock, us: u64) {
    control.set_now(Nanos::from_micros(us));
    sk.tcp_mstamp = us;
}

/// Acknowledges one window, two segments at a time, with an RTT of `rtt_us` in each ACK.
pub fn acknowledge(control: &Control, sk: &mut TcpSock, rtt_us: i32) {
    sk.snd_cwnd = sk.snd_cwnd.min(sk.snd_cwnd_clamp);
    sk.packets_out = sk.snd_cwnd;
    sk.max_packets_out = sk.snd_cwnd;
    sk.is_cwnd_limited = 1;
    sk.snd_nxt = sk.snd_una.wrapping_add(sk.snd_cwnd * sk.mss_cache);
    for _ in 0..sk.snd_cwnd.div_ceil(2) {
        ack(control, sk, 2, rtt_us);
    }
}

/// Plays one ACK for `segments` segments.
pub fn ack(control: &Control, sk: &mut TcpSock, segments: u32, rtt_us: i32) {
    sk.snd_una = sk.snd_una.wrapping_add(segments * sk.mss_cache);
    sk.delivered += segments;
    sk.lsndtime = (sk.tcp_mstamp * HZ / 1_000_000) as u32;
    control.in_ack_event(sk, 0);
    control.pkts_acked(sk, &AckSample { pkts_acked: segments, rtt_us, in_flight: sk.packets_out * sk.mss_cache });
    let una = sk.snd_una;
    if control.has_cong_control() {
        let sample = RateSample {
            delivered: segments as i32,
            acked_sacked: segments,
            rtt_us: rtt_us as i64,
            ..Default::default()
        };
        const DATA_ACKED_AND_ADVANCED: i32 = 0x404;
        control.cong_control(sk, una, DATA_ACKED_AND_ADVANCED, &sample);
    } else if sk.inet_conn.icsk_ca_state != ca_state::RECOVERY {
        control.cong_avoid(sk, una, segments);
    }
}

/// The number of ACKs of one segment until the window changes, and the change; at most a thousand ACKs.
pub fn acks_for_a_segment(control: &Control, sk: &mut TcpSock) -> (u32, i64) {
    let before = sk.snd_cwnd;
    for acks in 1..=1000 {
        control.cong_avoid(sk, 0, 1);
        if sk.snd_cwnd != before {
            return (acks, i64::from(sk.snd_cwnd) - i64::from(before));
        }
    }
    (1000, 0)
}

/// Reports the state to the congestion control, then enters it.
pub fn change_state(control: &Control, sk: &mut TcpSock, state: u8) {
    control.set_state(sk, state);
    sk.inet_conn.icsk_ca_state = state;
}

/// Plays a loss as the kernel reports it: the threshold, the event, the state; then the window.
pub fn lose(control: &Control, sk: &mut TcpSock, state: u8) {
    sk.prior_cwnd = sk.snd_cwnd;
    sk.prior_ssthresh = sk.snd_ssthresh;
    sk.high_seq = sk.snd_nxt;
    sk.snd_ssthresh = control.ssthresh(sk);
    if state == ca_state::LOSS {
        control.cwnd_event(sk, ca_event::LOSS);
    }
    change_state(control, sk, state);
    sk.snd_cwnd = if state == ca_state::LOSS { 1 } else { sk.snd_ssthresh.min(sk.snd_cwnd) };
    sk.snd_cwnd_cnt = 0;
}

/// Compiles a C text against the contract and opens it, for functions that no congestion control exports.
pub fn compile_text(name: &str, text: &str) -> libloading::os::unix::Library {
    let files = UserFiles::new(name);
    compile(&files.write("text.c", text), files.0.path())
}

/// Compiles a C file of `tests/sources` against the contract and opens it.
pub fn compile_source(name: &str) -> libloading::os::unix::Library {
    compile(&source(name), UserFiles::new(name).0.path())
}

/// Compiles and opens a C file. Its own symbols come before those of the process, because a parameter of CLPC has the
/// name of a function of libm.
fn compile(path: &Path, folder: &Path) -> libloading::os::unix::Library {
    let algorithms = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms");
    let include = algorithms.join("include");
    let object = folder.join("test.so");
    let output = std::process::Command::new("cc")
        .args(["-std=gnu11", "-O2", "-Wall", "-Werror", "-fno-builtin", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-I"])
        .arg(&include)
        .arg("-I")
        .arg(algorithms.join("congestion"))
        .arg("-I")
        .arg(algorithms.join("window"))
        .arg(path)
        .args(["unbloat/runtime.c", "unbloat/maps.c", "unbloat/kernel_functions.c"].map(|file| include.join(file)))
        .arg("-o")
        .arg(&object)
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: the file has no initialisers but the C library's.
    unsafe { libloading::os::unix::Library::new(&object) }.expect("a shared object")
}

/// A folder with files of a user, removed when it is dropped.
pub struct UserFiles(tempfile::TempDir);

impl UserFiles {
    /// Makes a new empty folder each time, because tests that run at the same time may use the same name.
    pub fn new(name: &str) -> UserFiles {
        UserFiles(tempfile::Builder::new().prefix(&format!("unbloat-user-{name}-")).tempdir().expect("a folder"))
    }
    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}
