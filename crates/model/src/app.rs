//! Applications: the traffic of a flow group's programs, for which people wait.

use crate::declare::{self, Written, choice, kinds, section, table};
use crate::schema::{self, Absence, Key, KeyType, RATES, SOME_TIME, TIMES};
use crate::section::Section;
use crate::units::{Bytes, Nanos, Rate};
use crate::value::Value;
use serde::{Deserialize, Serialize};

const MESSAGES: &str = "1b..100mb";
const DATAGRAMS: &str = "28b..65535b";

kinds! {
    /// An application other than a plain transfer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum App {
        /// Short messages over TCP.
        Messenger(Messenger),
        /// Small messages over TCP at a steady pace.
        Game(Game),
        /// Uploads of chunks to a cloud.
        Upload(Upload),
        /// Writes of given sizes at given times.
        Writer(Writer),
        /// Web pages.
        Web(Web),
        /// A video stream.
        Video(Video),
        /// A telephone call, in which both ends talk.
        Voice(Voice),
        /// ICMP echo requests.
        Ping(Ping),
        /// UDP at a constant rate.
        Udp(Udp),
    }
}

section! {
    /// Messages, each of which is answered.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Messenger: Default in "messenger" {
        "kind" = KeyType::Choice(App::KINDS), Required => "messenger: short messages over TCP, each answered";
        /// time from one message to the next, answered or not
        pub every: Nanos = Default("1s"), SOME_TIME;
        /// what the program does if a message finds the send buffer full: write it later (wait), leave it out (skip),
        /// or block (delay)
        pub when_full: WhenFull = Default("wait");
        /// size of a request, in whole packets if it is more than one
        pub request: Bytes = Default("200b"), MESSAGES;
        /// size of a response
        pub response: Bytes = Default("200b"), MESSAGES;
    }
}

section! {
    /// A messenger with a game's pace and sizes.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Game: Default in "game" {
        "kind" = KeyType::Choice(&["game"]), Required =>
            "game: small messages over TCP at a steady pace, each answered";
        /// time from one message to the next, answered or not
        pub every: Nanos = Default("100ms"), SOME_TIME;
        /// what the program does if a message finds the send buffer full: write it later (wait), leave it out (skip),
        /// or block (delay)
        pub when_full: WhenFull = Default("wait");
        /// size of a request, in whole packets if it is more than one
        pub request: Bytes = Default("60b"), MESSAGES;
        /// size of a response
        pub response: Bytes = Default("150b"), MESSAGES;
    }
}

section! {
    /// Chunks of an upload, each of which the cloud confirms.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Upload: Default in "upload" {
        "kind" = KeyType::Choice(&["upload"]), Required => "upload: chunks to a server that confirms each";
        /// size of a chunk
        pub chunk: Bytes = Default("4mb"), MESSAGES;
        /// size of the confirmation
        pub response: Bytes = Default("300b"), MESSAGES;
        /// time from the confirmation to the next chunk
        pub pause: Nanos = Default("20ms"), TIMES;
    }
}

section! {
    /// Writes of given sizes at given times, each of which is answered.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Writer in "writer" {
        "kind" = KeyType::Choice(&["writer"]), Required => "writer: writes of given sizes at given times, each answered";
        /// writes, in order of time
        pub writes: Vec<Write> = Required;
        /// size of a response
        pub response: Bytes = Default("1b"), MESSAGES;
    }
}

section! {
    /// One write of a writer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Write in "writes" {
        /// time of the write, after the start of the flow
        pub at: Nanos = Required, TIMES;
        /// size of the write, in whole packets if the largest is more than one
        pub size: Bytes = Required, MESSAGES;
    }
}

section! {
    /// Web pages: one object, then others over all connections.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Web: Default in "web" {
        "kind" = KeyType::Choice(&["web"]), Required => "web: pages of one object and others that follow";
        /// number of connections that load a page
        pub connections: u32 = Default("6"), "1..100";
        /// number of objects besides the page itself
        pub objects: u32 = Default("40"), "0..10000";
        /// size of a request, in whole packets if it is more than one
        pub request: Bytes = Default("500b"), MESSAGES;
        /// size of each object
        pub response: Bytes = Default("30kb"), MESSAGES;
        /// time from the end of a page to the request of the next
        pub pause: Nanos = Default("5s"), TIMES;
    }
}

