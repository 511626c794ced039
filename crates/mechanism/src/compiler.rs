//! From a source file to a shared object in the cache, with any C compiler.

use crate::error::{Error, unreadable};
use crate::object_file::Object;
use crate::source::Source;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of every compilation. Hidden and without built-in functions: a program may bear any name, also one of the C library's.
/// A division by zero is reported by the contract instead of ending the process without a word.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O3",
    "-fPIC",
    "-g0",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
    "-fsanitize=integer-divide-by-zero",
    "-fno-sanitize-recover=integer-divide-by-zero",
];
/// Read before the user's file, so that headers of the same names beside it stay out.
const CONTRACT: &[&str] = &["bpf_tcp_helpers.h", "bpf_tracing_net.h", "bpf/bpf_endian.h"];
/// Linked into every shared object.
const RUNTIME: &[&str] = &[
    "unbloat/runtime.c",
    "unbloat/maps.c",
    "unbloat/kernel_functions.c",
    "unbloat/kernel_cubic.c",
    "unbloat/kernel_dctcp.c",
    "unbloat/kernel_bbr.c",
];

/// A C compiler and the place for what it makes.
#[derive(Debug)]
pub(crate) struct Compiler {
    command: PathBuf,
    /// `algorithms/include`.
    include: PathBuf,
    /// `algorithms/congestion`: a user's file may gate a built-in base.
    bases: PathBuf,
    cache: PathBuf,
    /// Macros of every compilation.
    defines: Vec<String>,
    /// Over the compiler, the flags and everything in `algorithms`.
    fingerprint: String,
}

impl Compiler {
    /// Finds a compiler and fingerprints the contract in `folder`.
    pub(crate) fn new(folder: &Path, defines: &[String]) -> Result<Compiler, Error> {
        let command = find_compiler()?;
        let include = folder.join("include");
        if !include.join("vmlinux.h").is_file() {
            return Err(Error::new(format!(
                "{} is not a folder of mechanisms: it has no include/vmlinux.h",
                folder.display()
            )));
        }
        let mut hash = Sha256::new();
        hash.update(format!("{FLAGS:?} {defines:?} {CONTRACT:?} {RUNTIME:?} {}", command.display()));
        if let Ok(meta) = command.metadata() {
            hash.update(format!("{} {:?}", meta.len(), meta.modified().ok()));
        }
        for path in files_below(folder) {
            hash.update(path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes());
            hash.update(std::fs::read(&path).map_err(|e| unreadable(&path, &e))?);
        }
        Ok(Compiler {
            command,
            include,
            bases: folder.join("congestion"),
            cache: cache_folder(),
            defines: defines.to_vec(),
            fingerprint: hex(hash),
        })
    }

    /// The shared object of `source`: its bytes, from the cache if they are there.
    pub(crate) fn build(&self, source: &Source) -> Result<Vec<u8>, Error> {
        let mut hash = Sha256::new();
        hash.update(&self.fingerprint);
        hash.update(source.path.as_os_str().as_encoded_bytes());
        for (path, text) in &source.files {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update(text);
        }
        let target = self.cache.join(format!("{}.so", hex(hash)));
        if let Ok(bytes) = std::fs::read(&target) {
            return Ok(bytes);
        }
        self.compile(source, &target)?;
        std::fs::read(&target).map_err(|e| unreadable(&target, &e))
    }

    /// Compiles into a folder of its own and moves the result into place, so that concurrent builds do not meet.
    fn compile(&self, source: &Source, target: &Path) -> Result<(), Error> {
        let runtime = self.runtime()?;
        let work = Scratch::below(&self.cache)?;
        let program = work.0.join("program.o");
        let mut arguments: Vec<String> =
            source.own_names().iter().map(|name| format!("-DUNBLOAT_OWN_{name}")).collect();
        arguments.extend(CONTRACT.iter().flat_map(|header| ["-include".to_string(), header.to_string()]));
        self.translate(&source.path, &arguments, &program).map_err(|message| {
            let summary = message.lines().find(|line| line.contains("error")).unwrap_or("the compiler gave no reason");
            Error::new(format!(
                "{} does not compile: {}\n{}",
                source.path.display(),
                summary.trim(),
                message.trim_end()
            ))
        })?;
        refuse_undefined(&source.path, &program, &runtime)?;
        let linked = work.0.join("linked.so");
        let mut link = Command::new(&self.command);
        link.args(["-shared", "-Wl,-Bsymbolic", "-o"]).arg(&linked).arg(&program).args(&runtime);
        run(&mut link).map_err(|m| Error::new(format!("{} cannot be linked:\n{m}", source.path.display())))?;
        std::fs::rename(&linked, target).map_err(|e| unwritable(target, &e))
    }

