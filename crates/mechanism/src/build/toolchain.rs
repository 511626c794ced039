//! The common part of compiling for the two targets.

use crate::build::fingerprint::hex;
use crate::build::source::TranslationUnit;
use crate::error::Error;
use model::Compile;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Headers that the compiler reads before the user's file, so that headers of the same names beside it have no effect.
pub(crate) const CONTRACT: &[&str] = &["bpf_tcp_helpers.h", "bpf_tracing_net.h", "bpf/bpf_endian.h"];

/// Flags for warnings that show mistakes. The last two switch off those about the dialect.
pub(crate) const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-sign-compare"];

/// Environment variables that make a compiler read or write other files than its arguments.
const IGNORED_VARIABLES: &[&str] = &[
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "LIBRARY_PATH",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    "CCC_OVERRIDE_OPTIONS",
];
/// Limits of a compiler: processor time in s, memory and files in bytes. A mechanism takes a second and some 100 MB.
const LIMITS: &[(libc::__rlimit_resource_t, u64)] =
    &[(libc::RLIMIT_CPU, 30), (libc::RLIMIT_AS, 1 << 30), (libc::RLIMIT_FSIZE, 1 << 28), (libc::RLIMIT_CORE, 0)];
/// The most bytes that are read of a compiler's messages, because a message about each byte of a large file has no end.
const MOST_WORDS: u64 = 1 << 18;
/// Messages of a compiler that fails because of the machine, not because of the file.
const MACHINE_SAYS: &[&str] = &["No space left on device", "Read-only file system", "Disk quota exceeded"];

/// The folder `algorithms/include`; fails if `folder` is not `algorithms`.
pub(crate) fn include_folder(folder: &Path) -> Result<PathBuf, Error> {
    let include = folder.join("include");
    if include.join("vmlinux.h").is_file() {
        return Ok(include);
    }
    Err(Error::input(format!("{} is not a folder of mechanisms: it lacks include/vmlinux.h", folder.display())))
}

/// A command that compiles against the contract; a user's file may gate a built-in base.
pub(crate) fn translation(compiler: &Path, flags: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-I").arg(folder.join("congestion")).arg("-isystem").arg(folder.join("include"));
    command
}

/// The compiler's arguments for these macros.
pub(crate) fn definitions(defines: &[String]) -> impl Iterator<Item = String> {
    defines.iter().map(|define| format!("-D{define}"))
}

/// The arguments beside the flags for a program of a mechanism, in `folder` or of a user's. They name the contract,
/// without the functions that the program defines itself. They have the full path, because compilers first look for
/// such headers in their current folder, which may have others of these names.
pub(crate) fn program_arguments(folder: &Path, source: &TranslationUnit) -> Vec<OsString> {
    let include = folder.join("include");
    let path = |header: &str| std::path::absolute(include.join(header)).unwrap_or_else(|_| include.join(header));
    let contract = CONTRACT.iter().flat_map(|header| ["-include".into(), path(header).into_os_string()]);
    let own = source.own_names().into_iter().map(|name| format!("-DUNBLOAT_OWN_{name}").into());
    own_arguments(source).into_iter().chain(own).chain(contract).collect()
}

/// The author's options for the compiler, as arguments.
pub(crate) fn own_arguments(source: &TranslationUnit) -> Vec<OsString> {
    let Compile { include, define } = &source.options;
    let folders = include.iter().flat_map(|folder| ["-I".into(), as_argument(folder)]);
    folders.chain(define.iter().map(|define| format!("-D{define}").into())).collect()
}

/// The forms in which compilers may write the path of a file below `folder`, without its name: as given, absolute, or
/// with every link followed.
pub(crate) fn spellings(folder: &Path) -> Vec<String> {
    let given = std::path::absolute(folder).ok();
    let paths = [Some(folder.to_path_buf()), given, folder.canonicalize().ok()];
    paths.into_iter().flatten().map(|path| format!("{}/", path.display())).collect()
}

/// A path in the form for a compiler, which takes a leading hyphen for an option, and an at sign for a list of options.
pub(crate) fn as_argument(path: &Path) -> OsString {
    match path.as_os_str().as_bytes().first() {
        Some(b'-' | b'@') => Path::new(".").join(path).into_os_string(),
        _ => path.as_os_str().to_os_string(),
    }
}

/// The compiler's message as an error, with its first complaint in the sentence.
pub(crate) fn does_not_compile(source: &Path, message: &str) -> Error {
    if MACHINE_SAYS.iter().any(|words| message.contains(words)) {
        let summary = message.lines().find(|line| MACHINE_SAYS.iter().any(|words| line.contains(words)));
        return Error::machine(format!(
            "{} cannot be compiled on this machine: {}",
            source.display(),
            summary.unwrap_or_default().trim()
        ));
    }
    let complaint = |words: &str| message.lines().find(|line| line.contains(words));
    let summary = complaint("error").or_else(|| complaint("terminated")).or_else(|| complaint("out of memory"));
    let summary = summary.unwrap_or("the compiler gave no reason").trim();
    Error::input(format!("{} does not compile: {}\n{}", source.display(), cut(summary), beginning(message.trim_end())))
}

