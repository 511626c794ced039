//! Helpers that the disciplines' tests share.

use super::{Ecn, Qdisc, Skb};
use model::units::Nanos;

/// Creates a packet of 1500 bytes of the flow `flow`, which is ECN-capable if `ecn`.
pub fn skb(id: u32, flow: u32, ecn: bool) -> Skb {
    Skb {
        id,
        bytes: 1500,
        ecn: if ecn { Ecn::Ect0 } else { Ecn::NotEct },
        tos: 0,
        band: None,
        is_followed: false,
        flow_hash: flow,
        source: flow,
        destination: 1000,
        enqueued_at: Nanos::ZERO,
    }
}

/// The fate of a packet, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Sent(u64),
    Marked(u64),
    Dropped(u64),
}

/// Runs a discipline with a standing queue, and returns the fate of each packet, with the time in
/// microseconds.
///
/// Every `step_us` until `until_us` it takes one packet. It adds packets so that `standing` of them
/// wait, but at most four a step if some are dropped.
pub fn standing(qdisc: &mut impl Qdisc, ecn: bool, standing: u64, step_us: u64, until_us: u64) -> Vec<Event> {
    let (mut dropped, mut events) = (vec![], vec![]);
    let mut id = 0;
    for us in (0..until_us).step_by(step_us as usize) {
        let now = Nanos::from_micros(us);
        let most = if us == 0 { standing + 1 } else { 4 };
        for _ in 0..most.min((standing + 1).saturating_sub(qdisc.backlog().1)) {
            qdisc.enqueue(now, skb(id, 1, ecn), &mut dropped);
            id += 1;
            events.extend(dropped.drain(..).map(|_| Event::Dropped(us)));
        }
        if let Some(sent) = qdisc.dequeue(now, &mut dropped) {
            events.push(if sent.ecn == Ecn::Ce { Event::Marked(us) } else { Event::Sent(us) });
        }
        events.extend(dropped.drain(..).map(|_| Event::Dropped(us)));
    }
    events
}

/// Returns when packets were dropped, in microseconds.
pub fn drops(events: &[Event]) -> Vec<u64> {
    let time = |event: &Event| if let Event::Dropped(us) = event { Some(*us) } else { None };
    events.iter().filter_map(time).collect()
}

/// Returns when packets were marked, in microseconds.
pub fn marks(events: &[Event]) -> Vec<u64> {
    let time = |event: &Event| if let Event::Marked(us) = event { Some(*us) } else { None };
    events.iter().filter_map(time).collect()
}
