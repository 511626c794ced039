//! What libbpf and the kernel's verifier say, and what of it matters.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs `action` and gives beside its result what libbpf said meanwhile, in place of printing it.
pub(crate) fn listening<T>(action: impl FnOnce() -> T) -> (T, String) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, text| SAID.with(|said| said.borrow_mut().push(text)))));
    });
    SAID.with(|said| said.borrow_mut().clear());
    let result = action();
    (result, SAID.with(|said| said.take().concat()))
}

/// A program that the verifier refused: its name, why in one line, and the line of source where it was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) program: String,
    pub(crate) reason: String,
    pub(crate) at: Option<String>,
}

/// The refusal in libbpf's messages, if there is one.
pub(crate) fn refusal(said: &str) -> Option<Refusal> {
    const BEGIN: &str = "': -- BEGIN PROG LOAD LOG --";
    let (before, rest) = said.split_once(BEGIN)?;
    let program = before.rsplit_once("prog '").map_or("", |(_, name)| name).to_string();
    let log = rest.split("-- END PROG LOAD LOG --").next().unwrap_or_default();
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty() && !is_statistics(line)).collect();
    // libbpf closes the log with a hint of its own in angle brackets or the verifier's last word.
    let reason = lines.last().map_or("no reason was given", |line| line).to_string();
    let at = lines.iter().rev().find_map(|line| line.strip_prefix("; ")).map(str::to_string);
    Some(Refusal { program, reason, at })
}

/// Lines that end a log and say how much work it was.
fn is_statistics(line: &str) -> bool {
    ["processed ", "verification time ", "stack depth "].iter().any(|start| line.starts_with(start))
}
