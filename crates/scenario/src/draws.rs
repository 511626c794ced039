//! Random numbers: where every draw of a run comes from.

use rand::RngCore;

/// The generator of every draw of a run: seeded, portable, the same on every machine.
pub type Draws = rand_xoshiro::Xoshiro256PlusPlus;

/// A generator of its own for one purpose of one run, so that a draw more here changes nothing there.
pub fn draws(seed: u64, purpose: u64) -> Draws {
    use rand::SeedableRng;
    // Multiplying by an odd constant keeps (seed, purpose) pairs apart; the generator's own seeding mixes the bits.
    Draws::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose))
}

/// A number from 0 to `most`, any as likely as another.
pub fn up_to(most: u64, draws: &mut Draws) -> u64 {
    ((u128::from(draws.next_u64()) * (u128::from(most) + 1)) >> 64) as u64
}

/// From 0 up to but without 1.
pub(crate) fn uniform(draws: &mut Draws) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (draws.next_u64() >> 11) as f64 * STEP
}

/// With mean 1.
pub(crate) fn exponential(draws: &mut Draws) -> f64 {
    -libm::log(1.0 - uniform(draws))
}

/// With mean 0 and standard deviation 1 (Box and Muller).
pub fn normal(draws: &mut Draws) -> f64 {
    let radius = (2.0 * exponential(draws)).sqrt();
    radius * libm::cos(std::f64::consts::TAU * uniform(draws))
}
