//! A congestion control for the programs of a control group. Connections that they open or accept
//! get it, and the programs need not know.
//!
//! For every new TCP connection of the group the kernel runs a BPF program of this crate
//! (`BPF_PROG_TYPE_SOCK_OPS`), which chooses. The program is pinned, with a note beside the pin,
//! and disappears with the group.

use super::loader::available;
use super::messages::listening;
use super::pins::mount_bpffs;
use super::rights;
use libbpf_rs::{Link, Object, ObjectBuilder};
use mechanism::Error;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folder of the pins, each named by the number of its group: the BPF file system refuses dots.
const PINS: &str = "/sys/fs/bpf/unbloat-cgroups";
/// Folder of the notes; like the pins they do not outlive the kernel.
const NOTES: &str = "/run/unbloat-cgroups";

/// A control group, and the congestion control that its connections get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Name of the congestion control, as in `setsockopt(TCP_CONGESTION)`.
    pub control: String,
    /// Folder of the group.
    pub cgroup: PathBuf,
}

/// Selects a control group.
#[derive(Clone, Copy, Debug)]
pub enum Group<'a> {
    /// The group of this process, unless it is the root.
    Own,
    /// A folder of the cgroup file system, or its path from the root of that, such as `system.slice/backup.service`;
    /// not the root.
    Named(&'a Path),
    /// The root, which contains every process of the machine.
    Everyone,
}

/// Gives a congestion control to every TCP connection that a group's processes open or accept from
/// now on, in place of the one before.
///
/// Groups below count too. A group below that has a congestion control of its own retains that.
///
/// # Errors
/// Fails if the kernel lacks the congestion control, the group does not exist, or this process
/// lacks the rights.
pub fn attach(control: &str, group: Group) -> Result<Attachment, Error> {
    rights::require("giving a congestion control to a control group")?;
    let offered = available();
    if !offered.iter().any(|name| name == control) {
        let there = offered.join(", ");
        return Err(Error::input(format!(
            "the kernel lacks the congestion control \"{control}\"; it has {there}; `unbloat load` adds one"
        )));
    }
    let attachment = Attachment { control: control.to_string(), cgroup: folder_of(group)? };
    sweep();
    let mut link = link(&mut chooser(control)?, &attachment.cgroup)?;
    let number = number_of(&attachment.cgroup)?;
    remove(number);
    pin(&mut link, number)?;
    note(number, &attachment)?;
    Ok(attachment)
}

/// Undoes [`attach`]. New connections of the group get what an enclosing group has, or the kernel's
/// default. Open connections keep their congestion control.
///
/// # Errors
/// Fails if the group has none from [`attach`], or this process lacks the rights.
pub fn detach(group: Group) -> Result<Attachment, Error> {
    rights::require("taking a congestion control from a control group")?;
    let cgroup = folder_of(group)?;
    match attachments().into_iter().find(|(_, attachment)| attachment.cgroup == cgroup) {
        Some((number, attachment)) => {
            remove(number);
            Ok(attachment)
        }
        None => Err(Error::input(format!("`unbloat attach` gave nothing to {}", cgroup.display()))),
    }
}

/// Lists the groups that [`attach`] gave a congestion control, by their numbers, after removing the
/// entries of groups that no longer exist.
pub(crate) fn attached() -> Vec<Attachment> {
    sweep();
    attachments().into_iter().map(|(_, attachment)| attachment).collect()
}

/// Takes a congestion control from all groups, and returns their folders.
pub(crate) fn detach_all(control: &str) -> Vec<PathBuf> {
    let (numbers, groups): (Vec<_>, Vec<_>) = attachments()
        .into_iter()
        .filter(|(_, attachment)| attachment.control == control)
        .map(|(number, attachment)| (number, attachment.cgroup))
        .unzip();
    numbers.into_iter().for_each(remove);
    groups
}

// ---------------------------------------------------------------- Groups

/// Returns the folder of the selected group.
pub(super) fn folder_of(group: Group) -> Result<PathBuf, Error> {
    let root = root()?;
    let named = match group {
        Group::Own => own(),
        Group::Named(path) => path.to_path_buf(),
        Group::Everyone => return Ok(root),
    };
    let below = named.strip_prefix(&root).or_else(|_| named.strip_prefix("/")).unwrap_or(&named);
    let folder = root.join(below);
    if !folder.join("cgroup.procs").is_file() {
        return Err(Error::input(format!(
            "{} is not a control group: name a folder under {}, or its path from there, such as \
             system.slice/backup.service",
            named.display(),
            root.display()
        )));
    }
    let folder = fs::canonicalize(&folder).map_err(|e| Error::machine(format!("{}: {e}", folder.display())))?;
    if folder == root {
        let which = if matches!(group, Group::Own) { "the group that this command runs in" } else { "this group" };
        return Err(Error::input(format!(
            "{which}, {}, is the root with every process of the machine: name another group, or add --everyone",
            root.display()
        )));
    }
    Ok(folder)
}

