//! Files that cannot be used, each of which gets a sentence with the reason.

use crate::harness::{UserFiles, builtin, library, live, load, socket};
use model::{MechanismRef, MechanismSource};
use std::path::PathBuf;
use unbloat_mechanism::{Fault, Library};

const HEAD: &str = r#"
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
SEC("struct_ops") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked) { }
SEC("struct_ops") __u32 BPF_PROG(keep, struct sock *sk) { return 2; }
"#;
const LICENCE: &str = "char _license[] SEC(\"license\") = \"GPL\";\n";

/// The error for a file with this text, with `FILE` for its path.
fn refusal(name: &str, text: &str) -> String {
    let files = UserFiles::new(name);
    let path = files.write("mine.bpf.c", text);
    let error = load(MechanismSource::File(path.clone()), &[]).err().expect("an error");
    error.to_string().replace(&path.display().to_string(), "FILE")
}

fn with_operations(operations: &str) -> String {
    format!("{HEAD}{LICENCE}SEC(\".struct_ops\") struct tcp_congestion_ops mine = {{ {operations} }};\n")
}

#[test]
fn no_congestion_control() {
    assert_eq!(
        refusal("none", &format!("{HEAD}{LICENCE}")),
        "FILE is not a congestion control: it has no struct tcp_congestion_ops in SEC(\".struct_ops\")"
    );
    assert_eq!(
        refusal("plain", &format!("{HEAD}{LICENCE}struct tcp_congestion_ops mine = {{ .name = \"mine\" }};\n")),
        "FILE is not a congestion control: it has no struct tcp_congestion_ops in SEC(\".struct_ops\")"
    );
}

#[test]
fn a_file_that_does_not_compile() {
    let message = refusal("syntax", "int main(void)\n{\n\treturn unknown_name;\n}\n");
    let (sentence, rest) = message.split_once('\n').expect("the compiler's message");
    assert!(sentence.starts_with("FILE does not compile: FILE:3:"), "{sentence}");
    assert!(sentence.contains("unknown_name"), "{sentence}");
    assert!(rest.contains("return unknown_name;"), "{rest}");
}

#[test]
fn required_callbacks() {
    let lacks = |operations: &str| refusal("lacks", &with_operations(operations));
    assert_eq!(
        lacks(".name = \"mine\", .cong_avoid = (void *)grow, .undo_cwnd = (void *)keep"),
        "FILE is incomplete: \"mine\" lacks the required callback ssthresh"
    );
    assert_eq!(
        lacks(".name = \"mine\", .cong_avoid = (void *)grow, .ssthresh = (void *)keep"),
        "FILE is incomplete: \"mine\" lacks the required callback undo_cwnd"
    );
    assert_eq!(
        lacks(".name = \"mine\", .ssthresh = (void *)keep, .undo_cwnd = (void *)keep"),
        "FILE is incomplete: \"mine\" lacks the required callback cong_avoid or cong_control"
    );
}

const COMPLETE: &str = ".cong_avoid = (void *)grow, .ssthresh = (void *)keep, .undo_cwnd = (void *)keep";

#[test]
fn names() {
    let named = |name: &str| refusal("named", &with_operations(&format!("{COMPLETE}, .name = \"{name}\"")));
    assert_eq!(
        named("sixteen_letters_"),
        "FILE has a congestion control with a name longer than the kernel's 15 characters, which begins with \
         \"sixteen_letters_\""
    );
    assert_eq!(
        named("a_good_deal_more_than_that"),
        "FILE has a congestion control with a name longer than the kernel's 15 characters, which begins with \
         \"a_good_deal_more\""
    );
    assert_eq!(named(""), "FILE has a congestion control without a name");
}

