//! CAKE's shaper, which accounts for the length of packets on the wire.

use model::queue::Atm;

/// Nanoseconds per byte, as a fraction of a power of two (`psched_ratecfg` of the kernel).
#[derive(Clone, Copy, Debug)]
pub(super) struct RateConfig {
    ns: u64,
    shift: u32,
}

impl RateConfig {
    /// Converts a rate in bytes per second; `ns` gets at most 34 bits.
    pub(super) fn new(bytes_per_second: u64) -> RateConfig {
        const LEAST_RATE: u64 = 64;
        const BITS: u32 = 34;
        let mut rate_config =
            RateConfig { ns: (1_000_000_000 << BITS) / bytes_per_second.max(LEAST_RATE), shift: BITS };
        while rate_config.ns >> BITS > 0 {
            rate_config.ns >>= 1;
            rate_config.shift -= 1;
        }
        rate_config
    }

    #[inline]
    pub(super) fn time(self, bytes: u64) -> u64 {
        (bytes * self.ns) >> self.shift
    }
}

/// Overheads that determine the length of packets on the wire.
#[derive(Clone, Debug)]
pub(super) struct LinkLayer {
    pub(super) overhead: i64,
    pub(super) mpu: i64,
    pub(super) atm: Atm,
}

impl LinkLayer {
    #[inline]
    pub(super) fn bytes(&self, ip_bytes: u32) -> u64 {
        let bytes = (ip_bytes as i64 + self.overhead).max(self.mpu).max(0) as u64;
        match self.atm {
            Atm::Noatm => bytes,
            // ATM cells of 53 bytes carry 48.
            Atm::Atm => bytes.div_ceil(48) * 53,
            // PTM adds a byte for each 64.
            Atm::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

/// The shaper in front of all tins.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    pub(super) rate_config: Option<RateConfig>,
    pub(super) time_next_packet: u64,
    /// The time of the next packet if drops do not count, at two thirds of the rate. It prevents
    /// drops from blocking the shaper forever.
    pub(super) failsafe_next_packet: u64,
}

impl Shaper {
    /// Returns the time in ns from which the shaper may send.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.time_next_packet.min(self.failsafe_next_packet)
    }

    #[inline]
    pub(super) fn charge(&mut self, bytes: u64, dropped: bool) {
        let Some(rate_config) = self.rate_config else { return };
        let time = rate_config.time(bytes);
        self.time_next_packet += time;
        if !dropped {
            self.failsafe_next_packet += time + (time >> 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_as_long_as_on_the_wire() {
        let wire = |overhead, mpu, atm| LinkLayer { overhead, mpu, atm };
        assert_eq!(wire(0, 0, Atm::Noatm).bytes(1500), 1500);
        assert_eq!(wire(18, 64, Atm::Noatm).bytes(40), 64);
        // 1544 bytes are 33 cells; a bare acknowledgement's 84 bytes are two.
        assert_eq!([1500, 40].map(|bytes| wire(44, 0, Atm::Atm).bytes(bytes)), [33 * 53, 2 * 53]);
        assert_eq!(wire(0, 0, Atm::Ptm).bytes(1500), 1524);
    }
}
