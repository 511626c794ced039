//! A link both of whose directions carry data and acknowledgements: what a run has as soon as the data of one group goes the other way.

use crate::edges::{DIRECT, Edges};
use crate::network::{Network, note_ack};
use crate::packet::{Ack, Data};
use crate::tap::{Event, Tap};
use measure::LinkSample;
use path::{Link, Packet};
use scenario::model::Scenario;
use scenario::units::Nanos;

/// What travels either way.
#[derive(Clone, Copy, Debug)]
pub enum Parcel {
    Data(Data),
    Ack(Ack),
}

impl Packet for Parcel {
    fn bytes(&self) -> u32 {
        match self {
            Parcel::Data(data) => data.bytes(),
            Parcel::Ack(ack) => ack.bytes(),
        }
    }
    fn ecn_capable(&self) -> bool {
        match self {
            Parcel::Data(data) => data.ecn_capable(),
            Parcel::Ack(ack) => ack.ecn_capable(),
        }
    }
    fn mark_ce(&mut self) {
        match self {
            Parcel::Data(data) => data.mark_ce(),
            Parcel::Ack(ack) => ack.mark_ce(),
        }
    }
}

/// Both directions, and the access links of the flows of both.
pub struct Crossing {
    /// The bottleneck, and the way back.
    pub ways: [Link<Parcel>; 2],
    pub edges: Edges,
    /// For each flow: which of them its data takes.
    way_of: Vec<usize>,
}

impl Crossing {
    pub fn new(scenario: &Scenario, counts: &[u32], edges: Edges) -> Crossing {
        let groups = scenario.flows.iter().zip(counts);
        Crossing {
            ways: [Link::forward(scenario), Link::reverse(scenario)],
            edges,
            way_of: groups.flat_map(|(group, n)| std::iter::repeat_n(group.reverse as usize, *n as usize)).collect(),
        }
    }

    /// Both directions at this instant, for the series.
    pub fn samples(&mut self, now: Nanos) -> [LinkSample; 2] {
        let [forward, reverse] = &mut self.ways;
        [forward.sample(now, 0), reverse.sample(now, 1)]
    }
}

impl Network {
    fn across(&mut self) -> &mut Crossing {
        self.crossing.as_mut().expect("only what finds no edge elsewhere comes here")
    }

    /// `send`, over the crossing.
    #[inline(never)]
    pub fn send_across<T: Tap>(&mut self, now: Nanos, data: Data, tap: &mut T) {
        let crossing = self.across();
        match crossing.edges.access_of[data.flow as usize] {
            DIRECT => self.offer_data(now, data, tap),
            link => {
                let access = &mut crossing.edges.access[link as usize];
                access.send(now, data);
                let next = access.next();
                self.agenda.set(self.access_source(link), next);
            }
        }
    }

    /// `pass_on`, over the crossing.
    #[inline(never)]
    pub fn pass_on_across<T: Tap>(&mut self, now: Nanos, link: u32, tap: &mut T) {
        let access = &mut self.across().edges.access[link as usize];
        let taken = access.take();
        let next = access.next();
        self.agenda.set(self.access_source(link), next);
        if let Some(data) = taken {
            self.offer_data(now, data, tap);
        }
    }

    /// `reply`, over the crossing: an acknowledgement goes the other way than the data.
    #[inline(never)]
    pub fn reply_across<T: Tap>(&mut self, now: Nanos, ack: Ack, tap: &mut T) {
        tap.ack(now, Event::Sent, &ack);
        let crossing = self.across();
        let way = 1 - crossing.way_of[ack.flow as usize];
        let fate = crossing.ways[way].offer(now, Parcel::Ack(ack));
        self.set_way(way);
        note_ack(now, fate, &ack, tap);
    }

    fn offer_data<T: Tap>(&mut self, now: Nanos, data: Data, tap: &mut T) {
        let crossing = self.across();
        let way = crossing.way_of[data.flow as usize];
        let fate = crossing.ways[way].offer(now, Parcel::Data(data));
        self.set_way(way);
        self.note_data(now, fate, &data, tap);
    }

    /// Takes the packet that has come to the end of a direction; none if it was lost, or if its access link still lies ahead.
    #[inline(never)]
    pub fn crossed(&mut self, now: Nanos, way: usize) -> Option<Parcel> {
        let taken = self.across().ways[way].take();
        self.set_way(way);
        let parcel = taken?;
        let crossing = self.across();
        match parcel {
            Parcel::Ack(ack) if crossing.edges.back_of[ack.flow as usize] != DIRECT => {
                let pipe = crossing.edges.back_of[ack.flow as usize];
                let (delay, back) = &mut crossing.edges.back[pipe as usize];
                back.push(now + *delay, ack);
                let next = back.next();
                self.agenda.set(self.back_source(pipe), next);
                None
            }
            _ => Some(parcel),
        }
    }

    fn set_way(&mut self, way: usize) {
        let next = self.across().ways[way].next();
        self.agenda.set(Self::way_source(way), next);
    }
}