#[test]
fn licences() {
    let operations = with_operations(&format!("{COMPLETE}, .name = \"mine\""));
    assert_eq!(
        refusal("licence", &operations.replace("\"GPL\"", "\"Proprietary\"")),
        "FILE has the licence \"Proprietary\", which the kernel refuses for a congestion control; valid: GPL, GPL \
            v2, GPL and additional rights, Dual BSD/GPL, Dual MIT/GPL, Dual MPL/GPL"
    );
    assert_eq!(
        refusal("no-licence", &operations.replace(LICENCE, "")),
        "FILE lacks the licence that the kernel requires; write char _license[] SEC(\"license\") = \"GPL\";"
    );
}

#[test]
fn what_the_simulator_does_not_have() {
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\", .init = (void *)begin"));
    let begin = "extern void warp_init(struct sock *sk) __ksym;\nextern int warp_drive(void) __ksym;\n\
                 SEC(\"struct_ops\") void BPF_PROG(begin, struct sock *sk) { warp_init(sk); warp_drive(); }\n";
    let message = refusal("kfunc", &text.replace(LICENCE, &format!("{LICENCE}{begin}")));
    assert_eq!(
        message,
        "FILE calls warp_drive, warp_init, which the simulator lacks (warp_drive at FILE:10); valid: the kernel \
            functions of Reno, CUBIC, DCTCP and BBR, and the helpers in include/bpf/bpf_helpers.h"
    );
    let get_info = "SEC(\"struct_ops\") size_t BPF_PROG(info, struct sock *sk, u32 ext, int *attr, union tcp_cc_info \
                    *info)\n\
                    { return 0; }\n";
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\", .get_info = (void *)info"));
    assert_eq!(
        refusal("get-info", &text.replace(LICENCE, &format!("{LICENCE}{get_info}"))),
        "FILE cannot be used: \"mine\" has get_info, which the kernel does not support in BPF programs"
    );
}

#[test]
fn choosing_among_several() {
    let files = UserFiles::new("choice");
    let path = files.write("mine.bpf.c", &with_operations(&format!("{COMPLETE}, .name = \"good_name\"")));
    let chosen = |name: &str| load(MechanismSource::File(PathBuf::from(format!("{}#{name}", path.display()))), &[]);
    assert_eq!(chosen("mine").expect("by variable").name(), "good_name");
    assert_eq!(chosen("good_name").expect("by name").name(), "good_name");
    let error = chosen("other").err().expect("an error").to_string();
    assert!(error.ends_with("mine.bpf.c has no congestion control \"other\", only mine"), "{error}");
}

#[test]
fn what_is_not_there() {
    let error = load(MechanismSource::Builtin("cubic_pluss".into()), &[]).err().expect("an error").to_string();
    let start = "unknown congestion control \"cubic_pluss\" (did you mean cubic_plus?); valid: agile_sd, bbr, ";
    assert!(error.starts_with(start) && error.ends_with(", or the path of a .bpf.c file"), "{error}");
    let mut names = library().names();
    names.sort();
    assert!(error.contains(&names.join(", ")), "{error}");
    let error = load(MechanismSource::File("nowhere/mine.bpf.c".into()), &[]).err().expect("an error").to_string();
    assert_eq!(error, "the file nowhere/mine.bpf.c does not exist");
    let kernel = |name: &str| load(MechanismSource::Kernel(name.into()), &[]).err().expect("an error").to_string();
    assert_eq!(
        kernel("cubic"),
        "kernel:cubic belongs to the running kernel: run it with --on kernel or --on vm, or write cubic, unbloat's \
         own"
    );
    assert_eq!(kernel("yeah"), "kernel:yeah belongs to the running kernel: run it with --on kernel or --on vm");
    let files = UserFiles::new("empty-library");
    let path = files.write("mine.bpf.c", &with_operations(&format!("{COMPLETE}, .name = \"mine\"")));
    let folder = path.parent().expect("a folder");
    let control = MechanismRef::new(MechanismSource::File(path.clone()), Default::default());
    let error = Library::open(folder).load(&control, 1).err().expect("an error").to_string();
    assert_eq!(error, format!("{} is not a folder of mechanisms: it lacks include/vmlinux.h", folder.display()));
}

