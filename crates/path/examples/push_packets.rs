//! Pushes packets through a queue discipline, to measure its cost.
//!
//! Usage: `push_packets CONFIGURATION PACKETS [FLOWS]`.
//!
//! The configuration is the queue of a scenario file, such as `{ kind = "fq_codel" }`. Packets of
//! 1500 bytes arrive at random times, 5 % faster than they leave, so that a queue builds up and
//! drops some of them.

use model::units::{Nanos, Rate};
use rand::RngCore;
use std::path::Path;
use unbloat_path::qdisc::{Ecn, Qdisc, Skb, of};

const BYTES: u32 = 1500;
const RATE: Rate = Rate(12_000_000);
const PACKET_NS: u64 = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [queue, packets, flows @ ..] = &arguments[..] else {
        panic!("push_packets CONFIGURATION PACKETS [FLOWS]");
    };
    let packets: u32 = packets.parse().expect("a number of packets");
    let flows: u32 = flows.first().map_or(8, |flows| flows.parse().expect("a number of flows"));
    let link = format!("[link.bottleneck]\nrate = \"12mbit\"\ndelay = \"0s\"\nqueue = {queue}\n");
    let text = format!("duration = \"1s\"\n{link}[[flows]]\ncc = \"reno\"\n");
    let experiment = scenario::load_text(&text, "arguments", Path::new(""), &[]).unwrap_or_else(|why| panic!("{why}"));
    let queue = &experiment.points[0].scenario.links[0].forward.queue;
    let mut qdisc = of(queue, RATE, BYTES, 1, 1).expect("one of ours");
    let mut rng = unbloat_path::rng(2, 2);
    let (mut now, mut free_at) = (Nanos::ZERO, Nanos::ZERO);
    let (mut dropped, mut sent, mut lost) = (vec![], 0u32, 0usize);
    for id in 0..packets {
        now += Nanos(rng.next_u64() % (2 * PACKET_NS * 100 / 105));
        while free_at <= now && qdisc.next(free_at) <= free_at {
            if qdisc.dequeue(free_at, &mut dropped).is_some() {
                sent += 1;
                free_at += Nanos(PACKET_NS);
            }
        }
        let flow = rng.next_u32() % flows;
        let skb = Skb {
            id,
            bytes: BYTES,
            ecn: if flow & 1 == 0 { Ecn::Ect0 } else { Ecn::NotEct },
            tos: 0,
            band: None,
            is_followed: false,
            flow_hash: flow.wrapping_mul(0x9e37_79b1),
            source: flow / 2,
            destination: flow,
            enqueued_at: now,
        };
        if free_at < now {
            free_at = now;
        }
        qdisc.enqueue(now, skb, &mut dropped);
        lost += dropped.len();
        dropped.clear();
    }
    println!("{sent} sent, {lost} dropped, {} wait", qdisc.backlog().1);
}
