//! Reader of a compiled file's debugging information (DWARF), which any compiler writes for both targets.

use gimli::constants as dw;
use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;
type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Prefix of the contract's own variables.
const OURS: &str = "unbloat_";
/// The most levels of types within types.
pub(crate) const DEEPEST: usize = 32;

/// The debugging information of an object; empty if there is none.
pub(crate) struct DebugInfo<'a> {
    dwarf: Dwarf<Slice<'a>>,
    units: Vec<Unit<Slice<'a>>>,
}

/// The types of one compilation.
#[derive(Clone, Copy)]
pub(crate) struct Types<'t, 'a> {
    dwarf: &'t Dwarf<Slice<'a>>,
    unit: &'t Unit<Slice<'a>>,
}

/// The contents of a plain global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// `true` or `false`.
    Flag,
    /// Numbers from zero.
    Unsigned,
    /// Numbers of either sign.
    Signed,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) line: u64,
}

/// The type that a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The type as C writes it, such as `struct mine`.
    pub(crate) kind: String,
    /// Size of the type, bytes.
    pub(crate) size: u64,
    /// The place at which the type is defined.
    pub(crate) place: Option<Place>,
}

impl<'a> DebugInfo<'a> {
    /// Reads the debugging information of an ELF file.
    pub(crate) fn read(image: &'a [u8]) -> DebugInfo<'a> {
        let elf = ElfFile64::<object::Endianness>::parse(image).ok();
        let section = |id: gimli::SectionId| -> Result<Slice<'a>, gimli::Error> {
            let section = elf.as_ref().and_then(|elf| elf.section_by_name(id.name()));
            let data = section.and_then(|section| section.data().ok());
            Ok(Slice::new(data.unwrap_or_default(), LittleEndian))
        };
        let dwarf = Dwarf::load(section).unwrap_or_default();
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        DebugInfo { dwarf, units }
    }

    fn compilations(&self) -> impl Iterator<Item = Types<'_, 'a>> {
        self.units.iter().map(|unit| Types { dwarf: &self.dwarf, unit })
    }

    /// The defined global variables, with the types of their compilation, in the order of the source.
    pub(crate) fn globals(&self) -> impl Iterator<Item = (Types<'_, 'a>, String, Entry<'a>)> {
        self.compilations().flat_map(|types| {
            let mut variables = types.children(types.unit.header.root_offset());
            variables.retain(|entry| {
                entry.tag() == dw::DW_TAG_variable && entry.attr_value(dw::DW_AT_declaration).is_none()
            });
            variables.sort_by_key(|entry| (number(entry, dw::DW_AT_decl_file), number(entry, dw::DW_AT_decl_line)));
            variables.into_iter().filter_map(move |entry| Some((types, types.name(&entry)?, entry)))
        })
    }

    /// The `const volatile` numbers of the user's file: name and contents.
    pub(crate) fn plain_globals(&self) -> Vec<(String, Holds)> {
        let plain = |(types, name, entry): (Types<'_, 'a>, String, Entry<'a>)| {
            let (kind, qualifiers) = types.qualified_type_of(&entry)?;
            let is_plain = qualifiers.is_const && qualifiers.is_volatile && !name.starts_with(OURS);
            Some((name, types.holds(&kind).filter(|_| is_plain)?))
        };
        self.globals().filter_map(plain).collect()
    }

    /// The global variables that are a structure of this name, in the order of the source.
    pub(crate) fn variables_of(&self, structure: &str) -> Vec<String> {
        let is_one = |types: &Types<'_, 'a>, entry: &Entry<'a>| {
            types.type_of(entry).and_then(|kind| types.name(&kind)).is_some_and(|name| name == structure)
        };
        self.globals().filter(|(types, _, entry)| is_one(types, entry)).map(|(_, name, _)| name).collect()
    }

    /// The target of the pointer of this name that was declared last before a line of a file, which `is_file`
    /// recognises.
    pub(crate) fn target_of(&self, variable: &str, is_file: impl Fn(&Path) -> bool, line: u64) -> Option<Target> {
        let mut found: Option<(u64, Target)> = None;
        self.each_named(variable, |types, entry| {
            if !matches!(entry.tag(), dw::DW_TAG_variable | dw::DW_TAG_formal_parameter) {
                return;
            }
            let Some(place) = types.place(entry).filter(|place| place.line <= line && is_file(&place.file)) else {
                return;
            };
            if found.as_ref().is_none_or(|(before, _)| *before <= place.line)
                && let Some(pointer) = types.type_of(entry).filter(|kind| kind.tag() == dw::DW_TAG_pointer_type)
                && let Some(target) = reference(&pointer).and_then(|target| types.target(target))
            {
                found = Some((place.line, target));
            }
        });
        found.map(|(_, target)| target)
    }

    /// The type of this name or tag.
    pub(crate) fn type_named(&self, name: &str) -> Option<Target> {
        let mut found = None;
        self.each_named(name, |types, entry| {
            found = found.take().or_else(|| types.target(entry.offset()));
        });
        found
    }

    /// Visits every entry with this name.
    fn each_named(&self, name: &str, mut visit: impl FnMut(&Types<'_, 'a>, &Entry<'a>)) {
        for types in self.compilations() {
            let mut entries = types.unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if types.name(entry).is_some_and(|named| named == name) {
                    visit(&types, entry);
                }
            }
        }
    }
}

