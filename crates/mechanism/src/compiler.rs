//! From a source file to a shared object in the cache, with any C compiler.

use crate::building::{self, CONTRACT, Scratch, cached, run, unwritable};
use crate::error::{Error, unreadable};
use crate::fingerprint;
use crate::object_file::Object;
use crate::source::Source;
use std::ffi::OsStr;
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
    /// `algorithms`.
    folder: PathBuf,
    include: PathBuf,
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
        let include = building::include_folder(folder)?;
        let how = format!("{FLAGS:?} {defines:?} {CONTRACT:?} {RUNTIME:?} {}", building::identity(&command));
        let fingerprint = fingerprint::of_folder(folder, &how).map_err(|(path, e)| unreadable(&path, &e))?;
        Ok(Compiler {
            command,
            folder: folder.to_path_buf(),
            include,
            cache: building::cache_folder(),
            defines: defines.to_vec(),
            fingerprint,
        })
    }

    /// The shared object of `source`: its bytes, from the cache if they are there.
    pub(crate) fn build(&self, source: &Source) -> Result<Vec<u8>, Error> {
        let name = format!("{}.so", building::key(&self.fingerprint, source));
        cached(&self.cache, &name, |work| self.compile(source, work))
    }

    fn compile(&self, source: &Source, work: &Path) -> Result<PathBuf, Error> {
        let runtime = self.runtime()?;
        let program = work.join("program.o");
        self.translate(&source.path, &building::program_arguments(source), &program)
            .map_err(|message| building::does_not_compile(&source.path, &message))?;
        refuse_undefined(&source.path, &program, &runtime)?;
        let linked = work.join("linked.so");
        let mut link = Command::new(&self.command);
        link.args(["-shared", "-Wl,-Bsymbolic", "-o"]).arg(&linked).arg(&program).args(&runtime);
        run(&mut link).map_err(|m| Error::new(format!("{} cannot be linked:\n{m}", source.path.display())))?;
        Ok(linked)
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
        let mut command = building::translation(&self.command, FLAGS, &self.folder);
        command.args(building::definitions(&self.defines)).args(arguments);
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

/// `$CC`, or the first of cc, gcc, clang on the path.
fn find_compiler() -> Result<PathBuf, Error> {
    let wanted = std::env::var_os("CC").filter(|cc| !cc.is_empty());
    let names: Vec<&OsStr> = match &wanted {
        Some(cc) => vec![cc],
        None => ["cc", "gcc", "clang"].map(OsStr::new).to_vec(),
    };
    building::find_program(&names).ok_or_else(|| {
        Error::new(match &wanted {
            Some(cc) => {
                format!("the C compiler that the environment variable CC names, {}, is not there", cc.display())
            }
            None => {
                "congestion controls are compiled when they are used, and there is no C compiler: install gcc or clang \
                     (Debian: apt-get install gcc libc6-dev)"
                    .to_string()
            }
        })
    })
}
