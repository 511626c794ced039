//! The hash that assigns flows to queues.

use crate::Rng;
use rand::RngCore;

/// The secret of one discipline's hash. The kernel draws its secret at boot
/// (`net_get_random_once`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Salt(u32);

impl Salt {
    pub fn new(rng: &mut Rng) -> Salt {
        Salt(rng.next_u32())
    }

    /// Mixes a hash with the secret. Different hashes stay different, because each step can be
    /// undone.
    #[inline]
    pub fn mix(self, hash: u32) -> u32 {
        let mut hash = (hash ^ self.0).wrapping_mul(0x9e37_79b1);
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca77);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae3d);
        hash ^ (hash >> 16)
    }
}

/// Returns the queue, of `queues`, that a hash is assigned to (`reciprocal_scale`).
#[inline]
pub(super) fn queue_of(hash: u32, queues: usize) -> usize {
    ((hash as u64 * queues as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1000 hashes each of 64 queues gets 15.6 in the mean, with a standard deviation of 4.
    #[test]
    fn neighbouring_hashes_are_spread_evenly() {
        let salt = Salt::new(&mut crate::rng(1, 1));
        let mut counts = [0; 64];
        for hash in 0..1000 {
            counts[queue_of(salt.mix(hash), 64)] += 1;
        }
        assert!(counts.iter().all(|count| (2..34).contains(count)), "{counts:?}");
    }

    #[test]
    fn another_seed_spreads_otherwise() {
        let places = |seed| {
            let salt = Salt::new(&mut crate::rng(seed, 1));
            (0..100).map(|hash| queue_of(salt.mix(hash), 1024)).collect::<Vec<_>>()
        };
        assert_eq!(places(1), places(1));
        assert_ne!(places(1), places(2));
    }
}