/// The most lines, and characters of a line, that are shown of a compiler's messages.
const MOST_LINES: usize = 30;
const LONGEST_LINE: usize = 300;

/// The first lines of a compiler's messages, because the first mistake is the one to correct.
fn beginning(message: &str) -> String {
    let mut lines: Vec<_> = message.lines().take(MOST_LINES).map(cut).collect();
    let more = message.lines().count() - lines.len();
    if more > 0 {
        lines.push(format!("... and {more} more lines").into());
    }
    lines.join("\n")
}

fn cut(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{} ...", &line[..end]).into(),
        None => line.into(),
    }
}

/// The key of a compilation: a hash over the source, and over `fingerprint`, which covers the tools.
pub(crate) fn key(fingerprint: &str, source: &TranslationUnit) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(fingerprint.as_bytes());
    part(source.path.as_os_str().as_bytes());
    for argument in own_arguments(source) {
        part(argument.as_bytes());
    }
    part(b"");
    for (path, text) in &source.files {
        part(path.as_os_str().as_bytes());
        part(text);
    }
    hex(hash)
}

/// The identity of the compiler at this path, with the time of its last change.
pub(crate) fn identity(compiler: &Path) -> String {
    let meta = compiler.metadata().ok();
    let state = meta.map(|meta| format!("{} {:?}", meta.len(), meta.modified().ok()));
    format!("{} {}", compiler.display(), state.unwrap_or_default())
}

/// The first of these programs that the search path has.
pub(crate) fn find_program(names: &[&OsStr]) -> Option<PathBuf> {
    names.iter().find_map(|name| which::which(name).ok())
}

/// Runs a compiler, with `work` for its own temporary files. Returns its messages, as an error if it failed.
pub(crate) fn run(command: &mut Command, work: &Path) -> Result<String, String> {
    let mut compiler = started(command.env("TMPDIR", work).stdout(Stdio::null()).stderr(Stdio::piped()))?;
    let (said, status) = listened(&mut compiler, |compiler| compiler.stderr.take())?;
    let said = String::from_utf8_lossy(&said).into_owned();
    match status.success() {
        true => Ok(said),
        false if said.is_empty() => Err(format!("the compiler failed without a message ({status})")),
        false => Err(said),
    }
}

/// Runs a compiler that prints its result to standard output. Returns that, or nothing if it fails.
pub(crate) fn printed(command: &mut Command) -> Vec<u8> {
    let compiler = started(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let heard = compiler.and_then(|mut compiler| listened(&mut compiler, |compiler| compiler.stdout.take()));
    heard.ok().filter(|(_, status)| status.success()).map(|(said, _)| said).unwrap_or_default()
}

fn started(command: &mut Command) -> Result<Child, String> {
    IGNORED_VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || confine(parent)) };
    let started = command.env("LC_ALL", "C").stdin(Stdio::null()).spawn();
    started.map_err(|e| format!("{}: {e}", command.get_program().display()))
}

/// Reads a compiler's output until it ends. A compiler that writes too much ends because the pipe closes.
fn listened<P: Read>(
    compiler: &mut Child,
    pipe: impl FnOnce(&mut Child) -> Option<P>,
) -> Result<(Vec<u8>, ExitStatus), String> {
    let mut said = Vec::new();
    let heard = pipe(compiler).map_or(Ok(0), |pipe| pipe.take(MOST_WORDS).read_to_end(&mut said));
    let status = compiler.wait().map_err(|e| e.to_string())?;
    heard.map_err(|e| e.to_string())?;
    Ok((said, status))
}

/// Confines the process that is to become a compiler: it ends with its parent, and has limited resources.
fn confine(parent: u32) -> io::Result<()> {
    for &(resource, most) in LIMITS {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the structure is read. A limit that is lower already stays.
        unsafe { libc::setrlimit(resource, &limit) };
    }
    // SAFETY: as above.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::_exit(1);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_the_files_fault() {
        let full = "/tmp/x.s: fatal error: cannot write: No space left on device\ncompilation terminated.\n";
        let error = does_not_compile(Path::new("mine.bpf.c"), full);
        assert!(!error.is_input);
        assert_eq!(
            error.message,
            "mine.bpf.c cannot be compiled on this machine: /tmp/x.s: fatal error: cannot write: No space left on \
                device"
        );
        assert!(does_not_compile(Path::new("mine.bpf.c"), "mine.bpf.c:1: error: expected ';'\n").is_input);
    }
}
