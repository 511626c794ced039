//! Recorded delivery opportunities: the file format, and the part that goes into a scenario's hash.

use crate::Trace;
use crate::regular_file;
use crate::units::Nanos;
use serde::Deserialize;
use serde::de::Deserializer;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::path::{Path, PathBuf};

/// The latest time in a trace, ms: as long as the longest run.
const LONGEST_MS: u64 = 1_000_000_000;
/// The largest trace file that is read, bytes.
const MOST_BYTES: u64 = 1 << 28;
/// The number of characters of a wrong line that an error shows: a file that is not a trace may contain a secret.
const SHOWN: usize = 6;

impl Trace {
    /// Reads a trace: one whole number of milliseconds per line, in ascending order. Equal lines are several
    /// opportunities in that millisecond. After the last one the trace repeats.
    ///
    /// # Errors
    ///
    /// A sentence with the file and the line.
    pub fn read(path: &Path) -> Result<Trace, String> {
        let unreadable = |why| format!("cannot read {}: {why}", path.display());
        let bytes = regular_file::read(path, MOST_BYTES).map_err(|why| unreadable(why.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".into()))?;
        Trace::parse(path, &text)
    }

    /// Parses the text of a trace; `path` names it in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Trace, String> {
        let mut opportunities = Vec::new();
        let mut last = Nanos::ZERO;
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: String| format!("{}:{}: {what}", path.display(), number + 1);
            let milliseconds = line.trim().parse().ok().filter(|ms| *ms <= LONGEST_MS);
            let Some(at) = milliseconds.map(Nanos::from_millis) else {
                let shown: String = line.chars().take(SHOWN).collect();
                let rest = if shown.len() < line.len() { " ..." } else { "" };
                return Err(wrong(format!(
                    "{shown:?}{rest} is not a whole number of milliseconds from 0 to {LONGEST_MS}"
                )));
            };
            if at < last {
                return Err(wrong(format!(
                    "{} comes after {}; times in a trace must not decrease",
                    line.trim(),
                    last.0 / 1_000_000
                )));
            }
            opportunities.push(at);
            last = at;
        }
        if last == Nanos::ZERO {
            return Err(format!("{}: must have at least one line above 0 (milliseconds)", path.display()));
        }
        Ok(Trace { path: path.to_path_buf(), opportunities, period: last })
    }

    /// Returns a text that `parse` reads as this trace.
    pub fn text(&self) -> String {
        self.opportunities.iter().map(|at| format!("{}\n", at.0 / 1_000_000)).collect()
    }

    /// Returns a hash of the times of all opportunities (FNV-1a, 128 bits).
    pub fn content_hash(&self) -> u128 {
        const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let bytes = self.opportunities.iter().flat_map(|at| at.0.to_le_bytes());
        bytes.fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
    }
}

/// Reads the name of a trace in another process; the trace is empty until `Portable` adds its text.
impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Trace, D::Error> {
        #[derive(Deserialize)]
        struct Named {
            file: PathBuf,
        }
        let Named { file } = Named::deserialize(from)?;
        Ok(Trace { path: file, opportunities: Vec::new(), period: Nanos::ZERO })
    }
}

/// Writes the file's name and a hash of its content, in place of a hundred thousand numbers. The folder is left out, so
/// that the same scenario has the same JSON on every machine.
impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let mut fields = serializer.serialize_struct("Trace", 2)?;
        fields.serialize_field("file", &file)?;
        fields.serialize_field("hash", &format!("{:032x}", self.content_hash()))?;
        fields.end()
    }
}