/// The qualifiers of a type.
#[derive(Clone, Copy, Default)]
struct Qualifiers {
    is_const: bool,
    is_volatile: bool,
}

impl<'a> Types<'_, 'a> {
    pub(crate) fn children(&self, of: UnitOffset) -> Vec<Entry<'a>> {
        let mut found = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(of)) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            found.push(child.entry().clone());
        }
        found
    }

    pub(crate) fn name(&self, entry: &Entry<'a>) -> Option<String> {
        self.text(entry.attr_value(dw::DW_AT_name)?).map(|name| name.to_string_lossy().into_owned())
    }

    /// The type of a variable or a member, or the target of a pointer, behind its other names.
    pub(crate) fn type_of(&self, entry: &Entry<'a>) -> Option<Entry<'a>> {
        self.qualified_type_of(entry).map(|(kind, _)| kind)
    }

    fn qualified_type_of(&self, entry: &Entry<'a>) -> Option<(Entry<'a>, Qualifiers)> {
        let mut found = self.unit.entry(reference(entry)?).ok()?;
        let mut qualifiers = Qualifiers::default();
        for _ in 0..DEEPEST {
            match found.tag() {
                dw::DW_TAG_const_type => qualifiers.is_const = true,
                dw::DW_TAG_volatile_type => qualifiers.is_volatile = true,
                dw::DW_TAG_typedef => {}
                _ => return Some((found, qualifiers)),
            }
            found = self.unit.entry(reference(&found)?).ok()?;
        }
        None
    }

    fn holds(&self, kind: &Entry<'a>) -> Option<Holds> {
        match (kind.tag(), kind.attr_value(dw::DW_AT_encoding)) {
            (dw::DW_TAG_base_type, Some(AttributeValue::Encoding(encoding))) => match encoding {
                dw::DW_ATE_boolean => Some(Holds::Flag),
                dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char => Some(Holds::Unsigned),
                dw::DW_ATE_signed | dw::DW_ATE_signed_char => Some(Holds::Signed),
                _ => None,
            },
            (dw::DW_TAG_enumeration_type, _) => {
                self.type_of(kind).map_or(Some(Holds::Unsigned), |kind| self.holds(&kind))
            }
            _ => None,
        }
    }

    /// A type by the first of its names that is more than a qualifier.
    fn target(&self, offset: UnitOffset) -> Option<Target> {
        let mut named = self.unit.entry(offset).ok()?;
        while matches!(named.tag(), dw::DW_TAG_const_type | dw::DW_TAG_volatile_type) {
            named = self.unit.entry(reference(&named)?).ok()?;
        }
        let name = self.name(&named);
        let whole = if named.tag() == dw::DW_TAG_typedef { self.type_of(&named)? } else { named.clone() };
        let kind = match named.tag() {
            dw::DW_TAG_structure_type => format!("struct {}", name?),
            dw::DW_TAG_union_type => format!("union {}", name?),
            _ => name?,
        };
        Some(Target { kind, size: number(&whole, dw::DW_AT_byte_size)?, place: self.place(&whole) })
    }

    /// The place of an entry's declaration.
    fn place(&self, entry: &Entry<'a>) -> Option<Place> {
        let index = match entry.attr_value(dw::DW_AT_decl_file)? {
            AttributeValue::FileIndex(index) => index,
            value => value.udata_value()?,
        };
        let header = self.unit.line_program.as_ref()?.header();
        let file = header.file(index)?;
        let path = |value| Some(PathBuf::from(OsStr::from_bytes(self.text(value)?.slice())));
        let root = self.unit.comp_dir.map(|folder| PathBuf::from(OsStr::from_bytes(folder.slice())));
        let folder = file.directory(header).and_then(path).unwrap_or_default();
        let file = root.unwrap_or_default().join(folder).join(path(file.path_name())?);
        Some(Place { file, line: number(entry, dw::DW_AT_decl_line)? })
    }

    fn text(&self, value: AttributeValue<Slice<'a>>) -> Option<Slice<'a>> {
        self.dwarf.attr_string(self.unit, value).ok()
    }
}

/// The type that an entry has or points to.
fn reference(entry: &Entry) -> Option<UnitOffset> {
    match entry.attr_value(dw::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

pub(crate) fn number(entry: &Entry, name: dw::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}
