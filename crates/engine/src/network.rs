//! The dumbbell: each sender's access link, the bottleneck, the way back.
//!
//! Nearly always all data goes one way and all acknowledgements go the other, and the links here carry nothing else. Where some data goes the other
//! way, everything passes a [`Crossing`] in their place: what this file has then left over no flow finds, so that nobody else pays for asking.

use crate::agenda::{Agenda, Source};
use crate::crossing::Crossing;
use crate::edges::{DIRECT, Edges};
use crate::packet::{Ack, Data};
use crate::tap::{Event, Tap};
use measure::{Histogram, LinkSample};
use path::{Fate, Link};
use scenario::model::Scenario;
use scenario::records;
use scenario::units::Nanos;

/// Which events a source stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A data packet is at the end of an access link.
    Access(u32),
    /// A data packet is at the receivers' end of the bottleneck.
    Forward,
    /// An acknowledgement is at the senders' end of the way back.
    Reverse,
    /// An acknowledgement is at the end of an access link.
    AccessBack(u32),
    /// A sender's timer.
    Sender(u32),
    /// A receiver's timer.
    Receiver(u32),
    /// Time for a sample of the series.
    Sample,
    /// A packet is at the end of a direction of a crossing.
    Crossing(usize),
}

/// All that lies between the hosts, and the agenda of the run.
pub struct Network {
    pub agenda: Agenda,
    forward: Link<Data>,
    reverse: Link<Ack>,
    edges: Edges,
    /// In place of all three.
    pub(crate) crossing: Option<Box<Crossing>>,
    /// Data packets of each flow that were sent in the measuring interval and were dropped or lost.
    lost: Vec<u64>,
    /// Where the agenda's sources of each kind begin.
    first_access: Source,
    first_back: Source,
    first_sender: Source,
    first_receiver: Source,
}

impl Network {
    /// The network of a scenario with so many flows in each group.
    pub fn new(scenario: &Scenario, counts: &[u32]) -> Network {
        let flows: u32 = counts.iter().sum();
        let edges = Edges::new(scenario, counts);
        let crosses = scenario.flows.iter().any(|group| group.reverse);
        let first_access = if crosses { Self::FIRST_WAY + 2 } else { Self::FIRST_WAY };
        let first_back = first_access + edges.access.len() as u32;
        let first_sender = first_back + edges.back.len() as u32;
        let first_receiver = first_sender + flows;
        let (edges, crossing) = match crosses {
            false => (edges, None),
            true => (Edges::elsewhere(flows), Some(Box::new(Crossing::new(scenario, counts, edges)))),
        };
        Network {
            agenda: Agenda::new(first_receiver + flows),
            forward: Link::forward(scenario),
            reverse: Link::reverse(scenario),
            edges,
            crossing,
            lost: vec![0; flows as usize],
            first_access,
            first_back,
            first_sender,
            first_receiver,
        }
    }

    // Sources in the order of their numbers; at equal times the lower goes first, and both directions of the link before all of them.
    const SAMPLE: Source = 0;
    /// Those of a crossing's two directions; without one the access links begin here.
    const FIRST_WAY: Source = 1;

    pub(crate) fn access_source(&self, link: u32) -> Source {
        self.first_access + link
    }
    pub(crate) fn back_source(&self, pipe: u32) -> Source {
        self.first_back + pipe
    }
    /// The source of a direction of a crossing.
    pub(crate) fn way_source(way: usize) -> Source {
        Self::FIRST_WAY + way as Source
    }

    /// The source of a sender's timer.
    #[inline]
    pub fn sender_timer(&self, flow: u32) -> Source {
        self.first_sender + flow
    }
    /// The source of a receiver's timer.
    #[inline]
    pub fn receiver_timer(&self, flow: u32) -> Source {
        self.first_receiver + flow
    }
    /// Sets the time of the next sample.
    pub fn sample_at(&mut self, at: Nanos) {
        self.agenda.set(Self::SAMPLE, at);
    }

    /// The earliest event. Most are packets at the end of the link, so its two directions are not in the agenda.
    #[inline]
    pub fn first(&self) -> (Nanos, Occasion) {
        let (at, source) = self.agenda.first();
        let (forward, reverse) = (self.forward.next(), self.reverse.next());
        if reverse <= forward && reverse <= at {
            (reverse, Occasion::Reverse)
        } else if forward <= at {
            (forward, Occasion::Forward)
        } else {
            (at, self.occasion(source))
        }
    }

    /// What a source stands for.
    fn occasion(&self, source: Source) -> Occasion {
        match source {
            Self::SAMPLE => Occasion::Sample,
            s if s < self.first_back => match s.checked_sub(self.first_access) {
                Some(link) => Occasion::Access(link),
                None => Occasion::Crossing((s - Self::FIRST_WAY) as usize),
            },
            s if s < self.first_sender => Occasion::AccessBack(s - self.first_back),
            s if s < self.first_receiver => Occasion::Sender(s - self.first_sender),
            s => Occasion::Receiver(s - self.first_receiver),
        }
    }

