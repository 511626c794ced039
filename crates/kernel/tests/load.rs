//! Loads congestion controls into the running kernel: these tests need root.

mod harness;

use harness::{Connection, UserFile, control, goes, is_offered, library, loaded, name_of, refused, window, with_param};
use model::{MechanismSource, ParamValue};
use std::time::{Duration, Instant};

const GROW: &str = "SEC(\"struct_ops\") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked) { \
    tcp_sk(sk)->snd_cwnd += acked; }";
const GROWS: &str = ".cong_avoid = (void *)grow";

#[test]
fn every_built_in_loads_works_and_goes() {
    for builtin in library().loadable_names().expect("all compile") {
        let name = name_of("all");
        let held = loaded(&control(MechanismSource::Builtin(builtin.clone())), &name);
        assert_eq!((held.kernel_name.as_str(), held.source.as_str()), (name.as_str(), builtin.as_str()));
        assert!(is_offered(&name));
        Connection::with(&name).finish(4_000_000);
        drop(held);
        assert!(goes(&name), "{builtin}");
    }
}

#[test]
fn sockets_keep_a_control_that_has_gone() {
    let name = name_of("keep");
    let held = loaded(&control(MechanismSource::Builtin("cubic_plus".into())), &name);
    let connection = Connection::with(&name);
    drop(held);
    assert!(goes(&name));
    connection.finish(1_000_000);
}

#[test]
fn parameters_reach_the_program() {
    let init = "const volatile __u32 start = 10;\n\
                SEC(\"struct_ops\") void BPF_PROG(begin, struct sock *sk) { tcp_sk(sk)->snd_cwnd = start; }";
    let file = UserFile::control("set_window", &format!("{init}\n{GROW}"), &format!("{GROWS}, .init = (void *)begin"));
    let name = name_of("set");
    let held = loaded(&with_param(file.source(), "start", ParamValue::Integer(77)), &name);
    assert_eq!(held.parameters, [("start".to_string(), "77".to_string())]);
    assert_eq!(window(&Connection::with(&name).sender), 77);
}

/// A file loads with either form of `cong_control`: socket and rate sample before Linux 6.10, four
/// arguments since.
#[test]
fn both_ways_of_writing_cong_control() {
    let two = "SEC(\"struct_ops\") void BPF_PROG(run, struct sock *sk, const struct rate_sample *rs)\n\
               { if (rs->acked_sacked) tcp_sk(sk)->snd_cwnd = 33; }";
    let four = "SEC(\"struct_ops\") void BPF_PROG(run, struct sock *sk, __u32 ack, int flag, const struct rate_sample \
                *rs)\n\
                { if (rs->acked_sacked && ack == tcp_sk(sk)->snd_una) tcp_sk(sk)->snd_cwnd = 33; }";
    for (kind, body) in [("two", two), ("four", four)] {
        let file = UserFile::control(&format!("arguments_{kind}"), body, ".cong_control = (void *)run");
        let name = name_of(kind);
        let _held = loaded(&control(file.source()), &name);
        let mut connection = Connection::with(&name);
        connection.send(100_000);
        let start = Instant::now();
        while window(&connection.sender) != 33 && start.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(window(&connection.sender), 33, "{kind}");
        connection.finish(100_000);
    }
}

#[test]
fn one_of_several_controls_in_a_file() {
    let second = "SEC(\".struct_ops.link\") struct tcp_congestion_ops second = { .name = \"second\" };";
    let file = UserFile::control("first", &format!("{GROW}\n{second}"), GROWS);
    let name = name_of("first");
    let _held = loaded(&control(file.choice("first")), &name);
    let error = refused(&control(file.choice("second")), &name_of("sec"));
    assert!(error.message.ends_with("is incomplete: \"second\" lacks the required callback ssthresh"), "{error}");
}

#[test]
fn a_name_that_is_taken() {
    let error = refused(&control(MechanismSource::Builtin("reno".into())), "reno");
    assert!(error.is_input);
    assert_eq!(
        error.message,
        "the kernel already has a congestion control \"reno\": unload it, or choose another name with --as"
    );
}

#[test]
fn what_the_verifier_refuses() {
    let body = "SEC(\"struct_ops\") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked)\n\
        {\n\t*(__u32 *)&tcp_sk(sk)->snd_una = ack;\n}";
    let file = UserFile::control("writes", body, GROWS);
    let error = refused(&control(file.source()), &name_of("writes"));
    let start = format!("the kernel's verifier refuses {}: grow: no write support to tcp_sock at off ", file.path());
    assert!(error.message.starts_with(&start), "{error}");
    assert!(error.message.contains("snd_una = ack") || error.message.ends_with(", at writes.bpf.c:7"), "{error}");
    assert_eq!(error.message.lines().count(), 1);
    assert!(error.is_input);
    let log = error.log.expect("the whole of it");
    assert!(log.contains("BEGIN PROG LOAD LOG") && log.contains("processed "), "{log}");
}

#[test]
fn an_argument_that_no_kernel_passes() {
    let body = "SEC(\"struct_ops\") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked) { \
        tcp_sk(sk)->snd_cwnd = ctx[5]; }";
    let file = UserFile::control("beyond", body, GROWS);
    let error = refused(&control(file.source()), &name_of("beyond"));
    let start = format!("the kernel's verifier refuses {}: grow: func 'cong_avoid' doesn't have ", file.path());
    assert!(error.message.starts_with(&start) && error.message.contains("-th argument, at "), "{error}");
}

#[test]
fn what_this_kernel_does_not_have() {
    let body = "extern void warp_drive(struct sock *sk) __ksym;\n\
                SEC(\"struct_ops\") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked) { warp_drive(sk); }";
    let file = UserFile::control("function", body, GROWS);
    let error = refused(&control(file.source()), &name_of("function"));
    assert_eq!(error.message, format!("{} calls warp_drive, which this kernel lacks", file.path()));

    let body = "struct tcp_sock___later { __u32 warp; } __attribute__((preserve_access_index));\n\
                SEC(\"struct_ops\") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked)\n\
                { tcp_sk(sk)->snd_cwnd += ((struct tcp_sock___later *)sk)->warp; }";
    let file = UserFile::control("member", body, GROWS);
    let error = refused(&control(file.source()), &name_of("member"));
    assert_eq!(error.message, format!("{} uses tcp_sock.warp, which this kernel lacks", file.path()));
}

#[test]
fn a_program_for_two_callbacks() {
    let file = UserFile::control("reuse", GROW, &format!("{GROWS}, .min_tso_segs = (void *)halve"));
    let error = refused(&control(file.source()), &name_of("reuse"));
    let sentence = "uses the program halve for two callbacks; each needs its own";
    assert_eq!(error.message, format!("{} {sentence}", file.path()));
}
