//! Requests and responses: the traffic of a client's connections, and the times of its requests.
//!
//! A connection is two flows, one for the requests and one for the responses, which both open when
//! the client does. A message takes whole segments. The server answers at once, in the order of the
//! requests.

use super::Action;
use super::video::Player;
use measure::{DelayMeter, Interval};
use model::FlowGroup;
use model::app::{RequestKind, Requests, WhenFull, Write};
use model::records::AppStats;
use model::units::{Bytes, Nanos};
use std::collections::VecDeque;

/// A request without a complete response.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Nanos,
    /// Bytes of all requests up to and including this one.
    request_end: u64,
    response: Bytes,
    /// Bytes of all responses up to and including its own; none before the server has the request.
    response_end: Option<u64>,
}

/// A connection to a server.
struct Connection {
    requests: u32,
    asked: VecDeque<Asked>,
    /// Bytes of all requests so far; `response_bytes` counts the responses.
    request_bytes: u64,
    response_bytes: u64,
}

/// The reaction of a client to responses.
enum Pattern {
    Periodic { every: Nanos, when_full: WhenFull, skipped: u64 },
    Chunks { pause: Nanos },
    Writes { opens: Nanos, rest: std::vec::IntoIter<Write> },
    Web { objects: u32, pause: Nanos, to_ask: u32, missing: u32, began: Nanos },
    Video(Player),
}

/// A program that sends requests, with the server that answers.
pub struct Client {
    request: Bytes,
    response: Bytes,
    /// Payload of full segments of the requests; `response_mss` is that of the responses.
    request_mss: u64,
    response_mss: u64,
    first_flow: u32,
    connections: Vec<Connection>,
    pattern: Pattern,
    next: Nanos,
    end: Nanos,
    /// Times from a request to the end of its response.
    responses: DelayMeter,
    /// Times from the first request of a page to its last byte.
    pages: DelayMeter,
}

/// Returns when a writer that opens at `opens` writes next; `Nanos::NEVER` after its last write.
fn next_write(opens: Nanos, rest: &std::vec::IntoIter<Write>) -> Nanos {
    rest.as_slice().first().map_or(Nanos::NEVER, |write| opens + write.at)
}

impl Client {
    /// Creates a client that sends requests from `opens` until `end`, on flows from `first` on.
    pub fn new(requests: &Requests, group: &FlowGroup, first: u32, opens: Nanos, end: Nanos, warmup: Nanos) -> Client {
        let connection = |number| Connection {
            requests: first + 2 * number,
            asked: VecDeque::new(),
            request_bytes: 0,
            response_bytes: 0,
        };
        let interval = Interval { from: warmup, to: end };
        let pattern = match &requests.kind {
            &RequestKind::Periodic { every, when_full } => Pattern::Periodic { every, when_full, skipped: 0 },
            &RequestKind::Chunks { pause } => Pattern::Chunks { pause },
            RequestKind::Writes(writes) => Pattern::Writes { opens, rest: writes.clone().into_iter() },
            &RequestKind::Web { objects, pause } => {
                Pattern::Web { objects, pause, to_ask: 0, missing: 0, began: Nanos::ZERO }
            }
            &RequestKind::Video { lowest, highest, piece, startup, most } => {
                Pattern::Video(Player::new(lowest, highest, piece, startup, most, opens))
            }
        };
        let next = match &pattern {
            Pattern::Writes { opens, rest } => next_write(*opens, rest),
            _ => opens,
        };
        Client {
            request: requests.request,
            response: requests.response,
            request_mss: group.of_flow(0).mss().0,
            response_mss: group.of_flow(1).mss().0,
            first_flow: first,
            connections: (0..requests.connections).map(connection).collect(),
            pattern,
            next,
            end,
            responses: DelayMeter::new(interval),
            pages: DelayMeter::new(interval),
        }
    }

