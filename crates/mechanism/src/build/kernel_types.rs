//! All types of the running kernel as a C header, from its BTF, for files that need more than `vmlinux.h` of the
//! contract.

use crate::build::cache::{Compiled, cached};
use crate::build::fingerprint::hex;
use libbpf_sys::{
    __va_list_tag, btf__free, btf__new, btf__type_cnt, btf_dump__dump_type, btf_dump__free, btf_dump__new,
};
use sha2::{Digest, Sha256};
use std::ffi::{OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null;

/// Environment variable with the path of a file of kernel types, in place of the kernel's own.
pub const OVERRIDE: &str = "UNBLOAT_BTF";
const OF_THE_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// The path in the environment variable [`OVERRIDE`].
pub fn override_path() -> Option<OsString> {
    std::env::var_os(OVERRIDE).filter(|path| !path.is_empty())
}

/// A hash that distinguishes kernels by their types; `None` without types.
pub(crate) fn identity() -> Option<String> {
    let path = override_path().map_or(PathBuf::from(OF_THE_KERNEL), PathBuf::from);
    let bytes = std::fs::read(path).ok()?;
    let mut hash = Sha256::new();
    hash.update(&bytes);
    Some(hex(hash))
}

/// The header's text, from the cache if it is there; `None` if the kernel has no types, or they cannot be read.
pub(crate) fn header(cache: Option<&Path>) -> Option<Vec<u8>> {
    let path = override_path().map_or(PathBuf::from(OF_THE_KERNEL), PathBuf::from);
    let name = format!("types-{VERSION}-{}.h", identity()?);
    let made = cached(cache, &name, |_| {
        let types = std::fs::read(&path).ok().and_then(|bytes| dumped(&bytes));
        let why = || crate::error::Error::machine(format!("{} contains no kernel types", path.display()));
        Ok(Compiled { image: types.ok_or_else(why)?, warnings: String::new() })
    });
    Some(made.ok()?.image)
}

/// Version of this writer: a new number for another text of the same types.
const VERSION: u32 = 1;
const BEGIN: &str = "#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)\n";
const END: &str = "#pragma clang attribute pop\n";

unsafe extern "C" {
    /// The C library's function; `args` is a `va_list`, which functions get as such a pointer.
    fn vsnprintf(to: *mut c_char, size: usize, format: *const c_char, args: *mut __va_list_tag) -> c_int;
}

/// Every one of these types in C, in an order that C accepts.
fn dumped(types: &[u8]) -> Option<Vec<u8>> {
    let mut text = BEGIN.as_bytes().to_vec();
    // SAFETY: libbpf copies the bytes; what it gives is freed below, and the text outlives the dump that writes to it.
    unsafe {
        let btf = btf__new(types.as_ptr().cast(), types.len() as u32);
        if btf.is_null() {
            return None;
        }
        let dump = btf_dump__new(btf, Some(append), (&raw mut text).cast(), null());
        let mut is_whole = !dump.is_null();
        for id in 1..btf__type_cnt(btf) {
            is_whole = is_whole && btf_dump__dump_type(dump, id) == 0;
        }
        if !dump.is_null() {
            btf_dump__free(dump);
        }
        btf__free(btf);
        if !is_whole {
            return None;
        }
    }
    text.extend(END.as_bytes());
    // The contract has its own `struct tcp_congestion_ops`, with its own order of members.
    let mut text = String::from_utf8_lossy(&text).into_owned();
    for kept in ["struct tcp_congestion_ops {", "struct tcp_congestion_ops data;"] {
        text = text.replace(kept, &kept.replace("tcp_congestion_ops", "unbloat_operations_of_the_kernel"));
    }
    Some(text.into_bytes())
}

/// Appends a piece of text, of at most a line or so; libbpf calls it.
unsafe extern "C" fn append(text: *mut c_void, format: *const c_char, args: *mut __va_list_tag) {
    let mut piece = [0_u8; 1024];
    // SAFETY: the pointer is the vector of `dumped`; the format and its arguments are libbpf's.
    let (text, length) =
        unsafe { (&mut *text.cast::<Vec<u8>>(), vsnprintf(piece.as_mut_ptr().cast(), piece.len(), format, args)) };
    text.extend(piece.iter().take(usize::try_from(length).unwrap_or_default()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_types_gives_no_header() {
        assert_eq!(dumped(b"no types"), None);
    }
}
