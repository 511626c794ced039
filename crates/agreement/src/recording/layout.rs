//! Translates the running kernel's structures into the native ones, byte by byte.
//!
//! The types of the eBPF object describe our declaration of a structure (`algorithms/include/vmlinux.h`), the kernel's
//! own types its layout in the kernel. The native layout follows from the declaration: members in their order, each at
//! the next aligned place, bit-fields as plain members.

use crate::replay::SockMember;
use kernel::btf::{BtfMember, Type};

/// A number that both layouts of a structure have.
#[derive(Clone, Debug)]
struct Field {
    /// The number's name in C, from the outermost structure.
    path: String,
    /// The offset in the native structure, bytes; `size` is the size there.
    offset: usize,
    size: usize,
    kernel_bit: usize,
    kernel_bits: usize,
    signed: bool,
}

/// The layout of a structure in the kernel and of its native twin.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    fields: Vec<Field>,
    /// Size of the native structure, bytes.
    pub(super) native_bytes: usize,
    /// Size of the kernel's structure, bytes.
    pub(super) kernel_bytes: usize,
}

/// The present place in both structures while [`walk`] goes through them.
struct Cursor {
    path: String,
    native: usize,
    kernel_bit: usize,
}

impl Layout {
    /// Makes the layout of a structure from our declaration and the kernel's.
    pub(super) fn new(ours: &Type, kernel: &Type) -> Layout {
        let mut fields = Vec::new();
        walk(ours, kernel, None, Cursor { path: String::new(), native: 0, kernel_bit: 0 }, &mut fields);
        Layout { fields, native_bytes: size_and_align(ours).0, kernel_bytes: kernel.bytes() }
    }

    /// Returns the members of the native structure that the kernel has too; the structure is `struct tcp_sock`.
    ///
    /// # Panics
    /// If `mechanism::sock` has no member where the declaration has one.
    pub(super) fn members(&self) -> Vec<SockMember> {
        let member = |Field { path, offset, size, .. }: &Field| {
            let member = SockMember::new(path.as_str(), *offset, *size);
            member.unwrap_or_else(|| panic!("mechanism::sock has no {path} of {size} bytes at {offset}"))
        };
        self.fields.iter().map(member).collect()
    }

    /// Translates the bytes of the kernel's structure into those of the native one.
    pub(super) fn translate(&self, kernel: &[u8], native: &mut [u8]) {
        for field in &self.fields {
            let number = number_at(kernel, field);
            let Field { offset, size, .. } = *field;
            native[offset..offset + size].copy_from_slice(&number.to_le_bytes()[..size]);
        }
    }
}

/// Collects the numbers that both types have; `bits` is the width of a bit-field in the kernel.
fn walk(ours: &Type, kernel: &Type, bits: Option<usize>, at: Cursor, fields: &mut Vec<Field>) {
    match (ours, kernel) {
        (Type::Structure { members, .. }, Type::Structure { members: kernel, .. }) => {
            walk_members(members, kernel, &at, fields);
        }
        (Type::Array { element, count }, Type::Array { element: kernel, count: kernel_count }) => {
            for i in 0..*count.min(kernel_count) {
                let place = Cursor {
                    path: format!("{}[{i}]", at.path),
                    native: at.native + i * size_and_align(element).0,
                    kernel_bit: at.kernel_bit + 8 * i * kernel.bytes(),
                };
                walk(element, kernel, None, place, fields);
            }
        }
        (Type::Number { bytes: size, .. }, Type::Number { bytes, signed }) => fields.push(Field {
            path: at.path,
            offset: at.native,
            size: *size,
            kernel_bit: at.kernel_bit,
            kernel_bits: bits.unwrap_or(8 * bytes),
            signed: *signed,
        }),
        _ => {}
    }
}

fn walk_members(ours: &[BtfMember], kernel: &[BtfMember], at: &Cursor, fields: &mut Vec<Field>) {
    let separator = if at.path.is_empty() { "" } else { "." };
    let mut end = at.native;
    for member in ours {
        let (size, align) = size_and_align(&member.ty);
        let native = end.next_multiple_of(align);
        end = native + size;
        if let Some((bit, found)) = find(kernel, &member.name) {
            let place = Cursor {
                path: format!("{}{separator}{}", at.path, member.name),
                native,
                kernel_bit: at.kernel_bit + bit,
            };
            walk(&member.ty, &found.ty, found.bits, place, fields);
        }
    }
}

