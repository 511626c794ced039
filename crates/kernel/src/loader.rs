//! Converts an object to a registered congestion control.

use super::messages::{Refusal, fault, listening, refusal};
use super::private_name::PrivateName;
use super::rights;
use super::types::Types;
use super::version::running_version;
use libbpf_rs::{AsRawLibbpf, Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject};
use mechanism::Error;
use mechanism::kernel_types::override_path;
use mechanism::{About, ControlName, KernelObject, Library, MapEntry};
use model::MechanismRef;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use std::ffi::{CString, OsString};
use std::path::Path;

/// The flag `BPF_F_LINK`: a link will hold the registration.
const BPF_F_LINK: u32 = 1 << 13;
/// First version of Linux whose `cong_control` gets the ACK and its flags.
const WITH_ACK: (u32, u32) = (6, 10);

/// A congestion control that is registered for as long as this lives. Sockets that use it at the
/// end keep it until they close.
pub struct Loaded {
    /// Name of the congestion control, as in `setsockopt(TCP_CONGESTION)`.
    pub kernel_name: ControlName,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// Whether it only works on connections with ECN.
    pub needs_ecn: bool,
    /// Name of the built-in, or path of the source file.
    pub source: String,
    // The registration; before Linux 6.4 the operations' map takes its place.
    link: Link,
    is_map: bool,
    // Dropped after the link, whose detachment reads it.
    object: Object,
    // Dropped last, as it shows that the registration belongs to a living process.
    _private: Option<PrivateName>,
}

impl Loaded {
    /// Returns the loaded object, with its maps and programs.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Pins the registration in the BPF file system.
    pub(crate) fn pin(&mut self, path: &Path) -> libbpf_rs::Result<()> {
        self.link.pin(path)
    }

    /// Drops this without unregistering it: the pin holds the registration.
    pub(crate) fn leave(mut self) {
        if self.is_map {
            self.link.disconnect();
        }
    }
}

/// Builds `control` and registers it, as `name` if given, else under the name in its file.
///
/// # Errors
/// Fails if the mechanism does not exist, it cannot be built or refuses its parameters, or the name
/// is taken. Also fails if this process lacks the rights, the kernel has no types (BTF), or its
/// verifier refuses the program.
pub fn load(library: &Library, control: &MechanismRef, name: Option<&str>) -> Result<Loaded, Error> {
    rights::require("loading a congestion control")?;
    register(library.kernel_object(control, name)?)
}

/// Registers `control` for one run, under a name that no other run has. It draws from `seed` in
/// place of the kernel's random numbers, and the run's hosts may have it as their default.
pub fn load_for_run(library: &Library, control: &MechanismRef, seed: u64) -> Result<Loaded, Error> {
    rights::require("loading a congestion control")?;
    let private = PrivateName::new()?;
    let mut object = library.kernel_object(control, Some(private.name.as_str()))?;
    object.set_seed(seed);
    object.set_unrestricted();
    Ok(Loaded { _private: Some(private), ..register(object)? })
}

fn register(mut object: KernelObject) -> Result<Loaded, Error> {
    let types = Types::read()?;
    object.set_cong_control_arguments(types.cong_control_arguments);
    refuse_taken(object.name.as_str())?;
    let (loaded, said) = listening(|| open(&object, &types).and_then(|open| open.load()));
    let mut loaded = loaded.map_err(|error| explained(&object.source, &error, said))?;
    fill_maps(&loaded, &object)?;
    let link = attach(&mut loaded, &object)?;
    Ok(Loaded {
        kernel_name: object.name,
        parameters: object.parameters,
        source: object.source,
        needs_ecn: object.needs_ecn,
        link,
        is_map: !types.has_links,
        object: loaded,
        _private: None,
    })
}

/// Lists the congestion controls that the kernel offers now, by name.
pub(crate) fn available() -> Vec<String> {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    list.split_whitespace().map(str::to_string).collect()
}

/// Refuses the name of a congestion control that the kernel does not have. The question makes the
/// kernel load a module of that name.
pub fn require_own(name: &str) -> Result<(), Error> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|error| Error::machine(format!("the kernel cannot open a socket: {}", error.desc())))?;
    match setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(name)) {
        Ok(()) => Ok(()),
        Err(nix::Error::ENOENT) => {
            let there = available().join(", ");
            Err(Error::input(format!("the kernel lacks the congestion control \"{name}\"; it has {there}")))
        }
        Err(error) => Err(Error::machine(format!("the kernel cannot set \"{name}\" on a socket: {}", error.desc()))),
    }
}

