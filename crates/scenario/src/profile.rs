//! Reads the TCP stack of a flow group: a profile, single switches over it, and which of those are explicit in the
//! file.

use model::declare::{Declared, Field};
use model::section::Section;
use model::units::Bytes;
use model::value::Value;
use model::{FlowGroupKeys, Location, NamedProfile, RepairSwitches, TcpProfile, TcpProfileKeys};

/// The line and dotted key of a switch.
type Written = (Location, String);

/// The default IP length of a full data packet.
const PACKET: Bytes = Bytes(1500);
/// The default IP length of a sensor's full data packet: 64 bytes of payload, which fit a frame of IEEE 802.15.4 with
/// all headers.
const SENSOR_PACKET: Bytes = Bytes(104);
/// The receive window of a sensor's peer, segments (RFC 9006 advises a few).
const SENSOR_WINDOW: u64 = 4;

/// A group's TCP stack, and its profile's defaults for packets and windows.
pub(crate) struct GroupProfile {
    pub stack: TcpProfile,
    /// The default IP length of a full data packet.
    pub packet: Bytes,
    /// The default receive window, segments; none for the largest that TCP can advertise.
    pub window: Option<u64>,
}

/// A TCP stack under construction.
#[derive(Clone)]
pub(crate) struct Profile {
    stack: TcpProfile,
    /// The switches for loss detection and repair that are set.
    repair: RepairSwitches,
    /// Whether it is the stack of a sensor.
    is_small: bool,
    /// The place of an explicit `rack = true`; none if it comes from a base profile.
    asked_for_rack: Option<Written>,
    /// The place of an explicit `tlp = true`; none if it comes from a base profile.
    asked_for_tlp: Option<Written>,
    /// The place of an explicit `tcp_usec_ts = true`; none if it comes from a base profile.
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

    /// Reads the profile of the whole scenario.
    pub fn of_experiment(top: &Section) -> Profile {
        Profile::named(NamedProfile::Linux).changed_by(top)
    }

    /// Reads a group's stack: the scenario's, changed by the group's `profile` and by the switches in the group itself.
    pub fn of_group(&self, group: &Section, keys: &FlowGroupKeys) -> GroupProfile {
        let mut profile = self.changed_by(group);
        profile.change_common(keys);
        GroupProfile {
            packet: if profile.is_small { SENSOR_PACKET } else { PACKET },
            window: profile.is_small.then_some(SENSOR_WINDOW),
            stack: profile.finish(group),
        }
    }

    /// Returns the stack that results when the key `profile` of `section` replaces or changes this one.
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

    /// Applies the switches that a group may have without `profile`.
    fn change_common(&mut self, group: &FlowGroupKeys) {
        let stack = &mut self.stack;
        replace(&mut stack.delayed_ack, group.delayed_ack);
        replace(&mut stack.ecn, group.ecn);
        replace(&mut stack.pacing, group.pacing);
        replace(&mut stack.initial_window, group.initial_window);
        replace(&mut stack.rto_min, group.rto_min);
    }

    /// Completes the stack. RACK and TLP use the SACK scoreboard: without SACK they are off, as in Linux, and turning
    /// them on explicitly is an error.
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
