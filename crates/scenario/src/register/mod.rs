//! Every key of the experiment file: type, default, range, meaning. The reader, its errors and the documentation all
//! read this.

mod apps;
mod flows;
mod hosts;
mod links;
mod lte;
mod mesh;
mod queues;

use serde::Serialize;

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// The section it stands in: empty is the top of the file, `flows` each `[[flows]]`, `queue` the queue of either
    /// direction, `lte.NAME` an LTE cell, `mesh.NAME` a mesh, `loss` a table in the place of either
    /// direction's share, `rates` and `outages` each one of either direction's, `down` each outage of a mesh's node,
    /// `codel` and others of [`QUEUES`] a queue of that kind, `access`, `tcp_rmem`, `clock` and `arrivals` those of a
    /// group, `pareto` and the others of [`SIZES`] a table in the place of its size, `profile` a table in the place of
    /// a profile's name.
    pub section: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What is written behind it.
    pub kind: Kind,
    /// What holds without it.
    pub absence: Absence,
    /// Least and most, as written in a file; empty if the kind says it all.
    pub range: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// What is written behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A number that need not be whole.
    Number,
    /// `true` or `false`.
    Flag,
    /// A rate such as `"2mbit"`.
    Rate,
    /// A time such as `"10ms"`.
    Time,
    /// A time, or two such as `"0s..1s"` for one between them.
    Start,
    /// The same, or less than nothing such as `"-10ms"`.
    Offset,
    /// A drift such as `"100ppm"` or `"-20ppm"`.
    Drift,
    /// A signal strength such as `"-51dbm"`.
    Signal,
    /// A size such as `"500kb"`.
    Size,
    /// A size such as `"500kb"`, or a table with a distribution of sizes.
    Sizes,
    /// A number of times a second such as `"10/s"`.
    Frequency,
    /// A ratio such as `"18db"`.
    Ratio,
    /// A size such as `"500kb"`, packets such as `"300p"`, or what the path holds such as `"1bdp"`.
    Limit,
    /// A percentage such as `"1%"`.
    Share,
    /// The same, or a table of a model's parameters.
    Loss,
    /// A list of names.
    Names,
    /// An application, by its name or as a table.
    App,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// The name of a profile, or a table of switches.
    Profile,
    /// A table of its own keys, or keys that someone else knows.
    Table,
    /// `[[...]]`, once or more.
    Tables,
}

/// What holds when a key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// It must not be.
    Required,
    /// The same as if this stood there.
    Default(&'static str),
    /// What the words say.
    Means(&'static str),
}

pub use apps::APPS;
pub(crate) use apps::UDP;

use Absence::{Default, Means, Required};
use Kind::{Choice, Integer, Profile, Table, Tables, Text, Time};

/// Before the name of a control, or of a queue discipline, that the running kernel has of its own.
pub(crate) const OF_THE_KERNEL: &str = "kernel:";

/// The names of `profile`.
pub const PROFILES: &[&str] = &["linux", "sack", "newreno", "ns2-linux", "lln"];
/// The queue that a link has where nothing else is said.
pub(crate) const DROPTAIL: &str = "droptail";
/// The names of a queue's `kind`.
pub const QUEUES: &[&str] = &[
    DROPTAIL,
    "red",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "prio",
    "pfifo_fast",
    "cake",
    "kernel:fq_codel",
    "kernel:codel",
    "kernel:pie",
    "kernel:fq_pie",
    "kernel:red",
    "kernel:prio",
    "kernel:pfifo_fast",
    "kernel:cake",
    "kernel:pfifo",
    "kernel:bfifo",
];
/// The names of a loss model's `kind`.
pub const LOSSES: &[&str] = &["gemodel"];
/// The names of `jitter_distribution`.
pub const JITTERS: &[&str] = &["uniform", "normal"];
/// The names of `emulator`.
pub const EMULATORS: &[&str] = &["unbloat", "netem"];

/// The names of `standard`.
pub const STANDARDS: &[&str] = &["802.11g", "802.11n"];

/// The names of a process of `arrivals`.
pub const ARRIVALS: &[&str] = &["poisson"];
/// The names of a distribution of sizes.
pub const SIZES: &[&str] = &["pareto", "lognormal", "exponential"];

const TIMES: &str = "0s..1000000s";
const SOME_TIME: &str = "1ns..1000000s";
const DELAYS: &str = "0s..3600s";
const RATES: &str = "1bit..100tbit";

/// The keys of one section, a line or two each: `"name" = kind, absence, range => "meaning";`.
macro_rules! keys {
    ($section:literal: $($name:literal = $kind:expr, $absence:expr $(, $range:expr)? => $meaning:expr;)*) => {
        &[$(Key {
            section: $section,
            name: $name,
            kind: $kind,
            absence: $absence,
            range: keys!(range $($range)?),
            meaning: $meaning,
        },)*]
    };
    (range) => {
        ""
    };
    (range $range:expr) => {
        $range
    };
}
use keys;

const TOP: &[Key] = keys! {
    "":
    "name" = Text, Means("the file's name") => "name of the experiment";
    "duration" = Time, Required, SOME_TIME => "how long the run lasts";
    "warmup" = Time, Default("0s"), TIMES => "the first part of the run, left out of the statistics";
    "seed" = Integer, Default("1"), "0..9223372036854775807" => "seeds every random draw of the run";
    "emulator" = Choice(EMULATORS), Default("unbloat") =>
        "what queues, delays and loses real packets: this program, or the kernel's own FIFOs and netem";
    "profile" = Profile, Default("linux") => "how the TCP ends behave";
    "wifi" = Table, Means("no link is on Wi-Fi") => "the Wi-Fi cells";
    "link" = Table, Required => "the links";
    "lte" = Table, Means("no link is one of LTE") => "the LTE cells";
    "host" = Table, Means("senders write without a limit, and nothing waits in them") =>
        "hosts with queues of their own";
    "mesh" = Table, Means("no flow comes from a mesh") => "the meshes of IEEE 802.15.4 radios";
    "flows" = Tables, Required => "the flow groups, one [[flows]] each";
    "sweep" = Table, Means("a single run") => "a grid over other keys, the last axis fastest";
};

/// Every key, section by section.
pub fn all() -> impl Iterator<Item = &'static Key> {
    [
        &[TOP],
        links::SECTIONS,
        lte::SECTIONS,
        mesh::SECTIONS,
        queues::SECTIONS,
        hosts::SECTIONS,
        flows::SECTIONS,
        apps::SECTIONS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .flatten()
}

/// The keys of one section.
pub fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.section == section)
}

