//! Datagrams at equal times: pings, calls, UDP at a constant rate.

use super::Action;
use measure::{DatagramMeter, opinion_score};
use model::Scenario;
use model::app::{DatagramKind, Datagrams};
use model::records::AppStats;
use model::units::Nanos;
use std::collections::VecDeque;

/// A program that sends datagrams.
pub struct Stream {
    kind: DatagramKind,
    every: Nanos,
    flow: u32,
    next: Nanos,
    end: Nanos,
    meter: DatagramMeter,
    other_end: OtherEnd,
}

/// The other end of a call, which talks at the same pace from when it first hears something.
struct OtherEnd {
    next: Nanos,
    meter: DatagramMeter,
    /// How long each datagram was on its way that came to it since it has sent one.
    heard: Vec<Nanos>,
    /// When it has sent what is later than all that has arrived, with what it had heard of by then.
    under_way: VecDeque<(Nanos, Vec<Nanos>)>,
}

impl Stream {
    /// One that sends from `opens` until `end`.
    pub fn new(datagrams: &Datagrams, flow: u32, opens: Nanos, end: Nanos, scenario: &Scenario) -> Stream {
        let meter = DatagramMeter::new(scenario.warmup, end);
        let (heard, under_way) = (vec![], VecDeque::new());
        let other_end = OtherEnd { next: Nanos::NEVER, meter: meter.clone(), heard, under_way };
        Stream { kind: datagrams.kind, every: datagrams.every, flow, next: opens, end, meter, other_end }
    }

    /// When either end sends next.
    pub fn next(&self) -> Nanos {
        let next = self.next.min(self.other_end.next);
        if next < self.end { next } else { Nanos::NEVER }
    }

    /// An end sends, or both do.
    pub fn wake(&mut self, now: Nanos, actions: &mut Vec<Action>) {
        if self.next <= now {
            self.meter.sent(now);
            self.next = now + self.every;
            actions.push(Action::Send { flow: self.flow });
        }
        if self.other_end.next <= now {
            self.other_end.sends(now);
            self.other_end.next = now + self.every;
            actions.push(Action::SendBack { flow: self.flow });
        }
    }

    /// A datagram is at the other end. Tells whether its host answers it.
    pub fn arrived(&mut self, now: Nanos, sent_at: Nanos) -> bool {
        self.meter.arrived(sent_at, now - sent_at);
        if self.kind == DatagramKind::Voice {
            self.other_end.heard.push(now - sent_at);
            if self.other_end.next == Nanos::NEVER {
                self.other_end.next = now;
            }
        }
        self.kind == DatagramKind::Ping
    }

    /// A datagram of the other end's that was sent at `sent_at` is here. Gives the round-trip times of those from here
    /// that it is the first to follow, without the time that the other end waited before it sent, as RTCP has them (RFC
    /// 3550, 6.4.1).
    pub fn came_back(&mut self, now: Nanos, sent_at: Nanos) -> Vec<Nanos> {
        self.other_end.arrived(now, sent_at)
    }

    /// What was counted.
    pub fn stats(&self) -> AppStats {
        let mut stats = self.meter.stats();
        if self.kind == DatagramKind::Voice {
            stats.rating_out = self.meter.call_rating(self.every);
            stats.rating_in = self.other_end.meter.call_rating(self.every);
            stats.rating = stats.rating_out.into_iter().chain(stats.rating_in).min_by(f64::total_cmp);
            stats.opinion_score = stats.rating.map(opinion_score);
        }
        stats
    }
}

impl OtherEnd {
    fn sends(&mut self, now: Nanos) {
        self.meter.sent(now);
        self.under_way.push_back((now, std::mem::take(&mut self.heard)));
    }

    fn arrived(&mut self, now: Nanos, sent_at: Nanos) -> Vec<Nanos> {
        let back = now - sent_at;
        self.meter.arrived(sent_at, back);
        let Some(number) = self.under_way.iter().position(|(at, _)| *at == sent_at) else { return vec![] };
        let (_, heard) = self.under_way.drain(..=number).next_back().expect("it has one at least");
        heard.into_iter().map(|out| out + back).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// A packet every 20 ms for 10 s, of which the first is heard after `out` ms; what goes back takes `back` ms, or
    /// for ever.
    fn call(out: u64, back: Option<u64>) -> (AppStats, Vec<Nanos>) {
        let text = "duration = \"10s\"\n[link.a]\nrate = \"1mbit\"\ndelay = \"1ms\"\n\
                    queue = { limit = \"10p\" }\n[[flows]]\napp = \"voice\"\n";
        let experiment = scenario::load_text(text, "a.toml", std::path::Path::new(""), &[]);
        let scenario = &experiment.unwrap_or_else(|error| panic!("{error}")).cells[0].scenario;
        let voice = Datagrams { kind: DatagramKind::Voice, every: ms(20), packet: model::units::Bytes(200) };
        let mut stream = Stream::new(&voice, 0, Nanos::ZERO, ms(10_000), scenario);
        let (mut to_other, mut to_host) = (VecDeque::new(), VecDeque::new());
        let mut round_trips = vec![];
        for now in (0..10_000).map(ms) {
            let is_there = |packet: Option<&(Nanos, Nanos)>| packet.is_some_and(|(_, at)| *at <= now);
            while is_there(to_other.front()) {
                let (sent_at, _) = to_other.pop_front().expect("it is there");
                assert!(!stream.arrived(now, sent_at), "a program answers, not the host");
            }
            while is_there(to_host.front()) {
                let (sent_at, _) = to_host.pop_front().expect("it is there");
                round_trips.extend(stream.came_back(now, sent_at));
            }
            let mut actions = vec![];
            if stream.next() <= now {
                stream.wake(now, &mut actions);
            }
            for action in actions {
                match action {
                    Action::Send { .. } => to_other.push_back((now, now + ms(out))),
                    Action::SendBack { .. } => to_host.extend(back.map(|back| (now, now + ms(back)))),
                    Action::Write { .. } | Action::TryToWrite { .. } => panic!("it has no connection"),
                }
            }
        }
        (stream.stats(), round_trips)
    }

    /// Each end is heard as it sounds to the other, and the call is as good as the worse of both.
    #[test]
    fn both_directions_of_a_call_are_rated() {
        let (good, round_trips) = call(30, Some(30));
        assert_eq!((good.rating, good.rating_out), (good.rating_in, good.rating_in));
        assert!(round_trips.iter().all(|time| *time == ms(60)) && round_trips.len() > 490);
        let (slow_back, round_trips) = call(30, Some(400));
        assert_eq!(slow_back.rating_out, good.rating);
        assert!(slow_back.rating == slow_back.rating_in && slow_back.rating < good.rating);
        assert!(slow_back.opinion_score < good.opinion_score && round_trips.iter().all(|time| *time == ms(430)));
        let (slow_out, _) = call(400, Some(30));
        assert_eq!((slow_out.rating, slow_out.rating_out), (slow_back.rating, slow_back.rating_in));
        let (deaf, _) = call(30, None);
        assert_eq!((deaf.rating, deaf.rating_out, deaf.rating_in), (Some(0.0), good.rating, Some(0.0)));
    }
}
