//! Datagrams at equal times: pings, calls, UDP at a constant rate.

use super::Action;
use measure::DatagramMeter;
use scenario::app::{DatagramKind, Datagrams};
use scenario::model::Scenario;
use scenario::records::AppStats;
use scenario::units::Nanos;

/// A program that sends datagrams.
pub struct Stream {
    kind: DatagramKind,
    every: Nanos,
    flow: u32,
    next: Nanos,
    end: Nanos,
    meter: DatagramMeter,
}

impl Stream {
    /// One that sends from `opens` until `end`.
    pub fn new(datagrams: &Datagrams, flow: u32, opens: Nanos, end: Nanos, scenario: &Scenario) -> Stream {
        let meter = DatagramMeter::new(scenario.warmup, end);
        Stream { kind: datagrams.kind, every: datagrams.every, flow, next: opens, end, meter }
    }

    /// When it sends next.
    pub fn next(&self) -> Nanos {
        if self.next < self.end { self.next } else { Nanos::NEVER }
    }

    /// It sends.
    pub fn wake(&mut self, now: Nanos, actions: &mut Vec<Action>) {
        self.meter.sent(now);
        self.next = now + self.every;
        actions.push(Action::Send { flow: self.flow });
    }

    /// A datagram is at the other end, which answers a ping; in a call it talks itself, at the same pace.
    pub fn arrived(&mut self, now: Nanos, sent_at: Nanos) -> bool {
        self.meter.arrived(sent_at, now - sent_at);
        self.kind != DatagramKind::Udp
    }

    /// What was counted.
    pub fn stats(&self) -> AppStats {
        let mut stats = self.meter.stats();
        if self.kind == DatagramKind::Voice {
            (stats.rating, stats.opinion_score) = self.meter.call(self.every);
        }
        stats
    }
}
