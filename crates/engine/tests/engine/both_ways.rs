//! Data in both directions: properties of every scenario, and figures that can be calculated.

use crate::auditor::Auditor;
use crate::properties::{config, flows_agree, links_agree, queues_keep_their_limits};
use crate::random;
use crate::world::*;
use model::records::Run;
use model::units::{Nanos, Rate};
use model::{DuplexLink, FlowGroup, Limit, Link, Loss, Scenario, Service, TcpProfile, Transmitter};
use proptest::prelude::*;
use unbloat_engine::Options;

/// The scenario as seen from the other side of the bottleneck.
fn mirrored(scenario: &Scenario) -> Scenario {
    let mut mirrored = scenario.clone();
    let DuplexLink { forward, reverse } = &mut mirrored.links[0];
    std::mem::swap(forward, reverse);
    std::mem::swap(&mut forward.name, &mut reverse.name);
    mirrored.flows.iter_mut().for_each(|group| group.reverse = !group.reverse);
    mirrored
}

/// The records of each flow and of each link, as text.
fn seen(run: &Run) -> (String, String) {
    let flows = serde_json::to_string(&run.flows).unwrap();
    let mut links = run.links.clone();
    links.sort_by(|a, b| a.link.cmp(&b.link));
    (flows, serde_json::to_string(&links).unwrap())
}

proptest! {
    #![proptest_config(config(200))]

    /// Packets are conserved and in order per flow, windows are respected, and reassembly is right. The record of a
    /// link contains every packet, of any kind, that its queue dropped or its wire lost.
    #[test]
    fn every_event_is_one_that_tcp_and_a_network_may_show(mut scenario in random::both_ways()) {
        scenario.warmup = Nanos::ZERO;
        let (outcome, auditor) = watch(&scenario, &Options::default(), Auditor::new(&scenario));
        flows_agree(&outcome.run, &auditor.flows)?;
        links_agree(&outcome.run, &auditor)?;
    }

    /// Neither queue ever exceeds its limit.
    #[test]
    fn both_queues_stay_within_their_limits(scenario in random::both_ways()) {
        queues_keep_their_limits(&scenario)?;
    }

    /// A mirrored scenario gives mirrored events. If all data went one way, this compares links that carry both kinds
    /// of packets with those that carry one. Three things differ in a mirror. Losses on the wire have draws of their
    /// own in each direction. The opportunities of a trace come at whole milliseconds, as timers do. Events at the same
    /// instant may change their order.
    #[test]
    fn a_link_has_no_front(mut scenario in prop_oneof![random::scenario(), random::both_ways()]) {
        let DuplexLink { forward, reverse } = &mut scenario.links[0];
        for way in [forward, reverse] {
            way.loss = Loss::NONE;
            way.service = Service::Own(Transmitter::Rate(Rate(way.service.capacity().mean as u64)));
        }
        let [here, there] = [&scenario, &mirrored(&scenario)].map(|scenario| run(scenario, &Options::default()).run);
        let mut there = there;
        // Access links follow, which a mirror leaves in their places.
        there.links[..2].reverse();
        for (link, name) in there.links.iter_mut().zip(["bottleneck", "bottleneck.reverse"]) {
            link.link = name.into();
        }
        prop_assert_eq!(seen(&here), seen(&there));
    }
}

/// The acknowledgements of an upload, one packet at a time, queue behind the packets of a download, 60 of which are on
/// the way.
#[test]
fn acknowledgements_wait_behind_the_other_direction_s_data() {
    let mut s = scenario(35);
    s.warmup = Nanos::from_secs(5);
    s.links[0].reverse = link("bottleneck.reverse", 10.0, Nanos::from_millis(20));
    let prompt = TcpProfile { delayed_ack: false, ..TcpProfile::LINUX };
    let upload = FlowGroup { cc: fixed_window(1), stack: prompt, ..flow("reno") };
    let download = FlowGroup { cc: fixed_window(60), stack: prompt, reverse: true, ..flow("reno") };
    s.flows = vec![upload, download];
    let run = run(&s, &Options::default()).run;
    // Base: 40 ms and two transmissions. The rest of the 60 packets of 1.2 ms waits on the reverse path, for as long as
    // its own round trip is full.
    let [upload, download] = [&run.flows[0], &run.flows[1]].map(|flow| flow.rtt.rtt_ms_mean.unwrap());
    assert!((download - 72.0).abs() < 0.5, "the download's RTT is {download} ms");
    let waits = run.links[1].queue_delay.queue_delay_ms_mean.unwrap();
    assert!((waits - 30.8).abs() < 0.5, "the reverse path keeps packets waiting {waits} ms");
    assert!((upload - (40.0 + 1.2 + 0.04 + waits)).abs() < 1.5, "the upload's RTT is {upload} ms");
    assert!(run.links[1].utilisation_percent > 99.9, "{} %", run.links[1].utilisation_percent);
}

/// A full reverse path drops the data of the flows that take it.
#[test]
fn data_of_reverse_flows_is_dropped_on_the_reverse_path() {
    let mut s = scenario(10);
    s.links[0].reverse =
        Link { queue: droptail(Limit::Packets(20)), ..link("bottleneck.reverse", 10.0, Nanos::from_millis(20)) };
    s.flows = vec![FlowGroup { reverse: true, ..flow("cubic") }];
    let run = run(&s, &Options::default()).run;
    assert!(run.flows[0].lost_packets > 0);
    assert_eq!((run.links[0].drops, run.links[1].drops), (0, run.flows[0].lost_packets));
    assert!(run.links[1].utilisation_percent > 90.0 && run.links[0].utilisation_percent < 5.0);
}
