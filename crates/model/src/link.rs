//! A link in both directions: what serves it, how long it is, what it loses.

use crate::WifiStation;
use crate::declare::{self, Declared, Written, section, table};
use crate::impairments::{Impairments, Rates};
use crate::lte;
use crate::mesh::{Csma, Hop};
use crate::quantity::Share;
use crate::queue::Queue;
use crate::radio::ieee802154::phy;
use crate::schema::{DELAYS, Key, KeyType, RATES};
use crate::section::Section;
use crate::units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// A link with its two directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplexLink {
    /// From the senders' side.
    pub forward: Link,
    /// Towards the senders' side.
    pub reverse: Link,
}

impl DuplexLink {
    /// One of the two.
    pub fn direction(&self, is_reverse: bool) -> &Link {
        if is_reverse { &self.reverse } else { &self.forward }
    }

    /// If it belongs to a mesh, its forward direction, from a node up to its parent.
    pub fn hop(&self) -> Option<Hop> {
        match self.forward.service {
            Service::Shared(Member::Mesh(hop)) => Some(hop),
            _ => None,
        }
    }

    /// One of the two directions, to be changed.
    pub fn direction_mut(&mut self, is_reverse: bool) -> &mut Link {
        if is_reverse { &mut self.reverse } else { &mut self.forward }
    }
}

/// One direction of a link: a queue, a transmitter, a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The key under `[link]`; the reverse direction is `NAME.reverse`.
    pub name: String,
    /// What decides when a packet may leave the queue.
    pub service: Service,
    /// Propagation, one way.
    pub delay: Nanos,
    /// Where packets wait for the transmitter.
    pub queue: Queue,
    /// What the wire loses after transmission.
    pub loss: Loss,
    /// What else it does to packets.
    #[serde(default, skip_serializing_if = "Impairments::is_none")]
    pub impairments: Impairments,
}

impl Link {
    /// The least time that a packet may be on the wire.
    pub fn least_delay(&self) -> Nanos {
        use crate::impairments::Distribution;
        match (&self.impairments.reorder, &self.impairments.jitter) {
            (Some(reorder), _) if reorder.by.is_none() => Nanos::ZERO,
            (_, Some(jitter)) if jitter.distribution == Distribution::Normal => Nanos::ZERO,
            (_, Some(jitter)) => self.delay.since(jitter.spread),
            (_, None) => self.delay,
        }
    }
}

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Loss {
    /// Each with this probability, 0 to 1, whatever became of those before.
    Uniform(f64),
    /// In bursts.
    Gemodel(Gemodel),
}

impl Loss {
    /// It loses nothing.
    pub const NONE: Loss = Loss::Uniform(0.0);
}

impl declare::Field for Loss {
    const KIND: KeyType = KeyType::Loss;
    fn find(link: &Section, name: &'static str) -> Option<Loss> {
        if link.get(name).is_some_and(|node| node.value.as_table().is_some()) {
            Some(Loss::Gemodel(Gemodel::of(&link.child(name, Gemodel::SECTION))))
        } else {
            link.read(name).map(|Share(share)| Loss::Uniform(share))
        }
    }
    fn absent(_: &Key) -> Loss {
        Loss::NONE
    }
    fn written(&self) -> Option<String> {
        match self {
            Loss::Uniform(share) => declare::Field::written(&Share(*share)),
            Loss::Gemodel(model) => Some(table(&Written::written(model))),
        }
    }
}

impl Gemodel {
    fn of(section: &Section) -> Gemodel {
        // There is one kind, which is read for its errors.
        section.read::<String>("kind");
        let model = Gemodel::read(section);
        Gemodel { r: if section.get("r").is_some() { model.r } else { 1.0 - model.p }, ..model }
    }
}

section! {
    /// The Gilbert-Elliott model as tc-netem(8) has it (`loss gemodel p r 1-h 1-k`): a wire that is good or bad, and
    /// good at first. A packet is lost with the probability of the state that it finds; then the state may change for
    /// the next. All are probabilities, 0 to 1.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Gemodel in "loss" {
        "kind" = KeyType::Choice(&["gemodel"]), Default("gemodel") =>
            "bursts by the model of Gilbert and Elliott, as in tc-netem(8): the wire is good or bad, and good at first";
        /// probability that a wire that was good for a packet is bad for the next
        pub p: f64 [Share] = Required;
        /// probability that a wire that was bad for a packet is good for the next: the mean stay is 1/r packets
        pub r: f64 [Share] = Means("100% - p, so that each packet is lost by itself");
        /// share of the packets that a bad wire loses
        pub lost_while_bad("1-h"): f64 [Share] = Default("100%");
        /// share of the packets that a good wire loses
        pub lost_while_good("1-k"): f64 [Share] = Default("0%");
    }
}

/// What decides when a packet may leave the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Service {
    /// A transmitter that the link has for itself.
    Own(Transmitter),
    /// A medium that others share.
    Shared(Member),
}

/// A transmitter that a link has for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transmitter {
    /// One of constant rate.
    Rate(Rate),
    /// One whose rate changes at given times.
    Rates(Rates),
    /// Recorded delivery opportunities.
    Trace(Arc<Trace>),
}

/// What shares a medium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Member {
    /// A station in the air of a Wi-Fi cell.
    Wifi(WifiStation),
    /// A user of the subframes of an LTE cell.
    Lte(lte::User),
    /// A hop in the air of a mesh.
    Mesh(Hop),
}

