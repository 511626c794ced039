//! A shared object, opened with its settings: the part that all kinds of mechanisms share.

use crate::bind::fault::Fault;
use crate::bind::maps::MapEntry;
use crate::bind::ops::Callback;
use crate::bind::parameter::Setting;
use crate::bind::watchdog;
use crate::build::object_file::Object;
use crate::sock::TcpSock;
use model::units::Nanos;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_long};
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// `struct unbloat_instance`: the values that the helpers of one loaded instance read.
#[repr(C)]
struct Instance {
    now: u64,
    random: u64,
    traces: u64,
    jiffies: u64,
    callback: u64,
    division_fault: unsafe extern "C-unwind" fn(*const Instance, *const c_char, u32, u64),
    shift_fault: unsafe extern "C-unwind" fn(*const Instance, *const c_char, u32, i64),
    /// The identity, behind the members that C knows.
    identity: *const Identity,
}

/// The helpers' answers throughout one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelperResults {
    /// Answer of `bpf_ktime_get_ns`, ns.
    pub ns: u64,
    /// Answer of `bpf_jiffies64`.
    pub jiffies: u64,
    /// Answer of `bpf_get_prandom_u32`.
    pub random: u64,
}

/// The names of an opened mechanism and its parts in faults.
struct Identity {
    name: String,
    /// The path of the file, as the scenario writes it, or of the built-in's file.
    path: String,
    /// The place of each callback's program, `file:line`.
    places: [Option<String>; Callback::ALL.len()],
    group: Cell<usize>,
}

/// `struct unbloat_runtime`.
#[repr(C)]
struct Runtime {
    instance: *mut Instance,
    storage_free: unsafe extern "C" fn(*mut TcpSock),
    map_fill: unsafe extern "C" fn(*const Map, *const u8, *const u8) -> c_long,
}

/// `struct unbloat_map`.
#[repr(C)]
struct Map {
    identity: usize,
    key_size: usize,
    value_size: usize,
    max_entries: u32,
    is_array: bool,
}

/// The function of a mechanism that has only one: a window controller, a classifier.
pub(crate) struct Function {
    /// The function's symbol.
    pub(crate) symbol: &'static str,
    /// The error for a file without the function.
    pub(crate) missing: &'static str,
    /// The callback that calls the function.
    pub(crate) callback: Callback,
}

/// One loaded instance of a mechanism, with its own globals, clock and generator.
pub(crate) struct Opened {
    instance: *mut Instance,
    /// The address at which the shared object begins.
    pub(crate) base: usize,
    pub(crate) storage_free: unsafe extern "C" fn(*mut TcpSock),
    map_fill: unsafe extern "C" fn(*const Map, *const u8, *const u8) -> c_long,
    identity: Box<Identity>,
    // These members are below those that point into them, so they are dropped last. The descriptor stays open because
    // the loader distinguishes libraries by path.
    watched: Option<watchdog::Watched>,
    _library: libloading::os::unix::Library,
    _image: File,
}

// SAFETY: the pointers lead into memory that belongs to this instance alone; moving it to another thread moves all of
// it.
unsafe impl Send for Opened {}

impl Opened {
    /// Opens a shared object that `object` describes, with `settings`, compiled from the file `path`. The error
    /// continues a sentence that begins with that path.
    pub(crate) fn open(
        path: &str,
        image: &[u8],
        object: &Object,
        settings: &[Setting],
        seed: u64,
    ) -> Result<Opened, String> {
        let file = memory_file(&with_settings(image, settings))
            .map_err(|e| format!("cannot be opened: no room for its image: {e}"))?;
        let library = open_library(path, &format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        // SAFETY: the symbol has this type in include/unbloat/runtime.h.
        let runtime: &'static Runtime = unsafe {
            let symbol = library.get::<*const Runtime>(b"unbloat_runtime\0").map_err(|e| e.to_string())?;
            &*symbol.into_raw().cast()
        };
        let base = (runtime as *const Runtime as usize) - object.address_of("unbloat_runtime") as usize;
        store_settings(base, settings);
        let places = [const { None }; Callback::ALL.len()];
        let identity = Box::new(Identity { name: String::new(), path: path.to_string(), places, group: Cell::new(0) });
        // SAFETY: the runtime's pointer leads to its static instance, and the identity lives as long.
        unsafe {
            (*runtime.instance).random = seed;
            (*runtime.instance).traces = std::env::var_os("UNBLOAT_PRINTK").is_some() as u64;
            (*runtime.instance).division_fault = division_fault;
            (*runtime.instance).shift_fault = shift_fault;
            (*runtime.instance).identity = &*identity;
        }
        let Runtime { instance, storage_free, map_fill } = *runtime;
        Ok(Opened { instance, base, storage_free, map_fill, identity, watched: None, _library: library, _image: file })
    }

