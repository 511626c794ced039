//! Builds for the kernel, from a source file to an eBPF object: built-ins come compiled, the rest goes through clang.

use crate::build::cache::{self, Compiled, cached};
use crate::build::fingerprint;
use crate::build::foreign;
use crate::build::kernel_flags::FLAGS;
use crate::build::kernel_types;
use crate::build::source::TranslationUnit;
use crate::build::toolchain::{self, CONTRACT, WARNINGS, run};
use crate::build::warnings;
use crate::error::{Error, unreadable, unwritable};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Flags that refuse undeclared functions, which no kernel provides.
const ERRORS: &[&str] = &["-Werror=implicit-function-declaration"];

/// Clang's names for operations without an instruction.
const DIVISIONS: &[&str] = &["sdiv", "srem", "sdivrem"];

/// The build script's objects: the fingerprint of the sources, and each object by folder and name.
mod precompiled {
    include!(concat!(env!("OUT_DIR"), "/precompiled.rs"));

    /// The object of a built-in, unless its sources have changed since.
    pub(super) fn object(name: &str, fingerprint: &str) -> Option<&'static [u8]> {
        let found = OBJECTS.iter().find(|(known, _)| *known == name && fingerprint == FINGERPRINT);
        found.map(|(_, bytes)| *bytes)
    }
}

/// The object of `source`, a file of `folder` (`algorithms`) if it is the built-in of that name, such as
/// `congestion/cubic`.
pub(crate) fn build(
    folder: &Path,
    defines: &[String],
    builtin: Option<&str>,
    source: &TranslationUnit,
) -> Result<Compiled, Error> {
    toolchain::include_folder(folder)?;
    let how = format!("{FLAGS:?}");
    let fingerprint = fingerprint::of_folder(folder, &how).map_err(|(path, e)| unreadable(&path, &e))?;
    let as_it_is = builtin.filter(|_| defines.is_empty());
    if let Some(bytes) = as_it_is.and_then(|name| precompiled::object(name, &fingerprint)) {
        return Ok(Compiled { image: bytes.to_vec(), warnings: String::new() });
    }
    let clang = toolchain::find_program(&[OsStr::new("clang")]).ok_or_else(|| no_clang(&source.path))?;
    let with =
        format!("{fingerprint} {CONTRACT:?} {WARNINGS:?} {ERRORS:?} {defines:?} {}", toolchain::identity(&clang));
    let cache = cache::folder()?;
    let make = |types: Types, key: &str| {
        let name = format!("{}.bpf.o", toolchain::key(&format!("{with} {key}"), source));
        cached(cache.as_deref(), &name, |work| compile(&clang, folder, defines, &types, source, work))
    };
    let error = match make(Types::Contract, "") {
        Err(error) if error.is_input && defines.is_empty() && !is_about_constants(&error.message) => error,
        made => return made,
    };
    if source.declares("tcp_congestion_ops") {
        return make(Types::Own, "own types");
    }
    if !MISSING.iter().any(|words| error.message.contains(words)) {
        return Err(error);
    }
    match (kernel_types::identity(), kernel_types::header(cache.as_deref())) {
        (Some(kernel), Some(header)) => match make(Types::OfTheKernel(header), &kernel) {
            // The file's own types clash with the kernel's, so the first error names what the file lacks.
            Err(second) if second.message.contains(TYPES) => Err(error),
            made => made,
        },
        _ => Err(error),
    }
}

/// The file from which the compiler reads all types of the kernel.
const TYPES: &str = "unbloat_kernel_types.h";

/// Clang's words for a missing type, member or constant.
const MISSING: &[&str] = &[
    "no member named",
    "unknown type name",
    "incomplete",
    "undeclared identifier",
    "undeclared function",
    "without type",
];

/// The source of the kernel's types for a file.
enum Types {
    /// `vmlinux.h` of the contract, which fits every kernel.
    Contract,
    /// All types of the running kernel, in this header.
    OfTheKernel(Vec<u8>),
    /// The file itself, which declares the types that it uses.
    Own,
}

