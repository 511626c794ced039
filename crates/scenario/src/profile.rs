//! The TCP stack of a flow group: a profile, single switches over it, and which of them somebody asked for in so many
//! words.

use model::declare::{Declared, Field};
use model::section::Section;
use model::units::Bytes;
use model::value::Value;
use model::{FlowGroupKeys, Location, NamedProfile, RepairSwitches, TcpProfile, TcpProfileKeys};

/// Line and dotted key of a switch.
type Written = (Location, String);

/// IP length of a full data packet where nothing is said.
const PACKET: Bytes = Bytes(1500);
/// The same of a sensor: 64 bytes of payload, which fit a frame of IEEE 802.15.4 with all headers.
const SENSOR_PACKET: Bytes = Bytes(104);
/// Segments that a sensor's peer takes at a time (RFC 9006 advises a few).
const SENSOR_WINDOW: u64 = 4;

/// A group's stack, and what its profile says of packets and windows.
pub(crate) struct GroupProfile {
    pub stack: TcpProfile,
    /// IP length of a full data packet if the group does not say it.
    pub packet: Bytes,
    /// Segments that fit the receiver's window if the group does not say it; none: as many as can be advertised.
    pub window: Option<u64>,
}

/// A stack under construction.
#[derive(Clone)]
pub(crate) struct Profile {
    stack: TcpProfile,
    /// How it finds and repairs losses, as far as that is said.
    repair: RepairSwitches,
    /// It is a sensor's.
    is_small: bool,
    /// Where `rack = true` is written; none if a base says it.
    asked_for_rack: Option<Written>,
    /// Likewise `tlp = true`.
    asked_for_tlp: Option<Written>,
    /// Likewise `tcp_usec_ts = true`.
    asked_for_usec: Option<Written>,
}

impl Profile {
    fn named(name: NamedProfile) -> Profile {
        let stack = name.stack();
        Profile {
            stack,
            repair: stack.repair.into(),
            is_small: name == NamedProfile::Lln,
            asked_for_rack: None,
            asked_for_tlp: None,
            asked_for_usec: None,
        }
    }

    /// The experiment's profile.
    pub fn of_experiment(top: &Section) -> Profile {
        Profile::named(NamedProfile::Linux).changed_by(top)
    }

    /// A group's stack: the experiment's, changed by its `profile` and by the switches that stand in the group itself.
    pub fn of_group(&self, group: &Section, keys: &FlowGroupKeys) -> GroupProfile {
        let mut profile = self.changed_by(group);
        profile.change_common(keys);
        GroupProfile {
            packet: if profile.is_small { SENSOR_PACKET } else { PACKET },
            window: profile.is_small.then_some(SENSOR_WINDOW),
            stack: profile.finish(group),
        }
    }

    /// `self`, replaced or changed by the key `profile` of `section`.
    fn changed_by(&self, section: &Section) -> Profile {
        match section.get("profile").map(|node| &node.value) {
            None => self.clone(),
            Some(Value::Table(_)) => self.changed_by_switches(&section.child("profile", "profile")),
            Some(_) => NamedProfile::find(section, "profile").map_or(self.clone(), Profile::named),
        }
    }

    fn changed_by_switches(&self, switches: &Section) -> Profile {
        let TcpProfileKeys { base, rack, prr, rate_halving, gate } = TcpProfileKeys::read(switches);
        let mut profile = base.map_or(self.clone(), Profile::named);
        profile.stack.change(switches);
        replace(&mut profile.stack.gate, gate);
        replace(&mut profile.repair.rack, rack);
        replace(&mut profile.repair.prr, prr);
        replace(&mut profile.repair.rate_halving, rate_halving);
        for (name, asked) in [
            ("rack", &mut profile.asked_for_rack),
            ("tlp", &mut profile.asked_for_tlp),
            ("tcp_usec_ts", &mut profile.asked_for_usec),
        ] {
            if let Some(&Value::Flag(is_on)) = switches.get(name).map(|node| &node.value) {
                *asked = is_on.then(|| (switches.place_of(name), switches.path_of(name)));
            }
        }
        profile
    }

    /// The switches that may stand in the group itself.
    fn change_common(&mut self, group: &FlowGroupKeys) {
        let stack = &mut self.stack;
        replace(&mut stack.delayed_ack, group.delayed_ack);
        replace(&mut stack.ecn, group.ecn);
        replace(&mut stack.pacing, group.pacing);
        replace(&mut stack.initial_window, group.initial_window);
        replace(&mut stack.rto_min, group.rto_min);
    }

    /// RACK and TLP read the SACK scoreboard: without it they are off, as in Linux, unless somebody insists.
    fn finish(self, group: &Section) -> TcpProfile {
        let mut stack = TcpProfile { repair: self.repair.resolve(self.stack.sack), ..self.stack };
        if !stack.sack {
            for (place, key) in [self.asked_for_rack, self.asked_for_tlp].into_iter().flatten() {
                group.complain_about(&place, key, "needs SACK; set sack = true, or leave this switch out");
            }
            stack.tlp = false;
        }
        if let (false, Some((place, key))) = (stack.timestamps, self.asked_for_usec) {
            group.complain_about(&place, key, "needs timestamps; set timestamps = true, or leave this switch out");
        }
        stack
    }
}

fn replace<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
