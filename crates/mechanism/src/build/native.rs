//! Builds for the simulator, from a source file to a shared object in the cache, with any C compiler.

use crate::build::cache::{self, Compiled, cached};
use crate::build::debug_info::{DebugInfo, Target};
use crate::build::fingerprint;
use crate::build::foreign::{self, Companion};
use crate::build::object_file::Object;
use crate::build::source::{TranslationUnit, prerequisites};
use crate::build::toolchain::{self, CONTRACT, WARNINGS, run};
use crate::build::warnings;
use crate::error::{Error, unreadable, unwritable};
use crate::sock::CA_PRIV_BYTES;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of every compilation. Symbols are hidden, and there are no built-in functions, because a program may have any
/// name, even one of the C library's. A division by zero is a fault, and so is a shift by more bits than a number has.
/// Faults unwind from any place.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O3",
    "-fPIC",
    "-fno-builtin",
    "-fno-stack-protector",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
    "-fexceptions",
    "-fasynchronous-unwind-tables",
    // A callback stays on the stack while its last call runs: the watchdog looks for its name there.
    "-fno-optimize-sibling-calls",
    "-fsanitize=integer-divide-by-zero,shift-exponent",
    "-fno-sanitize-recover=integer-divide-by-zero,shift-exponent",
];
/// Flags of the user's file: no floating-point numbers, as in the kernel, and a count of the whole stack frame.
const PROGRAM_FLAGS: &[&str] = &[
    "-fstack-usage",
    // Debugging information describes the parameters, the private state and the maps.
    "-g",
    "-gz=none",
    // Pragmas and sections may be for a loader or for another compiler.
    "-Wno-unknown-pragmas",
    "-Wno-attributes",
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    "-mgeneral-regs-only",
    #[cfg(target_arch = "x86_64")]
    "-mno-red-zone",
];
/// Sources that are linked into every shared object.
const RUNTIME: &[&str] = &[
    "unbloat/runtime.c",
    "unbloat/maps.c",
    "unbloat/kernel_functions.c",
    "unbloat/kernel_cubic.c",
    "unbloat/kernel_dctcp.c",
    "unbloat/kernel_bbr.c",
];
/// Stack that the kernel gives a program (`MAX_BPF_STACK`), bytes.
const STACK: u64 = 512;
/// Stack for registers that only a native program has to save, bytes.
const SAVED_REGISTERS: u64 = 64;

/// A C compiler, and the folder for its objects.
#[derive(Debug)]
pub(crate) struct Compiler {
    command: PathBuf,
    /// The folder `algorithms`.
    folder: PathBuf,
    include: PathBuf,
    cache: Option<PathBuf>,
    /// Macros of every compilation.
    defines: Vec<String>,
    /// Hash over the compiler, the flags and everything in `algorithms`.
    fingerprint: String,
}

/// A user's file compiled, and the compiler's messages.
struct Translated {
    object: PathBuf,
    /// The text that was compiled in place of the file, if it differs.
    text: Option<PathBuf>,
    warnings: String,
}

impl Compiler {
    /// Finds a compiler and fingerprints the contract in `folder`.
    pub(crate) fn new(folder: &Path, defines: &[String]) -> Result<Compiler, Error> {
        let command = find_compiler()?;
        let include = toolchain::include_folder(folder)?;
        let flags = [FLAGS, PROGRAM_FLAGS, WARNINGS].concat();
        let how = format!("{flags:?} {defines:?} {CONTRACT:?} {RUNTIME:?} {}", toolchain::identity(&command));
        let fingerprint = fingerprint::of_folder(folder, &how).map_err(|(path, e)| unreadable(&path, &e))?;
        Ok(Compiler {
            command,
            folder: folder.to_path_buf(),
            include,
            cache: cache::folder()?,
            defines: defines.to_vec(),
            fingerprint,
        })
    }

    /// The files that the compiler reads for this source besides the contract and its own headers; none if it cannot
    /// list them.
    pub(crate) fn includes(&self, source: &TranslationUnit) -> Vec<PathBuf> {
        let mut command = self.translation(&toolchain::program_arguments(&self.folder, source));
        let rule = toolchain::printed(command.arg("-M").arg(toolchain::as_argument(&source.path)));
        let mut files = prerequisites(&rule);
        // Only regular files count: a device, for example, cannot be read to its end.
        let ours = toolchain::spellings(&self.folder);
        let is_ours = |file: &Path| ours.iter().any(|ours| file.starts_with(ours));
        files.retain(|file| !is_ours(file) && !is_of_compiler(file) && file.is_file());
        files
    }

