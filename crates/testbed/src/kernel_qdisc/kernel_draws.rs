//! The random numbers that the kernel's queues and `netem` draw.

use rand::RngCore;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

nix::ioctl_none_bad!(reseed, nix::request_code_none!(b'R', 0x07)); // RNDRESEEDCRNG of linux/random.h

/// Mixes `seed` into the kernel's random number generator. In a guest whose every run starts from the same memory, two
/// runs with the same seed then draw the same numbers.
///
/// # Errors
/// Without CAP_SYS_ADMIN, or before the kernel's generator is ready.
pub fn follow(seed: u64) -> io::Result<()> {
    let mut pool = OpenOptions::new().write(true).open("/dev/urandom")?;
    pool.write_all(&seed.to_ne_bytes())?;
    // SAFETY: the call takes no argument.
    unsafe { reseed(pool.as_raw_fd()) }?;
    Ok(())
}

/// Returns the seed of a `netem` for one purpose of a run. Different purposes and neighbouring seeds give different
/// seeds.
pub fn netem_seed(seed: u64, purpose: u64) -> u64 {
    model::rng(seed, purpose).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn neighbouring_seeds_and_purposes_draw_apart() {
        let pairs = (1..=30).flat_map(|seed| (1..=4).map(move |purpose| (seed, purpose)));
        let seeds: HashSet<_> = pairs.map(|(seed, purpose)| netem_seed(seed, purpose)).collect();
        assert_eq!(seeds.len(), 30 * 4);
    }
}
