//! The example congestion controls of the Linux tree, unmodified, from a scenario to its records.

use crate::linux_examples::{controls, refused, trees};
use mechanism::{Library, MechanismError};
use model::records::ProgressUpdate;
use std::ops::ControlFlow;
use std::path::Path;
use unbloat_engine::{Error, Options};

/// Example congestion controls that do nothing on an acknowledgement: their window stays where it began.
const FIXED_WINDOW: [&str; 2] = ["tcp_ca_update.c", "tcp_ca_write_sk_pacing.c"];
/// An example that calls every kernel function: BBR, DCTCP and CUBIC write one private state in turns. BBR sets the
/// window last, whatever it finds there.
const THREE_IN_ONE: &str = "tcp_ca_kfunc.c";
/// Share of a link that is left beside the headers of segments of 1500 bytes.
const MOST: f64 = 1448.0 / 1500.0;

/// The share of the link that two flows of this congestion control fill. The link has 20 Mbit/s, 20 ms, and a buffer of
/// one bandwidth-delay product that marks.
fn share_of_the_link(file: &Path) -> Result<f64, Error> {
    let text = format!(
        r#"
        duration = "20s"
        [link.bottleneck]
        rate = "20mbit"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "50kb", ecn_threshold = "15p" }}
        [[flows]]
        cc = "{}"
        count = 2
        "#,
        file.display()
    );
    let experiment = scenario::load_text(&text, "text", Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}"));
    let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    let go_on = &mut |_: ProgressUpdate| ControlFlow::Continue(());
    let outcome = unbloat_engine::run(&experiment.points[0].scenario, &library, &Options::default(), go_on)?;
    Ok(outcome.run.flows.iter().map(|f| f.goodput_mbps).sum::<f64>() / 20.0)
}

/// The least and the largest share of the link that a congestion control can fill.
///
/// A fixed window of ten segments of 1448 bytes turns over once in 20.6 ms at best. For two flows that is 0.562 of the
/// link. If it is paced over the round trip and acknowledged in pairs, a segment waits for the pacer and for its pair.
/// Each wait is at most a gap, a tenth of the round trip: 1.2 round trips, 0.468 of the link.
///
/// BBR never lets its window fall below four segments. Here each wait is at most a quarter of the round trip: 1.5 round
/// trips, 0.150 of the link.
fn bounds(name: &str) -> (f64, f64) {
    match name {
        THREE_IN_ONE => (0.150, MOST),
        fixed if FIXED_WINDOW.contains(&fixed) => (0.468, 0.563),
        _ => (0.8, MOST),
    }
}

#[test]
fn the_kernels_examples_simulate_as_they_are() {
    for file in trees().iter().flat_map(|tree| controls(tree)) {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        match (refused(&file), share_of_the_link(&file)) {
            (None, Ok(share)) => {
                println!("{name}: {:.1} % of the link", 100.0 * share);
                let (least, most) = bounds(&name);
                assert!(share > least && share < most, "{name} fills {share} of the link");
            }
            (Some(reason), Err(Error::Mechanism(MechanismError { error, .. }))) => {
                assert!(error.to_string().contains(reason), "{name}: {error}");
            }
            (_, outcome) => panic!("{name}: {outcome:?}"),
        }
    }
}
