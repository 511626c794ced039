//! The library of mechanisms, which finds, builds and opens them.

use crate::bind::classifier::{self, Classifier};
use crate::bind::control::Control;
use crate::bind::control_name::ControlName;
use crate::bind::device_object::DeviceObject;
use crate::bind::kernel_object::{self, KernelObject};
use crate::bind::maps::{self, MapEntry};
use crate::bind::opened::{Function, Opened};
use crate::bind::operations;
use crate::bind::ops::Callback;
use crate::bind::parameter::{self, Parameter, Setting, parameters};
use crate::bind::window::{self, WindowController};
use crate::build::cache::Compiled;
use crate::build::debug_info::DebugInfo;
use crate::build::foreign;
use crate::build::kernel;
use crate::build::map_shapes::{MapShape, map_shapes};
use crate::build::native::Compiler;
use crate::build::object_file::Object;
use crate::build::source::TranslationUnit;
use crate::build::warnings;
use crate::description::{Description, prose, summary};
use crate::error::{About, Error};
use model::did_you_mean;
use model::{Compile, MechanismRef, MechanismSource};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The folder `algorithms/`, and the mechanisms built from it. Threads may share a library.
pub struct Library {
    folder: PathBuf,
    /// Macros of every compilation.
    defines: Vec<String>,
    /// The options of the compiler for users' own files.
    options: Compile,
    /// Objects that were compiled elsewhere for the kernel, by their names in the scenario.
    objects: HashMap<String, Vec<u8>>,
    /// True to read each file once, whatever happens to it later.
    reads_once: bool,
    compiler: OnceLock<Compiler>,
    /// Objects compiled in this process, by file and target; a file that changes is compiled again.
    built: Mutex<HashMap<(PathBuf, Target), Arc<Built>>>,
}

/// Users' files that this process has read, by their main file. As long as none has changed they include the same
/// files.
static READ: Mutex<BTreeMap<PathBuf, Arc<TranslationUnit>>> = Mutex::new(BTreeMap::new());

/// The kinds of mechanisms, each of which has a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MechanismKind {
    /// A congestion control, which sets a sender's congestion window.
    CongestionControl,
    /// A window controller, which lowers a receiver's window.
    WindowController,
    /// A classifier, which chooses the band of a host's packets.
    Classifier,
}

impl MechanismKind {
    fn folder(self) -> &'static str {
        match self {
            MechanismKind::CongestionControl => "congestion",
            MechanismKind::WindowController => "window",
            MechanismKind::Classifier => "classify",
        }
    }

    fn what(self) -> &'static str {
        match self {
            MechanismKind::CongestionControl => "congestion control",
            MechanismKind::WindowController => "window controller",
            MechanismKind::Classifier => "classifier",
        }
    }

    /// The function that a program at a device calls, with the error for a file without it.
    fn entry(self) -> Result<&'static Function, Error> {
        match self {
            MechanismKind::CongestionControl => Err(Error::input("a congestion control belongs to no device")),
            MechanismKind::WindowController => Ok(&window::WINDOW),
            MechanismKind::Classifier => Ok(&classifier::CLASSIFY),
        }
    }
}

/// The target of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// The simulator.
    Native,
    /// The running kernel.
    Kernel,
}

/// A compiled file with the contents of its tables.
struct Built {
    source: Arc<TranslationUnit>,
    image: Vec<u8>,
    object: Object,
    parameters: Vec<Parameter>,
    maps: Vec<MapShape>,
    /// The file's `struct tcp_congestion_ops`, in the order of the source.
    declared: Vec<String>,
}

impl Library {
    /// Opens the library of a folder that holds `congestion/`, `window/`, `classify/` and `include/`.
    pub fn open(folder: impl Into<PathBuf>) -> Library {
        Library::with_defines(folder, Vec::new())
    }

    /// Opens the library with programs for the kernel that record their calls in a ring buffer.
    pub fn recording(folder: impl Into<PathBuf>) -> Library {
        Library::with_defines(folder, vec!["UNBLOAT_RECORD".into()])
    }

    /// Opens the library with native builds for a replay. [`Control::set_helper_results`] sets their clock, jiffies and
    /// random numbers.
    pub fn replaying(folder: impl Into<PathBuf>, jiffies_per_second: u64) -> Library {
        Library::with_defines(folder, vec!["UNBLOAT_REPLAY".into(), format!("UNBLOAT_HZ={jiffies_per_second}UL")])
    }

    fn with_defines(folder: impl Into<PathBuf>, defines: Vec<String>) -> Library {
        Library {
            folder: folder.into(),
            defines,
            options: Compile::default(),
            objects: HashMap::new(),
            reads_once: false,
            compiler: OnceLock::new(),
            built: Mutex::default(),
        }
    }

