//! The keywords of tc-cake(8) for overheads of links and for round-trip times (`tc/q_cake.c` of iproute2).

use super::{Atm, Cake, Said};
use crate::declare::Declared;
use crate::did_you_mean;
use crate::section::{Names, Section};
use crate::units::Nanos;

/// A keyword of the wire: its bytes for each packet, the least packet and the framing, where it sets them.
type Wire = (&'static str, u32, Option<u32>, Option<Atm>);

/// Keywords whose bytes add up, as `docsis` and `ether-vlan` do.
const WIRES: &[Wire] = &[
    ("conservative", 48, None, Some(Atm::Atm)),
    ("ipoa-vcmux", 8, None, Some(Atm::Atm)),
    ("ipoa-llcsnap", 16, None, Some(Atm::Atm)),
    ("bridged-vcmux", 24, None, Some(Atm::Atm)),
    ("bridged-llcsnap", 32, None, Some(Atm::Atm)),
    ("pppoa-vcmux", 10, None, Some(Atm::Atm)),
    ("pppoa-llc", 14, None, Some(Atm::Atm)),
    ("pppoe-vcmux", 32, None, Some(Atm::Atm)),
    ("pppoe-llcsnap", 40, None, Some(Atm::Atm)),
    ("pppoe-ptm", 30, None, Some(Atm::Ptm)),
    ("bridged-ptm", 22, None, Some(Atm::Ptm)),
    ("docsis", 18, Some(64), Some(Atm::Noatm)),
    ("ethernet", 38, Some(84), None),
    ("ether-vlan", 4, None, None),
];

/// Keywords of the paths.
const ROUND_TRIPS: &[(&str, Nanos)] = &[
    ("datacentre", Nanos::from_micros(100)),
    ("lan", Nanos::from_millis(1)),
    ("metro", Nanos::from_millis(10)),
    ("regional", Nanos::from_millis(30)),
    ("internet", Nanos::from_millis(100)),
    ("oceanic", Nanos::from_millis(300)),
    ("satellite", Nanos::from_millis(1000)),
    ("interplanetary", Nanos::from_secs(1000)),
];

impl Cake {
    /// Sets what the keywords of a section stand for, except keys that the section sets itself. Returns the keys.
    pub(super) fn expand(&mut self, section: &Section) -> Said {
        let Some(Names(keywords)) = section.read("keywords") else { return Said::NONE };
        let is_free = |key: &str| section.get(key).is_none();
        let (mut set, mut overhead) = (vec![], 0);
        for keyword in &keywords {
            if let Some((_, bytes, mpu, atm)) = WIRES.iter().find(|(name, ..)| name == keyword) {
                set.push("overhead");
                overhead += bytes;
                if let Some(mpu) = mpu.filter(|_| is_free("mpu")) {
                    set.push("mpu");
                    self.mpu = mpu;
                }
                if let Some(atm) = atm.filter(|_| is_free("atm")) {
                    set.push("atm");
                    self.atm = atm;
                }
            } else if let Some((_, rtt)) = ROUND_TRIPS.iter().find(|(name, _)| name == keyword) {
                set.push("rtt");
                self.rtt = if is_free("rtt") { *rtt } else { self.rtt };
            } else {
                let known = || WIRES.iter().map(|wire| wire.0).chain(ROUND_TRIPS.iter().map(|path| path.0));
                let (hint, valid) = (did_you_mean(keyword, known()), known().collect::<Vec<_>>().join(", "));
                section.complain("keywords", format!("unknown keyword {keyword}{hint}; valid: {valid}"));
            }
        }
        if set.contains(&"overhead") && is_free("overhead") {
            self.overhead = overhead;
        }
        Said::these(Cake::KEYS, &set)
    }
}