/// Finds a member by name, also inside unnamed structures and unions, and returns it with its offset in bits.
fn find<'a>(members: &'a [BtfMember], name: &str) -> Option<(usize, &'a BtfMember)> {
    members.iter().find_map(|member| match &member.ty {
        Type::Structure { members, .. } if member.name.is_empty() => {
            find(members, name).map(|(bit, found)| (member.bit + bit, found))
        }
        _ => (member.name == name).then_some((member.bit, member)),
    })
}

/// Returns the native size and alignment of a type, bytes.
fn size_and_align(ty: &Type) -> (usize, usize) {
    match ty {
        Type::Number { bytes, .. } => (*bytes, *bytes),
        Type::Array { element, count } => {
            let (size, align) = size_and_align(element);
            (size * count, align)
        }
        Type::Structure { members, .. } => {
            let (mut end, mut widest) = (0_usize, 1);
            for (size, align) in members.iter().map(|member| size_and_align(&member.ty)) {
                end = end.next_multiple_of(align) + size;
                widest = widest.max(align);
            }
            (end.next_multiple_of(widest), widest)
        }
        Type::Other => (size_of::<usize>(), align_of::<usize>()),
    }
}

/// Reads a number of at most 64 bits, which as a bit-field may begin within a byte.
fn number_at(bytes: &[u8], field: &Field) -> u64 {
    let first = field.kernel_bit / 8;
    let mut around = [0; 16];
    let length = (bytes.len() - first).min(9);
    around[..length].copy_from_slice(&bytes[first..first + length]);
    let above = 128 - field.kernel_bits;
    let number = u128::from_le_bytes(around) >> (field.kernel_bit % 8) << above;
    if field.signed { ((number as i128) >> above) as u64 } else { (number >> above) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: usize, signed: bool) -> Type {
        Type::Number { bytes, signed }
    }

    fn member(name: &str, bit: usize, bits: Option<usize>, ty: Type) -> BtfMember {
        BtfMember { name: name.into(), bit, bits, ty }
    }

    /// Our declaration has a flag, an array, a wide counter, and a member that the kernel does not have. The kernel's
    /// structure has another order, a bit-field as the flag, a narrower counter, and the rest in an unnamed union.
    #[test]
    fn members_are_found_by_name_and_widened() {
        let array = |bytes| Type::Array { element: Box::new(number(bytes, false)), count: 2 };
        let ours = Type::Structure {
            bytes: 24,
            members: vec![
                member("flag", 0, Some(1), number(1, false)),
                member("pair", 16, None, array(2)),
                member("counter", 64, None, number(8, true)),
                member("gone", 128, None, number(4, false)),
            ],
        };
        let inner = Type::Structure {
            bytes: 8,
            members: vec![member("counter", 0, None, number(4, true)), member("pair", 32, None, array(2))],
        };
        let kernel = Type::Structure {
            bytes: 12,
            members: vec![
                member("lead", 0, None, Type::Other),
                member("flag", 13, Some(1), number(1, false)),
                member("", 32, None, inner),
            ],
        };
        let layout = Layout::new(&ours, &kernel);
        let places: Vec<_> =
            layout.fields.iter().map(|field| (field.path.as_str(), field.offset, field.size)).collect();
        let expected = [("flag", 0, 1), ("pair[0]", 2, 2), ("pair[1]", 4, 2), ("counter", 8, 8)];
        assert_eq!(places, expected);
        assert_eq!((layout.native_bytes, layout.kernel_bytes), (24, 12));

        let mut native = [0xee; 24];
        layout.translate(&[0, 0b0010_0000, 0, 0, 0xfe, 0xff, 0xff, 0xff, 1, 2, 3, 4], &mut native);
        assert_eq!(native[..6], [1, 0xee, 1, 2, 3, 4]);
        assert_eq!(native[8..16], (-2_i64).to_le_bytes());
        assert_eq!(native[16..], [0xee; 8]);
    }
}
