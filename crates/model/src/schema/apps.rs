//! The keys of applications.

use super::key::Absence::{Default, Required};
use super::key::KeyType::{Choice, Integer, Rate, Size, Time};
use super::key::{APPS, Key, RATES, SOME_TIME, TIMES, keys};

const MESSAGES: &str = "1b..100mb";
const DATAGRAMS: &str = "28b..65535b";
const EVERY: &str = "the time from one to the next, answered or not";
const REQUEST: &str = "size of a request, in whole packets if it is more than one";
const RESPONSE: &str = "size of a response";
const WHENS_FULL: &[&str] = &["wait", "skip", "delay"];
const WHEN_FULL: &str = "what the program does about a message for which the send buffer has no room: goes on and writes \
                         it later, leaves it out, or does nothing else until it is written";

/// Section by section.
pub(super) const SECTIONS: &[&[Key]] = &[
    keys! {
        "messenger":
        "kind" = Choice(APPS), Required => "messenger: short messages over TCP, each of which is answered";
        "every" = Time, Default("1s"), SOME_TIME => EVERY;
        "when_full" = Choice(WHENS_FULL), Default("wait") => WHEN_FULL;
        "request" = Size, Default("200b"), MESSAGES => REQUEST;
        "response" = Size, Default("200b"), MESSAGES => RESPONSE;
    },
    keys! {
        "game":
        "kind" = Choice(&["game"]), Required => "game: small messages over TCP at a steady pace, each answered";
        "every" = Time, Default("100ms"), SOME_TIME => EVERY;
        "when_full" = Choice(WHENS_FULL), Default("wait") => WHEN_FULL;
        "request" = Size, Default("60b"), MESSAGES => REQUEST;
        "response" = Size, Default("150b"), MESSAGES => RESPONSE;
    },
    keys! {
        "upload":
        "kind" = Choice(&["upload"]), Required => "upload: chunks to a cloud, each of which it confirms";
        "chunk" = Size, Default("4mb"), MESSAGES => "size of a chunk, which the cloud confirms";
        "response" = Size, Default("300b"), MESSAGES => "size of the confirmation";
        "pause" = Time, Default("20ms"), TIMES => "time from the confirmation to the next chunk";
    },
    keys! {
        "web":
        "kind" = Choice(&["web"]), Required => "web: pages of one object and others that follow it";
        "connections" = Integer, Default("6"), "1..100" => "connections that load a page";
        "objects" = Integer, Default("40"), "0..10000" => "objects beside the page itself";
        "request" = Size, Default("500b"), MESSAGES => REQUEST;
        "response" = Size, Default("30kb"), MESSAGES => "size of each object";
        "pause" = Time, Default("5s"), TIMES => "time from the end of a page to the request of the next";
    },
    keys! {
        "video":
        "kind" = Choice(&["video"]), Required => "video: a film in pieces, of a quality that suits the rate";
        "lowest" = Rate, Default("500kbit"), RATES => "the lowest quality";
        "highest" = Rate, Default("5mbit"), RATES =>
            "the highest; each has one and a half times the rate of the one below";
        "piece" = Time, Default("4s"), "10ms..3600s" => "how long a piece plays";
        "startup" = Time, Default("8s"), SOME_TIME => "how much must be loaded before it plays";
        "most" = Time, Default("30s"), SOME_TIME => "how much is loaded ahead at most";
        "request" = Size, Default("500b"), MESSAGES => REQUEST;
    },
    keys! {
        "voice":
        "kind" = Choice(&["voice"]), Required =>
            "voice: a call of 64 kbit/s in both directions (G.711 over RTP and UDP)";
        "every" = Time, Default("20ms"), SOME_TIME => "the time from one packet to the next";
        "packet" = Size, Default("200b"), DATAGRAMS => "IP length of a packet";
    },
    keys! {
        "ping":
        "kind" = Choice(&["ping"]), Required => "ping: ICMP echo requests and their replies";
        "every" = Time, Default("200ms"), SOME_TIME => "the time from one to the next";
        "packet" = Size, Default("84b"), DATAGRAMS => "IP length of a packet";
    },
    keys! {
        "udp":
        "kind" = Choice(&["udp"]), Required => "udp: datagrams at a constant rate";
        "rate" = Rate, Required, RATES => "the rate of the packets";
        "packet" = Size, Default("1500b"), DATAGRAMS => "IP length of a packet";
    },
];
