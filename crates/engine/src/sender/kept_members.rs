//! Finds the members of `struct tcp_sock` that the engine keeps up to date, by a look at senders after every event.
//! `algorithms/README.md` lists the others.

use mechanism::sock::TcpSock;
use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    /// Members that ever differed from a new socket; `None` while no test collects them.
    static CHANGED: RefCell<Option<BTreeSet<String>>> = const { RefCell::new(None) };
}

/// Looks at a socket if a test collects the members that change.
pub fn observe(sk: &TcpSock) {
    CHANGED.with_borrow_mut(|changed| {
        if let Some(changed) = changed {
            let (old, new) = (members(&TcpSock::default()), members(sk));
            let differs = old.into_iter().zip(new).filter(|(old, new)| old.1 != new.1);
            changed.extend(differs.map(|(old, _)| old.0));
        }
    });
}

/// Every member with its value. Names are as a congestion control sees them, with `struct sock` and the structures
/// around it as one: `rack.mstamp`, `icsk_rto`.
fn members(sk: &TcpSock) -> Vec<(String, String)> {
    let mut path: Vec<&str> = vec![];
    let mut all = vec![];
    let text = format!("{sk:#?}");
    for line in text.lines().map(str::trim) {
        let (name, rest) = line.split_once(": ").unwrap_or(("", line));
        if rest.ends_with(['{', '[']) {
            path.push(name);
        } else if line.starts_with(['}', ']']) {
            path.pop();
        } else {
            let inner = path.iter().copied().chain([name]);
            let names: Vec<&str> = inner.filter(|name| !["", "inet_conn", "sk"].contains(name)).collect();
            all.push((names.join("."), rest.to_string()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Simulation;
    use mechanism::Library;
    use std::ops::ControlFlow;
    use std::path::Path;

    const README: &str = include_str!("../../../../algorithms/README.md");
    const HEADING: &str = "Members that the simulator does not keep";

    /// Members that are up to date, but that change only on a path that reorders packets, or with an application that
    /// pauses.
    const HARD_TO_CHANGE: [&str; 5] =
        ["rack.dsack_seen", "rack.last_delivered", "rack.reo_wnd_persist", "rate_app_limited", "reord_seen"];

    /// A scenario with losses, marks, outages of the whole window, a receiver's window, pacing, and a transfer that
    /// ends.
    fn scenario(control: &str) -> model::Scenario {
        let text = format!(
            r#"
            duration = "20s"
            [link.bottleneck]
            rate  = "2mbit"
            delay = "30ms"
            loss  = {{ kind = "gemodel", p = "1%", r = "30%" }}
            queue = {{ kind = "droptail", limit = "30kb", ecn_threshold = "10kb" }}
            [link.bottleneck.reverse]
            loss  = "20%"
            [[flows]]
            cc    = "{control}"
            profile = {{ ecn = true, tcp_usec_ts = true }}
            [[flows]]
            cc    = "{control}"
            size  = "300001b"
            receive_window = "9kb"
            "#
        );
        let experiment = scenario::load_text(&text, "test.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        experiment.points.into_iter().next().expect("one run").scenario
    }

    #[test]
    fn the_readme_names_the_members_that_are_not_kept() {
        let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
        CHANGED.set(Some(BTreeSet::new()));
        for control in ["cubic", "bbr", "dctcp"] {
            let scenario = scenario(control);
            let mut simulation = Simulation::new(&scenario, &library).expect("a built-in control");
            simulation.run(&mut |_| ControlFlow::Continue(())).expect("nothing interrupts it");
            simulation.finish().expect("no control faults");
        }
        let changed = CHANGED.take().expect("set above");
        let all: BTreeSet<String> = members(&TcpSock::default()).into_iter().map(|(name, _)| name).collect();
        let changes = |name: &&str| {
            name.split('.').next() == Some("sim")
                || *name == "unbloat_guard"
                || name.ends_with("room")
                || HARD_TO_CHANGE.contains(name)
        };
        let unchanged = all.difference(&changed).map(String::as_str);
        let kept_not: Vec<&str> = unchanged.filter(|name| !changes(name)).collect();
        let list = README.split_once(HEADING).expect("the list is there").1;
        let list = list.split_once("\n\n").expect("after its heading").1.split("\n\n").next().expect("a paragraph");
        let mut listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        listed.sort_unstable();
        assert_eq!(listed, kept_not);
    }
}