    /// A sender's packet leaves its host.
    #[inline(always)]
    pub fn send<T: Tap>(&mut self, now: Nanos, data: Data, tap: &mut T) {
        tap.data(now, Event::Sent, &data);
        if tap.loses(now, &data) {
            return tap.data(now, Event::LostOnTheWire, &data);
        }
        match self.edges.access_of[data.flow as usize] {
            DIRECT => self.offer_forward(now, data, tap),
            link => match self.edges.access.get_mut(link as usize) {
                Some(access) => {
                    access.send(now, data);
                    let next = access.next();
                    self.agenda.set(self.access_source(link), next);
                }
                None => self.send_across(now, data, tap),
            },
        }
    }

    fn offer_forward<T: Tap>(&mut self, now: Nanos, data: Data, tap: &mut T) {
        let fate = self.forward.offer(now, data);
        self.note_data(now, fate, &data, tap);
    }

    /// Tells what became of a data packet that a link was offered, and counts it if it is lost.
    #[inline]
    pub(crate) fn note_data<T: Tap>(&mut self, now: Nanos, fate: Fate, data: &Data, tap: &mut T) {
        match fate {
            Fate::Arrives(_) => {}
            Fate::LostOnTheWire => tap.data(now, Event::LostOnTheWire, data),
            Fate::Dropped => tap.data(now, Event::Dropped, data),
        }
        if data.counts && !matches!(fate, Fate::Arrives(_)) {
            self.lost[data.flow as usize] += 1;
        }
    }

    /// A data packet is at the end of an access link: on to the bottleneck.
    pub fn pass_on<T: Tap>(&mut self, now: Nanos, link: u32, tap: &mut T) {
        let Some(access) = self.edges.access.get_mut(link as usize) else { return self.pass_on_across(now, link, tap) };
        let taken = access.take();
        let next = access.next();
        self.agenda.set(self.access_source(link), next);
        if let Some(data) = taken {
            self.offer_forward(now, data, tap);
        }
    }

    /// A receiver's acknowledgement leaves its host.
    #[inline]
    pub fn reply<T: Tap>(&mut self, now: Nanos, ack: Ack, tap: &mut T) {
        tap.ack(now, Event::Sent, &ack);
        let fate = self.reverse.offer(now, ack);
        note_ack(now, fate, &ack, tap);
    }

    /// The same for one that no segment calls forth, or a segment before its turn: kept out of the common way.
    #[cold]
    pub fn reply_out_of_turn<T: Tap>(&mut self, now: Nanos, ack: Ack, tap: &mut T) {
        if self.crossing.is_some() { self.reply_across(now, ack, tap) } else { self.reply(now, ack, tap) }
    }

    /// Takes the data packet that has come to the receivers' end.
    #[inline]
    pub fn arrived(&mut self) -> Option<Data> {
        self.forward.take()
    }

    /// Takes the acknowledgement that has come to the senders' end; none if its access link still lies ahead.
    #[inline]
    pub fn returned(&mut self, now: Nanos) -> Option<Ack> {
        let ack = self.reverse.take()?;
        match self.edges.back_of[ack.flow as usize] {
            DIRECT => Some(ack),
            pipe => {
                let (delay, back) = &mut self.edges.back[pipe as usize];
                back.push(now + *delay, ack);
                let next = back.next();
                self.agenda.set(self.back_source(pipe), next);
                None
            }
        }
    }

    /// Takes the acknowledgement that has passed an access link.
    pub fn returned_through(&mut self, pipe: u32) -> Option<Ack> {
        let edges = self.crossing.as_mut().map_or(&mut self.edges, |crossing| &mut crossing.edges);
        let back = &mut edges.back[pipe as usize].1;
        let taken = back.take();
        let next = back.next();
        self.agenda.set(self.back_source(pipe), next);
        taken
    }

    /// Data packets of a flow that were sent in the measuring interval and were dropped or lost.
    pub fn lost(&self, flow: u32) -> u64 {
        self.lost[flow as usize]
    }

    /// The records of the bottleneck and of the way back.
    pub fn records(&self) -> [records::Link; 2] {
        match &self.crossing {
            Some(crossing) => crossing.ways.each_ref().map(Link::record),
            None => [self.forward.record(), self.reverse.record()],
        }
    }

    /// Both at this instant, for the series.
    pub fn samples(&mut self, now: Nanos) -> [LinkSample; 2] {
        match &mut self.crossing {
            Some(crossing) => crossing.samples(now),
            None => [self.forward.sample(now, 0), self.reverse.sample(now, 1)],
        }
    }

    /// Both distributions of queueing delays.
    pub fn queue_delays(&self) -> [&Histogram; 2] {
        match &self.crossing {
            Some(crossing) => crossing.ways.each_ref().map(|way| &way.usage().queue_delay),
            None => [&self.forward.usage().queue_delay, &self.reverse.usage().queue_delay],
        }
    }
}

/// Tells what became of an acknowledgement that a link was offered.
#[inline]
pub(crate) fn note_ack<T: Tap>(now: Nanos, fate: Fate, ack: &Ack, tap: &mut T) {
    match fate {
        Fate::Arrives(_) => {}
        Fate::LostOnTheWire => tap.ack(now, Event::LostOnTheWire, ack),
        Fate::Dropped => tap.ack(now, Event::Dropped, ack),
    }
}
