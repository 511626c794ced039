//! A user's own file, in every style of headers that the kernel's examples have had. `kernel_examples.rs` has the
//! kernel's own files.

use crate::harness::{UserFiles, at, builtin, library, live, load, socket, source};
use model::{MechanismSource, ParamValue};
use std::path::PathBuf;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{RateSample, ack_pending, ca_event};

fn open(path: impl Into<PathBuf>) -> Control {
    load(MechanismSource::File(path.into()), &[]).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn linux_5_6() {
    let control = open(source("linux_5_6.bpf.c"));
    assert_eq!(control.name(), "test_5_6");
    let mut sk = socket(10, 5);
    control.cong_avoid(&mut sk, 1000, 8);
    assert_eq!(sk.snd_cwnd, 13);
    assert_eq!(control.ssthresh(&mut sk), 6);
    assert_eq!(control.undo_cwnd(&mut sk), 13);
    live(&control);
}

#[test]
fn linux_6_1_with_socket_storage() {
    let control = open(source("linux_6_1.bpf.c"));
    assert_eq!((control.name(), control.needs_ecn()), ("test_6_1", true));
    let (mut one, mut other) = (socket(10, 5), socket(10, 5));
    assert_eq!(control.ssthresh(&mut one), 1, "nothing stored before init");
    control.init(&mut one);
    control.init(&mut other);
    assert_eq!((control.ssthresh(&mut one), control.ssthresh(&mut one), control.ssthresh(&mut other)), (101, 102, 101));
    assert_eq!(one.snd_cwnd, 10, "switching to another control is refused");
    one.inet_conn.icsk_ack.pending = ack_pending::TIMER;
    one.rcv_nxt = 77;
    control.cwnd_event(&mut one, ca_event::ECN_IS_CE);
    assert_eq!((one.sim.send_ack_pending, one.sim.send_ack_rcv_nxt), (1, 77));
    control.release(&mut one);
    assert_eq!(control.ssthresh(&mut one), 1, "nothing stored after release");
    assert_eq!(control.ssthresh(&mut other), 102);
    control.release(&mut other);
    live(&control);
}

#[test]
fn linux_6_10_with_both_forms_of_cong_control() {
    let sample = RateSample { acked_sacked: 1, ..RateSample::default() };
    const DATA_ACKED: i32 = 4;
    let four = open(source("linux_6_10.bpf.c"));
    assert_eq!((four.name(), four.has_cong_control()), ("test_four", true));
    let mut sk = socket(10, 5);
    four.cong_control(&mut sk, 5000, DATA_ACKED, &sample);
    assert_eq!((sk.snd_cwnd, sk.inet_conn.sk.sk_pacing_status), (12, 1));
    four.cong_control(&mut sk, 5000, 0, &sample);
    assert_eq!(sk.snd_cwnd, 12, "the ACK of no data");
    assert_eq!((four.sndbuf_expand(&mut sk), four.min_tso_segs(&mut sk)), (Some(3), Some(4)));

    for chosen in ["two", "test_two"] {
        let two = open(format!("{}#{chosen}", source("linux_6_10.bpf.c").display()));
        assert_eq!(two.name(), "test_two");
        let mut sk = socket(10, 5);
        two.cong_control(&mut sk, 5000, DATA_ACKED, &sample);
        assert_eq!((sk.snd_cwnd, sk.inet_conn.sk.sk_pacing_rate), (11, 1000));
        assert_eq!((two.sndbuf_expand(&mut sk), two.min_tso_segs(&mut sk)), (None, None));
    }
    live(&four);
}

#[test]
fn linux_6_12_by_the_kernels_own_cubic() {
    let control = open(source("linux_6_12.bpf.c"));
    assert_eq!(control.name(), "test_6_12");
    assert_eq!(live(&control), live(&builtin("cubic")), "one CUBIC, by either name");
}

#[test]
fn every_built_in_lives() {
    for name in library().names() {
        let windows = live(&builtin(&name));
        assert!(windows.iter().all(|&w| w >= 1), "{name}: {windows:?}");
    }
}

#[test]
fn headers_of_the_kernel_tree_beside_the_file_stay_out() {
    let files = UserFiles::new("shadow");
    for (header, guard) in [
        ("vmlinux.h", "__VMLINUX_H__"),
        ("bpf_tracing_net.h", "__BPF_TRACING_NET_H__"),
        ("bpf_tcp_helpers.h", "__BPF_TCP_HELPERS_H"),
    ] {
        files.write(
            header,
            &format!("#ifndef {guard}\n#error made for the kernel\nstatic bool before() {{}}\n#endif\n"),
        );
    }
    let text = std::fs::read_to_string(source("linux_6_12.bpf.c")).expect("a source");
    assert_eq!(open(files.write("shadow.bpf.c", &text)).name(), "test_6_12");
}

#[test]
fn a_header_of_the_users_own_is_found_and_watched() {
    let files = UserFiles::new("own-header");
    let text = std::fs::read_to_string(source("linux_5_6.bpf.c")).expect("a source");
    let path = files.write("own.bpf.c", &format!("#include \"own.h\"\n{}", text.replace("test_5_6", NAME)));
    for name in ["first", "second"] {
        files.write("own.h", &format!("#define NAME \"{name}\"\n"));
        assert_eq!(open(&path).name(), name);
    }
    const NAME: &str = "\" NAME \"";
}

#[test]
fn each_instance_has_its_own_globals_clock_and_generator() {
    let path = || MechanismSource::File(source("linux_6_1.bpf.c"));
    let one = load(path(), &[("floor_cwnd", ParamValue::Integer(1000))]).expect("a control");
    let other = load(path(), &[]).expect("a control");
    let (mut a, mut b) = (socket(10, 5), socket(10, 5));
    one.init(&mut a);
    other.init(&mut b);
    assert_eq!((one.ssthresh(&mut a), other.ssthresh(&mut b)), (1000, 101));
    one.release(&mut a);
    other.release(&mut b);

    let (one, other) = (builtin("cubic"), builtin("cubic"));
    at(&one, &mut a, 5_000_000);
    at(&other, &mut b, 1_000_000);
    one.init(&mut a);
    other.init(&mut b);
    one.ssthresh(&mut a);
    other.ssthresh(&mut b);
    one.cong_avoid(&mut a, 1, 1);
    other.cong_avoid(&mut b, 1, 1);
    let epoch_start = |sk: &unbloat_mechanism::sock::TcpSock| sk.inet_conn.icsk_ca_priv[3] >> 32;
    assert_eq!((epoch_start(&a), epoch_start(&b)), (5 * unbloat_mechanism::sock::HZ, unbloat_mechanism::sock::HZ));
}

#[test]
fn maps_belong_to_the_instance() {
    let (control, another) = (open(source("maps.bpf.c")), open(source("maps.bpf.c")));
    let mut sockets = [socket(10, 5), socket(10, 5), socket(10, 5)];
    for sk in &mut sockets {
        control.init(sk);
    }
    const E2BIG: u32 = 7;
    assert_eq!(sockets.each_ref().map(|sk| sk.snd_ssthresh), [0, 0, E2BIG], "room for two");
    assert_eq!(sockets.each_mut().map(|sk| control.ssthresh(sk)), [8, 9, 0]);
    control.release(&mut sockets[0]);
    control.init(&mut sockets[2]);
    assert_eq!(control.ssthresh(&mut sockets[2]), 10, "the first made room");
    const ENTRIES: u32 = 3;
    for (index, cwnd) in [(0, 10), (0, 20), (2, 10), (ENTRIES, 1)] {
        control.cong_avoid(&mut sockets[1], index, 5);
        assert_eq!(sockets[1].snd_cwnd, cwnd);
    }
    assert_eq!(another.ssthresh(&mut socket(10, 5)), 0);
    for sk in &mut sockets[1..] {
        control.release(sk);
    }
}

#[test]
fn many_may_build_one_file_at_once() {
    let files = UserFiles::new("at-once");
    let text = std::fs::read_to_string(source("linux_5_6.bpf.c")).expect("a source");
    let path = files.write("mine.bpf.c", &text);
    std::thread::scope(|scope| {
        let builds: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&path).name().to_string())).collect();
        for build in builds {
            assert_eq!(build.join().expect("a build"), "test_5_6");
        }
    });
}
