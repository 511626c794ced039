//! The integer functions inside the mechanisms against real arithmetic: CUBIC's curve (RFC 9438), HyStart, the delayed
//! window update.

use crate::harness::compile_source;
use libloading::os::unix::Library;
use std::sync::OnceLock;

/// `tests/sources/numbers.c`, compiled once.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| compile_source("numbers.c"))
}

fn call1(library: &Library, name: &str, a: u32) -> u32 {
    // SAFETY: tests/sources/numbers.c declares it so.
    unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(name.as_bytes()).expect(name)(a) }
}

fn call2(library: &Library, name: &str, a: u32, b: u32) -> u32 {
    // SAFETY: as above.
    unsafe { library.get::<unsafe extern "C" fn(u32, u32) -> u32>(name.as_bytes()).expect(name)(a, b) }
}

fn call3(library: &Library, name: &str, a: u32, b: u32, c: u32) -> u32 {
    // SAFETY: as above.
    unsafe { library.get::<unsafe extern "C" fn(u32, u32, u32) -> u32>(name.as_bytes()).expect(name)(a, b, c) }
}

fn cube_root(library: &Library, a: u64) -> u32 {
    // SAFETY: as above.
    unsafe { library.get::<unsafe extern "C" fn(u64) -> u32>(b"numbers_cube_root").expect("a function")(a) }
}

/// `struct delayed_window`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DelayedWindow {
    min_rtt: u32,
    max_rtt: u32,
    period_start: u32,
    total: u32,
    clear: u32,
    rtt_sum: [u32; 2],
    last_mean: u32,
    held_until: u32,
    closed_at: u32,
    /// The part of a packet, then a byte of flags, the first of which is suspend_flag.
    flags: [u8; 4],
}

const NONE: u32 = 0;
const CLEAR: u32 = 1;
const MILD: u32 = 2;
const SERIOUS: u32 = 3;

impl DelayedWindow {
    /// A period of `total` segments with the mean RTT `mean`, of which `clear` saw no queue.
    fn period(total: u32, clear: u32, mean: u32, last_mean: u32) -> DelayedWindow {
        let sum = total as u64 * mean as u64;
        DelayedWindow {
            min_rtt: 20_000,
            max_rtt: 120_000,
            total,
            clear,
            rtt_sum: [sum as u32, (sum >> 32) as u32],
            last_mean,
            ..DelayedWindow::default()
        }
    }

    /// Verdict, suspend_flag, flag after the evaluation.
    fn evaluate(&self, library: &Library) -> (u32, bool, bool) {
        // SAFETY: tests/sources/numbers.c declares it so, and the structure has the header's layout.
        let answer = unsafe {
            library.get::<unsafe extern "C" fn(&DelayedWindow) -> u32>(b"numbers_evaluate").expect("a function")(self)
        };
        (answer & 0xff, answer >> 8 & 0xff != 0, answer >> 16 != 0)
    }

    fn suspended(mut self) -> DelayedWindow {
        self.flags[1] = 1;
        self
    }
}

#[test]
fn the_cube_root_is_exact() {
    let library = library();
    for root in [1_u64, 2, 3, 63, 64, 1000, 4316, 65_535, 1_000_000, 2_642_245] {
        let cube = root * root * root;
        assert_eq!(cube_root(library, cube), root as u32, "{cube}");
        assert_eq!(cube_root(library, cube + 1), root as u32, "{cube} + 1");
        if root > 1 {
            assert_eq!(cube_root(library, cube - 1), root as u32 - 1, "{cube} - 1");
        }
    }
    assert_eq!(cube_root(library, u64::MAX), 2_642_245);
}

#[test]
fn the_curve_of_a_loss_at_100_segments() {
    let library = library();
    // In real arithmetic distance 30 gives a root of 4316.97, that is 4.2158 s; for the real C it is 4.217163 s.
    assert_eq!(call1(library, "numbers_cubic_k", 30), 4317);
    for (seconds, target) in [(0, 70), (1, 87), (2, 96), (4, 100), (5, 100)] {
        assert_eq!(call3(library, "numbers_cubic_window", 100, 70, seconds * 1000), target, "at {seconds} s");
    }
    // Real-valued vectors, within half a per cent and the rounding to a segment.
    for (seconds, target) in [(6, 102.2667), (8, 121.6527), (10, 177.354_f64)] {
        let window = call3(library, "numbers_cubic_window", 100, 70, seconds * 1000) as f64;
        assert!((window - target).abs() <= 1.0 + 0.005 * target, "{window} at {seconds} s, not {target}");
    }
}

