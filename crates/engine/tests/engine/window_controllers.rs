//! Window controllers on paths such as those of Im's dissertation (2015, chapter 2), whose rates are rates of data.
//! Buffers are deep, and senders run CUBIC.

use crate::world::{Script, control_with, droptail, flow, library, run, scenario, watch};
use model::impairments::Rates;
use model::records::{Flow, Run};
use model::units::{Bytes, Nanos, Rate};
use model::{FlowGroup, Limit, ParamValue, Scenario, Service, Transmitter};
use unbloat_engine::Options;
use unbloat_engine::packet::{Ack, Data, flag};

/// Rate of packets over the rate of data.
const HEADERS: f64 = 1500.0 / 1448.0;

fn path(mbit_of_data: f64, rtt_us: u64, groups: Vec<FlowGroup>) -> Scenario {
    let mut s = scenario(60);
    s.warmup = Nanos::from_secs(10);
    s.links[0].forward.service = Service::Own(Transmitter::Rate(Rate((mbit_of_data * HEADERS * 1e6) as u64)));
    s.links[0].forward.delay = Nanos::from_micros(rtt_us / 2);
    s.links[0].reverse.delay = Nanos::from_micros(rtt_us / 2);
    s.links[0].forward.queue = droptail(Limit::Bytes(Bytes(4_000_000)));
    s.flows = groups;
    s
}

/// A download whose receiver has this window controller.
fn with(controller: &str, params: &[(&str, i64)]) -> FlowGroup {
    let params: Vec<_> = params.iter().map(|(name, value)| (*name, ParamValue::Integer(*value))).collect();
    FlowGroup { window_controller: Some(control_with(controller, &params)), ..flow("cubic") }
}

fn flows(s: &Scenario) -> Vec<Flow> {
    let Run { flows, .. } = run(s, &Options::default()).run;
    flows
}

/// LTE's 55 Mbit/s and 49.7 ms hold 236 packets, for which RTAC rests at 324. The window's ripple may cost 1 % of the
/// rate.
#[test]
fn rtac_keeps_the_queue_short_at_full_rate() {
    let lte = |group| flows(&path(55.0, 49_700, vec![group])).remove(0);
    let (rtac, tuned) = (lte(with("rtac", &[("bdp", 236)])), lte(with("autotuning", &[])));
    let rtt_ms = 324.0 / 236.1 * 49.7;
    assert!(
        (rtac.rtt.rtt_ms_mean.expect("samples") / rtt_ms - 1.0).abs() < 0.03,
        "{} ms for {rtt_ms}",
        rtac.rtt.rtt_ms_mean.expect("samples")
    );
    assert!(rtac.goodput_mbps > 0.99 * tuned.goodput_mbps, "{} of {}", rtac.goodput_mbps, tuned.goodput_mbps);
    // 1810 segments, tcp_rmem_max, of which 236 are the path's.
    let full_ms = 1810.0 / 236.1 * 49.7;
    assert!(
        (tuned.rtt.rtt_ms_mean.expect("samples") / full_ms - 1.0).abs() < 0.03,
        "{} ms for {full_ms}",
        tuned.rtt.rtt_ms_mean.expect("samples")
    );
}

/// Without compensation the least RTT is 29.7 ms, and DRWA rests at three times that.
#[test]
fn drwa_rests_at_lambda_least_rtts() {
    let drwa = flows(&path(55.0, 29_700, vec![with("drwa", &[])])).remove(0);
    assert!(
        (drwa.rtt.rtt_ms_mean.expect("samples") / (3.0 * 29.7) - 1.0).abs() < 0.03,
        "{} ms",
        drwa.rtt.rtt_ms_mean.expect("samples")
    );
    assert!(drwa.goodput_mbps > 0.99 * 55.0, "{} Mbit/s", drwa.goodput_mbps);
}

/// An auto-tuned download fills the buffer, so that the RTT is r least ones. RTAC has b of the path's B packets. Its
/// window, b r, is that of equation 2.8 with `Q = b (r - 1)` and K of 2.11. So b / B is the cube root of
/// `(theta - 1) / (r - 1)`. DRWA's window goes to nothing if r is above lambda.
#[test]
fn rtac_keeps_a_share_where_drwa_starves() {
    let (mbit, rtt_ms, bdp) = (18.9, 18.2, 30);
    let share = |group| {
        let mut s = path(mbit, (1000.0 * rtt_ms) as u64, vec![group, with("autotuning", &[])]);
        // An auto-tuned download alone waits 337 ms in this queue.
        s.links[0].forward.queue = droptail(Limit::Bytes(Bytes(780_000)));
        let both = flows(&s);
        let r = both[0].rtt.rtt_ms_mean.expect("samples") / rtt_ms;
        (both[0].goodput_mbps / mbit, r)
    };
    let (rtac, r) = share(with("rtac", &[("bdp", bdp)]));
    let expected = (0.38 / (r - 1.0)).cbrt();
    assert!((rtac / expected - 1.0).abs() < 0.1, "{rtac:.3} for {expected:.3} at {r:.1} least RTTs");
    let (drwa, r) = share(with("drwa", &[]));
    assert!(r > 3.0 && drwa < 0.1 * rtac, "{drwa:.4} at {r:.1} least RTTs");
}

