//! Hash of the inputs of a build. The build script includes this file too.

use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// Every C file and header below `folder`, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "c" || e == "h") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Hashes every C file and header below `folder`, by name and content, and `how` they are compiled.
///
/// # Errors
/// The file that cannot be read.
pub fn of_folder(folder: &Path, how: &str) -> Result<String, (PathBuf, io::Error)> {
    let mut hash = Sha256::new();
    hash.update(how);
    for path in files_below(folder) {
        hash.update(path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes());
        let bytes = std::fs::read(&path).map_err(|error| (path, error))?;
        hash.update(bytes);
    }
    Ok(hex(hash))
}

/// The first half of a hash, in hexadecimal for a file's name.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
