//! One key of the experiment file, and the names and ranges that several sections have.

use crate::NamedProfile;
use crate::app::App;
use crate::workload::Sizes;
use serde::Serialize;

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Key {
    /// The section it stands in: empty is the top of the file, `flows` each `[[flows]]`, `queue` the queue of either
    /// direction, `lte.NAME` an LTE cell, `mesh.NAME` a mesh, `loss` a table in the place of either
    /// direction's share, `rates` and `outages` each one of either direction's, `down` each outage of a mesh's node,
    /// `codel` and others of [`QUEUES`] a queue of that kind, `access`, `tcp_rmem`, `clock` and `arrivals` those of a
    /// group, `pareto` and the others of [`Sizes`] a table in the place of its size, `profile` a table in the place of
    /// a profile's name.
    pub section: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What is written behind it.
    pub kind: KeyType,
    /// What holds without it.
    pub absence: Absence,
    /// Least and most, as written in a file; empty if the kind says it all.
    pub range: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// How a queue discipline of the kernel's has it.
    #[serde(skip)]
    pub(crate) on_kernel: OnKernel,
}

/// What a queue discipline of the kernel's has for a key of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnKernel {
    /// Nothing: only the simulator's discipline has it.
    Lacks,
    /// A part of the discipline's structure of options.
    #[default]
    Has,
    /// A netlink attribute (linux/pkt_sched.h).
    Attribute(u16),
}

/// What is written behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyType {
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
    /// What the running kernel has of its own, which is this.
    #[serde(rename = "means", serialize_with = "left_to_kernel")]
    LeftToKernel(&'static str),
}

fn left_to_kernel<S: serde::Serializer>(default: &str, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("the kernel's, {default}"))
}

/// Before the name of a control, or of a queue discipline, that the running kernel has of its own.
pub const OF_THE_KERNEL: &str = "kernel:";

/// The queue that a link has where nothing else is said.
pub(crate) const DROPTAIL: &str = "droptail";
pub(crate) const TIMES: &str = "0s..1000000s";
pub(crate) const SOME_TIME: &str = "1ns..1000000s";
pub(crate) const DELAYS: &str = "0s..3600s";
pub(crate) const RATES: &str = "1bit..100tbit";

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
            on_kernel: $crate::schema::OnKernel::Has,
        },)*]
    };
    (range) => {
        ""
    };
    (range $range:expr) => {
        $range
    };
}
pub(super) use keys;

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

impl KeyType {
    /// In words, with an article.
    pub fn words(self) -> String {
        match self {
            KeyType::Text => "a string".into(),
            KeyType::Integer => "a whole number".into(),
            KeyType::Number => "a number such as 1.2".into(),
            KeyType::Flag => "true or false".into(),
            KeyType::Rate => "a rate such as \"2mbit\"".into(),
            KeyType::Time => "a time such as \"10ms\"".into(),
            KeyType::Start => "a time such as \"10ms\", or \"0s..1s\" for any between".into(),
            KeyType::Offset => "a time such as \"10ms\" or \"-10ms\"".into(),
            KeyType::Drift => "a drift such as \"100ppm\" or \"-20ppm\"".into(),
            KeyType::Signal => "a signal strength such as \"-51dbm\"".into(),
            KeyType::Size => "a size such as \"500kb\"".into(),
            KeyType::Sizes => format!("a size such as \"500kb\", or a table of kind {}", Sizes::KINDS.join(", ")),
            KeyType::Frequency => "a number of times a second such as \"10/s\"".into(),
            KeyType::Ratio => "a ratio such as \"18db\"".into(),
            KeyType::Limit => "a size such as \"500kb\", packets such as \"300p\", or \"1bdp\"".into(),
            KeyType::Share => "a percentage such as \"1%\"".into(),
            KeyType::Loss => "a percentage such as \"1%\", or a table such as { p = \"1%\", r = \"30%\" }".into(),
            KeyType::Names => "a list of names such as [\"home\", \"core\"]".into(),
            KeyType::Choice(names) => format!("one of {}", names.join(", ")),
            KeyType::App => format!("one of {}, or a table with one of them as its kind", App::KINDS.join(", ")),
            KeyType::Profile => format!("one of {}, or a table of switches", NamedProfile::NAMES.join(", ")),
            KeyType::Table => "a table".into(),
            KeyType::Tables => "tables".into(),
        }
    }
}