/// One key; the reader asks for keys of the register only.
pub(crate) fn find(section: &str, name: &str) -> &'static Key {
    keys_of(section).find(|key| key.name == name).unwrap_or_else(|| panic!("[{section}] {name} is not in the register"))
}

impl Key {
    /// Least and most, as written in a file.
    pub fn bounds(&self) -> Option<(&'static str, &'static str)> {
        self.range.split_once("..")
    }

    /// The section and the name, with a dot between them.
    pub fn path(&self) -> String {
        match self.section {
            "" => self.name.to_string(),
            section => format!("{section}.{}", self.name),
        }
    }
}

impl Kind {
    /// In words, with an article.
    pub fn words(self) -> String {
        match self {
            Kind::Text => "a string".into(),
            Kind::Integer => "a whole number".into(),
            Kind::Number => "a number such as 1.2".into(),
            Kind::Flag => "true or false".into(),
            Kind::Rate => "a rate such as \"2mbit\"".into(),
            Kind::Time => "a time such as \"10ms\"".into(),
            Kind::Start => "a time such as \"10ms\", or \"0s..1s\" for any between".into(),
            Kind::Offset => "a time such as \"10ms\" or \"-10ms\"".into(),
            Kind::Drift => "a drift such as \"100ppm\" or \"-20ppm\"".into(),
            Kind::Signal => "a signal strength such as \"-51dbm\"".into(),
            Kind::Size => "a size such as \"500kb\"".into(),
            Kind::Sizes => format!("a size such as \"500kb\", or a table of kind {}", SIZES.join(", ")),
            Kind::Frequency => "a number of times a second such as \"10/s\"".into(),
            Kind::Ratio => "a ratio such as \"18db\"".into(),
            Kind::Limit => "a size such as \"500kb\", packets such as \"300p\", or \"1bdp\"".into(),
            Kind::Share => "a percentage such as \"1%\"".into(),
            Kind::Loss => "a percentage such as \"1%\", or a table such as { p = \"1%\", r = \"30%\" }".into(),
            Kind::Names => "a list of names such as [\"home\", \"core\"]".into(),
            Kind::Choice(names) => format!("one of {}", names.join(", ")),
            Kind::App => format!("one of {}, or a table with one of them as its kind", APPS.join(", ")),
            Kind::Profile => format!("one of {}, or a table of switches", PROFILES.join(", ")),
            Kind::Table => "a table".into(),
            Kind::Tables => "tables".into(),
        }
    }
}