    /// Adds objects from [`Library::object_file`] of another machine, by name, which need no compiler here.
    pub fn with_objects(self, objects: HashMap<String, Vec<u8>>) -> Library {
        Library { objects, ..self }
    }

    /// Reads each file once, for many runs at a time: changes have no effect until another library is opened.
    pub fn reading_once(self) -> Library {
        Library { reads_once: true, ..self }
    }

    /// Sets the compiler's options for users' own files.
    pub fn with_options(self, options: &Compile) -> Library {
        Library { options: options.clone(), ..self }
    }

    /// The folder of the library.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of the built-in congestion controls, sorted.
    pub fn names(&self) -> Vec<String> {
        self.names_of(MechanismKind::CongestionControl)
    }

    /// The names of the built-ins of a kind, sorted.
    pub fn names_of(&self, kind: MechanismKind) -> Vec<String> {
        let folder = std::fs::read_dir(self.folder.join(kind.folder()));
        let files =
            folder.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = files.filter_map(|file| file.strip_suffix(".bpf.c").map(str::to_string)).collect();
        names.sort();
        names
    }

    /// The names of the built-in congestion controls that a kernel can take.
    ///
    /// # Errors
    /// If a file cannot be read, or does not compile.
    pub fn loadable_names(&self) -> Result<Vec<String>, Error> {
        let mut names = vec![];
        for name in self.names() {
            let source = MechanismSource::Builtin(name.clone());
            let (path, _) = self.find(&source)?;
            if self.built(&source, &path, Target::Native)?.object.simulated_only.is_none() {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Lists every built-in congestion control by name. Compiles those that have changed since the last time.
    pub fn list(&self) -> Result<Vec<Description>, Error> {
        self.list_of(MechanismKind::CongestionControl)
    }

    /// Lists every built-in of a kind by name. Compiles those that have changed since the last time.
    pub fn list_of(&self, kind: MechanismKind) -> Result<Vec<Description>, Error> {
        self.names_of(kind).into_iter().map(|name| self.describe_in(kind, &MechanismSource::Builtin(name))).collect()
    }

    /// The description of one congestion control.
    pub fn describe(&self, source: &MechanismSource) -> Result<Description, Error> {
        self.describe_in(MechanismKind::CongestionControl, source)
    }

    fn describe_in(&self, kind: MechanismKind, source: &MechanismSource) -> Result<Description, Error> {
        let (path, _) = self.find_in(kind, source)?;
        let built = self.built(source, &path, Target::Native)?;
        let prose = prose(&built.source.text());
        Ok(Description {
            name: called(source),
            summary: summary(&prose),
            prose,
            path,
            parameters: built.parameters.clone(),
        })
    }

    /// The source files of a congestion control: its own, and those that it includes. Headers of the contract and of
    /// the compiler are not among them.
    ///
    /// # Errors
    /// If the mechanism does not exist, or a file cannot be read.
    pub fn files(&self, source: &MechanismSource) -> Result<Vec<PathBuf>, Error> {
        let (path, _) = self.find(source)?;
        Ok(self.read(source, &path)?.files.iter().map(|(path, _)| path.clone()).collect())
    }

    /// Builds (or takes from the cache), opens and binds one instance of a congestion control; `seed` feeds its
    /// `bpf_get_prandom_u32`.
    ///
    /// # Errors
    /// The mechanism does not exist, its file does not compile, or it does not take the parameters. The file has no
    /// congestion control, or one that the kernel would refuse.
    pub fn load(&self, control: &MechanismRef, seed: u64) -> Result<Control, Error> {
        Ok(self.load_built(control, seed)?.0)
    }

    /// Builds (or takes from the cache) and opens one instance of a window controller; `seed` feeds its
    /// `bpf_get_prandom_u32`.
    ///
    /// # Errors
    /// The mechanism does not exist, its file does not compile, or it does not take the parameters. The file has no
    /// mechanism of this kind.
    pub fn load_window(&self, controller: &MechanismRef, seed: u64) -> Result<WindowController, Error> {
        self.open_in(MechanismKind::WindowController, controller, seed).map(WindowController::new)
    }

    /// Builds (or takes from the cache) and opens one instance of a classifier; `seed` feeds its `bpf_get_prandom_u32`.
    ///
    /// # Errors
    /// The errors of [`Library::load_window`].
    pub fn load_classifier(&self, classifier: &MechanismRef, seed: u64) -> Result<Classifier, Error> {
        self.open_in(MechanismKind::Classifier, classifier, seed).map(Classifier::new)
    }

    /// Opens a file whose mechanism is one function, and also returns its address.
    fn open_in(&self, kind: MechanismKind, mechanism: &MechanismRef, seed: u64) -> Result<(Opened, usize), Error> {
        let (path, _) = self.find_in(kind, &mechanism.source)?;
        let built = self.built(&mechanism.source, &path, Target::Native)?;
        let settings = settings(&built, mechanism)?;
        let path = path.display().to_string();
        let name = called(&mechanism.source);
        Opened::open_function(&path, name, &built.image, &built.object, &settings, seed, kind.entry()?)
            .map_err(|reason| Error::input(format!("{path} {reason}")))
    }

    /// Loads a congestion control, and also returns its callbacks by the names of their programs.
    ///
    /// # Errors
    /// The errors of [`Library::load`].
    pub fn load_with_programs(&self, control: &MechanismRef) -> Result<(Control, HashMap<String, Callback>), Error> {
        let (control, built) = self.load_built(control, 0)?;
        let programs = control.programs(&built.object);
        Ok((control, programs))
    }

    fn load_built(&self, control: &MechanismRef, seed: u64) -> Result<(Control, Arc<Built>), Error> {
        let (path, wanted) = self.find(&control.source)?;
        let built = self.built(&control.source, &path, Target::Native)?;
        let about = |reason: String| Error::input(format!("{} {reason}", path.display()));
        let operations =
            operations::choose(&built.image, &built.object, &built.declared, wanted.as_deref()).map_err(about)?;
        let settings = settings(&built, control)?;
        let entries = map_entries(&built, control)?;
        let path = path.display().to_string();
        let is_users = matches!(control.source, MechanismSource::File(_));
        let control =
            Control::open(&path, is_users, &built.image, &built.object, &operations, &settings, seed).map_err(about)?;
        control.fill_maps(&built.object, &entries).map_err(about)?;
        Ok((control, built))
    }

    /// Builds a mechanism for the kernel. Returns the object file with unset parameters, and its name for
    /// [`Library::with_objects`]; `None` for the kernel's own.
    ///
    /// # Errors
    /// The errors of [`Library::kernel_object`] and [`Library::device_object`].
    pub fn object_file(
        &self,
        kind: MechanismKind,
        mechanism: &MechanismRef,
    ) -> Result<Option<(String, Vec<u8>)>, Error> {
        if let MechanismSource::Kernel(_) | MechanismSource::None = mechanism.source {
            return Ok(None);
        }
        let (path, _) = self.find_in(kind, &mechanism.source)?;
        let built = self.built(&mechanism.source, &path, Target::Kernel)?;
        // The settings apply where the object is loaded, but this machine can already report mistakes in them.
        settings(&built, mechanism)?;
        map_entries(&built, mechanism)?;
        Ok(Some((object_name(&mechanism.source, &path), built.image.clone())))
    }

    /// Builds a congestion control for the running kernel, where it will register as `name`, or under the name in its
    /// file. A built-in whose source has not changed since this program was built needs no compiler.
    ///
    /// # Errors
    /// The errors of [`Library::load`]; also if a file has to be compiled and there is no clang, or the kernel would
    /// not take the name.
    pub fn kernel_object(&self, control: &MechanismRef, name: Option<&str>) -> Result<KernelObject, Error> {
        let (path, wanted) = self.find(&control.source)?;
        let built = self.built(&control.source, &path, Target::Kernel)?;
        let about = |reason: String| Error::input(format!("{} {reason}", path.display()));
        let operations =
            operations::choose(&built.image, &built.object, &built.declared, wanted.as_deref()).map_err(about)?;
        let own = built.object.symbol(&operations).map(|symbol| operations::name_of(&built.image, symbol));
        let name = match name {
            Some(name) => name.to_string(),
            None => own.expect("chosen among its symbols").map_err(about)?,
        };
        let name = ControlName::new(&name).map_err(Error::input)?;
        let settings = settings(&built, control)?;
        let maps = map_entries(&built, control)?;
        let mut bytes = built.image.clone();
        kernel_object::patch(&mut bytes, &built.object, &operations, name.as_str(), &settings);
        Ok(KernelObject {
            bytes,
            name,
            variable: operations.clone(),
            source: called(&control.source),
            parameters: parameter::values(&built.parameters, &settings),
            maps,
            needs_ecn: kernel_object::needs_ecn(&built.image, &built.object, &operations),
            flags: kernel_object::place_of_flags(&built.object, &operations),
            has_ack: kernel_object::place_of_has_ack(&built.object),
            seed: kernel_object::places_of_seed(&built.object),
        })
    }

    /// Builds a window controller or a classifier for the running kernel.
    ///
    /// # Errors
    /// The errors of [`Library::load_window`]; also if a file has to be compiled and there is no clang. Congestion
    /// controls are an error, too, because the kernel registers them and no device calls them.
    pub fn device_object(&self, kind: MechanismKind, mechanism: &MechanismRef) -> Result<DeviceObject, Error> {
        let entry = kind.entry()?;
        let (path, _) = self.find_in(kind, &mechanism.source)?;
        let built = self.built(&mechanism.source, &path, Target::Kernel)?;
        let settings = settings(&built, mechanism)?;
        let parameters = parameter::values(&built.parameters, &settings);
        DeviceObject::new(&built.image, &built.object, entry, &settings, called(&mechanism.source), parameters)
            .map_err(|reason| Error::input(format!("{} {reason}", path.display())))
    }

    /// The source file, and the name after `#` that chooses among several congestion controls in it.
    fn find(&self, source: &MechanismSource) -> Result<(PathBuf, Option<String>), Error> {
        self.find_in(MechanismKind::CongestionControl, source)
    }

    fn find_in(&self, kind: MechanismKind, source: &MechanismSource) -> Result<(PathBuf, Option<String>), Error> {
        match source {
            MechanismSource::File(path) => {
                let (file, wanted) = split_choice(path);
                match file.is_file() {
                    true if file.extension().is_some_and(|ending| ending == "c") => Ok((file, wanted)),
                    true => Err(Error::input(format!("{} is not a .bpf.c file", file.display()))),
                    false => Err(no_file(&file)),
                }
            }
            MechanismSource::Builtin(name) => {
                let path = self.folder.join(kind.folder()).join(format!("{name}.bpf.c"));
                if path.is_file() { Ok((path, None)) } else { Err(self.no_builtin(kind, name)) }
            }
            MechanismSource::Kernel(name) => Err(self.only_in_the_kernel(name)),
            MechanismSource::None => Err(Error::input("datagrams need no congestion control")),
        }
    }

    fn no_builtin(&self, kind: MechanismKind, name: &str) -> Error {
        let names = self.names_of(kind);
        let what = kind.what();
        if names.is_empty() {
            return Error::input(format!("{} contains no {what}s", self.folder.display()));
        }
        let hint = did_you_mean(name, names.iter().map(String::as_str));
        Error::input(format!(
            "unknown {what} \"{name}\"{hint}; valid: {}, or the path of a .bpf.c file",
            names.join(", ")
        ))
    }

    fn only_in_the_kernel(&self, name: &str) -> Error {
        let ours = if self.names().iter().any(|own| own == name) {
            format!(", or write {name}, unbloat's own")
        } else {
            "".into()
        };
        Error::input(format!("kernel:{name} belongs to the running kernel: run it with --on kernel or --on vm{ours}"))
    }

    /// Reads a mechanism's file and the files that it includes. A built-in includes only files of the folder.
    fn read(&self, wanted: &MechanismSource, path: &Path) -> Result<Arc<TranslationUnit>, Error> {
        if let MechanismSource::Builtin(_) = wanted {
            return TranslationUnit::read(path, &Compile::default(), |_| vec![]).map(Arc::new);
        }
        let known = READ.lock().expect("nothing panics with the lock").get(path).cloned();
        if let Some(known) = known.filter(|known| known.options == self.options && known.is_current()) {
            return Ok(known);
        }
        // Without a C compiler the file is compiled only for the kernel, with the headers beside it.
        let includes =
            |source: &TranslationUnit| self.compiler().map(|compiler| compiler.includes(source)).unwrap_or_default();
        let source = Arc::new(TranslationUnit::read(path, &self.options, includes)?);
        READ.lock().expect("nothing panics with the lock").insert(path.to_path_buf(), source.clone());
        Ok(source)
    }

    fn built(&self, wanted: &MechanismSource, path: &Path, target: Target) -> Result<Arc<Built>, Error> {
        let key = (path.to_path_buf(), target);
        let known = self.built.lock().expect("nothing panics with the lock").get(&key).cloned();
        if let Some(built) = known.as_ref().filter(|_| self.reads_once) {
            return Ok(built.clone());
        }
        let mut source = self.read(wanted, path)?;
        if let Some(built) = known.filter(|built| built.source == source) {
            return Ok(built);
        }
        let compiled = loop {
            let compiled = match target {
                Target::Native => self.compiler().and_then(|compiler| compiler.build(&source)),
                Target::Kernel => self.image_for_the_kernel(wanted, &source),
            };
            match compiled {
                // The file changed while the compiler read it.
                Err(_) if !source.is_current() => source = self.read(wanted, path)?,
                compiled => break compiled?,
            }
        };
        if let MechanismSource::File(_) = wanted {
            if !compiled.warnings.trim().is_empty() {
                warnings::add(path, &format!("the compiler warns:\n{}", compiled.warnings));
            }
            for companion in foreign::companions(&source.text()) {
                warnings::add(path, &companion.note(target == Target::Native));
            }
        }
        let image = compiled.image;
        let object = Object::parse(&image)
            .map_err(|e| Error::machine(format!("{}: the compiler's output cannot be read: {e}", path.display())))?;
        if let (Target::Kernel, Some(why)) = (target, &object.simulated_only) {
            return Err(Error::input(format!("{} runs in the simulator only: {why}", called(wanted))));
        }
        let debug_info = DebugInfo::read(&image);
        let parameters = parameters(&object, &image, &debug_info.plain_globals());
        let declared = debug_info.variables_of("tcp_congestion_ops");
        let names: Vec<_> = object.data_in(|section| section == ".maps").into_iter().map(|(name, _)| name).collect();
        let maps = map_shapes(&debug_info, &names);
        let built = Arc::new(Built { source, image, object, parameters, maps, declared });
        self.built.lock().expect("nothing panics with the lock").insert(key, built.clone());
        Ok(built)
    }

    fn image_for_the_kernel(&self, wanted: &MechanismSource, source: &TranslationUnit) -> Result<Compiled, Error> {
        if let Some(object) = self.objects.get(&object_name(wanted, &source.path)) {
            return Ok(Compiled { image: object.clone(), warnings: String::new() });
        }
        let builtin = match wanted {
            MechanismSource::Builtin(_) => source.path.strip_prefix(&self.folder).ok().and_then(|path| path.to_str()),
            _ => None,
        };
        let name = builtin.and_then(|path| path.strip_suffix(".bpf.c"));
        kernel::build(&self.folder, &self.defines, name, source)
    }

    fn compiler(&self) -> Result<&Compiler, Error> {
        match self.compiler.get() {
            Some(compiler) => Ok(compiler),
            None => {
                let compiler = Compiler::new(&self.folder, &self.defines)?;
                Ok(self.compiler.get_or_init(|| compiler))
            }
        }
    }
}

/// The entries of the mechanism's maps.
fn map_entries(built: &Built, control: &MechanismRef) -> Result<Vec<MapEntry>, Error> {
    maps::entries(&built.maps, &control.maps).map_err(|misfit| Error {
        about: Some(About::Map(misfit.place)),
        ..Error::input(format!("{} {}", called(&control.source), misfit.reason))
    })
}

/// The bytes to store for the scenario's settings.
fn settings<'a>(built: &'a Built, control: &MechanismRef) -> Result<Vec<Setting<'a>>, Error> {
    let set = |(name, value): (&String, _)| {
        parameter::setting(&built.parameters, &built.object, name, value).map_err(|reason| Error {
            about: Some(About::Parameter(name.clone())),
            ..Error::input(format!("{} {reason}", called(&control.source)))
        })
    };
    let settings = control.params.iter().map(set).collect::<Result<_, _>>()?;
    match &built.object.needs {
        Some(needs) if needs.names.iter().all(|name| !control.params.contains_key(name)) => {
            let about = needs.names.first().cloned().map(About::Parameter);
            Err(Error { about, ..Error::input(format!("{} {needs}", called(&control.source))) })
        }
        _ => Ok(settings),
    }
}

fn called(source: &MechanismSource) -> String {
    match source {
        MechanismSource::Builtin(name) => name.clone(),
        MechanismSource::File(path) => path.display().to_string(),
        MechanismSource::Kernel(name) => format!("kernel:{name}"),
        MechanismSource::None => "none".into(),
    }
}

/// The name of the object of a file at `path`, with its folder because mechanisms of two kinds may have one name.
fn object_name(source: &MechanismSource, path: &Path) -> String {
    match (source, path.parent().and_then(Path::file_name)) {
        (MechanismSource::Builtin(name), Some(folder)) => format!("{}/{name}", folder.to_string_lossy()),
        _ => called(source),
    }
}

fn no_file(path: &Path) -> Error {
    Error::input(format!("the file {} does not exist", path.display()))
}

/// Splits `file.bpf.c#name`, which names one of several congestion controls in a file.
fn split_choice(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rsplit_once('#') {
        Some((file, name)) if !path.is_file() => (PathBuf::from(file), Some(name.to_string())),
        _ => (path.to_path_buf(), None),
    }
}
