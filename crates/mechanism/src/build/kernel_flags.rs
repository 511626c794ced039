//! Compilation of a mechanism for the kernel. The build script includes this file too.

/// Flags of `clang`. `-g` writes the types (BTF) by which the kernel's loader relocates. Version 3 of the instruction
/// set has 32-bit arithmetic and is in every kernel from 5.1 on.
pub const FLAGS: &[&str] = &["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11"];
