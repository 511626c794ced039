//! How a mechanism is compiled for the kernel. The build script reads this file too.

/// Flags of `clang`. `-g` leaves the types (BTF) by which the kernel's loader relocates; version 3 of the instruction
/// set has 32-bit arithmetic and is in every kernel from 5.1 on.
pub const FLAGS: &[&str] = &["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11"];