    /// The shared object of `source`, from the cache if it is in there.
    pub(crate) fn build(&self, source: &TranslationUnit) -> Result<Compiled, Error> {
        let name = format!("{}.so", toolchain::key(&self.fingerprint, source));
        cached(self.cache.as_deref(), &name, |work| self.compile(source, work))
    }

    fn compile(&self, source: &TranslationUnit, work: &Path) -> Result<Compiled, Error> {
        let runtime = self.runtime()?;
        let translated = self.program(source, work)?;
        let program = &translated.object;
        let object = object_file(program)?;
        self.refuse_undefined(source, &translated, &object, &runtime, work)?;
        let (linked, contract) = (work.join("linked.so"), work.join("contract.o"));
        std::fs::write(&contract, &runtime).map_err(|e| unwritable(&contract, &e))?;
        let mut link = Command::new(&self.command);
        link.args(["-shared", "-Wl,-Bsymbolic", "-o"]).arg(&linked).args([program, &contract]);
        run(&mut link, work).map_err(|message| toolchain::does_not_compile(&source.path, &message))?;
        let image = std::fs::read(&linked).map_err(|e| unreadable(&linked, &e))?;
        refuse_large_state(source, &image)?;
        refuse_large_frames(source, &object, work)?;
        source.unchanged()?;
        Ok(Compiled { image, warnings: warnings::without_ours(&translated.warnings, &self.folder) })
    }

    /// Compiles the user's file unchanged. If that fails, or the file holds other programs too, compiles its text
    /// adapted to the simulator.
    fn program(&self, source: &TranslationUnit, work: &Path) -> Result<Translated, Error> {
        let companions = foreign::companions(&source.text());
        let first = match companions.is_empty() {
            true => self.as_it_stands(source, work),
            false => Err(String::new()),
        };
        let message = match first {
            Ok(translated) => return Ok(translated),
            Err(message) => message,
        };
        match self.adapted(source, &companions, work)? {
            Some(adapted) => adapted.map_err(|message| self.why_not(source, &message)),
            None => Err(self.why_not(source, &message)),
        }
    }

    /// Compiles the file's text without the bodies of other programs, and without its own declarations of the
    /// contract's types. Returns `None` if that changes nothing.
    fn adapted(
        &self,
        source: &TranslationUnit,
        companions: &[Companion],
        work: &Path,
    ) -> Result<Option<Result<Translated, String>>, Error> {
        let (bare, whole) = (work.join("bare.c"), work.join("whole.i"));
        let write = |file: &Path, text: &str| std::fs::write(file, text).map_err(|e| unwritable(file, &e));
        write(&bare, &foreign::without_bodies(&source.path, &source.text(), companions))?;
        let mut command = self.translation(&toolchain::program_arguments(&self.folder, source));
        command.arg("-iquote").arg(source.folder()).arg("-E").arg(&bare).arg("-o").arg(&whole);
        if let Err(message) = run(&mut command, work) {
            return Ok(Some(Err(message)));
        }
        let text = String::from_utf8_lossy(&std::fs::read(&whole).map_err(|e| unreadable(&whole, &e))?).into_owned();
        let changed = foreign::with_types_of_the_contract(&text, &toolchain::spellings(&self.include));
        if changed.is_none() && companions.is_empty() {
            return Ok(None);
        }
        write(&whole, &changed.unwrap_or(text))?;
        let object = work.join("program.o");
        let mut command = self.translation(&[]);
        command.args(PROGRAM_FLAGS).args(WARNINGS).arg("-c").arg(&whole).arg("-o").arg(&object);
        let said = run(&mut command, work);
        Ok(Some(said.map(|warnings| Translated { object, text: Some(whole), warnings })))
    }

    /// Compiles the user's file unchanged.
    fn as_it_stands(&self, source: &TranslationUnit, work: &Path) -> Result<Translated, String> {
        let object = work.join("program.o");
        let mut command = self.translation(&toolchain::program_arguments(&self.folder, source));
        command.args(PROGRAM_FLAGS).args(WARNINGS);
        command.arg("-c").arg(toolchain::as_argument(&source.path)).arg("-o").arg(&object);
        Ok(Translated { warnings: run(&mut command, work)?, text: None, object })
    }