section! {
    /// A video stream in pieces.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Video: Default in "video" {
        "kind" = KeyType::Choice(&["video"]), Required => "video: a film in pieces, in a quality that suits the rate";
        /// rate of the lowest quality
        pub lowest: Rate = Default("500kbit"), RATES;
        /// largest rate of a quality; each quality has one and a half times the rate of the one below
        pub highest: Rate = Default("5mbit"), RATES;
        /// playing time of a piece
        pub piece: Nanos = Default("4s"), "10ms..3600s";
        /// playing time to load before playback starts
        pub startup: Nanos = Default("8s"), SOME_TIME;
        /// largest playing time to load ahead
        pub most: Nanos = Default("30s"), SOME_TIME;
        /// size of a request, in whole packets if it is more than one
        pub request: Bytes = Default("500b"), MESSAGES;
    }
}

section! {
    /// A telephone call.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Voice: Default in "voice" {
        "kind" = KeyType::Choice(&["voice"]), Required =>
            "voice: a call of 64 kbit/s in both directions (G.711 over RTP and UDP)";
        /// time from one packet to the next
        pub every: Nanos = Default("20ms"), SOME_TIME;
        /// IP length of a packet
        pub packet: Bytes = Default("200b"), DATAGRAMS;
    }
}

section! {
    /// ICMP echo requests, each of which is answered.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Ping: Default in "ping" {
        "kind" = KeyType::Choice(&["ping"]), Required => "ping: ICMP echo requests and their replies";
        /// time from one request to the next
        pub every: Nanos = Default("200ms"), SOME_TIME;
        /// IP length of a packet
        pub packet: Bytes = Default("84b"), DATAGRAMS;
    }
}

section! {
    /// UDP datagrams at a constant rate.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Udp in "udp" {
        "kind" = KeyType::Choice(&["udp"]), Required => "udp: datagrams at a constant rate";
        /// rate of the packets
        pub rate: Rate = Required, RATES;
        /// IP length of a packet
        pub packet: Bytes = Default("1500b"), DATAGRAMS;
    }
}

choice! {
    /// The way in which a program handles a message for which its send buffer has no room.
    pub enum WhenFull {
        /// It goes on, and writes the message later, from another thread or a queue.
        Wait = "wait",
        /// It skips the message, as after a non-blocking write (`EAGAIN`).
        Skip = "skip",
        /// It does nothing else until the message is written, as in a blocking write.
        Delay = "delay",
    }
}

/// The traffic of an application; a hash of its JSON gives the seeds of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Traffic {
    /// Datagrams, which no congestion control limits.
    Datagrams(Datagrams),
    /// Requests and their responses, over TCP.
    Requests(Requests),
}

/// Datagrams at equal intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Datagrams {
    /// The purpose of the datagrams.
    pub kind: DatagramKind,
    /// The time between two datagrams.
    pub every: Nanos,
    /// The IP length of a datagram.
    pub packet: Bytes,
}

/// Kinds of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requests {
    /// The times and purpose of the requests.
    pub kind: RequestKind,
    /// The number of connections of one client.
    pub connections: u32,
    /// The size of a request, or of the largest.
    pub request: Bytes,
    /// The size of a response.
    pub response: Bytes,
}

/// The times at which a client makes requests, and what they are for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Requests at equal intervals, whether or not the one before was answered.
    Periodic {
        /// The time between two requests.
        every: Nanos,
        /// The handling of a request for which the send buffer has no room.
        when_full: WhenFull,
    },
    /// Requests that follow each response after a pause.
    Chunks {
        /// The time from a response to the next request.
        pause: Nanos,
    },
    /// Requests of these sizes at these times after the start.
    Writes(Vec<Write>),
    /// Web pages: one object, then others over all connections.
    Web {
        /// The number of objects of a page besides the first.
        objects: u32,
        /// The time that a person looks at a page.
        pause: Nanos,
    },
    /// A video stream in pieces, each in the quality that the rate of the pieces before allows.
    Video {
        /// The lowest quality.
        lowest: Rate,
        /// The highest quality; each quality has one and a half times the rate of the one below.
        highest: Rate,
        /// The playing time of a piece.
        piece: Nanos,
        /// The playing time that must be buffered before the video plays, at first and after a stall.
        startup: Nanos,
        /// The largest playing time that is buffered.
        most: Nanos,
    },
}

