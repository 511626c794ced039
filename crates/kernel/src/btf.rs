//! C types, as the type information (BTF) of a kernel or an eBPF object describes them. Types
//! behind pointers are left out.

use libbpf_rs::HasSize;
use libbpf_rs::btf::types::{Array, Composite, Enum, Int, IntEncoding, MemberAttr};
use libbpf_rs::btf::{Btf, BtfType, TypeId};

/// A C type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// An integer.
    Number {
        /// Width in bytes.
        bytes: usize,
        /// Whether it is signed.
        signed: bool,
    },
    /// An array.
    Array {
        /// Type of each element.
        element: Box<Type>,
        /// Number of elements.
        count: usize,
    },
    /// A structure or union.
    Structure {
        /// Size in bytes.
        bytes: usize,
        /// Members in the order of the declaration.
        members: Vec<BtfMember>,
    },
    /// A type without numbers of its own, such as a pointer.
    Other,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BtfMember {
    /// Name; empty if the structure embeds another's members.
    pub name: String,
    /// Offset of the first bit.
    pub bit: usize,
    /// Width of a bit-field.
    pub bits: Option<usize>,
    /// Type of the value.
    pub ty: Type,
}

impl Type {
    /// Returns the structure of this name.
    pub fn structure(name: &str, btf: &Btf) -> Option<Type> {
        btf.type_by_name::<Composite>(name).map(|composite| read_composite(btf, composite))
    }

    /// Returns the size of a value in bytes; 0 for pointers.
    pub fn bytes(&self) -> usize {
        match self {
            Type::Number { bytes, .. } | Type::Structure { bytes, .. } => *bytes,
            Type::Array { element, count } => element.bytes() * count,
            Type::Other => 0,
        }
    }
}

fn read(btf: &Btf, id: TypeId) -> Type {
    let Some(ty) = btf.type_by_id::<BtfType>(id) else { return Type::Other };
    let ty = ty.skip_mods_and_typedefs();
    if let Ok(int) = Int::try_from(ty) {
        Type::Number { bytes: usize::from(int.bits) / 8, signed: matches!(int.encoding, IntEncoding::Signed) }
    } else if let Ok(number) = Enum::try_from(ty) {
        Type::Number { bytes: number.size(), signed: number.is_signed() }
    } else if let Ok(array) = Array::try_from(ty) {
        Type::Array { element: Box::new(read(btf, array.ty())), count: array.capacity() }
    } else if let Ok(composite) = Composite::try_from(ty) {
        read_composite(btf, composite)
    } else {
        Type::Other
    }
}

fn read_composite(btf: &Btf, composite: Composite) -> Type {
    let members = (0..composite.len()).filter_map(|place| composite.get(place)).map(|member| {
        let (bit, bits) = match member.attr {
            MemberAttr::Normal { offset } => (offset, None),
            MemberAttr::BitField { size, offset } => (offset, (size > 0).then_some(size.into())),
        };
        let name = member.name.unwrap_or_default().to_string_lossy().into_owned();
        BtfMember { name, bit: bit as usize, bits, ty: read(btf, member.ty) }
    });
    Type::Structure { bytes: composite.size(), members: members.collect() }
}
