//! DTPA that learns the mean rate of all flows: the compiled mechanism driven by hand.

use crate::dtpa::period_of_window;
use crate::harness::{ack, at, change_state, lose, socket, with_params};
use model::ParamValue;
use unbloat_mechanism::Control;
use unbloat_mechanism::sock::{TcpSock, ca_state};

const RTT_US: u32 = 500_000;
const UNLIMITED: u64 = u64::MAX;

fn control(headroom: &str) -> Control {
    with_params("dtpa_auto", &[("headroom", ParamValue::Text(headroom.into()))])
}

/// A connection in congestion avoidance with an RTT of half a second and 64 bytes a segment.
fn connection(control: &Control, cwnd: u32) -> TcpSock {
    let mut sk = socket(cwnd, 2);
    sk.mss_cache = 64;
    sk.snd_wnd = 6400;
    sk.srtt_us = 8 * RTT_US;
    at(control, &mut sk, 1_000_000);
    control.init(&mut sk);
    sk
}

/// The wait after an acknowledgement with this rate, and the segments a second that pacing allows, if it limits.
fn told(control: &Control, sk: &mut TcpSock, rate: u32) -> (u32, Option<f64>) {
    sk.sim.mean_flow_rate = rate;
    ack(control, sk, 1, RTT_US as i32);
    let pacing = sk.inet_conn.sk.sk_pacing_rate;
    (sk.sim.period_us, (pacing != UNLIMITED).then_some(pacing as f64 / 64.0))
}

#[test]
fn it_waits_while_it_knows_how_long() {
    let control = control("25%");
    let mut sk = connection(&control, 4);
    assert_eq!(told(&control, &mut sk, 0), (0, None));
    let (wait, pacing) = told(&control, &mut sk, 800);
    assert_eq!(wait, period_of_window(sk.snd_cwnd, RTT_US, 1000));
    assert!((pacing.expect("it waits") - 1.0).abs() < 0.02, "{pacing:?} segments a second");
    assert_eq!(told(&control, &mut sk, 0), (0, None), "nobody tells it any more");
}

/// A node whose window of a round trip is less than c does not wait.
#[test]
fn who_sends_less_does_not_wait() {
    let control = control("0%");
    let mut sk = connection(&control, 4);
    assert_eq!(told(&control, &mut sk, 12_000), (0, None));
}

/// After an outage the mean is very small, but c has a least value.
#[test]
fn a_segment_in_ten_seconds_may_always_go() {
    let control = control("0%");
    let mut sk = connection(&control, 4);
    assert_eq!(told(&control, &mut sk, 1).0, period_of_window(sk.snd_cwnd, RTT_US, 100));
}

#[test]
fn the_window_is_what_the_receiver_takes_of_it() {
    let control = control("0%");
    let mut sk = connection(&control, 40);
    sk.snd_wnd = 4 * 64 + 10;
    assert_eq!(told(&control, &mut sk, 1000).0, period_of_window(4, RTT_US, 1000));
    sk.snd_wnd = 0;
    assert_eq!(told(&control, &mut sk, 1000).0, period_of_window(1, RTT_US, 1000));
}

/// A window that grew while it waits would be larger than the network ever asked for, once c is no longer announced.
#[test]
fn a_window_that_waits_does_not_grow() {
    let control = control("0%");
    let mut sk = connection(&control, 4);
    (sk.is_cwnd_limited, sk.packets_out, sk.max_packets_out) = (0, 1, 1);
    for _ in 0..20 {
        told(&control, &mut sk, 1000);
    }
    assert_eq!(sk.snd_cwnd, 4);
    sk.is_cwnd_limited = 1;
    for _ in 0..20 {
        told(&control, &mut sk, 0);
    }
    assert!(sk.snd_cwnd > 4, "{}", sk.snd_cwnd);
}

#[test]
fn a_loss_leaves_half_and_does_not_change_c() {
    let control = control("0%");
    let mut sk = connection(&control, 8);
    sk.sacked_out = 3;
    sk.lost_out = 1;
    told(&control, &mut sk, 1000);
    lose(&control, &mut sk, ca_state::RECOVERY);
    change_state(&control, &mut sk, ca_state::OPEN);
    assert_eq!((sk.snd_ssthresh, sk.snd_cwnd), (4, 4));
    assert_eq!(told(&control, &mut sk, 1000).0, period_of_window(sk.snd_cwnd, RTT_US, 1000));
}

/// No window and RTT exceed c, except for a byte a second in pacing's rate.
#[test]
fn nobody_sends_more_than_c() {
    let control = control("50%");
    for cwnd in [1, 2, 4, 8, 60] {
        for rate in [100, 800, 1180, 50_000] {
            for rtt_us in [1000, 300_000, 5_000_000] {
                let mut sk = connection(&control, cwnd);
                sk.srtt_us = 8 * rtt_us;
                let (wait, pacing) = told(&control, &mut sk, rate);
                let (c, cwnd) = (f64::from(rate) * 1.5 / 1e3, f64::from(sk.snd_cwnd));
                let sent = 1e6 * cwnd / (f64::from(wait) + f64::from(rtt_us));
                assert!(
                    wait == 30_000_000 || sent <= c * 1.001,
                    "{cwnd} segments, {rtt_us} us, c {c}: {sent} a second"
                );
                match pacing {
                    Some(pacing) => assert!((pacing - sent).abs() <= 1.0 / 64.0, "{pacing}, not {sent} a second"),
                    None => assert_eq!(wait, 0),
                }
            }
        }
    }
}