    /// Opens a file whose mechanism is one function, and which the scenario calls `name`. Also returns the function's
    /// address.
    pub(crate) fn open_function(
        path: &str,
        name: String,
        image: &[u8],
        object: &Object,
        settings: &[Setting],
        seed: u64,
        function: &Function,
    ) -> Result<(Opened, usize), String> {
        if object.symbol(function.symbol).is_none() {
            return Err(function.missing.into());
        }
        let opened = Opened::open(path, image, object, settings, seed)?;
        let address = opened.address(object, function.symbol);
        let place = |callback| (callback == function.callback).then_some(address);
        Ok((opened.called(object, name, place), address))
    }

    /// Sets the name and the callbacks that faults and the watchdog use.
    pub(crate) fn called(
        mut self,
        object: &Object,
        name: String,
        address: impl Fn(Callback) -> Option<usize>,
    ) -> Opened {
        self.identity.name = name;
        self.identity.places = Callback::ALL.map(|callback| object.place_of((address(callback)? - self.base) as u64));
        let code = object.code();
        // SAFETY: the instance stays where it is as long as the library, which is dropped after the watch.
        let (now, callback) = unsafe { (&raw const (*self.instance).now, &raw const (*self.instance).callback) };
        self.watched = Some(watchdog::Watched::new(
            Range { start: self.base + code.start as usize, end: self.base + code.end as usize },
            now,
            callback,
            Callback::ALL.map(|callback| self.identity.said_of(callback)),
        ));
        self
    }

    /// Puts an entry in one of the mechanism's maps, before any callback runs. The error continues a sentence that
    /// begins with the file's path.
    pub(crate) fn fill(&self, object: &Object, entry: &MapEntry) -> Result<(), String> {
        let map = Map {
            identity: self.address(object, &entry.map),
            key_size: entry.key.len(),
            value_size: entry.value.len(),
            max_entries: entry.max_entries,
            is_array: entry.is_array,
        };
        // SAFETY: the runtime has this function, and copies as many bytes as the sizes say.
        let failed = unsafe { (self.map_fill)(&map, entry.key.as_ptr(), entry.value.as_ptr()) };
        if failed == 0 { Ok(()) } else { Err(format!("cannot be set up: no room for its map {}", entry.map)) }
    }

    /// The address of a symbol in this process.
    pub(crate) fn address(&self, object: &Object, symbol: &str) -> usize {
        self.base + object.address_of(symbol) as usize
    }

    /// The number of arguments that the program at this address takes.
    pub(crate) fn arguments(&self, object: &Object, program: usize) -> u8 {
        object.arguments(program - self.base)
    }

    pub(crate) fn name(&self) -> &str {
        &self.identity.name
    }

    /// Sets the flow group of the scenario that it serves, which faults name.
    pub(crate) fn set_group(&mut self, group: usize) {
        self.identity.group.set(group);
        if let Some(watched) = &self.watched {
            watched.set_group(group);
        }
    }

    /// Sets the clock that the next callbacks read.
    #[inline]
    pub(crate) fn set_now(&self, now: Nanos) {
        // SAFETY: the instance lives as long as the library, and only this thread's callbacks read it.
        unsafe { (*self.instance).now = now.0 }
    }

    /// Sets the helpers' answers in the next callbacks, if it was built for a replay.
    pub(crate) fn set_helper_results(&self, results: &HelperResults) {
        // SAFETY: as in `set_now`.
        unsafe {
            (*self.instance).now = results.ns;
            (*self.instance).jiffies = results.jiffies;
            (*self.instance).random = results.random;
        }
    }

    /// Records the callback that is called now, for faults and for the watchdog.
    #[inline]
    pub(crate) fn enter(&self, callback: Callback) {
        // SAFETY: as in `set_now`.
        unsafe { (*self.instance).callback = callback as u64 }
    }

