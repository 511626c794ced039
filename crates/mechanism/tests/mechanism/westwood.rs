//! Westwood+ as tcp_westwood.c has it: its filter by number, and the compiled mechanism driven by hand.

use crate::harness::{at, builtin, change_state, compile_text, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ack_event, ca_event, ca_state};

const MSS: u32 = 1448;
const EXPORTS: &str = "#include \"westwood.bpf.c\"\n__u32 filter(__u32 before, __u32 sample) { return \
    westwood_filter(before, sample); }\n";

fn connection(control: &Control) -> TcpSock {
    let mut sk = socket(100, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sk
}

/// Plays an ACK `later_us` later, for `segments` segments, that the stack has predicted.
fn ack(control: &Control, sk: &mut TcpSock, later_us: u64, segments: u32, rtt_us: i32) {
    ack_with(control, sk, later_us, segments, rtt_us, 0);
}

/// Plays an ACK with flags of `in_ack_event`.
fn ack_with(control: &Control, sk: &mut TcpSock, later_us: u64, segments: u32, rtt_us: i32, flags: u32) {
    let now = sk.tcp_mstamp + later_us;
    at(control, sk, now);
    sk.snd_una = sk.snd_una.wrapping_add(segments * sk.mss_cache);
    control.pkts_acked(sk, &AckSample { pkts_acked: segments, rtt_us, in_flight: 0 });
    control.in_ack_event(sk, flags);
}

/// The window after a repair.
fn repaired(control: &Control, sk: &TcpSock) -> u32 {
    let mut sk = sk.clone();
    control.cwnd_event(&mut sk, ca_event::COMPLETE_CWR);
    assert_eq!(sk.snd_cwnd, sk.snd_ssthresh);
    sk.snd_cwnd
}

/// The filters take 1000 bytes a jiffy three times, from zero.
#[test]
fn the_cards_filters() {
    let library = compile_text("westwood", EXPORTS);
    // SAFETY: EXPORTS declares it so.
    let filter = unsafe { library.get::<unsafe extern "C" fn(u32, u32) -> u32>(b"filter").expect("exported") };
    let (mut first, mut second) = (0, 0);
    for expected in [(125, 15), (234, 42), (329, 77)] {
        // SAFETY: as above.
        first = unsafe { filter(first, 1000) };
        // SAFETY: as above.
        second = unsafe { filter(second, first) };
        assert_eq!((first, second), expected);
    }
}

/// A bandwidth of 1250 bytes a millisecond needs 86 segments for 100 ms.
#[test]
fn the_window_that_the_bandwidth_needs() {
    let control = builtin("westwood");
    let mut sk = connection(&control);
    ack(&control, &mut sk, 1, 0, 100_000);
    sk.mss_cache = 1250;
    for _ in 0..10_000 {
        ack(&control, &mut sk, 1000, 1, 100_000);
    }
    sk.mss_cache = MSS;
    assert_eq!(repaired(&control, &sk), 86);
    change_state(&control, &mut sk, ca_state::RECOVERY);
    assert_eq!(control.ssthresh(&mut sk), 50, "until then it is Reno");
}

#[test]
fn the_first_measurement_counts_in_full_and_the_others_an_eighth_of_an_eighth() {
    let control = builtin("westwood");
    let mut sk = connection(&control);
    ack(&control, &mut sk, 1, 0, 100_000);
    let measure = |sk: &mut TcpSock, segments| {
        ack(&control, sk, 100_000, segments, 100_000);
        ack(&control, sk, 4_000, 0, 100_000);
    };
    measure(&mut sk, 64);
    assert_eq!(repaired(&control, &sk), 61, "64 in 104 ms");
    measure(&mut sk, 64 + 640);
    assert_eq!(repaired(&control, &sk), 71, "an eighth of an eighth of 640 more");
    assert_eq!(repaired(&control, &connection(&control)), 2, "nothing measured");
}

/// Over less than 50 ms an ACK or two would count as a bandwidth.
#[test]
fn bandwidth_is_measured_over_the_interval_at_least() {
    for (interval, segments) in [("50ms", 2), ("10ms", 3)] {
        let control = with_params("westwood", &[("interval", ParamValue::Text(interval.into()))]);
        let mut sk = connection(&control);
        for _ in 0..10 {
            ack(&control, &mut sk, 4_500, 5, 5_000);
        }
        assert_eq!(
            repaired(&control, &sk),
            segments,
            "{interval}: 2 is none, 3.3 is what one ACK brought in the time of three"
        );
    }
}

/// An RTT of 9 ms counts as three jiffies, 12 ms.
#[test]
fn rtts_are_rounded_up_to_jiffies() {
    let control = builtin("westwood");
    let mut sk = connection(&control);
    ack(&control, &mut sk, 1, 0, 9_000);
    for _ in 0..60 {
        ack(&control, &mut sk, 1_000, 1, 9_000);
    }
    assert_eq!(repaired(&control, &sk), 11, "51 segments in 13 jiffies, for three: 11.8; the path holds 9");
}

/// Three duplicate ACKs stand for a segment each. The ACK of four segments that follows counts as one.
#[test]
fn what_duplicate_acks_stood_for_counts_once() {
    for (flags, window) in [(ack_event::SLOWPATH, 3), (0, 6)] {
        let control = builtin("westwood");
        let mut sk = connection(&control);
        ack(&control, &mut sk, 1, 0, 100_000);
        for _ in 0..3 {
            ack_with(&control, &mut sk, 1_000, 0, -1, ack_event::SLOWPATH);
        }
        ack_with(&control, &mut sk, 97_000, 4, 100_000, flags);
        ack(&control, &mut sk, 4_000, 0, 100_000);
        assert_eq!(repaired(&control, &sk), window, "4 or 7 segments in 26 jiffies, for 25; flags {flags}");
    }
}

#[test]
fn the_first_ack_is_not_counted() {
    let control = builtin("westwood");
    let mut sk = connection(&control);
    ack(&control, &mut sk, 100_000, 100, 100_000);
    ack(&control, &mut sk, 4_000, 26, 100_000);
    assert_eq!(repaired(&control, &sk), 2, "the ACK that ends a measurement counts in the next");
    ack(&control, &mut sk, 104_000, 0, 100_000);
    assert_eq!(repaired(&control, &sk), 25);
}

#[test]
fn the_least_rtt_holds_until_a_timeout() {
    let control = builtin("westwood");
    let mut sk = connection(&control);
    ack(&control, &mut sk, 1, 0, 100_000);
    ack(&control, &mut sk, 200_000, 100, 200_000);
    ack(&control, &mut sk, 4_000, 0, 200_000);
    let window = repaired(&control, &sk);
    assert_eq!(window, 49, "100 in 204 ms, for 100 ms");
    control.cwnd_event(&mut sk, ca_event::LOSS);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (100, window), "the threshold only");
    ack(&control, &mut sk, 10, 0, 200_000);
    assert_eq!(repaired(&control, &sk), 98);
    ack(&control, &mut sk, 10, 0, 50_000);
    assert_eq!(repaired(&control, &sk), 25);
}

#[test]
fn a_fast_path_does_not_overflow() {
    let control = builtin("westwood");
    let mut sk = connection(&control);
    ack(&control, &mut sk, 1, 0, 1_000_000);
    ack(&control, &mut sk, 1_000_000, 1_000_000, 1_000_000);
    ack(&control, &mut sk, 4_000, 0, 1_000_000);
    assert!((990_000..=1_000_000).contains(&repaired(&control, &sk)), "some 12 Gbit/s");
}

#[test]
fn it_grows_as_reno() {
    let (westwood, reno) = (builtin("westwood"), builtin("reno"));
    let grown = |control: &Control| {
        let mut sk = socket(10, 12);
        control.init(&mut sk);
        (0..100)
            .map(|_| {
                crate::harness::ack(control, &mut sk, 2, 10_000);
                sk.snd_cwnd
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(grown(&westwood), grown(&reno));
}