/// Returns the mount point of the cgroup file system (version 2).
fn root() -> Result<PathBuf, Error> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut words = mounts.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found = words.find(|words| words.get(2) == Some(&"cgroup2"));
    let mount = found.map(|words| PathBuf::from(words[1])).ok_or_else(|| {
        Error::machine("control groups (version 2) are not mounted; try: mount -t cgroup2 none /sys/fs/cgroup")
    })?;
    fs::canonicalize(&mount).map_err(|e| Error::machine(format!("{}: {e}", mount.display())))
}

/// Returns the group of this process, as a path from the root.
fn own() -> PathBuf {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").into()
}

/// Returns the number by which the kernel knows a group.
fn number_of(folder: &Path) -> Result<u64, Error> {
    fs::metadata(folder).map(|about| about.ino()).map_err(|e| Error::machine(format!("{}: {e}", folder.display())))
}

// ---------------------------------------------------------------- The program

/// The compiled `chooser.bpf.c`; empty if it was built without clang.
const CHOOSER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/chooser.bpf.o"));

/// Loads the program that chooses `control` into the kernel.
fn chooser(control: &str) -> Result<Object, Error> {
    if CHOOSER.is_empty() {
        return Err(Error::machine(
            "this build of unbloat lacks the program for control groups, because clang was missing: install clang and \
             build again",
        ));
    }
    let (loaded, said) = listening(|| {
        let mut object = ObjectBuilder::default().open_memory(CHOOSER)?;
        let mut constants = object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata"));
        let constants =
            constants.as_mut().and_then(|map| map.initial_value_mut()).expect("its name is its only constant");
        constants[..control.len()].copy_from_slice(control.as_bytes());
        object.load()
    });
    loaded.map_err(|error| {
        let mut error = Error::machine(format!("the kernel refuses the program that chooses {control}: {error}"));
        error.log = Some(said);
        error
    })
}

/// Attaches the program to a group, beside programs that others attached there.
fn link(chooser: &mut Object, cgroup: &Path) -> Result<Link, Error> {
    let folder = File::open(cgroup).map_err(|e| Error::machine(format!("{}: {e}", cgroup.display())))?;
    let program = chooser.progs_mut().next().expect("it has one program");
    program
        .attach_cgroup(folder.as_raw_fd())
        .map_err(|e| Error::machine(format!("the kernel cannot attach a program to {}: {e}", cgroup.display())))
}

// ---------------------------------------------------------------- Pins and notes

fn pin(link: &mut Link, number: u64) -> Result<(), Error> {
    mount_bpffs()?;
    fs::create_dir_all(PINS).map_err(|e| Error::machine(format!("{PINS} cannot be created: {e}")))?;
    let path = Path::new(PINS).join(number.to_string());
    link.pin(&path).map_err(|e| Error::machine(format!("{} cannot be pinned: {e}", path.display())))
}

fn note(number: u64, attachment: &Attachment) -> Result<(), Error> {
    let path = Path::new(NOTES).join(format!("{number}.json"));
    let text = serde_json::to_string_pretty(attachment).expect("text only");
    fs::create_dir_all(NOTES)
        .and_then(|()| fs::write(&path, text))
        .map_err(|e| Error::machine(format!("{} cannot be written: {e}", path.display())))
}

/// Lists the groups that have a congestion control from [`attach`], by the group's number.
fn attachments() -> Vec<(u64, Attachment)> {
    let pins = fs::read_dir(PINS).into_iter().flatten().flatten();
    let mut all: Vec<(u64, Attachment)> = pins
        .filter_map(|pin| {
            let number = pin.file_name().to_str()?.parse().ok()?;
            let text = fs::read(Path::new(NOTES).join(format!("{number}.json"))).ok()?;
            Some((number, serde_json::from_slice(&text).ok()?))
        })
        .collect();
    all.sort_by_key(|(number, _)| *number);
    all
}

/// Removes the entries of groups that no longer exist.
fn sweep() {
    for (number, attachment) in attachments() {
        if number_of(&attachment.cgroup).ok() != Some(number) {
            remove(number);
        }
    }
}

/// Detaches the link, and removes the pin and the note, if they exist, and the folders with the last
/// of them.
///
/// Removing the pin alone would leave the link attached as long as another process looks at it.
fn remove(number: u64) {
    let pin = Path::new(PINS).join(number.to_string());
    if let Ok(link) = Link::open(&pin) {
        let _ = link.detach();
    }
    let _ = fs::remove_file(pin);
    let _ = fs::remove_file(Path::new(NOTES).join(format!("{number}.json")));
    let _ = fs::remove_dir(PINS);
    let _ = fs::remove_dir(NOTES);
}
