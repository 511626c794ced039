//! The behaviour of a TCP end.

use crate::declare::{choice, section};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The way in which a sender detects lost segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By three duplicate acknowledgements, or three SACKed segments above (RFC 5681, RFC 6675).
    Rfc6675,
    /// By three SACKed segments above; lost retransmissions by time, as in ns-2.35's `scoreboard1.cc`.
    Ns2,
    /// By time: a segment that was sent later has arrived (RFC 8985).
    Rack,
}

/// The way in which a window falls to ssthresh after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The window falls at the first acknowledgement (RFC 5681, RFC 6675).
    AtOnce,
    /// The window falls over a round trip, in proportion to the delivered data (RFC 6937).
    Prr,
    /// The window falls by one segment for every second acknowledgement, as in Linux before 3.2 and ns-2.35's
    /// TCP-Linux.
    Halving,
}

/// The ways in which a sender detects losses, and lowers its window while it repairs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RepairSwitches", into = "RepairSwitches")]
pub struct LossRepair {
    /// The way in which losses are detected.
    pub loss_detection: LossDetection,
    /// The way in which the window falls.
    pub reduction: Reduction,
}

/// The switches of loss detection and repair in files and JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairSwitches {
    /// Whether losses are detected by time.
    pub rack: bool,
    /// Whether the window falls in proportion to the delivered data.
    pub prr: bool,
    /// Whether, in place of both, losses are repaired as in ns-2.35's TCP-Linux.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rate_halving: bool,
}

impl RepairSwitches {
    /// Resolves the switches for a stack with or without SACK. RACK needs the SACK scoreboard, and rate halving
    /// includes its own form of RACK.
    pub fn resolve(self, sack: bool) -> LossRepair {
        RepairSwitches { rack: sack && (self.rack || self.rate_halving), ..self }.into()
    }
}

impl From<RepairSwitches> for LossRepair {
    fn from(switches: RepairSwitches) -> LossRepair {
        let RepairSwitches { rack, prr, rate_halving } = switches;
        LossRepair {
            loss_detection: match (rack, rate_halving) {
                (false, _) => LossDetection::Rfc6675,
                (true, true) => LossDetection::Ns2,
                (true, false) => LossDetection::Rack,
            },
            reduction: match (rate_halving, prr) {
                (true, _) => Reduction::Halving,
                (false, true) => Reduction::Prr,
                (false, false) => Reduction::AtOnce,
            },
        }
    }
}

impl From<LossRepair> for RepairSwitches {
    /// Converts the ways into switches. If a file turns rate halving off, RACK and proportional rate reduction replace
    /// it.
    fn from(repair: LossRepair) -> RepairSwitches {
        RepairSwitches {
            rack: repair.loss_detection != LossDetection::Rfc6675,
            prr: repair.reduction != Reduction::AtOnce,
            rate_halving: repair.reduction == Reduction::Halving,
        }
    }
}

impl Default for LossRepair {
    fn default() -> LossRepair {
        LossRepair::LINUX
    }
}

impl LossRepair {
    /// Loss detection and repair of Linux.
    pub const LINUX: LossRepair = LossRepair { loss_detection: LossDetection::Rack, reduction: Reduction::Prr };
    /// Loss detection and repair of RFC 6675, or without SACK of RFC 6582.
    pub const TEXTBOOK: LossRepair =
        LossRepair { loss_detection: LossDetection::Rfc6675, reduction: Reduction::AtOnce };
    /// Loss detection and repair of the TCP-Linux agent of ns-2.35.
    pub const NS2: LossRepair = LossRepair { loss_detection: LossDetection::Ns2, reduction: Reduction::Halving };
}

choice! {
    /// The TCP stacks with a name.
    pub enum NamedProfile {
        /// A current Linux.
        Linux = "linux",
        /// RFC 6675 on a textbook's stack.
        Sack = "sack",
        /// A textbook's stack without SACK.
        Newreno = "newreno",
        /// The TCP-Linux agent of ns-2.35.
        Ns2Linux = "ns2-linux",
        /// The stack of a sensor.
        Lln = "lln",
    }
}

