//! H-TCP as tcp_htcp.c has it: its formulae by number, and the compiled mechanism driven by hand.

use crate::harness::{acks_for_a_segment, at, builtin, change_state, compile_text, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, TcpSock, ca_state};

/// Source with a thousand ticks a second, so that milliseconds are ticks.
const EXPORTS: &str = "#undef UNBLOAT_HZ\n#define UNBLOAT_HZ 1000UL\n#include \"htcp.bpf.c\"\n\
    __u32 growth(__u32 ms) { return htcp_growth(ms); }\n\
    __u32 scaled(__u32 growth, __u32 ms) { return htcp_scaled(growth, ms); }\n";

#[test]
fn the_cards_growth() {
    let library = compile_text("htcp", EXPORTS);
    // SAFETY: EXPORTS declares it so.
    let growth = unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(b"growth").expect("exported") };
    for (seconds, expected) in [(0, 1), (1, 1), (2, 11), (3, 22), (5, 45), (10, 111), (20, 281)] {
        // SAFETY: as above.
        assert_eq!(unsafe { growth(1000 * seconds) }, expected, "{seconds} s after a loss");
    }
    // SAFETY: as above.
    let scaled = unsafe { library.get::<unsafe extern "C" fn(u32, u32) -> u32>(b"scaled").expect("exported") };
    for (rtt_ms, expected) in [(1, 4), (10, 4), (20, 9), (50, 22), (100, 45), (200, 90), (1000, 90)] {
        // SAFETY: as above.
        assert_eq!(unsafe { scaled(45, rtt_ms) }, expected, "{rtt_ms} ms");
    }
}

/// A connection with a window of `cwnd`, a second after its start.
fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, 2);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sk
}

fn rtt(control: &Control, sk: &mut TcpSock, ms: i32) {
    control.pkts_acked(sk, &AckSample { pkts_acked: 1, rtt_us: 1000 * ms, in_flight: 0 });
}

/// Plays RTTs as Linux counts them, in ticks of 4 ms, 20 ms more at a time.
fn rtts_from_100_to(control: &Control, sk: &mut TcpSock, most_ms: i32) {
    for ms in (100..=most_ms).step_by(20) {
        rtt(control, sk, ms);
    }
}

/// The first loss leaves a half of a window of 1280, and later ones leave RTT_min / RTT_max, in 128ths.
#[test]
fn a_loss_leaves_what_empties_the_queue() {
    let control = builtin("htcp");
    for (most_ms, expected) in [(100, 1020), (120, 1020), (160, 800), (200, 640), (240, 640)] {
        let mut sk = connection(&control, 1280);
        rtts_from_100_to(&control, &mut sk, most_ms);
        assert_eq!(control.ssthresh(&mut sk), 640, "the first");
        rtts_from_100_to(&control, &mut sk, most_ms);
        assert_eq!(control.ssthresh(&mut sk), expected, "RTTs of 100 to {most_ms} ms");
    }
}

#[test]
fn a_short_path_halves() {
    let control = builtin("htcp");
    let mut sk = connection(&control, 1280);
    rtt(&control, &mut sk, 8);
    rtt(&control, &mut sk, 10);
    assert_eq!([(); 3].map(|()| control.ssthresh(&mut sk)), [640; 3]);
}

/// A short delay does not raise the largest RTT at once, and RTTs during repairs do not count.
#[test]
fn the_largest_rtt_grows_in_steps() {
    let control = builtin("htcp");
    let second_loss = |sk: &mut TcpSock| {
        control.ssthresh(sk);
        control.ssthresh(sk)
    };
    let mut sk = connection(&control, 1280);
    rtt(&control, &mut sk, 100);
    rtt(&control, &mut sk, 124);
    assert_eq!(second_loss(&mut sk), 1020, "24 ms at once");
    let mut sk = connection(&control, 1280);
    change_state(&control, &mut sk, ca_state::RECOVERY);
    rtts_from_100_to(&control, &mut sk, 200);
    assert_eq!(second_loss(&mut sk), 640, "none is known");
}

