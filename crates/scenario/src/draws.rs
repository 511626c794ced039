//! Random numbers: where every draw of a run comes from.

/// The generator of every draw of a run: seeded, portable, the same on every machine.
pub type Draws = rand_xoshiro::Xoshiro256PlusPlus;

/// A generator of its own for one purpose of one run, so that a draw more here changes nothing there.
pub fn draws(seed: u64, purpose: u64) -> Draws {
    use rand::SeedableRng;
    // Multiplying by an odd constant keeps (seed, purpose) pairs apart; the generator's own seeding mixes the bits.
    Draws::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose))
}
