//! A congestion control as the running kernel takes it: an eBPF object with its name and its parameters set.

use crate::bind::control_name::ControlName;
use crate::bind::maps::MapEntry;
use crate::bind::ops::{CongestionOps, NAME_LENGTH};
use crate::bind::parameter::Setting;
use crate::build::object_file::Object;
use crate::sock::{TCP_CONG_NEEDS_ECN, TCP_CONG_NON_RESTRICTED};
use std::mem::offset_of;

/// The global by which the contract's `BPF_PROG` knows what the kernel passes to `cong_control`.
const HAS_ACK: &str = "unbloat_cong_control_has_ack";

/// The globals by which the contract's `bpf_get_prandom_u32` knows whether it draws from a run's seed, and from which.
const IS_SEEDED: &str = "unbloat_is_seeded";
const SEED: &str = "unbloat_seed";

/// A compiled congestion control, ready for the kernel's loader.
#[derive(Clone, Debug)]
pub struct KernelObject {
    /// The ELF file for libbpf, with the name and the parameters in it.
    pub bytes: Vec<u8>,
    /// What it registers under.
    pub name: ControlName,
    /// The variable that holds its operations, which the loader knows as a map of that name.
    pub variable: String,
    /// The built-in's name, or the path of the file that it was written in.
    pub source: String,
    /// Each parameter with the value that it has, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    /// What its maps hold when it is registered.
    pub maps: Vec<MapEntry>,
    /// It works on connections with ECN only (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// Where the flags of the operations are.
    pub(crate) flags: usize,
    pub(crate) has_ack: Option<usize>,
    /// Where `unbloat_is_seeded` and `unbloat_seed` are, in files that draw.
    pub(crate) seed: Option<(usize, usize)>,
}

impl KernelObject {
    /// Says how many arguments the running kernel passes to `cong_control`: two before Linux 6.10 (socket and rate
    /// sample), four since (the ACK and its flags between them).
    pub fn set_cong_control_arguments(&mut self, count: usize) {
        if let Some(place) = self.has_ack {
            self.bytes[place] = u8::from(count >= 4);
        }
    }

    /// Lets everybody choose it: the kernel makes no other the default of a network namespace that is not its first.
    pub fn set_unrestricted(&mut self) {
        self.bytes[self.flags] |= TCP_CONG_NON_RESTRICTED as u8;
    }

    /// Has `bpf_get_prandom_u32` give what it gives in the simulator with this seed, in place of the kernel's random
    /// numbers.
    pub fn set_seed(&mut self, seed: u64) {
        if let Some((is_seeded, place)) = self.seed {
            self.bytes[is_seeded] = 1;
            self.bytes[place..place + size_of::<u64>()].copy_from_slice(&seed.to_le_bytes());
        }
    }
}

/// Where the contract keeps a run's seed, in files that draw.
pub(crate) fn places_of_seed(object: &Object) -> Option<(usize, usize)> {
    let place = |name| Some(object.symbol(name)?.file_range.clone()?.start);
    Some((place(IS_SEEDED)?, place(SEED)?))
}

/// Where the contract keeps what it has to know of the kernel's `cong_control`, in files that have one.
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

/// Do these operations declare that they need ECN?
pub(crate) fn needs_ecn(image: &[u8], object: &Object, operations: &str) -> bool {
    image[place_of_flags(object, operations)] as u32 & TCP_CONG_NEEDS_ECN != 0
}

/// Where these operations have their flags, of which the first byte holds all that there are.
pub(crate) fn place_of_flags(object: &Object, operations: &str) -> usize {
    place_of(object, operations) + offset_of!(CongestionOps, flags)
}

fn place_of(object: &Object, operations: &str) -> usize {
    let range = object.symbol(operations).and_then(|symbol| symbol.file_range.clone());
    range.expect("chosen among the operations in the file").start
}