impl NamedProfile {
    /// Returns the switches of the profile.
    pub fn stack(self) -> TcpProfile {
        match self {
            NamedProfile::Linux => TcpProfile::LINUX,
            NamedProfile::Sack => TcpProfile::SACK,
            NamedProfile::Newreno => TcpProfile::NEWRENO,
            NamedProfile::Ns2Linux => TcpProfile::NS2_LINUX,
            NamedProfile::Lln => TcpProfile::LLN,
        }
    }
}

section! {
    /// The switches of a TCP stack. `TcpProfile::LINUX` is what a current Linux does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct TcpProfile in "profile" with TcpProfileKeys {
        key base: Option<NamedProfile> = Means("linux; for a group the experiment's profile") =>
            "profile whose switches these change";
        /// selective acknowledgements (RFC 2018), with duplicate SACK (RFC 2883)
        pub sack: bool = Means("the base's value");
        /// timestamps option (RFC 7323)
        pub timestamps: bool = Means("the base's value");
        /// count microseconds in timestamps instead of milliseconds, as Linux 6.7 can for each route; needs timestamps
        pub tcp_usec_ts: bool = Means("the base's value");
        /// window scaling (RFC 7323)
        pub window_scaling: bool = Means("the base's value");
        key rack: Option<bool> = Means("the base's value") => "time-based loss detection (RFC 8985); needs sack";
        /// tail loss probe (RFC 8985); needs sack
        pub tlp: bool = Means("the base's value");
        key prr: Option<bool> = Means("the base's value") => "proportional rate reduction (RFC 6937)";
        key rate_halving: Option<bool> = Means("the base's value") =>
            "recover as ns-2.35's TCP-Linux instead of prr and rack: one segment for every second acknowledgement. \
             Three SACKed segments above show a loss";
        /// Loss detection and repair.
        #[serde(flatten)]
        pub repair: LossRepair;
        /// forward RTO recovery (RFC 5682)
        pub frto: bool = Means("the base's value");
        /// undo a reduction that proves spurious
        pub undo: bool = Means("the base's value");
        /// acknowledge every second segment (ack_every), or after 40 ms
        pub delayed_ack: bool = Means("the base's value");
        /// with delayed_ack, acknowledge every nth segment, or after 40 ms; more than 2 makes stretch acknowledgements
        #[serde(default = "every_second", skip_serializing_if = "is_every_second")]
        pub ack_every: u32 = Means("the base's value"), "2..1000";
        /// acknowledge a connection's first segments at once
        pub quick_ack: bool = Means("the base's value");
        /// combine duplicate acknowledgements within a millisecond
        pub sack_compression: bool = Means("the base's value");
        /// send new data on the first two duplicate acknowledgements (RFC 3042)
        pub limited_transmit: bool = Means("the base's value");
        /// keep an unused window from growing, and reduce it when idle (RFC 7661 as in Linux)
        pub cwnd_validation: bool = Means("the base's value");
        // In JSON, whose hash gives the seeds of a sweep, the field comes later.
        key gate: Option<bool> = Means("the base's value") =>
            "if the congestion control asks for it, wait before each window and then send it at once, instead of \
             pacing; simulator only";
        /// negotiate ECN (RFC 3168)
        pub ecn: bool = Means("the base's value");
        /// pace every flow at Linux's default rates
        pub pacing: bool = Means("the base's value");
        /// Whether, if the congestion control asks for it, the sender waits before each window and sends that at once,
        /// in place of pacing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub gate: bool;
        /// initial window in segments (RFC 6928)
        pub initial_window: u32 = Means("the base's value"), "1..10000";
        /// lower bound of the retransmission timeout's variance term
        pub rto_min: Nanos = Means("the base's value"), "1ms..120s";
    }
}

