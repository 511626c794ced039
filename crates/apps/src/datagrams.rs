//! Datagrams at equal intervals: pings, calls, UDP at a constant rate.

use super::Action;
use measure::{DatagramMeter, opinion_score};
use model::Scenario;
use model::app::{DatagramKind, Datagrams};
use model::records::AppStats;
use model::units::Nanos;
use std::collections::VecDeque;

/// A program that sends datagrams at equal intervals.
pub struct Stream {
    kind: DatagramKind,
    every: Nanos,
    flow: u32,
    next: Nanos,
    end: Nanos,
    meter: DatagramMeter,
    other_end: OtherEnd,
}

/// The other end of a call, which talks at the same pace from its first arrival on.
struct OtherEnd {
    next: Nanos,
    meter: DatagramMeter,
    /// Delays of the datagrams that have arrived since it last sent one.
    heard: Vec<Nanos>,
    /// Sending times of datagrams later than all that have arrived, each with the delays in `heard`
    /// by then.
    under_way: VecDeque<(Nanos, Vec<Nanos>)>,
}

impl Stream {
    /// Creates a program that sends from `opens` until `end`.
    pub fn new(datagrams: &Datagrams, flow: u32, opens: Nanos, end: Nanos, scenario: &Scenario) -> Stream {
        let meter = DatagramMeter::new(scenario.warmup, end);
        let (heard, under_way) = (vec![], VecDeque::new());
        let other_end = OtherEnd { next: Nanos::NEVER, meter: meter.clone(), heard, under_way };
        Stream { kind: datagrams.kind, every: datagrams.every, flow, next: opens, end, meter, other_end }
    }

    /// Returns when either end sends next.
    pub fn next(&self) -> Nanos {
        let next = self.next.min(self.other_end.next);
        if next < self.end { next } else { Nanos::NEVER }
    }

    /// Sends the datagrams that are due, of one end or of both.
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

    /// Notes that a datagram has reached the other end, and returns whether the host there answers
    /// it.
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

    /// Notes that a datagram of the other end, sent at `sent_at`, has arrived here.
    ///
    /// Returns the round-trip times of the datagrams from here that it is the first to follow. They
    /// leave out the time that the other end waited before it sent, as those of RTCP do (RFC 3550,
    /// 6.4.1).
    pub fn came_back(&mut self, now: Nanos, sent_at: Nanos) -> Vec<Nanos> {
        self.other_end.arrived(now, sent_at)
    }

    /// Returns the statistics of the program.
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

    /// Makes a call with a packet every 20 ms for 10 s. Packets take `out` ms to the other end and
    /// `back` ms from it, or never arrive.
    fn call(out: u64, back: Option<u64>) -> (AppStats, Vec<Nanos>) {
        let text = "duration = \"10s\"\n[link.a]\nrate = \"1mbit\"\ndelay = \"1ms\"\n\
                    queue = { limit = \"10p\" }\n[[flows]]\napp = \"voice\"\n";
        let experiment = scenario::load_text(text, "a.toml", std::path::Path::new(""), &[]);
        let scenario = &experiment.unwrap_or_else(|error| panic!("{error}")).points[0].scenario;
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

    /// Each direction has a rating of its own, and the call is as good as the worse of both.
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
