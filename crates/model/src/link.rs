//! A link in both directions: its transmitter or medium, delay, queue and losses.

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
    /// The direction from the senders.
    pub forward: Link,
    /// The direction towards the senders.
    pub reverse: Link,
}

impl DuplexLink {
    /// Returns one of the two directions.
    pub fn direction(&self, is_reverse: bool) -> &Link {
        if is_reverse { &self.reverse } else { &self.forward }
    }

    /// Returns the forward hop of a mesh's link, from a node up to its parent; none for other links.
    pub fn hop(&self) -> Option<Hop> {
        match self.forward.service {
            Service::Shared(Member::Mesh(hop)) => Some(hop),
            _ => None,
        }
    }

    /// Returns mutable access to one of the two directions.
    pub fn direction_mut(&mut self, is_reverse: bool) -> &mut Link {
        if is_reverse { &mut self.reverse } else { &mut self.forward }
    }
}

/// One direction of a link: a queue, a transmitter, a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The name of the link; `NAME.reverse` for the reverse direction.
    pub name: String,
    /// The transmitter or medium, which decides when a packet may leave the queue.
    pub service: Service,
    /// The propagation delay, one way.
    pub delay: Nanos,
    /// The queue before the transmitter.
    pub queue: Queue,
    /// The losses on the wire, after transmission.
    pub loss: Loss,
    /// Further impairments.
    #[serde(default, skip_serializing_if = "Impairments::is_none")]
    pub impairments: Impairments,
}

impl Link {
    /// Returns the propagation delays that the direction has at some time; for a range, its ends.
    pub fn delays(&self) -> impl Iterator<Item = Nanos> {
        let Impairments { delays, handover, .. } = &self.impairments;
        let drawn =
            handover.and_then(|handover| handover.delay).into_iter().flat_map(|delay| [delay.from, delay.until]);
        [self.delay].into_iter().chain(delays.iter().map(|change| change.delay)).chain(drawn)
    }

    /// Returns the longest propagation delay that the direction has at some time.
    pub fn longest_delay(&self) -> Nanos {
        self.delays().max().unwrap_or(self.delay)
    }

    /// Returns the shortest propagation delay that the direction has at some time, without jitter.
    pub fn shortest_delay(&self) -> Nanos {
        self.delays().min().unwrap_or(self.delay)
    }

    /// Returns the least time that a packet may be on the wire.
    pub fn least_delay(&self) -> Nanos {
        use crate::impairments::Distribution;
        match (&self.impairments.reorder, &self.impairments.jitter) {
            (Some(reorder), _) if reorder.by.is_none() => Nanos::ZERO,
            (_, Some(jitter)) if jitter.distribution == Distribution::Normal => Nanos::ZERO,
            (_, Some(jitter)) => self.shortest_delay().since(jitter.spread),
            (_, None) => self.shortest_delay(),
        }
    }
}

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Loss {
    /// Independent losses: each packet with this probability, 0 to 1.
    Uniform(f64),
    /// Losses in bursts.
    Gemodel(Gemodel),
}

impl Loss {
    /// No losses.
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
        // There is only one kind, which is read for its errors.
        section.read::<String>("kind");
        let model = Gemodel::read(section);
        Gemodel { r: if section.get("r").is_some() { model.r } else { 1.0 - model.p }, ..model }
    }
}

section! {
    /// The Gilbert-Elliott model of losses in bursts, as in tc-netem(8) (`loss gemodel p r 1-h 1-k`). The wire is good
    /// or bad, and good at first. A packet is lost with the probability of the present state; then the state may change
    /// for the next packet. All fields are probabilities, 0 to 1.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Gemodel in "loss" {
        "kind" = KeyType::Choice(&["gemodel"]), Default("gemodel") =>
            "loss model: bursts by Gilbert and Elliott, as in tc-netem(8); the wire is good or bad, and good at first";
        /// probability that a wire that was good for a packet is bad for the next
        pub p: f64 [Share] = Required;
        /// probability that a wire that was bad for a packet is good for the next; bad periods last 1/r packets on
        /// average
        pub r: f64 [Share] = Means("100% - p, so losses are independent");
        /// share of packets that a bad wire loses
        pub lost_while_bad("1-h"): f64 [Share] = Default("100%");
        /// share of packets that a good wire loses
        pub lost_while_good("1-k"): f64 [Share] = Default("0%");
    }
}

/// The transmitter or medium of a link's direction, which decides when a packet may leave the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Service {
    /// A transmitter of the link's own.
    Own(Transmitter),
    /// A medium that the link shares with others.
    Shared(Member),
}

/// A transmitter of a link's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transmitter {
    /// A constant rate.
    Rate(Rate),
    /// A rate that changes at given times.
    Rates(Rates),
    /// Recorded delivery opportunities.
    Trace(Arc<Trace>),
}

