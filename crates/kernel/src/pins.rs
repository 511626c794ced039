//! Controls that outlive whoever loaded them: pinned in the BPF file system, with a note beside about what they are.

use super::loader::{self, Loaded};
use mechanism::Error;
use mechanism::{ControlName, Library};
use model::MechanismRef;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

const BPFFS: &str = "/sys/fs/bpf";
/// The pins, one a control.
const PINS: &str = "/sys/fs/bpf/unbloat";
/// The notes; like the pins they do not outlive the kernel.
const NOTES: &str = "/run/unbloat";
/// What stands for a dot in the name of a pin.
const DOT: &str = ":";
/// The kernel's default control of this network namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// What is remembered of a pinned control.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// What `setsockopt(TCP_CONGESTION)` calls it.
    pub name: ControlName,
    /// The built-in's name, or the path of its file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// The kernel's default before this control took its place, if it did.
    pub default_before: Option<String>,
}

/// Loads a control so that it stays until [`super::unload`] or the next boot, and makes it the default if asked to.
///
/// # Errors
/// As [`super::load`]; also if the pin or the note cannot be written, or the kernel does not take the default. Then
/// nothing is loaded.
pub fn load_pinned(
    library: &Library,
    control: &MechanismRef,
    name: Option<&str>,
    make_default: bool,
) -> Result<Note, Error> {
    let mut loaded = loader::load(library, control, name)?;
    let mut note = Note {
        name: loaded.kernel_name.clone(),
        source: loaded.source.clone(),
        parameters: loaded.parameters.clone(),
        default_before: None,
    };
    pin(&mut loaded, &pin_path(&note.name))?;
    let rest = finish(&mut note, make_default);
    if rest.is_err() {
        // The pin goes with the last holder, and the registration with both; the sentence at hand says what matters.
        let _ = std::fs::remove_file(pin_path(&note.name));
        let _ = std::fs::remove_file(note_path(&note.name));
        return rest.map(|()| note);
    }
    loaded.leave();
    Ok(note)
}

/// What is left to do once the control is pinned.
fn finish(note: &mut Note, make_default: bool) -> Result<(), Error> {
    if make_default {
        note.default_before = Some(default());
    }
    write_note(note)?;
    if make_default { set_default(note.name.as_str()) } else { Ok(()) }
}

fn pin(loaded: &mut Loaded, path: &Path) -> Result<(), Error> {
    mount_bpffs()?;
    std::fs::create_dir_all(PINS).map_err(|e| Error::machine(format!("{PINS} cannot be made: {e}")))?;
    loaded.pin(path).map_err(|e| Error::machine(format!("{} cannot be pinned: {e}", path.display())))
}

/// Where a control of this name is pinned.
pub(crate) fn pin_path(name: &ControlName) -> PathBuf {
    Path::new(PINS).join(file_name(name))
}

/// A control's name as the BPF file system takes it, which refuses dots: each stands there as a sign that no name of a
/// control has.
fn file_name(control: &ControlName) -> String {
    control.as_str().replace('.', DOT)
}

/// The control whose pin has this name; none for what somebody else has put there.
fn control_of(file_name: &str) -> Option<ControlName> {
    ControlName::new(&file_name.replace(DOT, ".")).ok()
}

/// The names of what is pinned, sorted.
pub(crate) fn pinned() -> Vec<ControlName> {
    let entries = std::fs::read_dir(PINS).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| control_of(&entry.file_name().to_string_lossy())).collect();
    names.sort();
    names
}

/// Takes a control's pin and note away, and the folders with the last.
pub(crate) fn remove(name: &ControlName) -> Result<(), Error> {
    let path = pin_path(name);
    std::fs::remove_file(&path).map_err(|e| Error::machine(format!("{} cannot be removed: {e}", path.display())))?;
    // The note may never have been written, and the folders may hold others.
    let _ = std::fs::remove_file(note_path(name));
    let _ = std::fs::remove_dir(PINS);
    let _ = std::fs::remove_dir(NOTES);
    Ok(())
}

fn note_path(name: &ControlName) -> PathBuf {
    Path::new(NOTES).join(format!("{name}.json"))
}

/// What is remembered of a control, if it was loaded by [`load_pinned`].
pub(crate) fn note(name: &ControlName) -> Option<Note> {
    serde_json::from_slice(&std::fs::read(note_path(name)).ok()?).ok()
}

fn write_note(note: &Note) -> Result<(), Error> {
    let path = note_path(&note.name);
    let text = serde_json::to_string_pretty(note).expect("a note holds text only");
    let half_written = Path::new(NOTES).join(format!("{}.json.new", note.name));
    std::fs::create_dir_all(NOTES)
        .and_then(|()| std::fs::write(&half_written, text))
        .and_then(|()| std::fs::rename(&half_written, &path))
        .map_err(|e| Error::machine(format!("{} cannot be written: {e}", path.display())))
}

/// Has every control that would give its place as the default back to `gone` give it back to what came before that.
pub(crate) fn skip_default(gone: &ControlName, before: Option<&str>) -> Result<(), Error> {
    for mut note in pinned().iter().filter_map(note) {
        if note.default_before.as_deref() == Some(gone.as_str()) {
            note.default_before = before.map(str::to_string);
            write_note(&note)?;
        }
    }
    Ok(())
}

/// The control that a new socket has.
pub(crate) fn default() -> String {
    std::fs::read_to_string(DEFAULT).unwrap_or_default().trim().to_string()
}

/// Gives new sockets another control.
pub(crate) fn set_default(name: &str) -> Result<(), Error> {
    refuse_restricted(name)?;
    std::fs::write(DEFAULT, name).map_err(|e| Error::machine(format!("{DEFAULT} cannot be set to \"{name}\": {e}")))
}

/// In network namespaces other than the first the kernel refuses a default that not everybody may choose, and forgets
/// to count back who uses it: such a control would never go. So it is not asked.
fn refuse_restricted(name: &str) -> Result<(), Error> {
    const ONLY_IN_THE_FIRST: &str = "/proc/sys/net/ipv4/tcp_mem";
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    if Path::new(ONLY_IN_THE_FIRST).exists() || allowed.split_whitespace().any(|known| known == name) {
        return Ok(());
    }
    Err(Error::machine(format!(
        "{name} cannot be the default here: in a network namespace that is not the machine's first, the kernel takes \
         only a control with the flag TCP_CONG_NON_RESTRICTED"
    )))
}

/// Is the BPF file system where everybody expects it?
pub(crate) fn has_bpffs() -> bool {
    let path = CString::new(BPFFS).expect("no zero in it");
    // SAFETY: all zeroes is a value of this struct, which the kernel fills in.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: path and struct live through the call.
    let failed = unsafe { libc::statfs(path.as_ptr(), &mut about) } != 0;
    !failed && about.f_type == libc::BPF_FS_MAGIC as libc::__fsword_t
}

/// Mounts the BPF file system where nothing is.
pub(crate) fn mount_bpffs() -> Result<(), Error> {
    if has_bpffs() {
        return Ok(());
    }
    let kind = CString::new("bpf").expect("no zero in it");
    let place = CString::new(BPFFS).expect("no zero in it");
    // As systemd mounts it; by default everybody might make and remove files there, pins of root's too.
    let mode = c"mode=0700";
    // SAFETY: the strings live through the call.
    let failed = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, mode.as_ptr().cast()) } != 0;
    if failed {
        let error = io::Error::last_os_error();
        return Err(Error::machine(format!(
            "the BPF file system cannot be mounted at {BPFFS}: {error}; try: mount -t bpf bpf {BPFFS}"
        )));
    }
    Ok(())
}
