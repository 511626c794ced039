//! Random processes of flow arrivals, and distributions of flow sizes. Logarithms and powers are from `libm`, so they
//! are the same on every machine.

use crate::declare::{self, Declared, Written, kinds, section, table};
use crate::quantity::Number;
use crate::rng::{Rng, exponential, normal, uniform};
use crate::schema::{Key, KeyType};
use crate::section::Section;
use crate::units::{Bytes, Frequency, Nanos};
use serde::{Deserialize, Serialize};

/// The largest draw: the largest `size` that a file may set.
const LARGEST: f64 = 1e15;

/// A random process by which the flows of a group arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrivals {
    /// A Poisson process: exponential times between flows.
    Poisson(Poisson),
}

section! {
    /// A Poisson process.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Poisson in "arrivals" {
        "kind" = KeyType::Choice(&["poisson"]), Default("poisson") =>
            "random process: exponential times between flows";
        /// mean number of flows a second
        pub rate: Frequency = Required, "0.000001/s..1000000/s";
    }
}

impl declare::Field for Arrivals {
    const KIND: KeyType = KeyType::Table;
    fn find(group: &Section, name: &'static str) -> Option<Arrivals> {
        let section = group.child(name, Poisson::SECTION);
        // There is only one kind, which is read for its errors.
        section.read::<String>("kind");
        section.is_there().then(|| Arrivals::Poisson(<Poisson as Declared>::read(&section)))
    }
    fn absent(_: &Key) -> Arrivals {
        Arrivals::Poisson(<Poisson as Declared>::absent())
    }
    fn written(&self) -> Option<String> {
        let Arrivals::Poisson(poisson) = self;
        Some(table(&Written::written(poisson)))
    }
}

/// The range of sizes in a file.
pub const SIZES: &str = "1b..1000000gb";

/// The amount of data that each flow of a group writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// One size for all flows.
    Equal(Bytes),
    /// A size drawn for each flow.
    Drawn(Sizes),
}

impl declare::Field for Size {
    const KIND: KeyType = KeyType::Sizes;
    fn find(group: &Section, name: &'static str) -> Option<Size> {
        match group.sizes() {
            Some(table) => Sizes::read(&table).map(Size::Drawn),
            None => group.read(name).map(Size::Equal),
        }
    }
    fn absent(_: &Key) -> Size {
        Size::Equal(Bytes::default())
    }
    fn written(&self) -> Option<String> {
        match self {
            Size::Equal(size) => declare::Field::written(size),
            Size::Drawn(sizes) => Some(table(&sizes.written())),
        }
    }
}

kinds! {
    /// A distribution that the sizes of a group's flows are drawn from.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Sizes {
        /// A power law: many small sizes and a few very large ones.
        Pareto(Pareto),
        /// Sizes whose logarithm is normal.
        Lognormal(Lognormal),
        /// Sizes without a heavy tail.
        Exponential(Exponential),
    }
}

section! {
    /// The Pareto distribution, a power law.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Pareto in "pareto" {
        "kind" = KeyType::Choice(Sizes::KINDS), Required => "pareto: many small sizes and a few very large";
        /// mean size, with a bound that of the bounded distribution
        pub mean: Bytes = Required, SIZES;
        /// exponent of the tail; smaller means heavier
        pub shape: f64 [Number] = Default("1.2"), "1.01..100";
        /// largest size (bounded Pareto)
        pub most: Option<Bytes> = Means("no bound"), SIZES;
    }
}

section! {
    /// The lognormal distribution.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Lognormal in "lognormal" {
        "kind" = KeyType::Choice(&["lognormal"]), Required => "sizes whose logarithm is normal";
        /// mean size
        pub mean: Bytes = Required, SIZES;
        /// standard deviation of the size's natural logarithm
        pub sigma: f64 [Number] = Default("1"), "0..10";
    }
}

section! {
    /// The exponential distribution.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Exponential in "exponential" {
        "kind" = KeyType::Choice(&["exponential"]), Required => "sizes without a heavy tail";
        /// mean size
        pub mean: Bytes = Required, SIZES;
    }
}

/// One flow of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowArrival {
    /// The time at which it opens its connection.
    pub at: Nanos,
    /// The amount that its application writes; `None` = without end.
    pub size: Option<Bytes>,
}

impl Sizes {
    /// Returns a function that draws one size after the other.
    pub fn sampler(self) -> Box<dyn FnMut(&mut Rng) -> Bytes> {
        match self {
            Sizes::Pareto(Pareto { mean, shape, most }) => {
                let (least, cut) = pareto(mean.0 as f64, shape, most.map(|most| most.0 as f64));
                Box::new(move |rng| whole(least * libm::pow(1.0 - uniform(rng) * cut, -1.0 / shape)))
            }
            Sizes::Lognormal(Lognormal { mean, sigma }) => {
                // The mean of exp(mu + sigma z) is exp(mu + sigma^2 / 2).
                let mu = libm::log(mean.0 as f64) - sigma * sigma / 2.0;
                Box::new(move |rng| whole(libm::exp(mu + sigma * normal(rng))))
            }
            Sizes::Exponential(Exponential { mean }) => Box::new(move |rng| whole(mean.0 as f64 * exponential(rng))),
        }
    }
}

/// Returns the smallest size of a Pareto distribution with this mean, and the share of its draws below the bound: `1 -
/// (least / most)^shape`.
///
/// With bounds L and H the mean is `H a/(a-1) (r - r^a)/(1 - r^a)`, where `r = L/H` and `a` is the shape. The mean
/// grows with r, so bisection finds r.
fn pareto(mean: f64, shape: f64, most: Option<f64>) -> (f64, f64) {
    let Some(most) = most else { return (mean * (shape - 1.0) / shape, 1.0) };
    let mean_at = |ratio: f64| {
        let power = libm::pow(ratio, shape);
        most * shape / (shape - 1.0) * (ratio - power) / (1.0 - power)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if mean_at(middle) < mean { low = middle } else { high = middle }
    }
    (most * low, 1.0 - libm::pow(low, shape))
}

fn whole(size: f64) -> Bytes {
    Bytes(size.round().clamp(1.0, LARGEST) as u64)
}
