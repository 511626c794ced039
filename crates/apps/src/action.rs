//! What an application asks of the transport below it.

/// What an application wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    /// It writes so many segments to the sender of a flow.
    Write { flow: u32, segments: u32 },
    /// It does so if the first of them can be written at once, and wants to know whether it could.
    TryToWrite { flow: u32, segments: u32 },
    /// It sends the next datagram of a flow.
    Send { flow: u32 },
    /// The other end of a flow of datagrams sends one.
    SendBack { flow: u32 },
}