/// The fault of calling `grow` with this body, with `FILE` for the path. The body is in line 5.
fn fault(name: &str, body: &str) -> String {
    let files = UserFiles::new(name);
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", body, 1);
    let path = files.write("mine.bpf.c", &text);
    let mut control = load(MechanismSource::File(path.clone()), &[]).unwrap_or_else(|e| panic!("{e}"));
    control.set_group(3);
    let mut sk = socket(10, 5);
    let fault = Fault::catch(|| {
        control.cong_avoid(&mut sk, 0, 0);
        control.release(&mut sk);
    });
    let fault = fault.expect_err("a fault");
    assert_eq!(fault.group, 3);
    fault.to_string().replace(&path.display().to_string(), "FILE")
}

/// After a fault the process lives on, and so do other congestion controls in it.
#[test]
fn a_division_by_zero_names_its_line() {
    for _ in 0..3 {
        assert_eq!(
            fault("divides", "{\n ((struct tcp_sock *)sk)->snd_cwnd /= acked; }"),
            "FILE:6: cong_avoid of \"mine\" divides by zero; a kernel continues with 0, or with the dividend as the \
                remainder, but the simulator stops"
        );
    }
    let nested = "{ for (__u32 i = 0; i < 2; i++) bpf_tcp_send_ack(sk, i); }\n\
                  static __noinline __u32 half(__u32 a, __u32 b) { return a % b; }\n\
                  SEC(\"struct_ops\") void BPF_PROG(unused, struct sock *sk, __u32 ack, __u32 acked)\n\
                  { ((struct tcp_sock *)sk)->snd_cwnd = half(ack, acked); }\n\
                  #define grow unused";
    assert!(fault("divides-deep", nested).starts_with("FILE:6: cong_avoid of \"mine\" divides by zero"));
    assert_eq!(live(&builtin("reno")).len(), 199);
}

#[test]
fn a_window_that_is_none_ends_the_run() {
    let left = |value: &str| fault("window", &format!("{{ ((struct tcp_sock *)sk)->snd_cwnd = {value}; }}"));
    let why = "which is not a valid window: the kernel warns about it (tcp_snd_cwnd_set, tcp_init_cwnd_reduction)";
    assert_eq!(left("0"), format!("FILE:5: cong_avoid of \"mine\" left snd_cwnd = 0, {why}"));
    assert_eq!(left("-1"), format!("FILE:5: cong_avoid of \"mine\" left snd_cwnd = 4294967295 (-1), {why}"));
    assert_eq!(left("1u << 31"), format!("FILE:5: cong_avoid of \"mine\" left snd_cwnd = 2147483648, {why}"));
}

#[test]
fn a_threshold_of_nothing_is_the_kernels_affair() {
    let files = UserFiles::new("threshold");
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replace("return 2;", "return 0;");
    let control = load(MechanismSource::File(files.write("mine.bpf.c", &text)), &[]).expect("a control");
    let mut sk = socket(10, 5);
    assert_eq!(control.ssthresh(&mut sk), 0);
    let undone = Fault::catch(|| control.undo_cwnd(&mut sk)).expect_err("a fault").to_string();
    assert!(undone.contains(": undo_cwnd of \"mine\" returned 0, which is not a valid window"), "{undone}");
}

#[test]
fn writing_beyond_the_private_state_ends_the_run() {
    let behind = |at: u32| {
        let body = format!("{{ __u8 *ca = (__u8 *)inet_csk_ca(sk); volatile int at = {at}; ca[at] = 1; }}");
        fault(&format!("beyond-{at}"), &body)
    };
    for at in [104, 111, 112, 231] {
        assert_eq!(behind(at), "FILE:5: cong_avoid of \"mine\" wrote beyond its private state, which has 104 bytes");
    }
}

