//! Finds, builds and binds the mechanisms of `algorithms/`.

mod compiler;
pub mod control;
mod object_file;
mod operations;
pub mod sock;
mod source;

use compiler::Compiler;
pub use control::Control;
use object_file::Object;
use scenario::model::{CcSource, CongestionControl};
use source::Source;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The folder `algorithms/`, and a cache of what was built from it. Threads may share one.
pub struct Library {
    /// The folder that holds `congestion/` and `include/`.
    pub folder: PathBuf,
    compiler: OnceLock<Compiler>,
    opened: Mutex<HashMap<String, Arc<Built>>>,
}

/// Why a congestion control cannot be used, in one sentence, with the compiler's own message where there is one.
#[derive(Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A compiled file with what its tables say.
struct Built {
    image: Vec<u8>,
    object: Object,
}

impl Library {
    /// The library over a folder that holds `congestion/` and `include/`.
    pub fn open(folder: impl Into<PathBuf>) -> Library {
        Library { folder: folder.into(), compiler: OnceLock::new(), opened: Mutex::default() }
    }

    /// Builds (or takes from the cache), opens and binds one instance; `seed` feeds its `bpf_get_prandom_u32`.
    pub fn load(&self, control: &CongestionControl, seed: u64) -> Result<Control, Error> {
        let (path, wanted) = self.find(&control.source)?;
        let built = self.built(&path)?;
        let about = |reason: String| Error(format!("{} {reason}", path.display()));
        let ops = operations::choose(&built.image, &built.object, wanted.as_deref()).map_err(about)?;
        Control::open(&built.image, &built.object, &ops, seed).map_err(about)
    }

    /// The source file, and the name after `#` that chooses among several controls in it.
    fn find(&self, source: &CcSource) -> Result<(PathBuf, Option<String>), Error> {
        match source {
            CcSource::Builtin(name) => Ok((self.folder.join("congestion").join(format!("{name}.bpf.c")), None)),
            CcSource::File(path) => Ok(split_choice(path)),
        }
    }

    fn built(&self, path: &Path) -> Result<Arc<Built>, Error> {
        let source = Source::read(path)?;
        let key = format!("{source:?}");
        if let Some(built) = self.opened.lock().expect("no build panics").get(&key) {
            return Ok(built.clone());
        }
        let image = self.compiler()?.build(&source)?;
        let object = Object::parse(&image).map_err(|e| Error(format!("{} cannot be read: {e}", path.display())))?;
        let built = Arc::new(Built { image, object });
        self.opened.lock().expect("no build panics").insert(key, built.clone());
        Ok(built)
    }

    fn compiler(&self) -> Result<&Compiler, Error> {
        match self.compiler.get() {
            Some(compiler) => Ok(compiler),
            None => {
                let compiler = Compiler::new(&self.folder)?;
                Ok(self.compiler.get_or_init(|| compiler))
            }
        }
    }
}

/// `file.bpf.c#name` names one of several controls in a file.
fn split_choice(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rsplit_once('#') {
        Some((file, name)) if !path.is_file() => (PathBuf::from(file), Some(name.to_string())),
        _ => (path.to_path_buf(), None),
    }
}