/// Returns how many segments an acknowledgement is for (RFC 9293, section 3.8.6.3).
const fn every_second() -> u32 {
    2
}

fn is_every_second(segments: &u32) -> bool {
    *segments == every_second()
}

impl Default for TcpProfile {
    fn default() -> TcpProfile {
        TcpProfile::LINUX
    }
}

impl TcpProfile {
    /// Profile `linux`: a current Linux.
    pub const LINUX: TcpProfile = TcpProfile {
        sack: true,
        timestamps: true,
        tcp_usec_ts: false,
        window_scaling: true,
        tlp: true,
        repair: LossRepair::LINUX,
        frto: true,
        undo: true,
        delayed_ack: true,
        ack_every: every_second(),
        quick_ack: true,
        sack_compression: true,
        limited_transmit: true,
        cwnd_validation: true,
        ecn: false,
        pacing: false,
        gate: false,
        initial_window: 10,
        rto_min: Nanos::from_millis(200),
    };
    /// Profile `sack`: RFC 6675 recovery on a textbook stack.
    pub const SACK: TcpProfile = TcpProfile {
        tlp: false,
        repair: LossRepair::TEXTBOOK,
        frto: false,
        undo: false,
        quick_ack: false,
        sack_compression: false,
        cwnd_validation: false,
        ..TcpProfile::LINUX
    };
    /// Profile `ns2-linux`: the TCP-Linux agent of ns-2.35 (`Agent/TCP/Linux`) with its sink `TCPSink/Sack1`, which
    /// acknowledges each segment. It has an initial window of two segments, SACK, loss detection by three segments
    /// above, and repair at half the rate. It has no probe and no undo (`tcp-linux.cc`, `scoreboard1.cc`,
    /// `ns-default.tcl`).
    pub const NS2_LINUX: TcpProfile =
        TcpProfile { repair: LossRepair::NS2, delayed_ack: false, initial_window: 2, ..TcpProfile::SACK };
    /// Profile `newreno`: TCP Reno as papers define it (RFC 5681, RFC 6582).
    pub const NEWRENO: TcpProfile = TcpProfile { sack: false, timestamps: false, ..TcpProfile::SACK };
    /// Profile `lln`: a stack that fits a sensor (RFC 9006). It is NewReno without options, with an initial window of
    /// two segments and a timeout of at least a second (RFC 6298, section 2.4). The peer acknowledges each segment at
    /// once, because a small window may never have two.
    pub const LLN: TcpProfile = TcpProfile {
        window_scaling: false,
        delayed_ack: false,
        initial_window: 2,
        rto_min: Nanos::from_secs(1),
        ..TcpProfile::NEWRENO
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash of this JSON gives the seeds of a sweep.
    #[test]
    fn json_says_by_switches_how_losses_are_repaired() {
        let halving_without_sack = LossRepair { loss_detection: LossDetection::Rfc6675, reduction: Reduction::Halving };
        for (repair, json) in [
            (LossRepair::LINUX, r#"{"rack":true,"prr":true}"#),
            (LossRepair::TEXTBOOK, r#"{"rack":false,"prr":false}"#),
            (LossRepair::NS2, r#"{"rack":true,"prr":true,"rate_halving":true}"#),
            (halving_without_sack, r#"{"rack":false,"prr":true,"rate_halving":true}"#),
        ] {
            assert_eq!(serde_json::to_string(&repair).unwrap(), json);
            assert_eq!(serde_json::from_str::<LossRepair>(json).unwrap(), repair);
            let stack = TcpProfile { repair, ..TcpProfile::LINUX };
            let written = serde_json::to_value(stack).unwrap();
            assert_eq!(written["prr"], repair.reduction != Reduction::AtOnce);
            assert_eq!(serde_json::from_value::<TcpProfile>(written).unwrap(), stack);
        }
    }
}
