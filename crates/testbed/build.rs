//! Compiles the program that gives the connections of a control group their congestion control, so that whoever
//! attaches one needs no compiler.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "src/kernel/chooser.bpf.c";
/// As for a mechanism: version 3 of the instruction set is in every kernel from 5.1 on, `-g` leaves the types of the
/// program's constants.
const FLAGS: [&str; 8] = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-Wall", "-Werror"];

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("chooser.bpf.o");
    // In a checkout a symbolic link to algorithms/, in a source distribution the folder itself.
    let include = "../../python/unbloat/data/algorithms/include";
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-changed={include}");
    println!("cargo:rerun-if-env-changed=PATH");
    let mut clang = Command::new("clang");
    clang.args(FLAGS).args(["-fdebug-compilation-dir=.", "-I", include, "-c", SOURCE, "-o"]).arg(&out);
    match clang.status() {
        Ok(status) => assert!(status.success(), "{SOURCE} does not compile for the kernel"),
        Err(error) => {
            println!(
                "cargo:warning=no clang ({error}): this build will not attach a congestion control to a control group"
            );
            std::fs::write(&out, []).expect("the build folder takes a file");
        }
    }
}