#[test]
fn the_curve_of_a_loss_at_1000_segments() {
    let library = library();
    let k = call1(library, "numbers_cubic_k", 300) as f64 / 1024.0;
    assert!((k - 9.085603).abs() < 0.005 * 9.085603, "{k}");
    let window = call3(library, "numbers_cubic_window", 1000, 700, 5000) as f64;
    assert!((window - 972.721).abs() < 1.0 + 0.005 * 972.721, "{window}");
}

#[test]
fn the_curve_does_not_overflow_in_hours() {
    let library = library();
    let after_256_s = call3(library, "numbers_cubic_window", 100, 70, 261_000);
    let after_an_hour = call3(library, "numbers_cubic_window", 100, 70, 3_600_000);
    assert!(after_256_s > 6_000_000 && after_an_hour == after_256_s, "{after_256_s}, {after_an_hour}");
}

#[test]
fn hystart_tolerates_an_eighth_within_4_and_16_ms() {
    let library = library();
    for (ms, tolerance_us) in [(10, 4_000), (40, 5_000), (64, 8_000), (100, 12_500), (200, 16_000)] {
        assert_eq!(call1(library, "numbers_hystart_tolerance", ms * 1000), tolerance_us, "{ms} ms");
    }
}

#[test]
fn a_serious_verdict_cuts_a_tenth_and_leaves_two() {
    let library = library();
    assert_eq!(call1(library, "numbers_cut", 100), 90);
    assert_eq!(call1(library, "numbers_cut", 2), 2);
}

#[test]
fn a_suspension_is_a_random_part_of_the_least_rtt() {
    let library = library();
    assert_eq!(call2(library, "numbers_suspension", 20_000, (1 << 30) - 1), 5_000);
    assert_eq!(call2(library, "numbers_suspension", 20_000, u32::MAX), 20_000);
    assert_eq!(call2(library, "numbers_suspension", 20_000, 0), 0);
}

#[test]
fn verdicts_of_a_period() {
    let library = library();
    let verdict = |total, clear, mean, last| DelayedWindow::period(total, clear, mean, last).evaluate(library).0;
    assert_eq!(verdict(200, 1, 40_000, 38_000), MILD, "U = 99.5 %, J > 0");
    assert_eq!(verdict(200, 2, 40_000, 38_000), CLEAR, "U = 99 % is not above, |J| = 2 ms");
    assert_eq!(verdict(200, 0, 40_000, 38_000), SERIOUS, "U = 100 %, J > 0");
    assert_eq!(verdict(200, 0, 37_999, 38_000), NONE, "U = 100 %, J < 0");
    assert_eq!(verdict(200, 0, 40_000, 0), NONE, "the first period has J = 0");
    assert_eq!(verdict(200, 1, 40_000, 0), NONE, "the first period has J = 0");
    assert_eq!(verdict(200, 100, 80_000, 40_000), NONE, "U = 50 %, |J| = 40 ms is above the threshold");
}

#[test]
fn the_suspend_flag_after_a_verdict() {
    let library = library();
    let suspended = |period: DelayedWindow| period.evaluate(library).1;
    assert!(suspended(DelayedWindow::period(200, 1, 40_000, 38_000)), "mild");
    assert!(suspended(DelayedWindow::period(200, 0, 40_000, 38_000)), "serious");
    assert!(!suspended(DelayedWindow::period(200, 2, 40_000, 38_000).suspended()), "clear releases");
    for before in [false, true] {
        let period = DelayedWindow::period(200, 0, 37_999, 38_000);
        let period = if before { period.suspended() } else { period };
        assert_eq!(suspended(period), before, "no verdict keeps it");
    }
}

#[test]
fn the_flag_is_set_above_the_middle_of_the_rtts_seen() {
    let library = library();
    assert!(!DelayedWindow::period(100, 50, 70_000, 70_000).evaluate(library).2);
    assert!(DelayedWindow::period(100, 50, 70_001, 70_000).evaluate(library).2);
}

#[test]
fn automatic_rules_without_knowledge_of_the_path() {
    let library = library();
    for (min_rtt, period) in [(20_000, 100_000), (40_000, 160_000), (120_000, 200_000), (u32::MAX, 200_000)] {
        assert_eq!(call1(library, "numbers_period", min_rtt), period, "{min_rtt} us");
    }
    assert_eq!(call1(library, "numbers_threshold", 49_999), 30_000);
    assert_eq!(call1(library, "numbers_threshold", 50_000), 600);
    assert_eq!(call1(library, "numbers_eps", 120_000), 117);
    assert_eq!(call1(library, "numbers_eps", 20_000), 19);
    assert_eq!(call1(library, "numbers_eps", 500), 1);
}