    /// Returns when the client sends its next request without a response.
    pub fn next(&self) -> Nanos {
        if self.next < self.end { self.next } else { Nanos::NEVER }
    }

    /// Sends the request that is due.
    pub fn wake(&mut self, now: Nanos, actions: &mut Vec<Action>) {
        self.next = Nanos::NEVER;
        let mut response = self.response;
        match &mut self.pattern {
            // The next message is scheduled when this one is written.
            Pattern::Periodic { when_full: WhenFull::Delay, .. } => {}
            Pattern::Periodic { when_full: WhenFull::Wait, every, .. } => self.next = now + *every,
            Pattern::Periodic { when_full: WhenFull::Skip, every, .. } => {
                self.next = now + *every;
                let segments = self.segments_of_request();
                return actions.push(Action::TryToWrite { flow: self.first_flow, segments });
            }
            Pattern::Chunks { .. } => {}
            Pattern::Writes { opens, rest } => {
                self.request = rest.next().map_or(self.request, |write| write.size);
                self.next = next_write(*opens, rest);
            }
            Pattern::Web { objects, to_ask, missing, began, .. } => {
                (*to_ask, *missing, *began) = (*objects, 1 + *objects, now);
                self.pages.begins();
            }
            Pattern::Video(player) => response = player.asks(now),
        }
        self.ask(now, 0, response, actions);
    }

    fn segments_of_request(&self) -> u32 {
        self.request.0.div_ceil(self.request_mss) as u32
    }

    fn ask(&mut self, now: Nanos, connection: usize, response: Bytes, actions: &mut Vec<Action>) {
        self.note_request(now, connection, response);
        let flow = self.connections[connection].requests;
        actions.push(Action::Write { flow, segments: self.segments_of_request() });
    }

    fn note_request(&mut self, now: Nanos, connection: usize, response: Bytes) {
        let bytes = u64::from(self.segments_of_request()) * self.request_mss;
        let connection = &mut self.connections[connection];
        connection.request_bytes += bytes;
        let request_end = connection.request_bytes;
        self.responses.begins();
        connection.asked.push_back(Asked { at: now, request_end, response, response_end: None });
    }

    /// Notes whether the message that the client tried to write found room.
    pub fn tried_to_write(&mut self, now: Nanos, was_written: bool) {
        match &mut self.pattern {
            _ if was_written => self.note_request(now, 0, self.response),
            Pattern::Periodic { skipped, .. } => *skipped += u64::from(self.responses.counts(now)),
            _ => {}
        }
    }

    /// Notes that all writes are in the send buffer.
    pub fn written(&mut self, now: Nanos) {
        if let Pattern::Periodic { every, when_full: WhenFull::Delay, .. } = self.pattern
            && self.next == Nanos::NEVER
        {
            self.next = now + every;
        }
    }

    /// Notes that `bytes` bytes of a flow have arrived in all.
    pub fn delivered(&mut self, now: Nanos, flow: u32, bytes: u64, actions: &mut Vec<Action>) {
        let number = ((flow - self.first_flow) / 2) as usize;
        if flow == self.connections[number].requests {
            return self.serve(number, bytes, actions);
        }
        let has_come = |asked: &Asked| asked.response_end.is_some_and(|end| end <= bytes);
        while self.connections[number].asked.front().is_some_and(has_come) {
            let asked = self.connections[number].asked.pop_front().expect("it is there");
            self.responses.record(asked.at, now);
            self.answered(now, number, &asked, actions);
        }
    }

    /// Notes that the server has `bytes` bytes of requests in all, and answers the complete ones.
    fn serve(&mut self, number: usize, bytes: u64, actions: &mut Vec<Action>) {
        let Connection { requests, asked, response_bytes, .. } = &mut self.connections[number];
        let new = asked.iter_mut().filter(|asked| asked.response_end.is_none());
        for asked in new.take_while(|asked| asked.request_end <= bytes) {
            let segments = asked.response.0.div_ceil(self.response_mss);
            *response_bytes += segments * self.response_mss;
            asked.response_end = Some(*response_bytes);
            actions.push(Action::Write { flow: *requests + 1, segments: segments as u32 });
        }
    }

