//! Every key of the experiment file: type, default, range, meaning. The reader, its errors and the documentation all
//! read this.

mod apps;
mod flows;
mod hosts;
mod key;
mod links;
mod lte;
mod mesh;
mod queues;

pub use key::{APPS, ARRIVALS, Absence, EMULATORS, JITTERS, Key, KeyType, LOSSES, PROFILES, QUEUES, SIZES, STANDARDS};
pub(crate) use key::{DROPTAIL, OF_THE_KERNEL, UDP};

use key::Absence::{Default, Means, Required};
use key::KeyType::{Choice, Integer, Names, Profile, Table, Tables, Text, Time};
use key::{SOME_TIME, TIMES, keys};

const TOP: &[Key] = keys! {
    "":
    "name" = Text, Means("the file's name") => "name of the experiment";
    "duration" = Time, Required, SOME_TIME => "how long the run lasts";
    "warmup" = Time, Default("0s"), TIMES => "the first part of the run, left out of the statistics";
    "seed" = Integer, Default("1"), "0..9223372036854775807" => "seeds every random draw of the run";
    "emulator" = Choice(EMULATORS), Default("unbloat") =>
        "what queues, delays and loses real packets: this program, or the kernel's own FIFOs and netem";
    "profile" = Profile, Default("linux") => "how the TCP ends behave";
    "compile" = Table, Means("mechanisms of your own need no options") =>
        "what the compiler of mechanisms of your own is given";
    "wifi" = Table, Means("no link is on Wi-Fi") => "the Wi-Fi cells";
    "link" = Table, Required => "the links";
    "lte" = Table, Means("no link is one of LTE") => "the LTE cells";
    "host" = Table, Means("senders write without a limit, and nothing waits in them") =>
        "hosts with queues of their own";
    "mesh" = Table, Means("no flow comes from a mesh") => "the meshes of IEEE 802.15.4 radios";
    "flows" = Tables, Required => "the flow groups, one [[flows]] each";
    "sweep" = Table, Means("a single run") => "a grid over other keys, the last axis fastest";
};

const COMPILE: &[Key] = keys! {
    "compile":
    "include" = Names, Means("headers lie beside the file") =>
        "folders in which headers are looked for, as -I has them";
    "define" = Names, Means("no macros are set") => "macros, \"NAME\" or \"NAME=VALUE\", as -D has them";
};

/// Every key, section by section.
pub fn all() -> impl Iterator<Item = &'static Key> {
    sections().flatten()
}

/// The keys of each section; those of some are in several places.
fn sections() -> impl Iterator<Item = &'static [Key]> {
    [
        &[TOP, COMPILE],
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
}

/// The keys of one section.
pub fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    sections().filter(move |keys| keys[0].section == section).flatten()
}

/// One key; the reader asks for keys of the schema only.
pub(crate) fn find(section: &str, name: &str) -> &'static Key {
    keys_of(section).find(|key| key.name == name).unwrap_or_else(|| panic!("[{section}] {name} is not in the schema"))
}
