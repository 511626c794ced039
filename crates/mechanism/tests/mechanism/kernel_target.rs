//! Tests that the built-in files compile for the kernel without a warning: `clang -target bpf`, with BTF and the
//! operations' section. They also test the library's objects for the kernel's loader; crates/kernel tests that a kernel
//! takes them.

use crate::harness::{UserFiles, library};
use model::{MechanismRef, MechanismSource, ParamValue};
use object::{Object, ObjectSection};
use std::path::Path;
use std::process::Command;
use unbloat_mechanism::{About, Error, KernelObject, Library, MechanismKind};

#[test]
fn every_built_in_compiles_for_the_kernel() {
    let library = library();
    let files = UserFiles::new("bpf");
    for name in library.names() {
        let target = files.write(&format!("{name}.bpf.o"), "");
        let source = library.folder().join(format!("congestion/{name}.bpf.c"));
        compile(&source, library.folder(), &target, &["-DUNBLOAT_RECORD"]);
        compile(&source, library.folder(), &target, &[]);
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

fn compile(source: &Path, algorithms: &Path, target: &Path, defines: &[&str]) {
    let output = Command::new("clang")
        .args(["-target", "bpf", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-I"])
        .arg(algorithms.join("include"))
        .args(defines)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(target)
        .output()
        .expect("clang compiles for the kernel: install it (Debian: apt-get install clang)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn kernel_object(
    source: MechanismSource,
    params: &[(&str, ParamValue)],
    name: Option<&str>,
) -> Result<KernelObject, Error> {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    library().kernel_object(&MechanismRef::new(source, params), name)
}

fn builtin(name: &str) -> KernelObject {
    kernel_object(MechanismSource::Builtin(name.into()), &[], None).unwrap_or_else(|error| panic!("{error}"))
}

/// Names of Linux's own congestion controls.
const OF_LINUX: [&str; 18] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// The built-in that no kernel takes.
const SIMULATED_ONLY: &str = "dtpa_auto";

fn loadable() -> Vec<String> {
    library().names().into_iter().filter(|name| name != SIMULATED_ONLY).collect()
}

#[test]
fn what_no_kernel_can_tell_is_not_loaded() {
    assert_eq!(library().loadable_names().expect("all compile"), loadable());
    let why = "dtpa_auto runs in the simulator only: no kernel tells a sender what the other nodes of its mesh send";
    let source = || MechanismSource::Builtin(SIMULATED_ONLY.into());
    assert_eq!(kernel_object(source(), &[], None).unwrap_err().message, why);
    let error = library()
        .object_file(MechanismKind::CongestionControl, &MechanismRef::new(source(), Default::default()))
        .unwrap_err();
    assert_eq!((error.message.as_str(), error.is_input), (why, true));
}

/// The error comes on the machine that compiles for another one, not on that one.
#[test]
fn an_object_file_is_not_given_for_parameters_that_it_does_not_have() {
    let reno = |params| MechanismRef::new(MechanismSource::Builtin("reno".into()), params);
    let library = library();
    let (_, bytes) = library
        .object_file(MechanismKind::CongestionControl, &reno(Default::default()))
        .expect("an object")
        .expect("one of ours");
    assert!(bytes.starts_with(b"\x7fELF"));
    let error = library
        .object_file(MechanismKind::CongestionControl, &reno([("bta".to_string(), ParamValue::Integer(1))].into()))
        .unwrap_err();
    assert_eq!((error.about, error.is_input), (Some(About::Parameter("bta".into())), true));
}

#[test]
fn a_control_for_everybody_differs_from_its_file_in_one_flag() {
    let plain = builtin("dctcp");
    let mut free = plain.clone();
    free.set_unrestricted();
    let differing: Vec<_> = plain.bytes.iter().zip(&free.bytes).filter(|(a, b)| a != b).collect();
    // TCP_CONG_NEEDS_ECN alone, and with TCP_CONG_NON_RESTRICTED.
    assert_eq!(differing, [(&2, &3)]);
}

/// Built-ins with the name of one of Linux's get another name; the others have the same name everywhere.
#[test]
fn names_in_the_kernel() {
    for name in loadable() {
        let taken = OF_LINUX.contains(&name.as_str());
        let expected = if taken { format!("ub_{name}") } else { name.clone() };
        assert_eq!(builtin(&name).name.as_str(), expected);
    }
    let renamed =
        kernel_object(MechanismSource::Builtin("reno".into()), &[], Some("fifteen_letters")).expect("an object");
    assert_eq!(renamed.name.as_str(), "fifteen_letters");
    let bytes = builtin("reno").bytes;
    let changed: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] != renamed.bytes[*at]).collect();
    assert!(changed.last().expect("a change") - changed[0] < 15, "only the name's place: {changed:?}");
    let refusal =
        |name: &str| kernel_object(MechanismSource::Builtin("reno".into()), &[], Some(name)).unwrap_err().message;
    let rule = "a name has 1 to 15 characters, which are ASCII letters, digits, \"_\" and \".\", but not dots alone";
    for name in ["sixteen__letters", "", "two words", "zz-x", ".."] {
        assert_eq!(refusal(name), format!("\"{name}\" cannot name a congestion control: {rule}"));
    }
}

#[test]
fn parameters_are_those_of_the_simulator() {
    for name in loadable() {
        let described = library().describe(&MechanismSource::Builtin(name.clone())).expect("a description");
        let native: Vec<_> = described.parameters.iter().map(|known| (known.name.clone(), known.default())).collect();
        assert_eq!(builtin(&name).parameters, native, "{name}");
    }
    let source = || MechanismSource::Builtin("cubic_plus".into());
    let set = kernel_object(source(), &[("threshold", ParamValue::Text("25ms".into()))], None).expect("an object");
    assert!(set.parameters.contains(&("threshold".into(), "25ms".into())), "{:?}", set.parameters);
    let bytes = builtin("cubic_plus").bytes;
    let changed = (0..bytes.len()).filter(|at| bytes[*at] != set.bytes[*at]).count();
    assert!((1..=4).contains(&changed), "one number, not {changed} bytes");
    let error = kernel_object(source(), &[("treshold", ParamValue::Integer(1))], None).unwrap_err();
    assert_eq!(error.about, Some(About::Parameter("treshold".into())));
    let start = "cubic_plus has no parameter treshold (did you mean threshold?); valid: ";
    assert!(error.message.starts_with(start), "{error}");
}

#[test]
fn one_byte_says_what_cong_control_gets() {
    let mut older = builtin("bbr");
    older.set_cong_control_arguments(2);
    let newer = builtin("bbr").bytes;
    let changed: Vec<_> = (0..newer.len()).filter(|at| newer[*at] != older.bytes[*at]).collect();
    assert_eq!(changed.iter().map(|at| (newer[*at], older.bytes[*at])).collect::<Vec<_>>(), [(1, 0)]);
    let mut without = builtin("reno");
    without.set_cong_control_arguments(2);
    assert_eq!(without.bytes, builtin("reno").bytes);
}

/// The search path belongs to the process, so the test runs again in a process that has none.
#[test]
fn built_ins_need_no_compiler_and_users_files_do() {
    const IN_CHILD: &str = "UNBLOAT_TEST_NO_CLANG";
    if let Some(copy) = std::env::var_os(IN_CHILD) {
        let names = loadable();
        assert!(names.iter().all(|name| !builtin(name).bytes.is_empty()));
        let path = library().folder().join("congestion/reno.bpf.c");
        let no_clang = |path: &Path| {
            format!(
                "{} must be compiled for the kernel, and clang is missing: install it (Debian: apt-get install clang)",
                path.display()
            )
        };
        let error = kernel_object(MechanismSource::File(path.clone()), &[], None).unwrap_err();
        assert_eq!(error.message, no_clang(&path));
        // A copy of the sources is as good as they are, until one is edited.
        let control = MechanismRef::new(MechanismSource::Builtin("reno".into()), Default::default());
        let copied = Library::open(&copy).kernel_object(&control, None).expect("an object");
        assert_eq!(copied.bytes, builtin("reno").bytes);
        let path = Path::new(&copy).join("congestion/reno.bpf.c");
        std::fs::write(&path, std::fs::read_to_string(&path).expect("text").replace("/ 2", "/ 3")).expect("written");
        let error = Library::open(&copy).kernel_object(&control, None).unwrap_err();
        assert_eq!(error.message, no_clang(&path));
        return;
    }
    let files = UserFiles::new("no-clang");
    let copy = files.write("marker", "").with_file_name("algorithms");
    let copied = Command::new("cp").arg("-rL").arg(library().folder()).arg(&copy).status().expect("cp");
    assert!(copied.success());
    let child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "kernel_target::built_ins_need_no_compiler_and_users_files_do"])
        .env(IN_CHILD, &copy)
        .env("PATH", "")
        .env("UNBLOAT_CACHE", copy.with_file_name("cache"))
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    let control = MechanismRef::new(MechanismSource::Builtin("reno".into()), Default::default());
    let edited = Library::open(&copy).kernel_object(&control, None).expect("clang compiles the edited file");
    assert_ne!(edited.bytes, builtin("reno").bytes);
}

#[test]
fn a_congestion_control_is_refused_at_a_device() {
    let control = MechanismRef::new(MechanismSource::Builtin("reno".into()), Default::default());
    let refused = library().device_object(MechanismKind::CongestionControl, &control);
    let refused = refused.map(drop).expect_err("it has no entry");
    assert_eq!(refused.to_string(), "a congestion control belongs to no device");
}