    /// Ends the run with the fault of a callback, which did something that no kernel allows.
    #[cold]
    pub(crate) fn refuse(&self, callback: Callback, did: fmt::Arguments) -> ! {
        self.identity.refuse(callback, did)
    }

    /// Ends the run with the fault of the callback that runs now.
    #[cold]
    pub(crate) fn fault(&self, did: fmt::Arguments) -> ! {
        self.identity.fault(&self.identity.path, did.to_string())
    }
}

impl Identity {
    /// The subject of a sentence about a callback.
    fn said_of(&self, callback: Callback) -> String {
        let place = self.places[callback as usize].as_ref().unwrap_or(&self.path);
        format!("{place}: {callback} of \"{}\"", self.name)
    }

    #[cold]
    fn refuse(&self, callback: Callback, did: fmt::Arguments) -> ! {
        Fault { group: self.group.get(), sentence: format!("{} {did}", self.said_of(callback)) }.raise()
    }

    #[cold]
    fn fault(&self, place: &str, did: String) -> ! {
        Fault { group: self.group.get(), sentence: format!("{place}: {did}") }.raise()
    }
}

/// Raises the fault of a division without a result, at its `file` and `line`; the runtime calls it in place of the
/// division.
unsafe extern "C-unwind" fn division_fault(instance: *const Instance, file: *const c_char, line: u32, divisor: u64) {
    // SAFETY: the instance is that of an opened control, whose identity lives; the compiler made the file's name.
    let (identity, callback, file) = unsafe { (&*(*instance).identity, (*instance).callback, CStr::from_ptr(file)) };
    let callback = Callback::ALL[callback as usize];
    let what = match divisor {
        0 => {
            "divides by zero; a kernel continues with 0, or with the dividend as the remainder, but the simulator \
              stops"
        }
        _ => "divides the least number of its type by -1, which overflows; the simulator stops",
    };
    identity.fault(&format!("{}:{line}", file.to_string_lossy()), format!("{callback} of \"{}\" {what}", identity.name))
}

/// Raises the fault of a shift that C leaves undefined, at its `file` and `line`; the runtime calls it in place of the
/// shift.
unsafe extern "C-unwind" fn shift_fault(instance: *const Instance, file: *const c_char, line: u32, bits: i64) {
    // SAFETY: as in `division_fault`.
    let (identity, callback, file) = unsafe { (&*(*instance).identity, (*instance).callback, CStr::from_ptr(file)) };
    let callback = Callback::ALL[callback as usize];
    let what = format!(
        "shifts a number by {bits} bits, beyond its width; C leaves the result undefined, and a kernel computes \
         another one"
    );
    identity.fault(&format!("{}:{line}", file.to_string_lossy()), format!("{callback} of \"{}\" {what}", identity.name))
}

/// Opens a shared object. A constructor that does not end, or crashes, counts as a fault of the file at `path`.
fn open_library(path: &str, object: &str) -> Result<libloading::os::unix::Library, String> {
    let _loading = watchdog::Loading::new(path);
    // SAFETY: what initialisers and callbacks do is the user's own program.
    unsafe { libloading::os::unix::Library::open(Some(object), libloading::os::unix::RTLD_NOW) }
        .map_err(|e| format!("cannot be opened: {e}"))
}

/// The image with new values for the globals that have bytes in it.
fn with_settings(image: &[u8], settings: &[Setting]) -> Vec<u8> {
    let mut image = image.to_vec();
    for setting in settings {
        if let Some(range) = setting.symbol.file_range.clone() {
            image[range].copy_from_slice(&setting.bytes);
        }
    }
    image
}

/// Sets the globals that the file leaves out because they are zero.
fn store_settings(base: usize, settings: &[Setting]) {
    for setting in settings.iter().filter(|setting| setting.symbol.file_range.is_none()) {
        let address = (base + setting.symbol.address as usize) as *mut u8;
        // SAFETY: the symbol has as many bytes, zeroed and writable by the loader, and no program runs yet.
        unsafe { address.copy_from_nonoverlapping(setting.bytes.as_ptr(), setting.bytes.len()) }
    }
}

/// Makes a file in memory, so that each instance is opened under a path of its own.
fn memory_file(image: &[u8]) -> std::io::Result<File> {
    let mut file = memfd::MemfdOptions::default()
        .close_on_exec(true)
        .create("unbloat")
        .map_err(std::io::Error::other)?
        .into_file();
    file.write_all(image)?;
    Ok(file)
}
