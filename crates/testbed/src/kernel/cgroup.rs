//! A congestion control for the programs of a control group: whatever they connect or accept gets it, without their knowing.
//!
//! The kernel asks a program of ours on every new TCP connection of the group (`BPF_PROG_TYPE_SOCK_OPS`), and that chooses. It is pinned, with a note
//! beside it, and goes with the group.

use super::error::Error;
use super::loader::available;
use super::pins::mount_bpffs;
use super::rights;
use libbpf_sys as bpf;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The pins, each named by the number of its group: the BPF file system takes no dots.
const PINS: &str = "/sys/fs/bpf/unbloat-cgroups";
/// The notes; like the pins they do not outlive the kernel.
const NOTES: &str = "/run/unbloat-cgroups";
/// Bytes of a control's name with the zero at its end (`TCP_CA_NAME_MAX`).
const NAME_LENGTH: usize = 16;

/// A control group and the control that its connections get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What `setsockopt(TCP_CONGESTION)` calls the control.
    pub control: String,
    /// The group's folder.
    pub cgroup: PathBuf,
}

/// Gives every TCP connection that the group's processes open or accept from now on this control, in place of what it had before. `cgroup`: a folder of the
/// cgroup file system, or its path from the root of that, such as `system.slice/backup.service`; without one, the group of this process.
///
/// # Errors
/// If the kernel offers no such control, there is no such group, or this process may not.
pub fn attach(control: &str, cgroup: Option<&Path>) -> Result<Attachment, Error> {
    rights::require("giving a congestion control to a control group")?;
    let offered = available();
    if !offered.iter().any(|name| name == control) {
        let there = offered.join(", ");
        return Err(Error::input(format!(
            "the kernel offers no congestion control \"{control}\", only {there}; `unbloat load` adds one"
        )));
    }
    let attachment = Attachment { control: control.to_string(), cgroup: folder_of(cgroup)? };
    sweep();
    let link = link(&chooser(control)?, &attachment.cgroup)?;
    let number = number_of(&attachment.cgroup)?;
    remove(number);
    pin(&link, number)?;
    note(number, &attachment)?;
    Ok(attachment)
}

/// Takes it back: connections that the group opens from now on have the kernel's default again, those that are open keep what they have.
///
/// # Errors
/// If the group has none from [`attach`], or this process may not.
pub fn detach(cgroup: Option<&Path>) -> Result<Attachment, Error> {
    rights::require("taking a congestion control from a control group")?;
    let cgroup = folder_of(cgroup)?;
    match attachments().into_iter().find(|(_, attachment)| attachment.cgroup == cgroup) {
        Some((number, attachment)) => {
            remove(number);
            Ok(attachment)
        }
        None => Err(Error::input(format!("`unbloat attach` has given {} nothing", cgroup.display()))),
    }
}

/// The groups that have this control, by their folders.
pub(crate) fn groups_of(control: &str) -> Vec<PathBuf> {
    let all = attachments().into_iter().map(|(_, attachment)| attachment);
    all.filter(|attachment| attachment.control == control).map(|attachment| attachment.cgroup).collect()
}

/// Takes a control from all groups; gives their folders.
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

/// The folder of a group that somebody named.
fn folder_of(named: Option<&Path>) -> Result<PathBuf, Error> {
    let root = root()?;
    let named = named.map_or_else(own, Path::to_path_buf);
    let below = named.strip_prefix(&root).or_else(|_| named.strip_prefix("/")).unwrap_or(&named);
    let folder = root.join(below);
    if !folder.join("cgroup.procs").is_file() {
        return Err(Error::input(format!(
            "{} is no control group: name a folder under {}, or its path from there, such as system.slice/backup.service",
            named.display(),
            root.display()
        )));
    }
    fs::canonicalize(&folder).map_err(|e| Error::machine(format!("{}: {e}", folder.display())))
}

/// Where the cgroup file system (version 2) is mounted.
fn root() -> Result<PathBuf, Error> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut words = mounts.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found = words.find(|words| words.get(2) == Some(&"cgroup2"));
    found.map(|words| PathBuf::from(words[1])).ok_or_else(|| {
        Error::machine("control groups (version 2) are not mounted; try: mount -t cgroup2 none /sys/fs/cgroup")
    })
}

/// The group of this process, from the root on.
fn own() -> PathBuf {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").into()
}

/// What the kernel knows a group by.
fn number_of(folder: &Path) -> Result<u64, Error> {
    fs::metadata(folder).map(|about| about.ino()).map_err(|e| Error::machine(format!("{}: {e}", folder.display())))
}

// ---------------------------------------------------------------- The program

/// The program: for a socket that is about to connect, and for one that was accepted, `bpf_setsockopt(TCP_CONGESTION, control)`.
fn chooser(control: &str) -> Result<OwnedFd, Error> {
    let instructions = instructions(control);
    let (name, licence) = (c"unbloat_choose", c"Dual BSD/GPL");
    // SAFETY: strings and instructions live through the call, which copies them; there are no options.
    let fd = unsafe {
        bpf::bpf_prog_load(
            bpf::BPF_PROG_TYPE_SOCK_OPS,
            name.as_ptr(),
            licence.as_ptr(),
            instructions.as_ptr(),
            instructions.len() as u64,
            std::ptr::null_mut(),
        )
    };
    owned(fd).map_err(|e| Error::machine(format!("the kernel does not take the program that chooses {control}: {e}")))
}

