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
        write!(f, "{} is the running kernel's own: run it with --on kernel or --on vm", self.what)
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
                write!(f, "{drift} cannot be had on a kernel, where both ends read the same clock")?;
            }
            OnlyThere::SmallQueues => {
                write!(f, "cannot be had on a kernel, whose TCP is told of its own device, not of our access link")?;
            }
            OnlyThere::NoSmallQueues => {
                write!(f, "is true on a kernel, unless the queue is a FIFO of so many packets or has such bands")?;
            }
            OnlyThere::InHost => {
                write!(
                    f,
                    "goes by what a connection has in the host, which a kernel does not count with small_queues = false"
                )?;
            }
            OnlyThere::PacingShift => write!(f, "is what the device's driver asks for on a kernel")?,
            OnlyThere::Ring => {
                write!(f, "is 0 on a kernel, where the emulated device takes a packet when the link has room for it")?;
            }
            OnlyThere::Tuning => write!(f, "is \"linux\" on a kernel, which grows a send buffer as Linux does")?,
            OnlyThere::UplinkOfOneRate => {
                write!(f, "cannot be had on a kernel for the link of a host, whose queue lets packets go at one rate")?;
            }
            OnlyThere::HostInCell => {
                write!(
                    f,
                    "cannot be had on a kernel for the link of a host, which would have to know when the air is free"
                )?;
            }
            OnlyThere::HostQueue => {
                write!(
                    f,
                    "cannot be had on a kernel for the link of a host, whose queue is droptail without a threshold, \
                     prio, pfifo_fast, codel, fq_codel or cake"
                )?;
            }
            OnlyThere::SharedHost => {
                write!(
                    f,
                    "differs from the host's other flows, with which these share a kernel's settings and devices"
                )?;
            }
            OnlyThere::SmallWindow => {
                write!(f, "is at least {LEAST_WINDOW} on a kernel, whose receivers have no smaller buffer")?;
            }
            OnlyThere::ShortDatagrams => {
                write!(f, "is too short on a kernel, where the packet says when it was sent: write {STAMPED} or more")?;
            }
        }
        write!(f, ": leave it out, or simulate")
    }
}