/// The error for a program that the kernel refuses, with `FILE` for the path. The body of `grow` is in line 5.
fn refused_body(name: &str, body: &str) -> String {
    refusal(name, &with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", body, 1))
}

#[test]
fn private_state_that_is_too_large_is_refused() {
    for (name, body) in [
        ("state", "{ struct mine *ca = inet_csk_ca(sk); ca->a[25] = 1; }"),
        ("state-later", "{ struct mine *ca; ca = inet_csk_ca(sk); ca->a[25] = 1; }"),
        ("state-cast", "{ ((struct mine *)inet_csk_ca(sk))->a[25] = 1; }"),
    ] {
        let with = |words: u32| {
            let text = with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", body, 1);
            text.replacen("SEC(", &format!("struct mine {{ __u32 a[{words}]; }};\nSEC("), 1)
        };
        assert_eq!(
            refusal(name, &with(27)),
            "FILE:5: struct mine, the state behind inet_csk_ca(), has 108 bytes; the kernel has room for 104"
        );
        let files = UserFiles::new("state-fits");
        assert!(load(MechanismSource::File(files.write("mine.bpf.c", &with(26))), &[]).is_ok(), "{name}");
    }
}

#[test]
fn writing_what_is_not_the_controls_is_refused() {
    let writable = "snd_cwnd, snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, ecn_flags, app_limited, sk_pacing_rate, \
                    sk_pacing_status, icsk_ack.pending and its private state";
    for (statement, member) in [
        ("tcp_sk(sk)->rcv_nxt = 3", "rcv_nxt"),
        ("tcp_sk(sk)->srtt_us++", "srtt_us"),
        ("tcp_sk(sk)->rtt_min.s[0].v = 1", "rtt_min"),
        ("inet_csk(sk)->icsk_rto = 1", "icsk_rto"),
        ("sk->sk_sndbuf = 1", "sk_sndbuf"),
        ("sk->__sk_common.skc_num = 1", "skc_num"),
    ] {
        let said = refused_body("constant", &format!("{{ {statement}; }}"));
        let expected = format!("a congestion control may not write {member}; the kernel lets it write {writable}");
        assert!(said.starts_with("FILE:5:") && said.ends_with(&expected) || member == "rtt_min", "{said}");
    }
    let allowed = "{ struct tcp_sock *tp = tcp_sk(sk); tp->snd_cwnd = tp->snd_cwnd_cnt = tp->snd_ssthresh = 2; \
                   tp->ecn_flags = 1;\n\
                   tp->app_limited = 1; sk->sk_pacing_rate = 1; sk->sk_pacing_status = 1; \
                   inet_csk(sk)->icsk_ack.pending = 16; }";
    let files = UserFiles::new("writes");
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", allowed, 1);
    load(MechanismSource::File(files.write("mine.bpf.c", &text)), &[]).expect("a control that writes what it may");
    // A constant of the user's own does not count as a member of a socket.
    let own = refused_body("own-constant", "{ const int a = 1; a = 2; }");
    assert!(own.starts_with("FILE does not compile: FILE:5:"), "{own}");
}

#[test]
fn floats_and_deep_stacks_are_refused() {
    let said = refused_body("floats", "{\n tcp_sk(sk)->snd_cwnd = tcp_sk(sk)->snd_cwnd * 0.85; }");
    assert!(said.starts_with("FILE:6"), "{said}");
    assert!(
        said.ends_with("floating-point numbers, which the kernel lacks: use integers, such as x * 85 / 100"),
        "{said}"
    );
    let deep = |bytes: u32| {
        format!(
            "{{ volatile char a[{bytes}]; for (int i = 0; i < {bytes}; i++) a[i] = i + ack; tcp_sk(sk)->snd_cwnd = \
                a[ack % {bytes}]; }}"
        )
    };
    let said = refused_body("stack", &deep(600));
    assert!(said.starts_with("FILE:5: grow needs 6"), "{said}");
    assert!(said.ends_with(" bytes of stack; a program of the kernel has 512"), "{said}");
    let files = UserFiles::new("stack-fits");
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", &deep(500), 1);
    load(MechanismSource::File(files.write("mine.bpf.c", &text)), &[]).expect("a control with 500 bytes of stack");
}

/// Warnings of a compiler about a file come from the compiler and from the cache.
#[test]
fn warnings_are_kept() {
    let files = UserFiles::new("warns");
    let text =
        with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", "{\n if (acked = 3) return; }", 1);
    let path = files.write("mine.bpf.c", &text);
    for _ in 0..2 {
        load(MechanismSource::File(path.clone()), &[]).expect("a control");
        let said = unbloat_mechanism::warnings::take()
            .into_iter()
            .filter(|warnings| warnings.path == path)
            .collect::<Vec<_>>();
        assert_eq!(said.len(), 1);
        assert!(said[0].text.starts_with(&format!("the compiler warns:\n{}", path.display())), "{}", said[0].text);
        assert!(said[0].text.contains(&format!("{}:6:", path.display())), "{}", said[0].text);
        assert!(said[0].text.contains("parentheses"), "{}", said[0].text);
    }
}

#[test]
fn an_odd_name_is_no_option() {
    let files = UserFiles::new("odd names");
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\""));
    let folder = files.write("-o.bpf.c", &text).parent().expect("a folder").to_path_buf();
    for name in ["@x.c", "a\"b.bpf.c", "sp ace.bpf.c"] {
        files.write(name, &text);
        load(MechanismSource::File(folder.join(name)), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    // Relative to the current folder, as a command line has it.
    const IN_CHILD: &str = "UNBLOAT_TEST_ODD_NAMES";
    if std::env::var_os(IN_CHILD).is_some() {
        for name in ["-o.bpf.c", "@x.c"] {
            load(MechanismSource::File(name.into()), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "errors::an_odd_name_is_no_option"])
        .env(IN_CHILD, "1")
        .current_dir(&folder)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

/// A header that a macro names, or with a letter that is not UTF-8, is part of the file.
#[test]
fn whatever_the_compiler_reads_counts() {
    let files = UserFiles::new("headers");
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\"")).replacen("{ }", "{ TUNED }", 1);
    let text = text.replacen("SEC(", "#define TUNE \"tune.h\"\n#include TUNE\nSEC(", 1);
    let path = files.write("mine.bpf.c", &text);
    let window = |header: &[u8]| {
        std::fs::write(path.with_file_name("tune.h"), header).expect("a header");
        let control = load(MechanismSource::File(path.clone()), &[]).expect("a control");
        let mut sk = socket(10, 5);
        control.cong_avoid(&mut sk, 0, 0);
        sk.snd_cwnd
    };
    assert_eq!(window(b"#define TUNED tcp_sk(sk)->snd_cwnd = 7;"), 7);
    assert_eq!(window(b"#define TUNED tcp_sk(sk)->snd_cwnd = 8;"), 8);
    assert_eq!(window(b"#define TUNED tcp_sk(sk)->snd_cwnd = sizeof(\"\xe4\");"), 2);
    assert_eq!(window(b"#define TUNED tcp_sk(sk)->snd_cwnd = (__u8)\"\xf6\"[0];"), 0xf6);
    assert_eq!(window(b"#define TUNED tcp_sk(sk)->snd_cwnd = (__u8)\"\xe4\"[0];"), 0xe4);
    let all = library().files(&MechanismSource::File(path.clone())).expect("files");
    assert_eq!(all, [path.clone(), path.with_file_name("tune.h")]);
}

#[test]
fn a_compiler_that_takes_everything_is_stopped() {
    let files = UserFiles::new("endless");
    let path = files.write("mine.bpf.c", "#include \"/dev/zero\"\n");
    let error = load(MechanismSource::File(path.clone()), &[]).err().expect("an error").to_string();
    // GCC reads it until there is no more memory, clang takes it for an empty file.
    let sentences = ["does not compile: ", "is not a congestion control: "];
    assert!(sentences.iter().any(|words| error.starts_with(&format!("{} {words}", path.display()))), "{error}");
}