fn instructions(control: &str) -> Vec<bpf::bpf_insn> {
    const SOL_TCP: i32 = 6;
    const TCP_CONGESTION: i32 = 13;
    const CONTEXT: u8 = 6;
    let name_at = -(NAME_LENGTH as i16);
    let set = |register, value| insn(bpf::BPF_ALU64 | bpf::BPF_MOV | bpf::BPF_K, register, 0, 0, value);
    let copy = |to, from| insn(bpf::BPF_ALU64 | bpf::BPF_MOV | bpf::BPF_X, to, from, 0, 0);
    let jump = |when, value, over| insn(bpf::BPF_JMP | when | bpf::BPF_K, 2, 0, over, value as i32);

    let mut choice = name_on_the_stack(control, name_at);
    choice.extend([
        copy(1, CONTEXT),
        set(2, SOL_TCP),
        set(3, TCP_CONGESTION),
        copy(4, bpf::BPF_REG_10 as u8),
        insn(bpf::BPF_ALU64 | bpf::BPF_ADD | bpf::BPF_K, 4, 0, 0, name_at as i32),
        set(5, NAME_LENGTH as i32),
        insn(bpf::BPF_JMP | bpf::BPF_CALL, 0, 0, 0, bpf::BPF_FUNC_setsockopt as i32),
    ]);
    let mut program = vec![
        copy(CONTEXT, 1),
        // The first member of `struct bpf_sock_ops` says why the kernel asks.
        insn(bpf::BPF_LDX | bpf::BPF_MEM | bpf::BPF_W, 2, 1, 0, 0),
        jump(bpf::BPF_JEQ, bpf::BPF_SOCK_OPS_TCP_CONNECT_CB, 1),
        jump(bpf::BPF_JNE, bpf::BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, choice.len() as i16),
    ];
    program.append(&mut choice);
    // A connection for which the choice failed keeps what the kernel gave it.
    program.extend([set(0, 1), insn(bpf::BPF_JMP | bpf::BPF_EXIT, 0, 0, 0, 0)]);
    program
}

fn name_on_the_stack(name: &str, at: i16) -> Vec<bpf::bpf_insn> {
    let mut bytes = [0; NAME_LENGTH];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    let words = bytes.chunks_exact(4).map(|word| i32::from_ne_bytes(word.try_into().expect("chunks of four")));
    let store = |(number, word)| {
        insn(bpf::BPF_ST | bpf::BPF_MEM | bpf::BPF_W, bpf::BPF_REG_10 as u8, 0, at + 4 * number as i16, word)
    };
    words.enumerate().map(store).collect()
}

fn insn(code: u32, to: u8, from: u8, offset: i16, immediate: i32) -> bpf::bpf_insn {
    let mut instruction = bpf::bpf_insn { code: code as u8, off: offset, imm: immediate, ..Default::default() };
    instruction.set_dst_reg(to);
    instruction.set_src_reg(from);
    instruction
}

/// Attaches a program to a group, beside those that others attached.
fn link(program: &OwnedFd, cgroup: &Path) -> Result<OwnedFd, Error> {
    let folder = File::open(cgroup).map_err(|e| Error::machine(format!("{}: {e}", cgroup.display())))?;
    // SAFETY: both descriptors are open; there are no options.
    let fd = unsafe {
        bpf::bpf_link_create(program.as_raw_fd(), folder.as_raw_fd(), bpf::BPF_CGROUP_SOCK_OPS, std::ptr::null())
    };
    owned(fd).map_err(|e| Error::machine(format!("the kernel attaches no program to {}: {e}", cgroup.display())))
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

// ---------------------------------------------------------------- Pins and notes

fn pin(link: &OwnedFd, number: u64) -> Result<(), Error> {
    mount_bpffs()?;
    fs::create_dir_all(PINS).map_err(|e| Error::machine(format!("{PINS} cannot be made: {e}")))?;
    let path = Path::new(PINS).join(number.to_string());
    let text = CString::new(path.as_os_str().as_bytes()).expect("no zero in it");
    // SAFETY: the descriptor is open, the text lives through the call.
    let failed = unsafe { bpf::bpf_obj_pin(link.as_raw_fd(), text.as_ptr()) };
    if failed < 0 {
        let error = io::Error::from_raw_os_error(-failed);
        return Err(Error::machine(format!("{} cannot be pinned: {error}", path.display())));
    }
    Ok(())
}

fn note(number: u64, attachment: &Attachment) -> Result<(), Error> {
    let path = Path::new(NOTES).join(format!("{number}.json"));
    let text = serde_json::to_string_pretty(attachment).expect("text only");
    fs::create_dir_all(NOTES)
        .and_then(|()| fs::write(&path, text))
        .map_err(|e| Error::machine(format!("{} cannot be written: {e}", path.display())))
}

/// What [`attach`] has done and nobody undone, by the group's number.
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

/// Removes what belongs to groups that are no more.
fn sweep() {
    for (number, attachment) in attachments() {
        if number_of(&attachment.cgroup).ok() != Some(number) {
            remove(number);
        }
    }
}

/// Removes pin and note, if they are there, and the folders with the last. The pin was the link's only holder.
fn remove(number: u64) {
    let _ = fs::remove_file(Path::new(PINS).join(number.to_string()));
    let _ = fs::remove_file(Path::new(NOTES).join(format!("{number}.json")));
    let _ = fs::remove_dir(PINS);
    let _ = fs::remove_dir(NOTES);
}