    /// The object files of the contract, compiled once.
    fn runtime(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.cache.join(format!("contract-{}", self.fingerprint));
        let parts = (0..RUNTIME.len()).map(|n| folder.join(format!("{n}.o"))).collect();
        if folder.is_dir() {
            return Ok(parts);
        }
        let work = Scratch::below(&self.cache)?;
        for (n, file) in RUNTIME.iter().enumerate() {
            self.translate(&self.include.join(file), &[], &work.0.join(format!("{n}.o")))
                .map_err(|message| Error::new(format!("{file} of the contract does not compile:\n{message}")))?;
        }
        match std::fs::rename(&work.0, &folder) {
            Err(error) if !folder.is_dir() => Err(unwritable(&folder, &error)),
            _ => Ok(parts),
        }
    }

    fn translate(&self, source: &Path, arguments: &[String], target: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.command);
        command.args(FLAGS).args(self.defines.iter().map(|define| format!("-D{define}")));
        command.arg("-I").arg(&self.include).arg("-I").arg(&self.bases).args(arguments);
        run(command.arg("-c").arg(source).arg("-o").arg(target))
    }
}

/// A function that neither the file nor the contract defines would otherwise be found out by the loader only.
fn refuse_undefined(source: &Path, program: &Path, runtime: &[PathBuf]) -> Result<(), Error> {
    const BY_COMPILER_AND_LINKER: &[&str] = &["memcpy", "memset", "memmove", "memcmp", "_GLOBAL_OFFSET_TABLE_"];
    let runtime: Vec<Object> = runtime.iter().map(|part| object_file(part)).collect::<Result<_, _>>()?;
    let provided =
        |name: &str| BY_COMPILER_AND_LINKER.contains(&name) || runtime.iter().any(|part| part.symbol(name).is_some());
    let mut missing = object_file(program)?.undefined;
    missing.retain(|name| !provided(name));
    missing.sort();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!(
        "{} calls {}, which the simulator does not have: it has the kernel functions of Reno, CUBIC, DCTCP and BBR and \
         the helpers in include/bpf/bpf_helpers.h",
        source.display(),
        missing.join(", ")
    )))
}

fn object_file(path: &Path) -> Result<Object, Error> {
    let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
    Object::parse(&bytes)
        .map_err(|e| Error::new(format!("{}: the compiler's output cannot be read: {e}", path.display())))
}

/// A folder that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn below(cache: &Path) -> Result<Scratch, Error> {
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

/// `$CC`, or the first of cc, gcc, clang on the path.
fn find_compiler() -> Result<PathBuf, Error> {
    let wanted = std::env::var_os("CC").filter(|cc| !cc.is_empty());
    let names: Vec<&OsStr> = match &wanted {
        Some(cc) => vec![cc],
        None => vec![OsStr::new("cc"), OsStr::new("gcc"), OsStr::new("clang")],
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    for name in &names {
        for folder in std::env::split_paths(&folders) {
            let candidate = folder.join(name);
            if candidate.is_file() {
                return Ok(candidate);
            }
        }
    }
    Err(Error::new(match &wanted {
        Some(cc) => format!("the C compiler that the environment variable CC names, {}, is not there", cc.display()),
        None => {
            "congestion controls are compiled when they are used, and there is no C compiler: install gcc or clang \
                 (Debian: apt-get install gcc libc6-dev)"
                .to_string()
        }
    }))
}

/// `$UNBLOAT_CACHE`, or the user's cache folder.
fn cache_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("UNBLOAT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("unbloat")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/unbloat")))
        .unwrap_or_else(|| std::env::temp_dir().join("unbloat-cache"))
        .join("mechanisms")
}

fn run(command: &mut Command) -> Result<(), String> {
    let output =
        command.env("LC_ALL", "C").output().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Every C file and header below `folder`, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "c" || e == "h") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("{} cannot be written: {error}", path.display()))
}
