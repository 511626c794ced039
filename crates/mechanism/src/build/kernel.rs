//! From a source file to an eBPF object: built-ins come compiled, the rest goes through clang.

use crate::build::cache::{self, Compiled, cached};
use crate::build::fingerprint;
use crate::build::kernel_flags::FLAGS;
use crate::build::source::TranslationUnit;
use crate::build::toolchain::{self, CONTRACT, WARNINGS, run};
use crate::error::{Error, unreadable};
use std::ffi::OsStr;
use std::path::Path;

/// What the build script compiled: the fingerprint of the sources, and each object by folder and name.
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
    let with = format!("{fingerprint} {CONTRACT:?} {WARNINGS:?} {defines:?} {}", toolchain::identity(&clang));
    let name = format!("{}.bpf.o", toolchain::key(&with, source));
    cached(&cache::folder()?, &name, |work| compile(&clang, folder, defines, source, work))
}

fn compile(
    clang: &Path,
    folder: &Path,
    defines: &[String],
    source: &TranslationUnit,
    work: &Path,
) -> Result<Compiled, Error> {
    let object = work.join("program.bpf.o");
    let mut command = toolchain::translation(clang, FLAGS, folder);
    command.args(toolchain::definitions(defines)).args(toolchain::program_arguments(source)).args(WARNINGS);
    command.arg("-c").arg(toolchain::as_argument(&source.path)).arg("-o").arg(&object);
    let warnings = run(&mut command, work).map_err(|message| toolchain::does_not_compile(&source.path, &message))?;
    source.unchanged()?;
    let image = std::fs::read(&object).map_err(|e| unreadable(&object, &e))?;
    Ok(Compiled { image, warnings })
}

fn no_clang(path: &Path) -> Error {
    Error::new(format!(
        "{} has to be compiled for the kernel, and there is no clang: install it (Debian: apt-get install clang)",
        path.display()
    ))
}
