//! The keywords of tc-cake(8) for overheads of links and for round-trip times (`tc/q_cake.c` of iproute2).

use super::{Atm, Cake, Said};
use crate::declare::Declared;
use crate::did_you_mean;
use crate::section::{Names, Section};
use crate::units::Nanos;

/// The bytes for each packet that a keyword stands for.
enum Overhead {
    /// They add to those of keywords before, as those of `docsis` and `ether-vlan` do.
    Plus(u32),
    /// They replace those of keywords before.
    Is(u32),
    /// The keyword says nothing about them.
    Kept,
}
use Overhead::{Is, Kept, Plus};

/// A keyword of the wire: its bytes for each packet, the least packet and the framing, where it sets them.
type Wire = (&'static str, Overhead, Option<u32>, Option<Atm>);

const WIRES: &[Wire] = &[
    ("raw", Is(0), None, Some(Atm::Noatm)),
    ("atm", Kept, None, Some(Atm::Atm)),
    ("ptm", Kept, None, Some(Atm::Ptm)),
    ("noatm", Kept, None, Some(Atm::Noatm)),
    ("conservative", Is(48), None, Some(Atm::Atm)),
    ("ipoa-vcmux", Plus(8), None, Some(Atm::Atm)),
    ("ipoa-llcsnap", Plus(16), None, Some(Atm::Atm)),
    ("bridged-vcmux", Plus(24), None, Some(Atm::Atm)),
    ("bridged-llcsnap", Plus(32), None, Some(Atm::Atm)),
    ("pppoa-vcmux", Plus(10), None, Some(Atm::Atm)),
    ("pppoa-llc", Plus(14), None, Some(Atm::Atm)),
    ("pppoe-vcmux", Plus(32), None, Some(Atm::Atm)),
    ("pppoe-llcsnap", Plus(40), None, Some(Atm::Atm)),
    ("pppoe-ptm", Plus(30), None, Some(Atm::Ptm)),
    ("bridged-ptm", Plus(22), None, Some(Atm::Ptm)),
    ("docsis", Plus(18), Some(64), Some(Atm::Noatm)),
    ("ethernet", Plus(38), Some(84), None),
    ("ether-vlan", Plus(4), None, None),
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
                match bytes {
                    Plus(bytes) => overhead += bytes,
                    Is(bytes) => overhead = *bytes,
                    Kept => {}
                }
                if !matches!(bytes, Kept) {
                    set.push("overhead");
                }
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
