//! What compiling for the two targets has in common.

use crate::error::{Error, unreadable};
use crate::fingerprint::hex;
use crate::source::Source;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Read before the user's file, so that headers of the same names beside it stay out.
pub(crate) const CONTRACT: &[&str] = &["bpf_tcp_helpers.h", "bpf_tracing_net.h", "bpf/bpf_endian.h"];

/// `algorithms/include`, if `folder` is what it should be.
pub(crate) fn include_folder(folder: &Path) -> Result<PathBuf, Error> {
    let include = folder.join("include");
    if include.join("vmlinux.h").is_file() {
        return Ok(include);
    }
    Err(Error::new(format!("{} is not a folder of mechanisms: it has no include/vmlinux.h", folder.display())))
}

/// A command that will compile `source` against the contract; a user's file may gate a built-in base.
pub(crate) fn translation(compiler: &Path, flags: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-I").arg(folder.join("include")).arg("-I").arg(folder.join("congestion"));
    command
}

/// The compiler's arguments for these macros.
pub(crate) fn definitions(defines: &[String]) -> impl Iterator<Item = String> {
    defines.iter().map(|define| format!("-D{define}"))
}

/// What a program needs beside the flags: the contract, without the functions that it defines itself.
pub(crate) fn program_arguments(source: &Source) -> Vec<String> {
    let own = source.own_names().into_iter().map(|name| format!("-DUNBLOAT_OWN_{name}"));
    own.chain(CONTRACT.iter().flat_map(|header| ["-include".to_string(), header.to_string()])).collect()
}

/// The compiler's message as an error: its first complaint in the sentence.
pub(crate) fn does_not_compile(source: &Path, message: &str) -> Error {
    let summary = message.lines().find(|line| line.contains("error")).unwrap_or("the compiler gave no reason");
    Error::new(format!("{} does not compile: {}\n{}", source.display(), summary.trim(), message.trim_end()))
}

/// A hash over what is compiled and `fingerprint`, over how.
pub(crate) fn key(fingerprint: &str, source: &Source) -> String {
    let mut hash = Sha256::new();
    hash.update(fingerprint);
    hash.update(source.path.as_os_str().as_encoded_bytes());
    for (path, text) in &source.files {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(text);
    }
    hex(hash)
}

/// The compiler at this path, and when it changed.
pub(crate) fn identity(compiler: &Path) -> String {
    let meta = compiler.metadata().ok();
    let state = meta.map(|meta| format!("{} {:?}", meta.len(), meta.modified().ok()));
    format!("{} {}", compiler.display(), state.unwrap_or_default())
}

/// The first of these programs that the search path has.
pub(crate) fn find_program(names: &[&OsStr]) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let candidates = names.iter().flat_map(|name| std::env::split_paths(&folders).map(move |folder| folder.join(name)));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// A folder that goes when it is dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn below(cache: &Path) -> Result<Scratch, Error> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("build-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = cache.join(name);
        std::fs::create_dir_all(&path).map_err(|e| unwritable(&path, &e))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind is scratch; there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The object `name` in the cache; made by `compile`, in a folder of its own so that concurrent builds do not meet, if it is not there.
pub(crate) fn cached(
    cache: &Path,
    name: &str,
    compile: impl FnOnce(&Path) -> Result<PathBuf, Error>,
) -> Result<Vec<u8>, Error> {
    let target = cache.join(name);
    if let Ok(bytes) = std::fs::read(&target) {
        return Ok(bytes);
    }
    let work = Scratch::below(cache)?;
    let made = compile(&work.0)?;
    std::fs::rename(&made, &target).map_err(|e| unwritable(&target, &e))?;
    std::fs::read(&target).map_err(|e| unreadable(&target, &e))
}

/// `$UNBLOAT_CACHE`, or the user's cache folder.
pub(crate) fn cache_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("UNBLOAT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("unbloat")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/unbloat")))
        .unwrap_or_else(|| std::env::temp_dir().join("unbloat-cache"))
        .join("mechanisms")
}

/// Runs a compiler; what it said if it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output =
        command.env("LC_ALL", "C").output().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("{} cannot be written: {error}", path.display()))
}