    /// Reacts to a complete response.
    fn answered(&mut self, now: Nanos, number: usize, asked: &Asked, actions: &mut Vec<Action>) {
        match &mut self.pattern {
            Pattern::Periodic { .. } | Pattern::Writes { .. } => {}
            Pattern::Chunks { pause } => self.next = now + *pause,
            Pattern::Web { pause, missing, began, .. } => {
                *missing -= 1;
                if *missing == 0 {
                    self.pages.record(*began, now);
                    self.next = now + *pause;
                }
                self.ask_for_objects(now, number, actions);
            }
            Pattern::Video(player) => self.next = player.has(now, asked.at, asked.response),
        }
    }

    /// Requests the next object on each idle connection: on all of them when the page itself has
    /// arrived.
    fn ask_for_objects(&mut self, now: Nanos, answered: usize, actions: &mut Vec<Action>) {
        let idle: Vec<_> = (0..self.connections.len()).filter(|n| self.connections[*n].asked.is_empty()).collect();
        let first = idle.iter().position(|number| *number == answered).unwrap_or(0);
        for number in idle[first..].iter().chain(&idle[..first]) {
            let Pattern::Web { to_ask, .. } = &mut self.pattern else { return };
            if *to_ask == 0 {
                return;
            }
            *to_ask -= 1;
            self.ask(now, *number, self.response, actions);
        }
    }

