//! Files that cannot be used: each gets a sentence that says why.

mod harness;

use harness::{UserFiles, library, load};
use mechanism::Library;
use scenario::model::{CcSource, CongestionControl};
use std::path::PathBuf;

const HEAD: &str = r#"
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
SEC("struct_ops") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked) { }
SEC("struct_ops") __u32 BPF_PROG(keep, struct sock *sk) { return 2; }
"#;
const LICENCE: &str = "char _license[] SEC(\"license\") = \"GPL\";\n";

/// What loading such a file says, with `FILE` for its path.
fn refusal(name: &str, text: &str) -> String {
    let files = UserFiles::new(name);
    let path = files.write("mine.bpf.c", text);
    let error = load(CcSource::File(path.clone()), &[]).err().expect("an error");
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
        "FILE has a congestion control whose name begins \"sixteen_letters_\": the kernel allows 15 characters"
    );
    assert_eq!(
        named("a_good_deal_more_than_that"),
        "FILE has a congestion control whose name begins \"a_good_deal_more\": the kernel allows 15 characters"
    );
    assert_eq!(named(""), "FILE has a congestion control without a name");
}

#[test]
fn licences() {
    let operations = with_operations(&format!("{COMPLETE}, .name = \"mine\""));
    assert_eq!(
        refusal("licence", &operations.replace("\"GPL\"", "\"Proprietary\"")),
        "FILE has the licence \"Proprietary\", which the kernel refuses for a congestion control: it takes GPL, GPL v2, GPL and \
         additional rights, Dual BSD/GPL, Dual MIT/GPL, Dual MPL/GPL"
    );
    assert_eq!(
        refusal("no-licence", &operations.replace(LICENCE, "")),
        "FILE has no licence, which the kernel asks for: char _license[] SEC(\"license\") = \"GPL\";"
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
        "FILE calls warp_drive, warp_init, which the simulator does not have: it has the kernel functions of Reno, CUBIC, DCTCP and \
         BBR and the helpers in include/bpf/bpf_helpers.h"
    );
    let get_info = "SEC(\"struct_ops\") size_t BPF_PROG(info, struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)\n\
                    { return 0; }\n";
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\", .get_info = (void *)info"));
    assert_eq!(
        refusal("get-info", &text.replace(LICENCE, &format!("{LICENCE}{get_info}"))),
        "FILE cannot be used: \"mine\" has get_info, which the kernel does not offer to BPF programs"
    );
}

#[test]
fn choosing_among_several() {
    let files = UserFiles::new("choice");
    let path = files.write("mine.bpf.c", &with_operations(&format!("{COMPLETE}, .name = \"good_name\"")));
    let chosen = |name: &str| load(CcSource::File(PathBuf::from(format!("{}#{name}", path.display()))), &[]);
    assert_eq!(chosen("mine").expect("by variable").name(), "good_name");
    assert_eq!(chosen("good_name").expect("by name").name(), "good_name");
    let error = chosen("other").err().expect("an error").to_string();
    assert!(error.ends_with("mine.bpf.c has no congestion control \"other\", only mine"), "{error}");
}

#[test]
fn what_is_not_there() {
    let error = load(CcSource::Builtin("cubic_pluss".into()), &[]).err().expect("an error").to_string();
    let start = "there is no congestion control \"cubic_pluss\"; there are cubic_plus, ";
    assert!(error.starts_with(start) && error.ends_with(", or the path of a .bpf.c file"), "{error}");
    assert!(library().names().iter().all(|name| error.contains(name)), "{error}");
    let error = load(CcSource::File("nowhere/mine.bpf.c".into()), &[]).err().expect("an error").to_string();
    assert_eq!(error, "there is no file nowhere/mine.bpf.c");
    let kernel = |name: &str| load(CcSource::Kernel(name.into()), &[]).err().expect("an error").to_string();
    assert_eq!(
        kernel("cubic"),
        "kernel:cubic is the running kernel's own: run it with --on kernel or --on vm, or name cubic, ours"
    );
    assert_eq!(kernel("illinois"), "kernel:illinois is the running kernel's own: run it with --on kernel or --on vm");
    let files = UserFiles::new("empty-library");
    let path = files.write("mine.bpf.c", &with_operations(&format!("{COMPLETE}, .name = \"mine\"")));
    let folder = path.parent().expect("a folder");
    let control = CongestionControl { source: CcSource::File(path.clone()), params: Default::default() };
    let error = Library::open(folder).load(&control, 1).err().expect("an error").to_string();
    assert_eq!(error, format!("{} is not a folder of mechanisms: it has no include/vmlinux.h", folder.display()));
}

/// The compiled file ends the process, so this runs again in a process of its own.
#[test]
fn a_division_by_zero_names_its_line() {
    const IN_CHILD: &str = "UNBLOAT_TEST_DIVIDES";
    if let Some(path) = std::env::var_os(IN_CHILD) {
        let control = load(CcSource::File(path.into()), &[]).expect("a control");
        control.cong_avoid(&mut harness::socket(10, 5), 0, 0);
        return;
    }
    let files = UserFiles::new("divides");
    let text = with_operations(&format!("{COMPLETE}, .name = \"mine\""));
    let divides = "{ ((struct tcp_sock *)sk)->snd_cwnd /= acked; }";
    let path = files.write("mine.bpf.c", &text.replacen("{ }", divides, 1));
    let child = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "a_division_by_zero_names_its_line"])
        .env(IN_CHILD, &path)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&child.stderr).into_owned();
    assert_eq!(child.status.code(), Some(1), "{said}");
    let sentence = format!("{}:5: a division by zero, or one that overflows", path.display());
    assert!(said.contains(&sentence), "{said}");
}
