//! Test helpers that compare a Rust mirror of a C structure with the C compiler's layout.

use crate::btf::{BtfMember, Type};
use libbpf_rs::btf::Btf;
use mechanism::{Library, MechanismKind};
use model::{MechanismRef, MechanismSource};

/// The path of a member in C, its offset and its size in bytes.
pub(super) type Place = (String, usize, usize);

/// Returns the size of a structure in a built-in's object, and all its members that are not
/// structures.
pub(super) fn places(kind: MechanismKind, mechanism: &str, structure: &str) -> (usize, Vec<Place>) {
    let library = Library::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms"));
    let source = MechanismSource::Builtin(mechanism.into());
    let mechanism = MechanismRef::new(source, Default::default());
    let (_, image) = library.object_file(kind, &mechanism).expect("it builds").expect("one of ours");
    let btf = Btf::from_raw("object", &image).expect("an object").expect("types");
    let Some(Type::Structure { bytes, members }) = Type::structure(structure, &btf) else {
        panic!("no structure {structure}")
    };
    let mut places = Vec::new();
    add(&members, "", 0, &mut places);
    (bytes, places)
}

fn add(members: &[BtfMember], within: &str, start: usize, places: &mut Vec<Place>) {
    for member in members {
        let (path, at) = (format!("{within}{}", member.name), start + member.bit / 8);
        match &member.ty {
            Type::Structure { members, .. } => add(members, &format!("{path}."), at, places),
            other => places.push((path, at, other.bytes())),
        }
    }
}

/// Returns the size of a mirror and its places, in C's order; `member = "path"` gives a different
/// name in C.
macro_rules! mirrored {
    ($type:ident: $($member:ident $(= $path:literal)?),+ $(,)?) => {{
        fn bytes<M>(_: fn(&$type) -> &M) -> usize {
            size_of::<M>()
        }
        let places = vec![$((
            String::from([$($path,)? stringify!($member)][0]),
            std::mem::offset_of!($type, $member),
            bytes(|mirror: &$type| &mirror.$member),
        )),+];
        (size_of::<$type>(), places)
    }};
}
pub(super) use mirrored;
