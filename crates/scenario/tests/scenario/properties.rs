//! Properties of units, traces and sweeps over random input.

use model::quantity::Share;
use model::units::{Bytes, Nanos, Rate};
use model::{Limit, Trace};
use proptest::prelude::*;
use std::path::Path;
use unbloat_scenario::load_text;

/// Draws plain numbers, and round ones, which are written with a larger unit.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0u64..5000, 0u32..16).prop_map(|(n, zeros)| n * 10u64.pow(zeros))]
}

proptest! {
    #[test]
    fn what_is_written_reads_as_itself(n in amount()) {
        prop_assert_eq!(Rate(n).to_string().parse(), Ok(Rate(n)));
        prop_assert_eq!(Nanos(n).to_string().parse(), Ok(Nanos(n)));
        prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
        let limit = Limit::Packets(n.max(1));
        prop_assert_eq!(limit.to_string().parse(), Ok(limit));
    }

    #[test]
    fn a_point_shifts_digits_and_loses_none(whole in 0u64..1_000_000, thousandths in 0u64..1000) {
        let text = format!("{whole}.{thousandths:03}");
        let expected = whole * 1000 + thousandths;
        prop_assert_eq!(format!("{text}ms").parse(), Ok(Nanos::from_micros(expected)));
        prop_assert_eq!(format!("{text}KB").parse(), Ok(Bytes(expected)));
        prop_assert_eq!(format!("{text}Mbit").parse(), Ok(Rate(expected * 1000)));
        prop_assert_eq!(format!("{text}kbps").parse(), Ok(Rate(expected * 8)));
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[0-9.a-z%-]{0,40}") {
        let _ = (text.parse::<Rate>(), text.parse::<Nanos>(), text.parse::<Limit>(), text.parse::<Share>());
    }

    #[test]
    fn a_percentage_is_the_nearest_share(hundredths in 0u32..=10_000) {
        let text = format!("{}.{:02}%", hundredths / 100, hundredths % 100);
        prop_assert_eq!(text.parse(), Ok(Share(f64::from(hundredths) / 10_000.0)));
    }

    #[test]
    fn a_trace_keeps_every_line(mut lines in prop::collection::vec(0u64..100_000, 1..200)) {
        lines.sort();
        lines.push(lines[lines.len() - 1] + 1);
        let text: String = lines.iter().map(|ms| format!("{ms}\n")).collect();
        let trace = Trace::parse(Path::new("t"), &text).unwrap();
        let expected: Vec<_> = lines.iter().map(|ms| Nanos::from_millis(*ms)).collect();
        prop_assert_eq!(trace.period, expected[expected.len() - 1]);
        prop_assert_eq!(&trace.opportunities, &expected);
        let longer = Trace::parse(Path::new("t"), &(text + "200000\n")).unwrap();
        prop_assert_ne!(longer.content_hash(), trace.content_hash());
    }

    #[test]
    fn a_trace_that_goes_back_is_refused(first in 1u64..1000, back in 1u64..1000) {
        let text = format!("{}\n{}\n", first + back, first);
        let expected = format!("t:2: {first} comes after {}; times in a trace must not decrease", first + back);
        prop_assert_eq!(Trace::parse(Path::new("t"), &text), Err(expected));
    }

    #[test]
    fn a_sweep_has_every_combination_once(sizes in prop::collection::vec(1usize..5, 0..4)) {
        let keys = ["seed", "flows.0.count", "flows.0.initial_window", "flows.0.packet"];
        let axis = |(n, size): (usize, &usize)| {
            let value = |value: usize| if n == 3 { format!("\"{value}kb\"") } else { value.to_string() };
            let values: Vec<_> = (1..=*size).map(value).collect();
            format!("\"{}\" = [{}]\n", keys[n], values.join(", "))
        };
        let sweep: String = sizes.iter().enumerate().map(axis).collect();
        let text = format!("duration = \"1s\"\n[link.bottleneck]\nrate = \"1mbit\"\ndelay = \"0s\"\nqueue = {{}}\n\
            [[flows]]\ncc = \"reno\"\n[sweep]\n{sweep}");
        let cells = load_text(&text, "t", Path::new(""), &[]).unwrap().points;
        prop_assert_eq!(cells.len(), sizes.iter().product::<usize>());
        let mut seen: Vec<_> = cells.iter().map(|cell| cell.axes.clone()).collect();
        prop_assert!(seen.is_sorted());
        seen.dedup();
        prop_assert_eq!(seen.len(), cells.len());
    }
}