/// Reports whether a message is about a write to a member that no program may write, which other types will not change.
fn is_about_constants(message: &str) -> bool {
    message.contains("const-qualified") || message.contains("read-only")
}

fn compile(
    clang: &Path,
    folder: &Path,
    defines: &[String],
    types: &Types,
    source: &TranslationUnit,
    work: &Path,
) -> Result<Compiled, Error> {
    let object = work.join("program.bpf.o");
    let mut command = toolchain::translation(clang, FLAGS, folder);
    command.args(toolchain::definitions(defines)).args(WARNINGS).args(ERRORS);
    match types {
        Types::Contract => {}
        Types::OfTheKernel(header) => {
            let file = work.join(TYPES);
            std::fs::write(&file, header).map_err(|e| unwritable(&file, &e))?;
            command.arg(format!("-DUNBLOAT_ALL_TYPES=\"{}\"", file.display()));
        }
        Types::Own => {
            command.arg("-DUNBLOAT_NO_TYPES");
        }
    }
    let is_own = matches!(types, Types::Own);
    let arguments =
        if is_own { toolchain::own_arguments(source) } else { toolchain::program_arguments(folder, source) };
    command.args(arguments);
    let mut file = toolchain::as_argument(&source.path);
    let companions = foreign::companions(&source.text());
    if !companions.is_empty() {
        // No loader attaches these programs, and they may need types that the contract lacks.
        let bare = work.join("bare.c");
        std::fs::write(&bare, foreign::without_bodies(&source.path, &source.text(), &companions))
            .map_err(|e| unwritable(&bare, &e))?;
        command.arg("-iquote").arg(source.folder());
        file = bare.into_os_string();
    }
    if is_own {
        let include = folder.join("include");
        let types = std::path::absolute(include.join("vmlinux.h")).unwrap_or_else(|_| include.join("vmlinux.h"));
        command.arg("-include").arg(types);
        let whole = work.join("whole.i");
        run(command.arg("-E").arg(file).arg("-o").arg(&whole), work).map_err(|message| why_not(source, &message))?;
        let text = std::fs::read(&whole).map_err(|e| unreadable(&whole, &e))?;
        let text = String::from_utf8_lossy(&text);
        if let Some(changed) = foreign::with_types_of_the_contract(&text, &toolchain::spellings(&include)) {
            std::fs::write(&whole, changed).map_err(|e| unwritable(&whole, &e))?;
        }
        command = Command::new(clang);
        command.args(FLAGS).args(WARNINGS).args(ERRORS).arg("-Wno-ignored-attributes");
        file = whole.into_os_string();
    }
    command.arg("-c").arg(file).arg("-o").arg(&object);
    let said = run(&mut command, work).map_err(|message| why_not(source, &message))?;
    let warnings = warnings::without_ours(&said, folder);
    source.unchanged()?;
    let image = std::fs::read(&object).map_err(|e| unreadable(&object, &e))?;
    Ok(Compiled { image, warnings })
}

/// The compiler's error, in the file's terms if clang uses its own.
fn why_not(source: &TranslationUnit, message: &str) -> Error {
    let division =
        message.lines().find(|line| line.contains("Cannot select:") && DIVISIONS.iter().any(|d| line.contains(d)));
    let Some(line) = division else { return toolchain::does_not_compile(&source.path, message) };
    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
    let place = line.split(&*name).nth(1).and_then(|rest| rest.strip_prefix(':')?.split(':').next());
    let place = place.map_or(String::new(), |line| format!(":{line}"));
    Error::input(format!(
        "{}{place}: divides signed numbers, which eBPF cannot do before version 4 of its instruction set (Linux 6.6): \
         divide unsigned ones, such as (__u32)a / b",
        source.path.display()
    ))
}

fn no_clang(path: &Path) -> Error {
    Error::input(format!(
        "{} must be compiled for the kernel, and clang is missing: install it (Debian: apt-get install clang)",
        path.display()
    ))
}
