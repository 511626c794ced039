//! Compiles the built-in mechanisms for the kernel, so that loading one needs no compiler. Without clang the script
//! embeds nothing, and the library compiles a mechanism when it is requested.

#[path = "src/build/fingerprint.rs"]
mod fingerprint;
#[path = "src/build/kernel_flags.rs"]
mod kernel_flags;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    // In a checkout a symbolic link to algorithms/, in a source distribution the folder itself.
    let algorithms = root.join("../../python/unbloat/data/algorithms");
    let algorithms = algorithms.canonicalize().unwrap_or(algorithms);
    println!("cargo:rerun-if-changed={}", algorithms.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/build/fingerprint.rs");
    println!("cargo:rerun-if-changed=src/build/kernel_flags.rs");
    println!("cargo:rerun-if-env-changed=PATH");
    let table = if has_clang() {
        precompile(&algorithms, &out)
    } else {
        println!("cargo:warning=no clang: loading a mechanism into the kernel will need one");
        listing("", &[])
    };
    std::fs::write(out.join("precompiled.rs"), table).expect("the build folder takes a file");
}

fn has_clang() -> bool {
    Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Compiles every file, and returns the table that `precompiled.rs` includes.
fn precompile(algorithms: &Path, out: &Path) -> String {
    let how = format!("{:?}", kernel_flags::FLAGS);
    let fingerprint = fingerprint::of_folder(algorithms, &how)
        .unwrap_or_else(|(path, error)| panic!("{} cannot be read: {error}", path.display()));
    let mut objects = Vec::new();
    let files = ["congestion", "window", "classify"].into_iter().flat_map(|folder| names(algorithms, folder));
    for name in files {
        let object = out.join(format!("{}.bpf.o", name.replace('/', "-")));
        // From inside the folder: the object remembers the path that it was compiled from.
        let status = Command::new("clang")
            .current_dir(algorithms)
            .args(kernel_flags::FLAGS)
            .args(["-fdebug-compilation-dir=.", "-I", "include", "-c"])
            .arg(format!("{name}.bpf.c"))
            .arg("-o")
            .arg(&object)
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{name}.bpf.c does not compile for the kernel");
        objects.push((name, object));
    }
    listing(&fingerprint, &objects)
}

/// The names of the mechanisms of one folder, such as `congestion/cubic`.
fn names(algorithms: &Path, folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(algorithms.join(folder)).into_iter().flatten().flatten();
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names = names.filter_map(|name| name.strip_suffix(".bpf.c").map(|name| format!("{folder}/{name}")));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn listing(fingerprint: &str, objects: &[(String, PathBuf)]) -> String {
    let mut text = format!("const FINGERPRINT: &str = {fingerprint:?};\nconst OBJECTS: &[(&str, &[u8])] = &[\n");
    for (name, object) in objects {
        writeln!(text, "    ({name:?}, include_bytes!({object:?})),").expect("a string takes text");
    }
    text + "];\n"
}
