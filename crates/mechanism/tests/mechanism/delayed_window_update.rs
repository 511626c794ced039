//! The delayed window update (Wang and Yuan, 2016) in front of its bases, driven by hand. Its verdicts are in
//! `numbers.rs`.

use crate::harness::{ack, at, builtin, change_state, library, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{HZ, INFINITE_SSTHRESH, TcpSock, ca_event, ca_state};

/// Plays one period of 100 ms with an ACK every 10 ms, all with an RTT of `rtt_us`. Its verdict falls with the last
/// ACK.
fn period(control: &Control, sk: &mut TcpSock, rtt_us: i32) {
    period_of(control, sk, &[rtt_us; 10]);
}

/// Plays one period with these RTTs.
fn period_of(control: &Control, sk: &mut TcpSock, rtts_us: &[i32; 10]) {
    for rtt_us in *rtts_us {
        let later = sk.tcp_mstamp + 10_000;
        at(control, sk, later);
        sk.max_packets_out = sk.snd_cwnd;
        ack(control, sk, 1, rtt_us);
    }
}

/// A connection with one period at 20 ms behind it.
fn connection(control: &Control, cwnd: u32, ssthresh: u32) -> TcpSock {
    let mut sk = socket(cwnd, ssthresh);
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    ack(control, &mut sk, 1, 20_000);
    period(control, &mut sk, 20_000);
    (sk.snd_cwnd, sk.snd_cwnd_cnt) = (cwnd, 0);
    sk
}

fn flag(name: &str, value: bool) -> (&str, ParamValue) {
    (name, ParamValue::Bool(value))
}

/// The built-in congestion controls that are a base behind the gate.
fn gated() -> Vec<String> {
    let names: Vec<_> = library().names().into_iter().filter(|name| name.ends_with("_plus")).collect();
    assert!(names.iter().any(|name| name == "cubic_plus"), "{names:?}");
    names
}

#[test]
fn a_queue_that_appears_cuts_a_tenth_and_ends_slow_start() {
    // Vegas does not grow with every ACK.
    for name in gated().iter().filter(|name| *name != "vegas_plus") {
        let control = builtin(name);
        let mut sk = connection(&control, 100, INFINITE_SSTHRESH);
        period(&control, &mut sk, 40_000);
        assert!(
            (90 * 108 / 100..=90 * 110 / 100).contains(&sk.snd_cwnd),
            "{name}: nine ACKs of growth, then the cut: {}",
            sk.snd_cwnd
        );
        assert_eq!(sk.snd_ssthresh, sk.snd_cwnd, "{name}");
    }
}

#[test]
fn the_window_stands_still_until_the_delay_falls() {
    for name in gated() {
        let control = builtin(&name);
        let mut sk = connection(&control, 100, 50);
        period(&control, &mut sk, 40_000);
        let held = sk.snd_cwnd;
        period(&control, &mut sk, 40_000);
        period(&control, &mut sk, 40_000);
        assert_eq!(
            (sk.snd_cwnd, sk.snd_cwnd_cnt),
            (held, sk.snd_cwnd_cnt),
            "{name}: no growth at the upper end of the RTTs"
        );
        let count = sk.snd_cwnd_cnt;
        period(&control, &mut sk, 20_000);
        period(&control, &mut sk, 20_000);
        assert!(sk.snd_cwnd_cnt > count || sk.snd_cwnd > held || name == "vegas_plus", "{name}: released");
    }
}

#[test]
fn a_standing_queue_alone_is_not_serious_unless_wanted() {
    for (needs_jitter, cut) in [(true, false), (false, true)] {
        let control = with_params("reno_plus", &[flag("serious_needs_jitter", needs_jitter)]);
        let mut sk = connection(&control, 100, 50);
        period(&control, &mut sk, 40_000);
        let before = sk.snd_cwnd;
        period(&control, &mut sk, 40_000);
        assert_eq!(sk.snd_cwnd < before, cut);
    }
}

#[test]
fn a_high_delay_that_still_rises_is_cut_again_unless_unwanted() {
    for (while_high, left) in [(true, 81), (false, 90)] {
        let control = with_params("reno_plus", &[flag("cut_while_high", while_high)]);
        let mut sk = connection(&control, 100, 50);
        period(&control, &mut sk, 40_000);
        assert_eq!(sk.snd_cwnd, 90, "the first rise finds the window free");
        period(&control, &mut sk, 80_000);
        assert_eq!(sk.snd_cwnd, left);
    }
}

#[test]
fn a_cut_drops_rounds_makes_whole_or_keeps_its_part_of_a_packet() {
    // 14 packets: 12.6 and then 11.3 of them.
    for (cut_rounds, left) in [(0, [12, 10]), (1, [13, 12]), (2, [13, 12]), (3, [12, 11])] {
        assert_eq!(after_two_cuts(cut_rounds, 14), left, "cut_rounds {cut_rounds}");
    }
    assert_eq!(after_two_cuts(1, 12), [11, 10], "10.8 and 9.9");
    assert_eq!(after_two_cuts(1, 13), [12, 11], "11.7 and 10.8");
    assert_eq!(after_two_cuts(1, 4), [4, 4], "3.6: rounded or made whole, the smallest windows are not cut");
    assert_eq!(after_two_cuts(0, 4), [3, 2], "dropped, they lose a packet each");
}

/// The windows of Reno behind the gate after each of two serious verdicts.
fn after_two_cuts(cut_rounds: i64, cwnd: u32) -> [u32; 2] {
    let control = with_params("reno_plus", &[("cut_rounds", ParamValue::Integer(cut_rounds))]);
    let mut sk = connection(&control, 100, 50);
    [40_000, 80_000].map(|rtt_us| {
        for _ in 0..9 {
            let later = sk.tcp_mstamp + 10_000;
            at(&control, &mut sk, later);
            ack(&control, &mut sk, 1, rtt_us);
        }
        if rtt_us == 40_000 {
            sk.snd_cwnd = cwnd;
        }
        let later = sk.tcp_mstamp + 10_000;
        at(&control, &mut sk, later);
        sk.snd_cwnd_cnt = 0;
        ack(&control, &mut sk, 1, rtt_us);
        sk.snd_cwnd
    })
}

#[test]
fn the_first_period_begins_with_the_connection_or_the_first_rtt() {
    for (from_start, cut) in [(true, true), (false, false)] {
        let control = with_params("reno_plus", &[flag("period_from_start", from_start)]);
        let mut sk = socket(100, 50);
        at(&control, &mut sk, 1_000_000);
        control.init(&mut sk);
        // The first RTT comes after 90 ms: 10 ms before the end of a period, or at its beginning.
        for (now, rtt) in [(1_090_000, 20_000), (1_100_000, 20_000), (1_150_000, 40_000), (1_200_000, 40_000)] {
            at(&control, &mut sk, now);
            ack(&control, &mut sk, 1, rtt);
        }
        assert_eq!(sk.snd_cwnd < 100, cut);
    }
}

#[test]
fn slow_start_can_be_left_alone() {
    let control = with_params("reno_plus", &[flag("gate_slow_start", false)]);
    let mut sk = connection(&control, 100, INFINITE_SSTHRESH);
    period(&control, &mut sk, 40_000);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (110, INFINITE_SSTHRESH));
    let control = with_params("reno_plus", &[flag("exit_ss_on_serious", false)]);
    let mut sk = connection(&control, 100, INFINITE_SSTHRESH);
    period(&control, &mut sk, 40_000);
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (98, INFINITE_SSTHRESH), "cut, but slow start goes on");
}

