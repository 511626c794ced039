//! Applications: what a flow group's programs send, and what a person waits for.

use crate::units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// An application that does something else than to write a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum App {
    /// Datagrams, which no congestion control holds back.
    Datagrams(Datagrams),
    /// Requests and their responses, over TCP.
    Requests(Requests),
}

/// Datagrams at equal times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// What they are for.
    pub kind: DatagramKind,
    /// The time between two.
    pub every: Nanos,
    /// Their IP length.
    pub packet: Bytes,
}

/// Kinds of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatagramKind {
    /// ICMP echo requests, each of which is answered.
    Ping,
    /// A telephone call, in which both ends talk.
    Voice,
    /// UDP at a constant rate.
    Udp,
}

/// Requests over TCP: each connection carries the requests one way and the responses the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// As the file calls the application.
    pub kind: RequestKind,
    /// Connections of one client.
    pub connections: u32,
    /// How much a request is.
    pub request: Bytes,
    /// How much a response is.
    pub response: Bytes,
}

/// When a client asks for what.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// At equal times, whether or not the request before was answered.
    Periodic {
        /// The time between two.
        every: Nanos,
        /// What becomes of one that finds no room.
        when_full: WhenFull,
    },
    /// Again so long after each response.
    Chunks {
        /// The time until the next.
        pause: Nanos,
    },
    /// Pages: one object, then others over all connections.
    Web {
        /// Objects of a page beside the first.
        objects: u32,
        /// Time that a person looks at a page.
        pause: Nanos,
    },
    /// A film in pieces, each in the quality that the rate so far allows.
    Video {
        /// The lowest quality.
        lowest: Rate,
        /// The highest; each between is one and a half times the one below.
        highest: Rate,
        /// Time that a piece plays.
        piece: Nanos,
        /// Time that must be buffered before it plays, at first and after a pause.
        startup: Nanos,
        /// Time that is buffered at most.
        most: Nanos,
    },
}

/// What a program does about a message for which its send buffer has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It goes on, and writes the message later: a thread of its own, or a queue.
    Wait,
    /// It leaves the message out: a write that does not block (`EAGAIN`).
    Skip,
    /// It does nothing else until the message is written: a write that blocks.
    Delay,
}

impl WhenFull {
    /// The one of this name.
    pub fn named(name: &str) -> WhenFull {
        match name {
            "skip" => WhenFull::Skip,
            "delay" => WhenFull::Delay,
            _ => WhenFull::Wait,
        }
    }
}

impl Requests {
    /// The largest message of a server's.
    pub fn largest_response(&self) -> Bytes {
        match self.kind {
            RequestKind::Video { .. } => Bytes(u64::MAX >> 1),
            _ => self.response,
        }
    }
}

impl App {
    /// Does it do without a congestion control?
    pub fn is_datagrams(&self) -> bool {
        matches!(self, App::Datagrams(_))
    }

    /// Flows of one client: with connections one for the requests and one for the responses of each.
    pub fn flows(&self) -> u32 {
        match self {
            App::Datagrams(_) => 1,
            App::Requests(requests) => 2 * requests.connections,
        }
    }
}