    /// Returns the statistics of the client, if `flow` is its first.
    pub fn stats(&mut self, flow: u32) -> Option<AppStats> {
        if flow != self.first_flow {
            return None;
        }
        let unfinished = Some(self.responses.unfinished());
        let mut stats = match &mut self.pattern {
            Pattern::Video(player) => player.stats(self.end),
            Pattern::Periodic { when_full: WhenFull::Skip, skipped, .. } => {
                AppStats { unfinished, skipped: Some(*skipped), ..AppStats::default() }
            }
            Pattern::Web { .. } => AppStats { unfinished: Some(self.pages.unfinished()), ..AppStats::default() },
            _ => AppStats { unfinished, ..AppStats::default() },
        };
        self.responses.fill_responses(&mut stats);
        self.pages.fill_pages(&mut stats);
        Some(stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(kind: RequestKind, connections: u32) -> Client {
        let text = "duration = \"60s\"\n[link.a]\nrate = \"1mbit\"\ndelay = \"1ms\"\n\
                    queue = { limit = \"10p\" }\n[[flows]]\ncc = \"reno\"\napp = \"messenger\"\n";
        let experiment = scenario::load_text(text, "a.toml", std::path::Path::new(""), &[]);
        let group = &experiment.unwrap_or_else(|error| panic!("{error}")).points[0].scenario.flows[0].clone();
        let requests = Requests { kind, connections, request: Bytes(200), response: Bytes(200) };
        Client::new(&requests, group, 10, Nanos::ZERO, Nanos::from_secs(60), Nanos::ZERO)
    }

    fn write(flow: u32) -> Action {
        Action::Write { flow, segments: 1 }
    }

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn periodic(when_full: WhenFull) -> Client {
        client(RequestKind::Periodic { every: ms(1000), when_full }, 1)
    }

    /// A request, its response and its time; the next request is sent at its time, answered or not.
    #[test]
    fn periodic_requests_are_answered_in_their_order() {
        let mut client = periodic(WhenFull::Wait);
        let mut actions = vec![];
        client.wake(ms(0), &mut actions);
        client.wake(ms(1000), &mut actions);
        client.delivered(ms(1500), 10, 200, &mut actions);
        client.delivered(ms(1500), 10, 400, &mut actions);
        assert_eq!(actions, [write(10), write(10), write(11), write(11)]);
        client.delivered(ms(1600), 11, 200, &mut actions);
        client.delivered(ms(1700), 11, 400, &mut actions);
        let stats = client.stats(10).expect("its own");
        assert_eq!((stats.response.response_ms_max, client.next(), client.stats(11)), (Some(1600.0), ms(2000), None));
        assert_eq!(stats.unfinished, Some(0));
        client.wake(ms(2000), &mut actions);
        assert_eq!(client.stats(10).expect("its own").unfinished, Some(1));
    }

    /// A message that finds no room is left out and counted, and nobody waits for it.
    #[test]
    fn a_message_without_room_is_skipped() {
        let mut client = periodic(WhenFull::Skip);
        let mut actions = vec![];
        client.wake(ms(0), &mut actions);
        client.tried_to_write(ms(0), true);
        client.wake(ms(1000), &mut actions);
        client.tried_to_write(ms(1000), false);
        assert_eq!(actions, [Action::TryToWrite { flow: 10, segments: 1 }; 2]);
        client.delivered(ms(1500), 10, 200, &mut actions);
        client.delivered(ms(1600), 11, 200, &mut actions);
        let stats = client.stats(10).expect("its own");
        assert_eq!((stats.response.response_ms_max, stats.skipped, stats.unfinished), (Some(1600.0), Some(1), Some(0)));
        assert_eq!(client.next(), ms(2000));
    }

    /// Writes of one and three segments: at their times, of their sizes, whether or not answered.
    #[test]
    fn a_writer_writes_at_its_times() {
        let writes = [(0, 100), (700, 4000), (700, 1)].map(|(at, size)| Write { at: ms(at), size: Bytes(size) });
        let mut client = client(RequestKind::Writes(writes.into()), 1);
        client.request_mss = 1448;
        let mut actions = vec![];
        for at in [0, 700, 700] {
            assert_eq!(client.next(), ms(at));
            client.wake(ms(at), &mut actions);
        }
        let write = |segments| Action::Write { flow: 10, segments };
        assert_eq!((&actions[..], client.next()), (&[write(1), write(3), write(1)][..], Nanos::NEVER));
    }

    /// The next message follows the writing of this one, not the time at which it was due.
    #[test]
    fn a_program_that_blocks_has_its_next_message_later() {
        let mut client = periodic(WhenFull::Delay);
        let mut actions = vec![];
        client.wake(ms(0), &mut actions);
        assert_eq!((&actions[..], client.next()), (&[write(10)][..], Nanos::NEVER));
        client.written(ms(300));
        client.written(ms(400));
        assert_eq!((client.next(), client.stats(10).expect("its own").skipped), (ms(1300), None));
    }

    /// A page of one object and three more over two connections: the second connection starts when
    /// the page itself has arrived.
    #[test]
    fn a_page_is_there_with_its_last_object() {
        let mut client = client(RequestKind::Web { objects: 3, pause: ms(500) }, 2);
        let mut actions = vec![];
        client.wake(ms(0), &mut actions);
        let answer = |client: &mut Client, at: u64, flow: u32, bytes: u64, actions: &mut Vec<Action>| {
            client.delivered(ms(at), flow, bytes, actions);
            client.delivered(ms(at + 10), flow + 1, bytes, actions);
        };
        answer(&mut client, 100, 10, 200, &mut actions);
        assert_eq!(actions, [write(10), write(11), write(10), write(12)]);
        answer(&mut client, 200, 12, 200, &mut actions);
        answer(&mut client, 300, 10, 400, &mut actions);
        assert_eq!(client.next(), Nanos::NEVER, "one is missing");
        assert_eq!(client.stats(10).expect("its own").unfinished, Some(1));
        answer(&mut client, 400, 12, 400, &mut actions);
        let stats = client.stats(10).expect("its own");
        assert_eq!((stats.page.page_load_s_max, client.next(), stats.unfinished), (Some(0.41), ms(910), Some(0)));
    }
}
