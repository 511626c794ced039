//! Names of congestion controls that belong to one run, and a check whether that run still lives.
//!
//! Processes in containers may have equal numbers, and one kernel registers for all of them. A name
//! is therefore drawn at random. Its process holds a BPF map of that name while it lives, since
//! BPF's list of maps knows no namespaces.

use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapHandle, MapType};
use libbpf_sys::bpf_map_create_opts;
use mechanism::ControlName;
use mechanism::Error;
use std::mem::size_of;

const PREFIX: &str = "ub.";
/// Number of hexadecimal digits for which a name of 15 characters has room.
const DIGITS: usize = 12;
/// Kind of the map that marks a living run; no mechanism's operations use it.
const MARK: MapType = MapType::Array;

/// A name that no other run of this kernel has while this lives.
#[derive(Debug)]
pub(crate) struct PrivateName {
    /// The name of the congestion control.
    pub(crate) name: ControlName,
    _mark: MapHandle,
}

impl PrivateName {
    /// Draws a name.
    ///
    /// # Errors
    /// Fails if the kernel makes no map.
    pub(crate) fn new() -> Result<PrivateName, Error> {
        let name = ControlName::new(&format!("{PREFIX}{:0DIGITS$x}", random() >> (64 - 4 * DIGITS)))
            .expect("15 letters, digits and a dot");
        let mark = mark(name.as_str()).map_err(|e| {
            Error::machine(format!(
                "the kernel cannot create the BPF map that marks a running \
                                                 experiment: {e}"
            ))
        })?;
        Ok(PrivateName { name, _mark: mark })
    }
}

/// Reports whether this is the name of a run's congestion control, and the run has ended.
pub(super) fn is_of_the_dead(name: &str) -> bool {
    let drawn = name.strip_prefix(PREFIX).is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    });
    drawn && !MapInfoIter::default().any(|map| map.ty == MARK && map.name.as_bytes() == name.as_bytes())
}

fn mark(name: &str) -> libbpf_rs::Result<MapHandle> {
    let options =
        bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as libbpf_sys::size_t, ..Default::default() };
    MapHandle::create(MARK, Some(name), 4, 4, 1, &options)
}

/// Returns a random number from the kernel. It need not be secret, so a guest that has just booted
/// does not wait for entropy.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: the kernel fills in as many bytes as there are.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_INSECURE) };
    assert_eq!(count, 8, "Linux 5.6 and newer give so few at once");
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_the_living_until_it_is_dropped() {
        let (one, other) = (PrivateName::new().expect("root"), PrivateName::new().expect("root"));
        assert_ne!(one.name, other.name);
        let name = one.name.to_string();
        assert!(!is_of_the_dead(&name));
        drop(one);
        // The kernel removes a map from its list some time later.
        let start = std::time::Instant::now();
        while !is_of_the_dead(&name) {
            assert!(start.elapsed() < std::time::Duration::from_secs(600));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(!is_of_the_dead(other.name.as_str()));
    }

    #[test]
    fn only_drawn_names_are_ours_to_remove() {
        assert!(is_of_the_dead("ub.0123456789ab"));
        for name in ["", "reno", "ub.", "ub.0123456789a", "ub.0123456789aB", "ub_0123456789ab", "ub4194305_1"] {
            assert!(!is_of_the_dead(name), "{name}");
        }
    }
}