    /// The compiler's error, in the kernel's terms for errors that only kernels have.
    fn why_not(&self, source: &TranslationUnit, message: &str) -> Error {
        let mut errors = message.lines().filter_map(|line| line.split_once(": error: "));
        let Some((place, complaint)) = errors.next() else {
            return toolchain::does_not_compile(&source.path, message);
        };
        if complaint.contains("SSE register") || complaint.contains("floating-point types") {
            return Error::input(format!("{place}: {FLOATS}"));
        }
        match self.constant_member(complaint) {
            Some(member) => Error::input(format!(
                "{place}: a congestion control may not write {member}; the kernel lets it write {WRITABLE}"
            )),
            None => toolchain::does_not_compile(&source.path, message),
        }
    }

    /// The member of a socket in a complaint about a constant.
    fn constant_member<'a>(&self, complaint: &'a str) -> Option<&'a str> {
        let is_about_constants = complaint.contains("read-only") || complaint.contains("const-qualified");
        let member = complaint.split('\'').nth(1).filter(|_| is_about_constants)?;
        let types = std::fs::read_to_string(self.include.join("vmlinux.h")).ok()?;
        let declarations = types.lines().filter_map(|line| line.split("/*").next());
        let mut constants = declarations.filter(|line| line.contains("const "));
        constants
            .any(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == member))
            .then_some(member)
    }

    /// Refuses a function that neither the file nor the contract defines, which otherwise only the loader would find.
    fn refuse_undefined(
        &self,
        source: &TranslationUnit,
        translated: &Translated,
        program: &Object,
        runtime: &[u8],
        work: &Path,
    ) -> Result<(), Error> {
        const BY_COMPILER_AND_LINKER: &[&str] = &["memcpy", "memset", "memmove", "memcmp", "_GLOBAL_OFFSET_TABLE_"];
        let runtime = parsed(runtime, Path::new("the contract's object"))?;
        let provided = |name: &str| BY_COMPILER_AND_LINKER.contains(&name) || runtime.symbol(name).is_some();
        let mut missing = program.undefined.clone();
        missing.retain(|name| !provided(name));
        missing.sort();
        let Some(first) = missing.first() else { return Ok(()) };
        let path = source.path.display();
        if let Some(function) = missing.iter().find(|name| is_of_floats(name)) {
            let place = self.place_of_call(source, translated, function, work).unwrap_or_else(|| path.to_string());
            return Err(Error::input(format!("{place}: {FLOATS}")));
        }
        let place = self.place_of_call(source, translated, first, work).map(|place| format!(" ({first} at {place})"));
        Err(Error::input(format!(
            "{path} calls {}, which the simulator lacks{}; valid: the kernel functions of Reno, CUBIC, DCTCP and BBR, \
             and the helpers in include/bpf/bpf_helpers.h",
            missing.join(", "),
            place.unwrap_or_default()
        )))
    }

    /// The line of the first call of a function, from the assembler's text of the file.
    fn place_of_call(
        &self,
        source: &TranslationUnit,
        translated: &Translated,
        function: &str,
        work: &Path,
    ) -> Option<String> {
        let text = work.join("program.s");
        let (arguments, file) = match &translated.text {
            Some(file) => (vec![], file.clone().into_os_string()),
            None => (toolchain::program_arguments(&self.folder, source), toolchain::as_argument(&source.path)),
        };
        let mut command = self.translation(&arguments);
        command.args(PROGRAM_FLAGS).args(["-g1", "-S"]).arg(file).arg("-o").arg(&text);
        run(&mut command, work).ok()?;
        let text = std::fs::read_to_string(text).ok()?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut line = None;
        for words in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
            match words[..] {
                [".loc", _, number, ..] if number != "0" => line = Some(number),
                [] | [".globl" | ".type" | ".section" | ".file", ..] => {}
                [_, ref called @ ..]
                    if called.iter().any(|word| word.split(|c| !is_name(c)).any(|w| w == function)) =>
                {
                    return Some(format!("{}:{}", source.path.display(), line?));
                }
                _ => {}
            }
        }
        None
    }

    /// The object of the contract, compiled once.
    fn runtime(&self) -> Result<Vec<u8>, Error> {
        let made = cached(self.cache.as_deref(), &format!("contract-{}.o", self.fingerprint), |work| {
            let wrong = |message: String| toolchain::does_not_compile(&self.include.join("unbloat"), &message);
            let mut parts = Vec::new();
            for (n, file) in RUNTIME.iter().enumerate() {
                let part = work.join(format!("{n}.o"));
                let mut command = self.translation(&[]);
                run(command.arg("-c").arg(self.include.join(file)).arg("-o").arg(&part), work).map_err(wrong)?;
                parts.push(part);
            }
            let whole = work.join("contract.o");
            let mut link = Command::new(&self.command);
            run(link.args(["-r", "-nostdlib", "-o"]).arg(&whole).args(&parts), work).map_err(wrong)?;
            let image = std::fs::read(&whole).map_err(|e| unreadable(&whole, &e))?;
            Ok(Compiled { image, warnings: String::new() })
        });
        Ok(made?.image)
    }

    fn translation(&self, arguments: &[OsString]) -> Command {
        let mut command = toolchain::translation(&self.command, FLAGS, &self.folder);
        command.args(toolchain::definitions(&self.defines)).args(arguments);
        command
    }
}

