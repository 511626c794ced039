//! The random numbers of a run.

use rand::RngCore;

/// The generator of every draw of a run: seeded, and the same on every machine.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// The random streams. Each constant is the first of as many streams as there are flows, links or stations. Draws from
/// one stream do not change those from another. Losses on a link's wire use the streams from 0 on.
pub mod stream {
    /// When a host wakes up, by flow.
    pub const WAKING: u64 = 1 << 32;
    /// When flows arrive, by group.
    pub const ARRIVAL: u64 = 1 << 33;
    /// How much flows send, by group.
    pub const SIZE: u64 = 1 << 34;
    /// Initial sequence numbers, by flow.
    pub const INITIAL_SEQUENCE: u64 = 1 << 35;
    /// The draws of queue disciplines, by port.
    pub const QDISC: u64 = 1 << 36;
    /// How late packets are, by port.
    pub const JITTER: u64 = 1 << 37;
    /// Which packets are reordered, by port.
    pub const REORDER: u64 = 1 << 38;
    /// Which packets are duplicated, by port.
    pub const DUPLICATE: u64 = 1 << 39;
    /// When flows start, by group.
    pub const START: u64 = 1 << 40;
    /// How long stations of a Wi-Fi cell back off, by cell and station.
    pub const WIFI_BACK_OFF: u64 = 1 << 41;
    /// Which frames of Wi-Fi stations have errors, by cell.
    pub const WIFI_ERROR: u64 = 1 << 42;
    /// Which transport blocks of an LTE cell have errors, by cell and user.
    pub const HARQ: u64 = 1 << 43;
    /// How long nodes of a mesh back off, by mesh and node.
    pub const MESH_BACK_OFF: u64 = 1 << 44;
    /// Which frames of a mesh are received, by mesh.
    pub const MESH_ERROR: u64 = 1 << 45;
    /// When nodes of a mesh wake up, by mesh.
    pub const MESH_WAKING: u64 = 1 << 46;
    /// The rates and delays after handovers, by link.
    pub const HANDOVER: u64 = 1 << 47;
    /// How long packets wait for slots, by port.
    pub const SLOT: u64 = 1 << 48;
}

/// Returns the generator of one random stream of a run; more draws from it do not change other streams.
pub fn rng(seed: u64, purpose: u64) -> Rng {
    use rand::SeedableRng;
    // Multiplying by an odd constant separates pairs of seed and purpose; the generator's own seeding mixes the bits.
    Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose))
}

/// Draws a number from 0 to `most`, all equally likely.
#[inline]
pub fn up_to(most: u64, rng: &mut Rng) -> u64 {
    ((u128::from(rng.next_u64()) * (u128::from(most) + 1)) >> 64) as u64
}

/// Draws a number from 0 to below 1, evenly.
pub fn uniform(rng: &mut Rng) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

/// Draws an exponential number with mean 1.
pub fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - uniform(rng))
}

/// Draws a normal number with mean 0 and standard deviation 1 (Box and Muller).
pub fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * libm::cos(std::f64::consts::TAU * uniform(rng))
}
