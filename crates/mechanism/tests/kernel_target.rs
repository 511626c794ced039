//! The built-in files compile for the kernel too, without a warning: `clang -target bpf`, with BTF and the operations' section.

mod harness;

use harness::{UserFiles, library};
use object::{Object, ObjectSection};
use std::path::Path;
use std::process::Command;

#[test]
fn every_built_in_compiles_for_the_kernel() {
    let library = library();
    let files = UserFiles::new("bpf");
    for name in library.names() {
        let target = files.write(&format!("{name}.bpf.o"), "");
        compile(&library.folder().join(format!("congestion/{name}.bpf.c")), library.folder(), &target);
        let bytes = std::fs::read(&target).expect("the object");
        let object = object::File::parse(&*bytes).expect("an ELF file");
        for section in ["struct_ops", ".struct_ops.link", ".BTF", ".BTF.ext", "license"] {
            assert!(object.section_by_name(section).is_some_and(|s| s.size() > 0), "{name} has no section {section}");
        }
        let programs = object.section_by_name("struct_ops").expect("programs").size();
        const INSTRUCTION: u64 = 8;
        assert!(programs / INSTRUCTION < 4096, "{name} has {} instructions", programs / INSTRUCTION);
    }
}

fn compile(source: &Path, algorithms: &Path, target: &Path) {
    let output = Command::new("clang")
        .args(["-target", "bpf", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-I"])
        .arg(algorithms.join("include"))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(target)
        .output()
        .expect("clang compiles for the kernel: install it (Debian: apt-get install clang)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
