//! One key of scenario files, and the names and ranges that several sections share.

use crate::NamedProfile;
use crate::app::App;
use crate::workload::Sizes;
use serde::Serialize;

/// One key of scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Key {
    /// The name of the key's section:
    ///
    /// * empty: the top of the file
    /// * `flows`: each `[[flows]]`
    /// * `queue`: the queue of either direction; `codel` and others of [`QUEUES`](super::QUEUES): a queue of that kind
    /// * `lte.NAME`, `mesh.NAME`: an LTE cell, a mesh
    /// * `loss`: a table in place of either direction's share of losses
    /// * `rates`, `delays`, `outages`, `script`: each entry of either direction's list; `down`: each outage of a mesh's node
    /// * `policer`, `handover`, `slot`: these tables of either direction
    /// * `access`, `tcp_rmem`, `clock`, `arrivals`: these tables of a group
    /// * `pareto` and the others of [`Sizes`]: a table in place of a group's size
    /// * `profile`: a table in place of a profile's name
    pub section: &'static str,
    /// The key's name in the section.
    pub name: &'static str,
    /// The kind of value that the key takes.
    pub kind: KeyType,
    /// The meaning of a missing key.
    pub absence: Absence,
    /// The least and the largest value, as in a file; empty if the kind has no range.
    pub range: &'static str,
    /// The meaning of the key.
    pub meaning: &'static str,
    /// How the kernel's queue discipline takes the key.
    #[serde(skip)]
    pub(crate) on_kernel: OnKernel,
}

/// How a kernel's queue discipline takes a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnKernel {
    /// The kernel does not have it: only the simulator's discipline does.
    Lacks,
    /// As a part of the discipline's structure of options.
    #[default]
    Has,
    /// As a netlink attribute (linux/pkt_sched.h).
    Attribute(u16),
}

/// The kind of value that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyType {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A number that may have a fraction.
    Number,
    /// `true` or `false`.
    Flag,
    /// A rate such as `"2mbit"`.
    Rate,
    /// A time such as `"10ms"`.
    Time,
    /// A time, or a range such as `"0s..1s"` for one in between.
    Start,
    /// A rate, or a range such as `"10mbit..20mbit"` for one in between.
    RateRange,
    /// A whole number, or a range such as `"10..20"` for all in between.
    Numbers,
    /// A time, which may be negative such as `"-10ms"`.
    Offset,
    /// A drift such as `"100ppm"` or `"-20ppm"`.
    Drift,
    /// A signal strength such as `"-51dbm"`.
    Signal,
    /// A size such as `"500kb"`.
    Size,
    /// A size such as `"500kb"`, or a table with a distribution of sizes.
    Sizes,
    /// A frequency such as `"10/s"`.
    Frequency,
    /// A ratio such as `"18db"`.
    Ratio,
    /// A size such as `"500kb"`, packets such as `"300p"`, or bandwidth-delay products such as `"1bdp"`.
    Limit,
    /// A percentage such as `"1%"`.
    Share,
    /// A percentage such as `"1%"`, or a table with the parameters of a loss model.
    Loss,
    /// A list of names.
    Names,
    /// An application, by its name or as a table.
    App,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// The name of a profile, or a table of switches.
    Profile,
    /// A table, with keys of the schema or free ones.
    Table,
    /// A list of tables, `[[...]]`.
    Tables,
}

/// The meaning of a missing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// The key must be set.
    Required,
    /// The key has this default value.
    Default(&'static str),
    /// A meaning in words.
    Means(&'static str),
    /// The running kernel's own default, which is this value.
    #[serde(rename = "means", serialize_with = "left_to_kernel")]
    LeftToKernel(&'static str),
}

fn left_to_kernel<S: serde::Serializer>(default: &str, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("the kernel's, {default}"))
}

/// The prefix of the running kernel's own congestion controls and queue disciplines.
pub const OF_THE_KERNEL: &str = "kernel:";

/// The default kind of queue.
pub(crate) const DROPTAIL: &str = "droptail";
pub(crate) const TIMES: &str = "0s..1000000s";
pub(crate) const SOME_TIME: &str = "1ns..1000000s";
pub(crate) const DELAYS: &str = "0s..3600s";
pub(crate) const RATES: &str = "1bit..100tbit";

/// Declares the keys of one section: `"name" = kind, absence, range => "meaning";` for each.
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
    /// Returns the least and the largest value, as in a file.
    pub fn bounds(&self) -> Option<(&'static str, &'static str)> {
        self.range.split_once("..")
    }

    /// Returns the section and the name, with a dot between them.
    pub fn path(&self) -> String {
        match self.section {
            "" => self.name.to_string(),
            section => format!("{section}.{}", self.name),
        }
    }
}

impl KeyType {
    /// Returns the kind in words, with an article.
    pub fn words(self) -> String {
        match self {
            KeyType::Text => "a string".into(),
            KeyType::Integer => "a whole number".into(),
            KeyType::Number => "a number such as 1.2".into(),
            KeyType::Flag => "true or false".into(),
            KeyType::Rate => "a rate such as \"2mbit\"".into(),
            KeyType::Time => "a time such as \"10ms\"".into(),
            KeyType::Start => "a time such as \"10ms\", or \"0s..1s\" for any between".into(),
            KeyType::RateRange => "a rate such as \"2mbit\", or \"10mbit..20mbit\" for any between".into(),
            KeyType::Numbers => "a whole number such as 10, or \"10..20\" for all between".into(),
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