impl Requests {
    /// Returns the largest response of a server.
    pub fn largest_response(&self) -> Bytes {
        match self.kind {
            RequestKind::Video { .. } => Bytes(u64::MAX >> 1),
            _ => self.response,
        }
    }
}

/// An application is a name, or a table with the name as its `kind`.
impl declare::Field for App {
    const KIND: KeyType = KeyType::App;
    fn find(group: &Section, name: &'static str) -> Option<App> {
        let named = |name: Option<&str>| App::KINDS.iter().find(|kind| Some(**kind) == name).copied();
        if let Value::Table(table) = &group.get(name)?.value {
            let kind = table.get("kind").and_then(|kind| kind.value.as_text());
            let section = group.child(name, named(kind).unwrap_or(App::KINDS[0]));
            section.read::<String>("kind")?;
            return App::read_keys(&section);
        }
        let kind = named(group.read::<String>(name).as_deref())?;
        let required = schema::keys_of(kind).find(|key| key.absence == Absence::Required && key.name != "kind");
        if let Some(key) = required {
            let example = format!("{name} = {{ kind = \"{kind}\", {} = ... }}", key.name);
            let message = format!("{kind} needs {}, which is {}; write {example}", key.name, key.kind.words());
            group.complain(name, message);
        }
        App::read_keys(&group.absent(name, kind))
    }
    fn absent(_: &Key) -> App {
        App::Messenger(Messenger::default())
    }
    fn written(&self) -> Option<String> {
        Some(table(&Written::written(self)))
    }
}

impl App {
    /// Returns the traffic of the application.
    pub fn traffic(&self) -> Traffic {
        let datagrams = |kind, every, packet| Traffic::Datagrams(Datagrams { kind, every, packet });
        let requests =
            |kind, connections, request, response| Traffic::Requests(Requests { kind, connections, request, response });
        match *self {
            App::Writer(Writer { ref writes, response }) => {
                let largest = writes.iter().map(|write| write.size).max().unwrap_or(Bytes(1));
                requests(RequestKind::Writes(writes.clone()), 1, largest, response)
            }
            App::Ping(Ping { every, packet }) => datagrams(DatagramKind::Ping, every, packet),
            App::Voice(Voice { every, packet }) => datagrams(DatagramKind::Voice, every, packet),
            // A missing rate is already reported as an error.
            App::Udp(Udp { rate, packet }) => {
                datagrams(DatagramKind::Udp, Rate(rate.0.max(1)).time_to_send(packet), packet)
            }
            App::Messenger(Messenger { every, when_full, request, response })
            | App::Game(Game { every, when_full, request, response }) => {
                requests(RequestKind::Periodic { every, when_full }, 1, request, response)
            }
            App::Upload(Upload { chunk, response, pause }) => {
                requests(RequestKind::Chunks { pause }, 1, chunk, response)
            }
            App::Web(Web { connections, objects, request, response, pause }) => {
                requests(RequestKind::Web { objects, pause }, connections, request, response)
            }
            App::Video(Video { lowest, highest, piece, startup, most, request }) => {
                requests(RequestKind::Video { lowest, highest, piece, startup, most }, 1, request, Bytes(1))
            }
        }
    }

    /// Whether the application sends datagrams and needs no congestion control.
    pub fn is_datagrams(&self) -> bool {
        matches!(self.traffic(), Traffic::Datagrams(_))
    }

    /// Returns the number of flows of one client: for each connection, one for the requests and one for the responses.
    pub fn flows(&self) -> u32 {
        match self.traffic() {
            Traffic::Datagrams(_) => 1,
            Traffic::Requests(requests) => 2 * requests.connections,
        }
    }
}