section! {
    /// What a file says of the transmitter of a forward direction.
    pub struct TransmitterKeys in "link.NAME" {
        /// what the transmitter sends
        pub rate: Option<Rate> = Means("a trace, wifi or lte must be given"), RATES;
        /// a file of recorded delivery opportunities, beside the experiment file
        pub trace: Option<String> = Means("a rate, wifi or lte must be given");
    }
}

section! {
    /// What a file says of a forward direction, whatever serves it.
    pub struct LinkKeys in "link.NAME" {
        /// propagation, one way
        pub delay: Nanos = Required, DELAYS;
        "queue" = KeyType::Table, Required =>
            "where packets wait for the transmitter; left out where wifi has one queue for all its stations";
        /// share of the packets that the channel loses, or a model of how it loses them
        pub loss: Loss = Default("0%");
        "reverse" = KeyType::Table, Means("as its keys say") =>
            "its reverse direction, for acknowledgements, and for the data of reverse flows";
    }
}

section! {
    /// What a file says of a reverse direction.
    pub struct ReverseKeys in "link.NAME.reverse" {
        /// what the reverse direction's transmitter sends
        pub rate: Option<Rate> = Means("the forward direction's, or 1gbit beside a trace"), RATES;
        /// the reverse direction's delivery opportunities
        pub trace: Option<String> = Means("a rate holds");
        /// propagation, one way
        pub delay: Option<Nanos> = Means("the forward direction's"), DELAYS;
        "queue" = KeyType::Table, Means("a queue that never drops") =>
            "where packets wait for the reverse direction's transmitter";
        /// share of the packets that the reverse channel loses, or a model of how it loses them
        pub loss: Loss = Default("0%");
    }
}

/// What a link carries, in bits a second; of a medium what it carries if nobody else has data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capacity {
    /// The least at any time; of a trace the mean.
    pub least: f64,
    /// The mean; in a mesh of packets that fill a frame.
    pub mean: f64,
    /// The most: of a trace the mean, on Wi-Fi the rate of the physical layer.
    pub most: f64,
}

impl From<Rate> for Service {
    fn from(rate: Rate) -> Service {
        Service::Own(Transmitter::Rate(rate))
    }
}

impl Transmitter {
    fn capacity(&self) -> Capacity {
        match self {
            Transmitter::Rate(rate) => Capacity::constant(rate.as_f64()),
            Transmitter::Rates(rates) => {
                let (least, most) = rates.extremes();
                Capacity { least: least.as_f64(), mean: rates.mean.as_f64(), most: most.as_f64() }
            }
            Transmitter::Trace(trace) => {
                Capacity::constant(trace.opportunities.len() as f64 * 1500.0 * 8.0 / trace.period.as_secs_f64())
            }
        }
    }
}

impl Member {
    /// The kind of its medium, which is the key by which a link names one, and the place among those of its kind.
    pub fn medium(&self) -> (&'static str, usize) {
        match self {
            Member::Wifi(station) => ("wifi", station.cell),
            Member::Lte(user) => ("lte", user.cell),
            Member::Mesh(hop) => ("mesh", hop.mesh),
        }
    }

    fn capacity(&self) -> Capacity {
        match self {
            Member::Wifi(station) => {
                Capacity { most: station.phy_rate.as_f64(), ..Capacity::constant(station.carries().as_f64()) }
            }
            Member::Lte(user) => Capacity::constant(user.most.as_f64()),
            Member::Mesh(_) => Capacity::constant(lone_hop().as_f64()),
        }
    }
}

impl Capacity {
    const fn constant(rate: f64) -> Capacity {
        Capacity { least: rate, mean: rate, most: rate }
    }
}

impl Service {
    /// What it carries.
    pub fn capacity(&self) -> Capacity {
        match self {
            Service::Own(transmitter) => transmitter.capacity(),
            Service::Shared(member) => member.capacity(),
        }
    }

    /// Its one rate, if it has a transmitter of constant rate.
    pub fn constant(&self) -> Option<Rate> {
        match self {
            Service::Own(Transmitter::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }

    /// The recorded delivery opportunities that it follows.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        match self {
            Service::Own(Transmitter::Trace(trace)) => Some(trace),
            _ => None,
        }
    }

    /// The station of a Wi-Fi cell that it is.
    pub fn station(&self) -> Option<&WifiStation> {
        match self {
            Service::Shared(Member::Wifi(station)) => Some(station),
            _ => None,
        }
    }

    /// What it carries in a time at most, of a cell all; nothing is known of a trace.
    pub fn carried_in(&self, time: Nanos) -> Bytes {
        let rate = if self.trace().is_some() { 0 } else { self.capacity().most as u64 };
        Bytes(rate / 8 * time.as_micros() / 1_000_000)
    }

    /// What it adds in the mean to the delay of a packet that meets no other.
    pub fn idle_delay(&self) -> Nanos {
        match self {
            Service::Shared(Member::Lte(user)) => user.idle_delay,
            _ => Nanos::ZERO,
        }
    }
}

/// What a hop of a mesh carries if nobody else transmits, of packets that fill a frame.
fn lone_hop() -> Rate {
    const FILLS_A_FRAME: Bytes = Bytes(113);
    phy::most_carried(Csma::default(), FILLS_A_FRAME)
}

/// Recorded delivery opportunities: at each instant up to 1500 bytes may leave; after `period` it starts again.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file it came from.
    pub path: PathBuf,
    /// Instants, not decreasing, all at most `period`.
    pub opportunities: Vec<Nanos>,
    /// The last instant of the file: where the trace wraps.
    pub period: Nanos,
}