#[test]
fn a_loss_opens_the_gate_and_detection_restarts_after_it() {
    let control = builtin("reno_plus");
    let mut sk = connection(&control, 100, 50);
    period(&control, &mut sk, 40_000);
    lose(&control, &mut sk, ca_state::RECOVERY);
    period(&control, &mut sk, 60_000);
    change_state(&control, &mut sk, ca_state::OPEN);
    let (cwnd, count) = (sk.snd_cwnd, sk.snd_cwnd_cnt);
    ack(&control, &mut sk, 1, 60_000);
    assert_eq!((sk.snd_cwnd, sk.snd_cwnd_cnt), (cwnd, count + 1), "open again");
    period(&control, &mut sk, 70_000);
    assert!(sk.snd_cwnd >= cwnd, "the first period after the loss knows no rise");
}

#[test]
fn a_mark_counts_as_a_loss() {
    let control = builtin("reno_plus");
    let mut sk = connection(&control, 100, 50);
    period(&control, &mut sk, 40_000);
    change_state(&control, &mut sk, ca_state::CWR);
    change_state(&control, &mut sk, ca_state::OPEN);
    let (cwnd, count) = (sk.snd_cwnd, sk.snd_cwnd_cnt);
    ack(&control, &mut sk, 1, 40_000);
    assert_eq!((sk.snd_cwnd, sk.snd_cwnd_cnt), (cwnd, count + 1));
}