/// A member of a shared medium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Member {
    /// A station of a Wi-Fi cell.
    Wifi(WifiStation),
    /// A user of an LTE cell.
    Lte(lte::User),
    /// A hop of a mesh.
    Mesh(Hop),
}

section! {
    /// The keys of the transmitter of a forward direction.
    pub struct TransmitterKeys in "link.NAME" {
        /// rate of the transmitter
        pub rate: Option<Rate> = Means("a trace, wifi or lte must be given"), RATES;
        /// file of recorded delivery opportunities, beside the experiment file
        pub trace: Option<String> = Means("a rate, wifi or lte must be given");
    }
}

section! {
    /// The keys of a forward direction with any transmitter or medium.
    pub struct LinkKeys in "link.NAME" {
        /// propagation delay, one way
        pub delay: Nanos = Required, DELAYS;
        "queue" = KeyType::Table, Required =>
            "queue before the transmitter; leave it out if the Wi-Fi cell has one queue for all stations";
        /// share of packets that the channel loses, or a model of losses
        pub loss: Loss = Default("0%");
        "reverse" = KeyType::Table, Means("the defaults of its keys") =>
            "reverse direction, for acknowledgements and for the data of reverse flows";
    }
}

section! {
    /// The keys of a reverse direction.
    pub struct ReverseKeys in "link.NAME.reverse" {
        /// rate of the reverse direction's transmitter
        pub rate: Option<Rate> = Means("the forward direction's, or 1gbit beside a trace"), RATES;
        /// file of the reverse direction's delivery opportunities
        pub trace: Option<String> = Means("the rate applies");
        /// propagation delay, one way
        pub delay: Option<Nanos> = Means("the forward direction's"), DELAYS;
        "queue" = KeyType::Table, Means("a queue that never drops") =>
            "queue before the reverse direction's transmitter";
        /// share of packets that the reverse channel loses, or a model of losses
        pub loss: Loss = Default("0%");
    }
}

/// The capacity of a link, bit/s. For a shared medium, it is the capacity if nobody else has data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capacity {
    /// The least capacity at any time; for a trace the mean.
    pub least: f64,
    /// The mean capacity; in a mesh for packets that fill a frame.
    pub mean: f64,
    /// The largest capacity; for a trace the mean, on Wi-Fi the rate of the physical layer.
    pub most: f64,
}

impl From<Rate> for Service {
    fn from(rate: Rate) -> Service {
        Service::Own(Transmitter::Rate(rate))
    }
}

impl Transmitter {
    /// Returns the rate at the start of the run; none for a trace.
    pub fn first_rate(&self) -> Option<Rate> {
        match self {
            Transmitter::Rate(rate) => Some(*rate),
            Transmitter::Rates(rates) => Some(rates.steps[0].1),
            Transmitter::Trace(_) => None,
        }
    }

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
    /// Returns the kind of the medium, which is the key by which a link names it, and its number within its kind.
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
    /// Returns the capacity.
    pub fn capacity(&self) -> Capacity {
        match self {
            Service::Own(transmitter) => transmitter.capacity(),
            Service::Shared(member) => member.capacity(),
        }
    }

    /// Returns the rate of a transmitter of constant rate; none for others.
    pub fn constant(&self) -> Option<Rate> {
        match self {
            Service::Own(Transmitter::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }

    /// Returns the trace that a transmitter follows, if it follows one.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        match self {
            Service::Own(Transmitter::Trace(trace)) => Some(trace),
            _ => None,
        }
    }

    /// Returns the station of a Wi-Fi cell; none for others.
    pub fn station(&self) -> Option<&WifiStation> {
        match self {
            Service::Shared(Member::Wifi(station)) => Some(station),
            _ => None,
        }
    }

    /// Returns the most bytes that it carries in a time; 0 for a trace, of which this is unknown.
    pub fn carried_in(&self, time: Nanos) -> Bytes {
        let rate = if self.trace().is_some() { 0 } else { self.capacity().most as u64 };
        Bytes(rate / 8 * time.as_micros() / 1_000_000)
    }

    /// Returns the mean delay that the medium adds to a packet that meets no other packet.
    pub fn idle_delay(&self) -> Nanos {
        match self {
            Service::Shared(Member::Lte(user)) => user.idle_delay,
            _ => Nanos::ZERO,
        }
    }
}

/// Returns the rate that a hop of a mesh carries if nobody else transmits, in packets that fill a frame.
fn lone_hop() -> Rate {
    const FILLS_A_FRAME: Bytes = Bytes(113);
    phy::most_carried(Csma::default(), FILLS_A_FRAME)
}

/// Recorded delivery opportunities: up to 1500 bytes may leave at each of these times. The trace repeats after
/// `period`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file of the trace.
    pub path: PathBuf,
    /// The times of the opportunities, in ascending order, at most `period`.
    pub opportunities: Vec<Nanos>,
    /// The last time of the file, at which the trace repeats.
    pub period: Nanos,
}
