//! Compiles the two BPF programs of this crate, so that its users need no compiler.
//!
//! One gives the connections of a control group their congestion control. The other writes down
//! when a packet joins a host's queue.

use std::path::PathBuf;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["chooser", "stamp"];
/// Compiler flags, as for a mechanism. Version 3 of the instruction set is in every kernel from 5.1
/// on, and `-g` keeps the types of the program's constants.
const FLAGS: [&str; 8] = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-Wall", "-Werror"];

/// The headers' folder: in a checkout a symbolic link into algorithms/, in a package the folder
/// itself.
const INCLUDE: &str = "include";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={INCLUDE}");
    println!("cargo:rerun-if-env-changed=PATH");
    PROGRAMS.into_iter().for_each(compile);
}

fn compile(name: &str) {
    let source = format!("src/{name}.bpf.c");
    println!("cargo:rerun-if-changed={source}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join(format!("{name}.bpf.o"));
    let mut clang = Command::new("clang");
    clang.args(FLAGS).args(["-fdebug-compilation-dir=.", "-I", INCLUDE, "-c", &source, "-o"]).arg(&out);
    match clang.status() {
        Ok(status) => assert!(status.success(), "{source} does not compile for the kernel"),
        Err(error) => {
            println!("cargo:warning=no clang ({error}): this build will not do what takes {source}");
            std::fs::write(&out, []).expect("the build folder takes a file");
        }
    }
}
