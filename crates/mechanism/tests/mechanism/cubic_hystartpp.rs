//! HyStart++ (RFC 9406): its equations by number, and the compiled mechanism driven by hand.

use crate::harness::{at, builtin, change_state, compile_text, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{AckSample, INFINITE_SSTHRESH, TcpSock, ca_event, ca_state};

const EXPORTS: &str = "#include \"cubic_hystartpp.bpf.c\"\n\
    __u32 threshold(__u32 rtt_us) { return hystartpp_threshold_us(rtt_us); }\n";
const SAMPLES: u32 = 8;

/// RttThresh is an eighth of the last round's RTT, within 4 and 16 ms.
#[test]
fn the_rise_that_counts() {
    let library = compile_text("hystartpp", EXPORTS);
    // SAFETY: EXPORTS declares it so.
    let threshold = unsafe { library.get::<unsafe extern "C" fn(u32) -> u32>(b"threshold").expect("exported") };
    for (rtt_ms, expected_us) in [(10, 4000), (32, 4000), (40, 5000), (64, 8000), (128, 16_000), (200, 16_000)] {
        // SAFETY: as above.
        assert_eq!(unsafe { threshold(rtt_ms * 1000) }, expected_us, "{rtt_ms} ms");
    }
}

fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, INFINITE_SSTHRESH);
    at(control, &mut sk, 1_000_000);
    sk.snd_una = 0xffff_fff0;
    sk.snd_nxt = sk.snd_una.wrapping_add(1000);
    control.init(&mut sk);
    sk
}

/// An ACK for `segments` segments within a round.
fn ack(control: &Control, sk: &mut TcpSock, segments: u32, rtt_ms: u32) {
    control.pkts_acked(sk, &AckSample { pkts_acked: segments, rtt_us: 1000 * rtt_ms as i32, in_flight: 0 });
    (sk.packets_out, sk.max_packets_out) = (sk.snd_cwnd, sk.snd_cwnd);
    control.cong_avoid(sk, 0, segments);
}

/// A round of `samples` ACKs for no segment, with this RTT; the last one ends it.
fn round_of(control: &Control, sk: &mut TcpSock, samples: u32, rtt_ms: u32) {
    for _ in 1..samples {
        ack(control, sk, 0, rtt_ms);
    }
    sk.snd_una = sk.snd_nxt;
    sk.snd_nxt = sk.snd_una.wrapping_add(1000);
    ack(control, sk, 0, rtt_ms);
}

fn round(control: &Control, sk: &mut TcpSock, rtt_ms: u32) {
    round_of(control, sk, SAMPLES, rtt_ms);
}

/// The segments that an ACK for eight adds.
fn growth(control: &Control, sk: &TcpSock) -> u32 {
    let mut sk = sk.clone();
    let before = sk.snd_cwnd;
    (sk.packets_out, sk.max_packets_out) = (before, before);
    control.cong_avoid(&mut sk, 0, 8);
    sk.snd_cwnd - before
}

#[test]
fn the_delay_slows_the_growth_and_five_rounds_end_it() {
    let control = builtin("cubic_hystartpp");
    let mut sk = connection(&control, 100);
    round(&control, &mut sk, 40);
    round(&control, &mut sk, 44);
    assert_eq!(growth(&control, &sk), 8, "4 ms of 40 are less than an eighth");
    round(&control, &mut sk, 50);
    assert_eq!(growth(&control, &sk), 2, "6 ms of 44 are more");
    for left in (1..5).rev() {
        assert_eq!(sk.snd_ssthresh, INFINITE_SSTHRESH, "{left} rounds to come");
        round(&control, &mut sk, 50);
    }
    assert_eq!(sk.snd_ssthresh, 100);
    let grown = growth(&control, &sk);
    assert!(grown < 2, "it is CUBIC: {grown}");
}

#[test]
fn conservative_growth_loses_no_segment() {
    let control = builtin("cubic_hystartpp");
    let mut sk = connection(&control, 100);
    round(&control, &mut sk, 40);
    round(&control, &mut sk, 60);
    for acked in 1..=12 {
        ack(&control, &mut sk, 1, 60);
        assert_eq!(sk.snd_cwnd, 100 + acked / 4);
    }
}

#[test]
fn jitter_lets_slow_start_go_on() {
    let control = builtin("cubic_hystartpp");
    let mut sk = connection(&control, 100);
    round(&control, &mut sk, 40);
    round(&control, &mut sk, 60);
    round(&control, &mut sk, 60);
    assert_eq!(growth(&control, &sk), 2, "as long as the one that began it");
    round(&control, &mut sk, 59);
    assert_eq!(growth(&control, &sk), 8);
    for _ in 0..10 {
        round(&control, &mut sk, 59);
    }
    assert_eq!((growth(&control, &sk), sk.snd_ssthresh), (8, INFINITE_SSTHRESH));
}

/// Seven samples say nothing, and eight in a round after one without any say nothing either.
#[test]
fn a_round_needs_eight_samples() {
    let control = builtin("cubic_hystartpp");
    let mut sk = connection(&control, 100);
    round(&control, &mut sk, 40);
    round_of(&control, &mut sk, SAMPLES - 1, 80);
    assert_eq!(growth(&control, &sk), 8);
    let mut first = connection(&control, 100);
    round(&control, &mut first, 80);
    assert_eq!(growth(&control, &first), 8, "the first round has nothing to compare with");
}

/// An ACK counts as at most 8 segments unless the sender paces.
#[test]
fn an_ack_for_many_segments() {
    for (paced, limit, grown) in [(0, 8, 8), (1, 8, 50), (2, 8, 50), (0, 0, 50), (0, 20, 20)] {
        let control = with_params("cubic_hystartpp", &[("ack_limit", ParamValue::Integer(limit))]);
        let mut sk = connection(&control, 100);
        sk.inet_conn.sk.sk_pacing_status = paced;
        ack(&control, &mut sk, 50, 40);
        assert_eq!(sk.snd_cwnd, 100 + grown, "pacing {paced}, limit {limit}");
    }
}

#[test]
fn a_window_that_is_not_in_use_does_not_grow() {
    let control = builtin("cubic_hystartpp");
    let mut sk = connection(&control, 100);
    (sk.packets_out, sk.max_packets_out, sk.is_cwnd_limited) = (10, 10, 0);
    control.cong_avoid(&mut sk, 0, 4);
    assert_eq!(sk.snd_cwnd, 100);
}

/// Behind a loss it is CUBIC with CUBIC's threshold, also in the slow start after a timeout.
#[test]
fn after_a_loss_it_is_cubic() {
    for state in [ca_state::RECOVERY, ca_state::LOSS] {
        let (ours, cubic) = (builtin("cubic_hystartpp"), with_params("cubic", &[("hystart", ParamValue::Bool(false))]));
        let lived = |control: &Control| {
            let mut sk = connection(control, 100);
            lose(control, &mut sk, state);
            change_state(control, &mut sk, ca_state::OPEN);
            control.cwnd_event(&mut sk, ca_event::TX_START);
            (1..200)
                .map(|step| {
                    at(control, &mut sk, 1_000_000 + 10_000 * step);
                    ack(control, &mut sk, 2, 40 + step as u32);
                    (sk.snd_cwnd, sk.snd_ssthresh)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(lived(&ours), lived(&cubic));
    }
}
