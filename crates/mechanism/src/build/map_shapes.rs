//! The BPF maps that a compiled file declares, as its debugging information (DWARF) has them: any compiler writes that,
//! for both targets.

use gimli::constants as dw;
use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// A map as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapShape {
    /// Variable that declares the map.
    pub(crate) name: String,
    /// `enum bpf_map_type`.
    pub(crate) kind: u64,
    pub(crate) max_entries: u64,
    /// Nothing for a map without keys, such as a ring buffer.
    pub(crate) key: Option<Layout>,
    pub(crate) value: Option<Layout>,
}

/// How numbers lie in a key or a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes.
    pub(crate) size: usize,
    /// In the order of the members; nothing if it holds something else, such as a pointer, a union or a bit field.
    pub(crate) numbers: Option<Vec<Number>>,
}

/// A whole number within a key or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) offset: usize,
    /// Bytes.
    pub(crate) size: usize,
    pub(crate) is_signed: bool,
}

/// More numbers than this nobody writes down.
const MOST_NUMBERS: usize = 1 << 12;
/// Types within types are not deeper.
const DEEPEST: usize = 32;

/// The maps among the variables `names`, in the order of their names.
pub(crate) fn map_shapes(image: &[u8], names: &[&str]) -> Vec<MapShape> {
    let mut shapes = if names.is_empty() { vec![] } else { read(image, names).unwrap_or_default() };
    shapes.sort_by(|one, other| one.name.cmp(&other.name));
    shapes
}

fn read(image: &[u8], names: &[&str]) -> Option<Vec<MapShape>> {
    let elf = ElfFile64::<object::Endianness>::parse(image).ok()?;
    let section = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
        let data = elf.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok(Slice::new(data.unwrap_or_default(), LittleEndian))
    };
    let dwarf = Dwarf::load(section).ok()?;
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let types = Types { dwarf: &dwarf, unit: &unit };
        let variables = types.children(unit.header.root_offset());
        for variable in variables.iter().filter(|entry| entry.tag() == dw::DW_TAG_variable) {
            if let Some(name) = types.name(variable).filter(|name| names.contains(&name.as_str())) {
                found.extend(types.map(name, variable));
            }
        }
    }
    Some(found)
}

/// The types of one compilation.
struct Types<'t, 'a> {
    dwarf: &'t Dwarf<Slice<'a>>,
    unit: &'t Unit<Slice<'a>>,
}

impl<'a> Types<'_, 'a> {
    fn children(&self, of: UnitOffset) -> Vec<Entry<'a>> {
        let mut found = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(of)) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            found.push(child.entry().clone());
        }
        found
    }

    fn name(&self, entry: &Entry<'a>) -> Option<String> {
        let name = self.dwarf.attr_string(self.unit, entry.attr_value(dw::DW_AT_name)?).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// The type of a variable or a member, or what a pointer leads to, behind its other names.
    fn type_of(&self, entry: &Entry<'a>) -> Option<Entry<'a>> {
        let mut found = self.unit.entry(reference(entry)?).ok()?;
        for _ in 0..DEEPEST {
            if !matches!(found.tag(), dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_volatile_type) {
                return Some(found);
            }
            found = self.unit.entry(reference(&found)?).ok()?;
        }
        None
    }

    /// libbpf's macros declare pointers: `__uint(name, n)` to an array of n, `__type(name, type)` to the type.
    fn map(&self, name: String, variable: &Entry<'a>) -> Option<MapShape> {
        let members = self.children(self.type_of(variable)?.offset());
        let pointed = |wanted: &str| {
            let member = members.iter().find(|member| self.name(member).as_deref() == Some(wanted))?;
            self.type_of(&self.type_of(member)?)
        };
        let number = |wanted: &str| self.items(&pointed(wanted)?);
        let layout = |by_type: &str, by_size: &str| match pointed(by_type) {
            Some(entry) => self.layout(&entry, 0),
            None => Some(of_size(usize::try_from(number(by_size)?).ok()?)),
        };
        Some(MapShape {
            kind: number("type")?,
            max_entries: number("max_entries").unwrap_or_default(),
            key: layout("key", "key_size"),
            value: layout("value", "value_size"),
            name,
        })
    }

    /// How many an array has.
    fn items(&self, array: &Entry<'a>) -> Option<u64> {
        let ranges = self.children(array.offset());
        let items = |range: &Entry| match (number(range, dw::DW_AT_count), number(range, dw::DW_AT_upper_bound)) {
            (Some(count), _) => Some(count),
            (None, last) => last?.checked_add(1),
        };
        ranges.iter().map(items).try_fold(1_u64, |all, items| all.checked_mul(items?))
    }

    fn layout(&self, of: &Entry<'a>, depth: usize) -> Option<Layout> {
        let size = number(of, dw::DW_AT_byte_size).and_then(|size| usize::try_from(size).ok());
        if depth > DEEPEST {
            return None;
        }
        match of.tag() {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                let is_signed = matches!(of.attr_value(dw::DW_AT_encoding),
                    Some(AttributeValue::Encoding(encoding)) if [dw::DW_ATE_signed, dw::DW_ATE_signed_char].contains(&encoding));
                Some(Layout { size: size?, numbers: Some(vec![Number { offset: 0, size: size?, is_signed }]) })
            }
            dw::DW_TAG_array_type => {
                let (item, items) =
                    (self.layout(&self.type_of(of)?, depth + 1)?, usize::try_from(self.items(of)?).ok()?);
                let is_short = items.saturating_mul(item.numbers.as_ref().map_or(0, Vec::len)) <= MOST_NUMBERS;
                let numbers = item.numbers.as_ref().filter(|_| is_short).map(|numbers| {
                    (0..items).flat_map(|n| numbers.iter().map(move |number| number.behind(n * item.size))).collect()
                });
                Some(Layout { size: item.size.checked_mul(items)?, numbers })
            }
            dw::DW_TAG_structure_type => {
                let members = self.children(of.offset());
                let members = members.iter().filter(|entry| entry.tag() == dw::DW_TAG_member);
                let numbers: Option<Vec<_>> = members.map(|member| self.member(member, depth)).collect();
                Some(Layout { size: size?, numbers: numbers.map(|numbers| numbers.concat()) })
            }
            _ => Some(Layout { size: size?, numbers: None }),
        }
    }

    /// The numbers of a struct's member, unless it is a bit field or holds something else.
    fn member(&self, member: &Entry<'a>, depth: usize) -> Option<Vec<Number>> {
        if member.attr_value(dw::DW_AT_bit_size).is_some() {
            return None;
        }
        let offset = usize::try_from(number(member, dw::DW_AT_data_member_location)?).ok()?;
        let numbers = self.layout(&self.type_of(member)?, depth + 1)?.numbers?;
        Some(numbers.iter().map(|number| number.behind(offset)).collect())
    }
}

impl Number {
    fn behind(&self, bytes: usize) -> Number {
        Number { offset: bytes + self.offset, ..self.clone() }
    }
}

/// What only its size is known of: one number, if there is one of that size.
fn of_size(size: usize) -> Layout {
    let number = Number { offset: 0, size, is_signed: false };
    Layout { size, numbers: matches!(size, 1 | 2 | 4 | 8).then(|| vec![number]) }
}

fn reference(entry: &Entry) -> Option<UnitOffset> {
    match entry.attr_value(dw::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn number(entry: &Entry, name: dw::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}