fn refuse_taken(name: &str) -> Result<(), Error> {
    if available().iter().any(|known| known == name) { Err(taken(name)) } else { Ok(()) }
}

fn taken(name: &str) -> Error {
    Error::input(format!(
        "the kernel already has a congestion control \"{name}\": unload it, or choose another name with --as"
    ))
}

/// Opens an object, with the values that depend on the kernel.
pub(super) fn opened(name: &str, bytes: &[u8]) -> libbpf_rs::Result<OpenObject> {
    let kconfig = CString::new(format!("CONFIG_HZ={}\n", jiffies_per_second())).expect("no zero in it");
    let mut builder = ObjectBuilder::default();
    builder.name(name)?;
    if let Some(path) = override_path() {
        builder.btf_custom_path(Path::new(&path))?;
    }
    // SAFETY: libbpf reads the text while it opens the object, below, and keeps a copy.
    unsafe { (*builder.as_libbpf_object().as_ptr()).kconfig = kconfig.as_ptr() };
    builder.open_memory(bytes)
}

/// Opens the object of a congestion control, whose operations are to be registered.
fn open(object: &KernelObject, types: &Types) -> libbpf_rs::Result<OpenObject> {
    let mut open = opened(object.name.as_str(), &object.bytes)?;
    for mut program in open.progs_mut() {
        // A program of another kind: nobody attaches it.
        if program.prog_type() != libbpf_rs::ProgramType::StructOps {
            program.set_autoload(false);
        }
    }
    for mut map in open.maps_mut() {
        if map.map_type() != libbpf_rs::MapType::StructOps {
            continue;
        }
        if map.name() == object.variable.as_str() {
            map.set_map_flags(if types.has_links { BPF_F_LINK } else { 0 })?;
        } else {
            map.set_autocreate(false)?;
        }
    }
    Ok(open)
}

/// Fills the maps that have contents before any connection uses them.
fn fill_maps(loaded: &Object, object: &KernelObject) -> Result<(), Error> {
    for MapEntry { map: name, key, value, .. } in &object.maps {
        let map = loaded.maps().find(|map| map.name() == name.as_str()).expect("the object declares it");
        map.update(key, value, MapFlags::ANY).map_err(|error| Error {
            about: Some(About::Map(name.clone())),
            ..Error::input(format!("{}: the kernel refuses the contents of map {name}: {error}", object.source))
        })?;
    }
    Ok(())
}

fn attach(loaded: &mut Object, object: &KernelObject) -> Result<Link, Error> {
    let mut map =
        loaded.maps_mut().find(|map| map.name() == object.variable.as_str()).expect("it was there when it was opened");
    map.attach_struct_ops().map_err(|error| match error.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => taken(object.name.as_str()),
        _ => Error::machine(format!("the kernel cannot register {} as \"{}\": {error}", object.source, object.name)),
    })
}

/// Returns the kernel's `HZ`: its coarse clocks advance once a jiffy. This works without the
/// kernel's configuration, which may be missing.
fn jiffies_per_second() -> i64 {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the struct in.
    let failed = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut step) } != 0;
    assert!(!failed && step.tv_nsec > 0, "every kernel has a coarse clock");
    1_000_000_000 / step.tv_nsec
}

/// Explains in one sentence why the kernel did not take an object.
pub(super) fn explained(source: &str, error: &libbpf_rs::Error, said: String) -> Error {
    let mut explained = match (fault(&said), refusal(&said)) {
        (Some(fault), _) => Error::input(format!("{source} {fault}")),
        (None, Some(refusal)) => Error::input(refused(source, &refusal)),
        (None, None) => {
            let line = said.lines().find_map(|line| line.strip_prefix("libbpf: ")).unwrap_or(
                "the kernel gave no \
                                                                                              reason",
            );
            Error::machine(format!("{source} cannot be loaded: {line} ({error})"))
        }
    };
    explained.log = Some(said);
    explained
}

fn refused(source: &str, refusal: &Refusal) -> String {
    let Refusal { program, reason, at } = refusal;
    // The verifier says this of an argument that only newer kernels pass.
    if reason.starts_with("func 'cong_control' doesn't have") && running_version() < WITH_ACK {
        return format!(
            "{source}: {program} reads the flags of cong_control, which need Linux 6.10; this kernel is older"
        );
    }
    let at = at.as_ref().map_or(String::new(), |at| format!(", at {at}"));
    format!("the kernel's verifier refuses {source}: {program}: {reason}{at}")
}
