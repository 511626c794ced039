//! The dumbbell: each sender's access link, the bottleneck, the way back.

use crate::agenda::{Agenda, Source};
use crate::packet::{Ack, Data};
use crate::tap::{Event, Tap};
use path::{AccessLink, Fate, Link, Pipe};
use scenario::model::{Access, Scenario};
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
}

/// No access link of its own.
const DIRECT: u32 = u32::MAX;

/// All that lies between the hosts, and the agenda of the run.
pub struct Network {
    pub agenda: Agenda,
    pub forward: Link<Data>,
    pub reverse: Link<Ack>,
    access: Vec<AccessLink<Data>>,
    back: Vec<(Nanos, Pipe<Ack>)>,
    /// For each flow: its access link, and the group's pipe back.
    access_of: Vec<u32>,
    back_of: Vec<u32>,
    /// Data packets of each flow that were dropped or lost since the end of the warm-up.
    lost: Vec<u64>,
    warmup: Nanos,
    /// Where the agenda's sources of each kind begin.
    first_back: Source,
    first_sender: Source,
    first_receiver: Source,
}

impl Network {
    /// The network of a scenario with `flows` flows.
    pub fn new(scenario: &Scenario) -> Network {
        let flows = scenario.flow_count() as u32;
        let mut network = Network {
            agenda: Agenda::new(1),
            forward: Link::forward(scenario),
            reverse: Link::reverse(scenario),
            access: vec![],
            back: vec![],
            access_of: vec![],
            back_of: vec![],
            lost: vec![0; flows as usize],
            warmup: scenario.warmup,
            first_back: 0,
            first_sender: 0,
            first_receiver: 0,
        };
        for group in &scenario.flows {
            network.connect(&group.access, group.count);
        }
        network.first_back = Self::FIRST_ACCESS + network.access.len() as u32;
        network.first_sender = network.first_back + network.back.len() as u32;
        network.first_receiver = network.first_sender + flows;
        network.agenda = Agenda::new(network.first_receiver + flows);
        network
    }

    /// Gives the flows of a group their access: one link each if its rate is limited, one pipe for all if it only delays.
    fn connect(&mut self, access: &Access, count: u32) {
        let first = self.access.len() as u32;
        let delayed = access.delay > Nanos::ZERO;
        let links = match (access.rate, delayed) {
            (Some(_), _) => count,
            (None, true) => 1,
            (None, false) => 0,
        };
        self.access.extend((0..links).map(|_| AccessLink::new(access)));
        self.access_of.extend((0..count).map(|i| if links == 0 { DIRECT } else { first + i.min(links - 1) }));
        let back = self.back.len() as u32;
        if delayed {
            self.back.push((access.delay, Pipe::default()));
        }
        self.back_of.extend((0..count).map(|_| if delayed { back } else { DIRECT }));
    }

    // Sources in the order of their numbers; at equal times the lower goes first, and both directions of the link before all of them.
    const SAMPLE: Source = 0;
    const FIRST_ACCESS: Source = 1;

    fn access_source(link: u32) -> Source {
        Self::FIRST_ACCESS + link
    }
    fn back_source(&self, pipe: u32) -> Source {
        self.first_back + pipe
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
            s if s < self.first_back => Occasion::Access(s - Self::FIRST_ACCESS),
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
        match self.access_of[data.flow as usize] {
            DIRECT => self.offer_forward(now, data, tap),
            link => {
                self.access[link as usize].send(now, data);
                let next = self.access[link as usize].next();
                self.agenda.set(Self::access_source(link), next);
            }
        }
    }

    fn offer_forward<T: Tap>(&mut self, now: Nanos, data: Data, tap: &mut T) {
        let fate = self.forward.offer(now, data);
        match fate {
            Fate::Arrives(_) => {}
            Fate::LostOnTheWire => tap.data(now, Event::LostOnTheWire, &data),
            Fate::Dropped => tap.data(now, Event::Dropped, &data),
        }
        let lost = !matches!(fate, Fate::Arrives(_)) && !data.is_handshake();
        if lost && now >= self.warmup {
            self.lost[data.flow as usize] += 1;
        }
    }

    /// A data packet is at the end of an access link: on to the bottleneck.
    pub fn pass_on<T: Tap>(&mut self, now: Nanos, link: u32, tap: &mut T) {
        let access = &mut self.access[link as usize];
        let taken = access.take();
        let next = access.next();
        self.agenda.set(Self::access_source(link), next);
        if let Some(data) = taken {
            self.offer_forward(now, data, tap);
        }
    }

    /// A receiver's acknowledgement leaves its host.
    #[inline]
    pub fn reply<T: Tap>(&mut self, now: Nanos, ack: Ack, tap: &mut T) {
        tap.ack(now, Event::Sent, &ack);
        match self.reverse.offer(now, ack) {
            Fate::Arrives(_) => {}
            Fate::LostOnTheWire => tap.ack(now, Event::LostOnTheWire, &ack),
            Fate::Dropped => tap.ack(now, Event::Dropped, &ack),
        }
    }

    /// The same for one that no segment calls forth, or a segment before its turn: kept out of the common way.
    #[cold]
    pub fn reply_out_of_turn<T: Tap>(&mut self, now: Nanos, ack: Ack, tap: &mut T) {
        self.reply(now, ack, tap);
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
        match self.back_of[ack.flow as usize] {
            DIRECT => Some(ack),
            pipe => {
                let (delay, back) = &mut self.back[pipe as usize];
                back.push(now + *delay, ack);
                let next = back.next();
                self.agenda.set(self.back_source(pipe), next);
                None
            }
        }
    }

    /// Takes the acknowledgement that has passed an access link.
    pub fn returned_through(&mut self, pipe: u32) -> Option<Ack> {
        let back = &mut self.back[pipe as usize].1;
        let taken = back.take();
        let next = back.next();
        self.agenda.set(self.back_source(pipe), next);
        taken
    }

    /// Data packets of a flow that were dropped or lost since the end of the warm-up.
    pub fn lost(&self, flow: u32) -> u64 {
        self.lost[flow as usize]
    }
}
