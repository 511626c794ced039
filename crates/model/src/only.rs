//! Features of a scenario that either the simulator or a kernel does not support.

use crate::units::{Bytes, Drift};

/// The shortest datagram with room for its sending time: headers of 28 bytes and a number of 8.
pub(super) const STAMPED: Bytes = Bytes(36);
/// The smallest window of a kernel's receiver: half of the smallest buffer (`SOCK_MIN_RCVBUF`).
pub(super) const LEAST_WINDOW: Bytes = Bytes(1152);

/// A feature of a scenario that only a kernel supports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnlyInTheKernel {
    /// The dotted key that asks for the feature.
    pub key: String,
    /// The value of the key, as in the file.
    pub what: String,
}

impl std::fmt::Display for OnlyInTheKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} belongs to the running kernel: run it with --on kernel or --on vm", self.what)
    }
}

/// A feature of a scenario that only the simulator supports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnlyInTheSimulator {
    /// The dotted key that asks for the feature.
    pub key: String,
    /// The feature.
    pub what: OnlyThere,
}

/// The features that only the simulator supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlyThere {
    /// Clocks that drift apart: both ends of a real run read the same clock.
    Drift(Drift),
    /// Small queues before an access link of the emulator: a kernel's TCP knows only when packets have left its own
    /// device.
    SmallQueues,
    /// Hosts without small queues whose queue is not a FIFO in packets.
    NoSmallQueues,
    /// Classifiers that use the amount of a connection's data in the host, on hosts without small queues.
    InHost,
    /// Small queues of a given length, which on a kernel the device's driver sets.
    PacingShift,
    /// Devices with a ring, which take packets before they can send them.
    Ring,
    /// Send buffers that do not grow as in Linux.
    Tuning,
    /// Uplinks of hosts with a varying rate.
    UplinkOfOneRate,
    /// Hosts that are stations of a radio cell.
    HostInCell,
    /// Queues of hosts that this program cannot set up in a kernel.
    HostQueue,
    /// Flow groups of one host that differ in a setting of the whole host.
    SharedHost,
    /// Datagrams too short to contain their sending time.
    ShortDatagrams,
    /// Receive windows smaller than the smallest buffer of a kernel gives.
    SmallWindow,
}

impl std::fmt::Display for OnlyInTheSimulator {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.what {
            OnlyThere::Drift(drift) => {
                write!(f, "{drift} is not supported on a kernel, where both ends read the same clock")?;
            }
            OnlyThere::SmallQueues => {
                write!(
                    f,
                    "is not supported on a kernel, whose TCP sees its own device and not the emulated access \
                           link"
                )?;
            }
            OnlyThere::NoSmallQueues => {
                write!(
                    f,
                    "must be true on a kernel, unless the queue is droptail without a limit in bytes, prio or \
                           pfifo_fast"
                )?;
            }
            OnlyThere::InHost => {
                write!(
                    f,
                    "uses what a connection has in the host, which a kernel does not count with small_queues = false"
                )?;
            }
            OnlyThere::PacingShift => write!(f, "cannot be set on a kernel, where the device's driver sets it")?,
            OnlyThere::Ring => {
                write!(
                    f,
                    "must be 0 on a kernel, where the emulated device takes a packet when the link has room for \
                           it"
                )?;
            }
            OnlyThere::Tuning => write!(f, "must be \"linux\" on a kernel, where Linux grows the send buffer")?,
            OnlyThere::UplinkOfOneRate => {
                write!(f, "is not supported on a kernel for the link of a host, whose queue needs one fixed rate")?;
            }
            OnlyThere::HostInCell => {
                write!(
                    f,
                    "is not supported on a kernel for the link of a host, which would have to know when the air is \
                     free"
                )?;
            }
            OnlyThere::HostQueue => {
                write!(
                    f,
                    "is not supported on a kernel for the link of a host, except droptail without a threshold, prio, \
                     pfifo_fast, codel, fq_codel and cake"
                )?;
            }
            OnlyThere::SharedHost => {
                write!(f, "differs from the host's other flows, which share settings and devices on a kernel")?;
            }
            OnlyThere::SmallWindow => {
                write!(f, "must be at least {LEAST_WINDOW} on a kernel, whose receivers have no smaller buffer")?;
            }
            OnlyThere::ShortDatagrams => {
                write!(
                    f,
                    "is too short on a kernel, where each packet carries its sending time: write {STAMPED} or \
                           more"
                )?;
            }
        }
        write!(f, "; leave it out, or simulate")
    }
}
