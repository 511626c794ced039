//! The messages of libbpf and of the kernel's verifier, and the part of them that matters.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs `action`, and returns with its result the messages of libbpf meanwhile, which are not
/// printed.
pub(crate) fn listening<T>(action: impl FnOnce() -> T) -> (T, String) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, text| SAID.with(|said| said.borrow_mut().push(text)))));
    });
    SAID.with(|said| said.borrow_mut().clear());
    let result = action();
    (result, SAID.with(|said| said.take().concat()))
}

/// Returns the fault that libbpf found in a file; it continues a sentence that begins with the
/// file.
pub(crate) fn fault(said: &str) -> Option<String> {
    let between = |start: &str, end: &str| said.split_once(start).and_then(|(_, rest)| Some(rest.split_once(end)?.0));
    if let Some(function) = between("extern (func ksym) '", "': not found") {
        return Some(format!("calls {function}, which this kernel lacks"));
    }
    if let Some(program) = between("invalid reuse of prog ", " in sec") {
        return Some(format!("uses the program {program} for two callbacks; each needs its own"));
    }
    // "failed to resolve CO-RE relocation <byte_off> [7] struct tcp_sock.member (0:1 @ offset 4)"
    let member = between("failed to resolve CO-RE relocation <", " (")?.rsplit(' ').next()?;
    let (structure, member) = member.split_once('.')?;
    // A suffix after three underscores distinguishes declarations of one struct.
    let structure = structure.split("___").next().unwrap_or(structure);
    Some(format!("uses {structure}.{member}, which this kernel lacks"))
}

/// A program that the verifier refused: its name, the reason in one line, and the place in the
/// source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) program: String,
    pub(crate) reason: String,
    pub(crate) at: Option<String>,
}

/// Finds the refusal in libbpf's messages, if there is one.
pub(crate) fn refusal(said: &str) -> Option<Refusal> {
    const BEGIN: &str = "': -- BEGIN PROG LOAD LOG --";
    let (before, rest) = said.split_once(BEGIN)?;
    let program = before.rsplit_once("prog '").map_or("", |(_, name)| name).to_string();
    let log = rest.split("-- END PROG LOAD LOG --").next().unwrap_or_default();
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty() && !is_statistics(line)).collect();
    // After that line the verifier prints the states that it compared.
    let end = lines.iter().rposition(|line| line.starts_with("infinite loop detected"));
    let lines = &lines[..end.map_or(lines.len(), |at| at + 1)];
    let reason = match lines {
        // The line before it has the explanation.
        [.., words, last] if last.starts_with("invalid bpf_context access") && words.starts_with("func '") => words,
        [.., last] => last,
        [] => "the kernel gave no reason",
    };
    let at = lines.iter().rev().find_map(|line| line.strip_prefix("; ")).map(place);
    Some(Refusal { program, reason: reason.to_string(), at })
}

/// Returns the place from `text @ file:line`, or before Linux 6.9 the text alone.
fn place(line: &str) -> String {
    match line.rsplit_once(" @ ") {
        Some((_, place)) => place.to_string(),
        None => format!("\"{line}\""),
    }
}

/// Recognises lines at the end of a log that count the verifier's work.
fn is_statistics(line: &str) -> bool {
    ["processed ", "verification time ", "stack depth "].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_logs_last_word() {
        let log = "libbpf: prog 'grow': BPF program load failed: -EACCES\n\
                   libbpf: prog 'grow': -- BEGIN PROG LOAD LOG --\n\
                   0: R1=ctx() R10=fp0\n; tp->snd_una = 0; @ mine.bpf.c:7\n1: (b7) r2 = 0\n\
                   no write support to tcp_sock at off 8\n\
                   processed 2 insns (limit 1000000) max_states_per_insn 0\n-- END PROG LOAD LOG --\n\
                   libbpf: failed to load object\n";
        let found = |program: &str, reason: &str, at: Option<&str>| {
            Some(Refusal { program: program.into(), reason: reason.into(), at: at.map(str::to_string) })
        };
        assert_eq!(refusal(log), found("grow", "no write support to tcp_sock at off 8", Some("mine.bpf.c:7")));
        let older = log.replace(" @ mine.bpf.c:7", "");
        assert_eq!(refusal(&older).and_then(|refusal| refusal.at), Some("\"tp->snd_una = 0;\"".into()));
        let context = "func 'set_state' doesn't have 4-th argument\ninvalid bpf_context access off=24 size=8";
        let beyond = log.replace("no write support to tcp_sock at off 8", context);
        assert_eq!(
            refusal(&beyond),
            found("grow", "func 'set_state' doesn't have 4-th argument", Some("mine.bpf.c:7"))
        );
        let endless = log.replace(
            "no write support to tcp_sock at off 8",
            "infinite loop detected at insn 1\ncur state: R0=scalar() R10=fp0\nold state: R0=scalar(umin=1) R10=fp0",
        );
        assert_eq!(refusal(&endless), found("grow", "infinite loop detected at insn 1", Some("mine.bpf.c:7")));
        assert_eq!(refusal("libbpf: failed to find valid kernel BTF\n"), None);
    }
}