#[test]
fn the_largest_rtt_is_kept_for_life_or_until_a_recovery() {
    for (reset, held) in [(false, false), (true, true)] {
        let control = with_params("reno_plus", &[flag("reset_max_rtt", reset)]);
        let mut sk = connection(&control, 100, 50);
        ack(&control, &mut sk, 1, 200_000);
        lose(&control, &mut sk, ca_state::RECOVERY);
        change_state(&control, &mut sk, ca_state::OPEN);
        // The mean of 40 ms is below the middle of 20 and 200 ms, but above that of 20 and 40 ms.
        ack(&control, &mut sk, 1, 40_000);
        period(&control, &mut sk, 40_000);
        let count = sk.snd_cwnd_cnt;
        ack(&control, &mut sk, 1, 40_000);
        assert_eq!(sk.snd_cwnd_cnt == count, held);
    }
}

#[test]
fn a_pause_restarts_the_period() {
    let control = builtin("reno_plus");
    let mut sk = connection(&control, 100, 50);
    let later = sk.tcp_mstamp + 1_000_000;
    at(&control, &mut sk, later);
    control.cwnd_event(&mut sk, ca_event::TX_START);
    ack(&control, &mut sk, 1, 40_000);
    period(&control, &mut sk, 40_000);
    assert!(sk.snd_cwnd >= 100, "the mean before the pause is not compared with");
}

/// A window of two segments, both covered by one ACK, leaves nothing in flight in every round trip. The gate does not
/// take that for a pause.
#[test]
fn an_empty_flight_is_no_pause() {
    let control = builtin("reno_plus");
    let mut sk = connection(&control, 100, 50);
    sk.inet_conn.icsk_rto = 320 * HZ as u32 / 1000;
    for _ in 0..10 {
        // Longer than a period of 100 ms, shorter than the timeout.
        let later = sk.tcp_mstamp + 120_000;
        at(&control, &mut sk, later);
        control.cwnd_event(&mut sk, ca_event::TX_START);
        ack(&control, &mut sk, 1, 40_000);
    }
    assert!(sk.snd_cwnd < 100, "the verdict falls and cuts");
}

/// `epoch_start`, the eighth 32-bit member of `struct cubic`.
fn epoch_start(sk: &TcpSock) -> u32 {
    (sk.inet_conn.icsk_ca_priv[3] >> 32) as u32
}

#[test]
fn cubics_clock_stands_still_while_the_window_is_held() {
    for (shift, shifted_ms) in [(true, 9_900..10_200), (false, 0..1)] {
        let control = with_params("cubic_plus", &[flag("shift_epoch_on_hold", shift)]);
        let mut sk = connection(&control, 1000, 500);
        period(&control, &mut sk, 20_000);
        let epoch = epoch_start(&sk);
        // Three in ten find the queue empty, so that nothing is cut; but the mean is in the upper half of 20 to 40 ms.
        let mixed = [20, 20, 20, 40, 40, 40, 40, 40, 40, 40].map(|ms| ms * 1000);
        for _ in 0..101 {
            period_of(&control, &mut sk, &mixed);
        }
        period(&control, &mut sk, 20_000);
        let shift = (epoch_start(&sk) - epoch) * 1000 / HZ as u32;
        assert!(shifted_ms.contains(&shift), "{shift} ms");
    }
}

#[test]
fn the_tolerance_decides_what_equals_the_least_rtt() {
    // One RTT of 20.5 ms after 20 ms: a queue, unless a millisecond is tolerated.
    for (eps, cut) in [("0us", true), ("1ms", false)] {
        let control = with_params("reno_plus", &[("eps", ParamValue::Text(eps.into()))]);
        let mut sk = connection(&control, 100, 50);
        period(&control, &mut sk, 20_500);
        assert_eq!(sk.snd_cwnd < 100, cut, "eps = {eps}");
    }
}
