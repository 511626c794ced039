//! A congestion control in the form for the running kernel: an eBPF object with its name and its parameters set.

use crate::bind::control_name::ControlName;
use crate::bind::maps::MapEntry;
use crate::bind::ops::{CongestionOps, NAME_LENGTH};
use crate::bind::parameter::Setting;
use crate::build::object_file::Object;
use crate::sock::{TCP_CONG_NEEDS_ECN, TCP_CONG_NON_RESTRICTED};
use std::mem::offset_of;

/// The global by which the contract's `BPF_PROG` knows the arguments that the kernel passes to `cong_control`.
const HAS_ACK: &str = "unbloat_cong_control_has_ack";

/// The globals by which the contract's `bpf_get_prandom_u32` knows whether it draws from a run's seed, and the seed.
const IS_SEEDED: &str = "unbloat_is_seeded";
const SEED: &str = "unbloat_seed";

/// A compiled congestion control, ready for the kernel's loader.
#[derive(Clone, Debug)]
pub struct KernelObject {
    /// The ELF file for libbpf, with the name and the parameters set.
    pub bytes: Vec<u8>,
    /// The name under which it registers.
    pub name: ControlName,
    /// The variable that holds the operations, which the loader sees as a map of that name.
    pub variable: String,
    /// The built-in's name, or the path of the source file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// The contents of its maps when it is registered.
    pub maps: Vec<MapEntry>,
    /// True if the congestion control works on connections with ECN only (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// The position of the operations' flags in `bytes`.
    pub(crate) flags: usize,
    pub(crate) has_ack: Option<usize>,
    /// The positions of `unbloat_is_seeded` and `unbloat_seed`, in files that draw.
    pub(crate) seed: Option<(usize, usize)>,
}

impl KernelObject {
    /// Sets the number of arguments that the running kernel passes to `cong_control`. There are two before Linux 6.10
    /// (socket and rate sample), and four since (the ACK and its flags between them).
    pub fn set_cong_control_arguments(&mut self, count: usize) {
        if let Some(place) = self.has_ack {
            self.bytes[place] = u8::from(count >= 4);
        }
    }

    /// Lets every process choose the congestion control. The kernel takes no restricted one as the default of a network
    /// namespace other than its first.
    pub fn set_unrestricted(&mut self) {
        self.bytes[self.flags] |= TCP_CONG_NON_RESTRICTED as u8;
    }

    /// Makes `bpf_get_prandom_u32` return the simulator's numbers for this seed, in place of the kernel's random
    /// numbers.
    pub fn set_seed(&mut self, seed: u64) {
        if let Some((is_seeded, place)) = self.seed {
            self.bytes[is_seeded] = 1;
            self.bytes[place..place + size_of::<u64>()].copy_from_slice(&seed.to_le_bytes());
        }
    }
}

/// The positions of a run's seed, in files that draw.
pub(crate) fn places_of_seed(object: &Object) -> Option<(usize, usize)> {
    let place = |name| Some(object.symbol(name)?.file_range.clone()?.start);
    Some((place(IS_SEEDED)?, place(SEED)?))
}

/// The position of the flag about the kernel's `cong_control`, in files that have one.
pub(crate) fn place_of_has_ack(object: &Object) -> Option<usize> {
    Some(object.symbol(HAS_ACK)?.file_range.clone()?.start)
}

/// Puts the parameters and the name into an object; `operations` is the symbol of its operations.
pub(crate) fn patch(image: &mut [u8], object: &Object, operations: &str, name: &str, settings: &[Setting]) {
    for setting in settings {
        let range = setting.symbol.file_range.clone().expect("an eBPF object holds its read-only data");
        image[range].copy_from_slice(&setting.bytes);
    }
    let place = place_of(object, operations) + offset_of!(CongestionOps, name);
    image[place..place + NAME_LENGTH].fill(0);
    image[place..place + name.len()].copy_from_slice(name.as_bytes());
}

/// Reports whether these operations declare that they need ECN.
pub(crate) fn needs_ecn(image: &[u8], object: &Object, operations: &str) -> bool {
    image[place_of_flags(object, operations)] as u32 & TCP_CONG_NEEDS_ECN != 0
}

/// The position of the flags of these operations, all of which are in the first byte.
pub(crate) fn place_of_flags(object: &Object, operations: &str) -> usize {
    place_of(object, operations) + offset_of!(CongestionOps, flags)
}

fn place_of(object: &Object, operations: &str) -> usize {
    let range = object.symbol(operations).and_then(|symbol| symbol.file_range.clone());
    range.expect("chosen among the operations in the file").start
}
