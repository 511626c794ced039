//! What a scenario asks for that either world lacks.

use crate::units::{Bytes, Drift};

/// The shortest datagram that says when it was sent: headers of 28 bytes and a number of 8.
pub(super) const STAMPED: Bytes = Bytes(36);
/// The least window of a kernel's receiver: half of the least buffer (`SOCK_MIN_RCVBUF`).
pub(super) const LEAST_WINDOW: Bytes = Bytes(1152);

/// What a scenario asks for that only a kernel has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnlyInTheKernel {
    /// The dotted key that asks for it.
    pub key: String,
    /// What stands there, as it is written.
    pub what: String,
}

impl std::fmt::Display for OnlyInTheKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} is the running kernel's own: run it with --on kernel or --on vm", self.what)
    }
}

/// What a scenario asks for that cannot be had on a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnlyInTheSimulator {
    /// The dotted key that asks for it.
    pub key: String,
    /// What it asks for.
    pub what: OnlyThere,
}

/// What only the simulator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlyThere {
    /// Clocks that drift apart: both ends of a real run read the same one.
    Drift(Drift),
    /// Senders that are told when packets have left the emulator's access link: a kernel's TCP is told when they have
    /// left its own device.
    SmallQueues,
    /// Hosts whose TCP fills queues of other kinds than FIFOs of packets.
    NoSmallQueues,
    /// Classifiers that are told what a connection has in the host, where TCP fills the queue.
    InHost,
    /// Small queues of a length that no driver asks for.
    PacingShift,
    /// Devices that take packets ahead of sending them.
    Ring,
    /// Send buffers that grow otherwise than Linux's.
    Tuning,
    /// Links of hosts whose rate varies.
    UplinkOfOneRate,
    /// Hosts that are stations of a cell.
    HostInCell,
    /// Queues of hosts that this program does not ask a kernel for.
    HostQueue,
    /// Groups of one host that differ in what is the host's.
    SharedHost,
    /// Datagrams with no room for the time at which they are sent.
    ShortDatagrams,
    /// Windows smaller than that of the least buffer.
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