/// Each loss takes away a twentieth of the excess over the least RTT: of 100 ms in ticks of 4 ms.
#[test]
fn the_largest_rtt_fades() {
    let control = builtin("htcp");
    let mut sk = connection(&control, 12_800);
    rtts_from_100_to(&control, &mut sk, 200);
    let left = [(); 5].map(|()| control.ssthresh(&mut sk));
    // RTT_max: 50 ticks, then 48, 46, 44 and 43 of 25 at least.
    let expected = [50, 48, 46, 44, 43].map(|most| 12_800 * (128 * 25 / most) / 128);
    assert_eq!(left[1..], expected[1..], "the first halves");
}

/// The window over alpha is the number of acknowledged segments for one more. A loss leaves half a window, so alpha is
/// the growth itself.
#[test]
fn growth_quickens_with_the_time_since_the_loss() {
    let control = builtin("htcp");
    let mut sk = connection(&control, 1100);
    rtt(&control, &mut sk, 100);
    lose(&control, &mut sk, ca_state::RECOVERY);
    change_state(&control, &mut sk, ca_state::OPEN);
    for (seconds, alpha) in [(1, 1), (2, 11), (3, 22), (10, 111)] {
        at(&control, &mut sk, 1_000_000 + 1_000_000 * seconds);
        acks_for_a_segment(&control, &mut sk);
        let (acks, by) = acks_for_a_segment(&control, &mut sk);
        let window = sk.snd_cwnd - 1;
        assert_eq!((acks, by), (window.div_ceil(alpha) + 1, 1), "{seconds} s after the loss");
    }
}

#[test]
fn growth_is_that_of_100_ms_or_not() {
    for (scaling, expected) in [(true, 22), (false, 11)] {
        let control = with_params("htcp", &[("rtt_scaling", ParamValue::Bool(scaling))]);
        let mut sk = connection(&control, 1000);
        rtt(&control, &mut sk, 200);
        at(&control, &mut sk, 3_000_000);
        sk.snd_cwnd = control.ssthresh(&mut sk) * 2;
        let (acks, _) = acks_for_a_segment(&control, &mut sk);
        assert_eq!(acks, 1000_u32.div_ceil(expected) + 1, "two seconds after the start");
    }
}

/// After a spurious loss in slow start the window comes back, and so does the state that changed with it.
#[test]
fn a_loss_that_was_none_is_undone() {
    let control = builtin("htcp");
    let mut sk = connection(&control, 1000);
    rtt(&control, &mut sk, 100);
    at(&control, &mut sk, 11_000_000);
    lose(&control, &mut sk, ca_state::RECOVERY);
    sk.snd_cwnd = control.undo_cwnd(&mut sk);
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!(sk.snd_cwnd, 1000);
    acks_for_a_segment(&control, &mut sk);
    let (acks, _) = acks_for_a_segment(&control, &mut sk);
    assert_eq!(acks, 1001_u32.div_ceil(111) + 1, "ten seconds after the start");
}

/// A round trip has a window, and twice as many segments in the second half, because another flow has gone.
#[test]
fn another_throughput_halves() {
    for (switch, expected) in [(true, 640), (false, 1020)] {
        let control = with_params("htcp", &[("bandwidth_switch", ParamValue::Bool(switch))]);
        let mut sk = connection(&control, 1280);
        let mut now = 1_000_000;
        let mut rounds = |sk: &mut TcpSock, acked: u32| {
            for _ in 0..20 {
                now += 100_000;
                at(&control, sk, now);
                control.pkts_acked(sk, &AckSample { pkts_acked: acked, rtt_us: 100_000, in_flight: 0 });
            }
        };
        for _ in 0..3 {
            rounds(&mut sk, 1280);
            lose(&control, &mut sk, ca_state::RECOVERY);
            change_state(&control, &mut sk, ca_state::OPEN);
            sk.snd_cwnd = 1280;
        }
        rounds(&mut sk, 2560);
        assert_eq!(control.ssthresh(&mut sk), expected, "{switch}");
    }
}
