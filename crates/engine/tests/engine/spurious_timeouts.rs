//! Timeouts without cause: the link falls silent for a second, and loses nothing.

use crate::auditor::Auditor;
use crate::transfers::*;
use crate::world::*;
use model::units::{Bytes, Nanos};
use model::{Link, Service, TcpProfile};
use unbloat_engine::Options;
use unbloat_engine::packet::Data;

/// A link that is silent from 1 s to 2 s.
fn outage() -> Service {
    outage_of(1000..2000)
}

/// Results of a window of up to 200 packets that meets the outage. They are the window half a second after it, and the
/// numbers of timeouts and of retransmissions.
fn after_an_outage(stack: TcpProfile) -> (u32, u64, u64) {
    let mut s = scenario(4);
    s.links[0].forward = Link { service: outage(), ..link("bottleneck", 1.0, Nanos::from_millis(20)) };
    s.flows[0].receive_window = Some(Bytes(200 * 1500));
    s.flows[0].stack = stack;
    let options = Options { series: Some(Nanos::from_millis(10)), ..Options::default() };
    let (outcome, _) = watch(&s, &options, Auditor::new(&s));
    let series = outcome.series.unwrap().flows;
    let later = series.time_s.iter().position(|t| *t >= 2.5).unwrap();
    let flow = &outcome.run.flows[0];
    assert_eq!(flow.lost_packets, 0);
    (series.cwnd_packets[later], flow.timeouts, flow.retransmitted_packets)
}

const NO_UNDO: TcpProfile = TcpProfile { frto: false, undo: false, tlp: false, ..TcpProfile::LINUX };

#[test]
fn without_undo_a_spurious_timeout_costs_the_window_and_repeats_it() {
    let (_, timeouts, again) = after_an_outage(NO_UNDO);
    assert!(timeouts >= 1);
    assert!(again > 50, "{again} segments sent again");
}

#[test]
fn frto_finds_a_spurious_timeout_without_timestamps() {
    let (window, timeouts, again) =
        after_an_outage(TcpProfile { frto: true, undo: true, timestamps: false, ..NO_UNDO });
    assert!(timeouts >= 1);
    assert!(window >= 190, "window {window} after the outage");
    assert!(again <= timeouts + 2, "{again} segments sent again in {timeouts} timeouts");
}

#[test]
fn eifel_finds_a_spurious_timeout_by_its_timestamp() {
    for tcp_usec_ts in [false, true] {
        let (window, timeouts, again) = after_an_outage(TcpProfile { undo: true, tcp_usec_ts, ..NO_UNDO });
        assert!(timeouts >= 1);
        assert!(window >= 190, "window {window} after the outage");
        assert!(again <= timeouts + 2, "{again} segments sent again in {timeouts} timeouts");
    }
}

/// The timeout gives up all segments and is undone. One of the segments was really lost; RACK finds that as it would
/// have without the timeout.
#[test]
fn a_real_loss_among_those_of_a_spurious_timeout_takes_no_second_timeout() {
    for stack in
        [TcpProfile { undo: true, ..NO_UNDO }, TcpProfile { frto: true, undo: true, timestamps: false, ..NO_UNDO }]
    {
        let mut s = scenario(4);
        s.links[0].forward = Link { service: outage(), ..link("bottleneck", 1.0, Nanos::from_millis(20)) };
        s.flows[0].receive_window = Some(Bytes(200 * 1500));
        s.flows[0].stack = stack;
        let run = |losses: u32| {
            let mut left = losses;
            let one = move |now, data: &Data| {
                let lost = left > 0 && is_data(data) && now >= Nanos::from_millis(1020);
                left -= lost as u32;
                lost
            };
            let (flow, again) = outcome(&s, one);
            (flow.timeouts, again.len())
        };
        let (timeouts, again) = run(0);
        assert!(timeouts >= 1);
        let (timeouts_with_loss, again_with_loss) = run(1);
        assert_eq!(timeouts_with_loss, timeouts, "{stack:?}");
        // Without timestamps the timeout's retransmission misleads RACK, which then takes segments of one burst for
        // lost.
        assert!(
            !stack.timestamps || again_with_loss == again + 1,
            "{again_with_loss} sent again, {again} without a loss"
        );
    }
}

#[test]
fn duplicate_sacks_take_a_reduction_back() {
    // Neither F-RTO nor timestamps: all segments go out twice, and each second copy is reported as a duplicate.
    let (with, timeouts, _) = after_an_outage(TcpProfile { undo: true, timestamps: false, ..NO_UNDO });
    let (without, _, _) = after_an_outage(TcpProfile { timestamps: false, ..NO_UNDO });
    assert!(timeouts >= 1);
    assert!(with >= without, "window {with} with undo, {without} without");
}