const FLOATS: &str = "floating-point numbers, which the kernel lacks: use integers, such as x * 85 / 100";
const WRITABLE: &str = "snd_cwnd, snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, ecn_flags, app_limited, sk_pacing_rate, \
                        sk_pacing_status, icsk_ack.pending and its private state";

/// Reports whether a header belongs to the compiler itself, with which it changes. A compiler reads the C library's
/// first one for every file.
fn is_of_compiler(header: &Path) -> bool {
    if header.ends_with("stdc-predef.h") {
        return true;
    }
    header.is_absolute()
        && header.components().any(|part| ["gcc", "clang"].iter().any(|name| part.as_os_str() == *name))
}

/// Reports whether a function is the compiler's own for floating-point numbers, such as `__muldf3` or `__floatunsidf`.
fn is_of_floats(name: &str) -> bool {
    let core = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let about = |kind: &str| core.ends_with(kind) || core.starts_with("__fix") && core.contains(kind);
    name.starts_with("__") && ["sf", "df", "tf", "xf", "hf"].into_iter().any(about)
}

fn refuse_large_state(source: &TranslationUnit, image: &[u8]) -> Result<(), Error> {
    let states = source.states(&DebugInfo::read(image));
    let Some(Target { kind, size, place }) = states.into_iter().find(|state| state.size > CA_PRIV_BYTES as u64) else {
        return Ok(());
    };
    let place = place.map_or_else(|| source.path.display().to_string(), |place| source.display(&place));
    Err(Error::input(format!(
        "{place}: {kind}, the state behind inet_csk_ca(), has {size} bytes; the kernel has room for {CA_PRIV_BYTES}"
    )))
}

/// Refuses functions with too large stack frames. The compiler lists the stack of each: `file:line:column:function`,
/// bytes, how it is known.
fn refuse_large_frames(source: &TranslationUnit, object: &Object, work: &Path) -> Result<(), Error> {
    let usage = std::fs::read_to_string(work.join("program.su")).unwrap_or_default();
    for line in usage.lines() {
        let mut fields = line.split('\t');
        let (Some(place), Some(bytes)) = (fields.next(), fields.next().and_then(|bytes| bytes.parse::<u64>().ok()))
        else {
            continue;
        };
        if bytes > STACK + SAVED_REGISTERS {
            let function = place.rsplit(':').next().unwrap_or_default();
            let place = object.place_of_program(function).unwrap_or_else(|| source.path.display().to_string());
            return Err(Error::input(format!(
                "{place}: {function} needs {bytes} bytes of stack; a program of the kernel has {STACK}"
            )));
        }
    }
    Ok(())
}

fn object_file(path: &Path) -> Result<Object, Error> {
    parsed(&std::fs::read(path).map_err(|e| unreadable(path, &e))?, path)
}

fn parsed(image: &[u8], path: &Path) -> Result<Object, Error> {
    Object::parse(image)
        .map_err(|e| Error::machine(format!("{}: the compiler's output cannot be read: {e}", path.display())))
}

/// `$CC`, or the first of cc, gcc, clang on the path.
fn find_compiler() -> Result<PathBuf, Error> {
    let wanted = std::env::var_os("CC").filter(|cc| !cc.is_empty());
    let names: Vec<&OsStr> = match &wanted {
        Some(cc) => vec![cc],
        None => ["cc", "gcc", "clang"].map(OsStr::new).to_vec(),
    };
    toolchain::find_program(&names).ok_or_else(|| {
        Error::input(match &wanted {
            Some(cc) => {
                format!("the C compiler {}, from the environment variable CC, does not exist", cc.display())
            }
            None => {
                "a congestion control must be compiled, and a C compiler is missing: install gcc or clang (Debian: \
                 apt-get install gcc libc6-dev)"
                    .to_string()
            }
        })
    })
}
