//! The requests of an application to the transport below it.

/// A request of an application to the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    /// Write this many segments to the sender of a flow.
    Write { flow: u32, segments: u32 },
    /// Write the segments if the first of them fits at once, and report whether it did.
    TryToWrite { flow: u32, segments: u32 },
    /// Send the next datagram of a flow.
    Send { flow: u32 },
    /// Send a datagram from the other end of a flow of datagrams.
    SendBack { flow: u32 },
}