/// The window has 100 segments on a path that holds 236, so 100 come in a round trip.
#[test]
fn a_static_window_limits_the_rate() {
    let mut group = with("static", &[("most", 100)]);
    group.stack.timestamps = false;
    let limited = flows(&path(55.0, 49_700, vec![group])).remove(0);
    let expected = 100.0 * 1460.0 * 8.0 / 0.0497 / 1e6;
    assert!((limited.goodput_mbps / expected - 1.0).abs() < 0.02, "{} of {expected}", limited.goodput_mbps);
}

/// LTE's 55 Mbit/s become a tenth after 30 s, or ten times as much, without notice to rtac_auto. It rests where RTAC
/// does that knows the path, at 1.38 least RTTs and 97 % of the rate.
#[test]
fn rtac_auto_follows_a_tenfold_change() {
    let known = |mbit: f64| (mbit * 1e6 * 0.0497 / 8.0 / 1448.0) as i64;
    for (before, after) in [(55.0, 5.5), (5.5, 55.0), (55.0, 55.0)] {
        let measured = |group| {
            let mut s = path(before, 49_700, vec![group]);
            let (old, new) = ([before, after]).map(|mbit| Rate((mbit * HEADERS * 1e6) as u64)).into();
            s.warmup = Nanos::from_secs(45);
            s.duration = Nanos::from_secs(90);
            s.links[0].forward.service =
                Service::Own(Transmitter::Rates(Rates::new(old, &[(Nanos::from_secs(30), new)], s.duration)));
            let flow = flows(&s).remove(0);
            (flow.goodput_mbps, flow.rtt.rtt_ms_mean.expect("samples"))
        };
        let (rate, rtt) = measured(with("rtac", &[("bdp", known(after))]));
        let (own_rate, own_rtt) = measured(with("rtac_auto", &[]));
        assert!(own_rate > 0.97 * rate, "{before} to {after}: {own_rate} of {rate} Mbit/s");
        assert!((own_rtt / rtt - 1.0).abs() < 0.1, "{before} to {after}: {own_rtt} for {rtt} ms");
    }
}

/// Beside an auto-tuned download rtac_auto has at least half of RTAC's share. Three of its flows keep a shorter queue
/// than three of RTAC's that know the path.
#[test]
fn rtac_auto_keeps_a_share_and_shares() {
    let shared = |groups| {
        let mut s = path(18.9, 18_200, groups);
        s.links[0].forward.queue = droptail(Limit::Bytes(Bytes(780_000)));
        s.duration = Nanos::from_secs(120);
        flows(&s)
    };
    let beside = |group| shared(vec![group, with("autotuning", &[])])[0].goodput_mbps;
    let (rtac, own) = (beside(with("rtac", &[("bdp", 30)])), beside(with("rtac_auto", &[])));
    assert!(own > 0.5 * rtac, "{own} beside auto-tuning, RTAC {rtac} Mbit/s");
    let three = |controller, params: &[_]| shared((0..3).map(|_| with(controller, params)).collect());
    let rtt = |flows: &[Flow]| flows.iter().map(|flow| flow.rtt.rtt_ms_mean.expect("samples")).sum::<f64>() / 3.0;
    let (rtacs, owns) = (three("rtac", &[("bdp", 30)]), three("rtac_auto", &[]));
    assert!(rtt(&owns) < rtt(&rtacs), "{} for {} ms", rtt(&owns), rtt(&rtacs));
    let least = owns.iter().map(|flow| flow.goodput_mbps).fold(f64::INFINITY, f64::min);
    assert!(least > 0.15 * 18.9, "{least} of 18.9 Mbit/s");
}

/// The receiver never takes back an offered window (RFC 9293, section 3.8.6), even during repairs. A sender may always
/// send two segments beyond those that have come.
#[test]
fn the_right_edge_never_moves_back() {
    let loses = |_, data: &Data| data.segment % 997 == 500 && data.flags & flag::RETRANSMISSION == 0;
    for controller in library().names_of(mechanism::MechanismKind::WindowController) {
        let bdp: &[(&str, i64)] = if controller == "rtac" { &[("bdp", 68)] } else { &[] };
        let mut s = path(20.0, 40_000, vec![with(&controller, bdp)]);
        s.duration = Nanos::from_secs(20);
        s.links[0].forward.queue = droptail(Limit::Bytes(Bytes(60_000)));
        let (_, script) = watch(&s, &Options::default(), Script::new(loses));
        let edge = |ack: &Ack| ack.next as u64 * 1448 + ack.window as u64;
        let acks: Vec<_> = script.acks.iter().map(|(_, ack)| ack).skip(1).collect();
        assert!(acks.len() > 1000, "{controller}: {} acknowledgements", acks.len());
        let back = acks.windows(2).find(|pair| edge(pair[1]) < edge(pair[0]));
        assert!(back.is_none(), "{controller}: {back:?}");
        let least = acks.iter().map(|ack| ack.window).min();
        assert!(least >= Some(2 * 1448) || controller == "autotuning", "{controller}: {least:?}");
    }
}
