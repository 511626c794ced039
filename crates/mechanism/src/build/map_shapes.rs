//! The BPF maps that a compiled file declares, from its debugging information.

use crate::build::debug_info::{DEEPEST, DebugInfo, Entry, Types, number};
use gimli::AttributeValue;
use gimli::constants as dw;

/// A map as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapShape {
    /// Variable that declares the map.
    pub(crate) name: String,
    /// `enum bpf_map_type`.
    pub(crate) kind: u64,
    pub(crate) max_entries: u64,
    /// Layout of the keys; `None` for a map without keys, such as a ring buffer.
    pub(crate) key: Option<Layout>,
    pub(crate) value: Option<Layout>,
}

/// The layout of the numbers in a key or a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Size of the key or value, bytes.
    pub(crate) size: usize,
    /// The numbers in the order of the members; `None` if there is something else, such as a pointer, a union or a bit
    /// field.
    pub(crate) numbers: Option<Vec<Number>>,
}

/// A whole number within a key or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) offset: usize,
    /// Size of the number, bytes.
    pub(crate) size: usize,
    pub(crate) is_signed: bool,
}

/// The most numbers of a key or a value in a scenario.
const MOST_NUMBERS: usize = 1 << 12;

/// The maps among the variables `names`, in the order of their names.
pub(crate) fn map_shapes(debug_info: &DebugInfo, names: &[&str]) -> Vec<MapShape> {
    let named = debug_info.globals().filter(|(_, name, _)| names.contains(&name.as_str()));
    let mut shapes: Vec<_> = named.filter_map(|(types, name, variable)| types.map(name, &variable)).collect();
    shapes.sort_by(|one, other| one.name.cmp(&other.name));
    shapes
}

impl<'a> Types<'_, 'a> {
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

    /// The number of an array's items.
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

/// The layout of a key or value of known size: one number, if there is one of that size.
fn of_size(size: usize) -> Layout {
    let number = Number { offset: 0, size, is_signed: false };
    Layout { size, numbers: matches!(size, 1 | 2 | 4 | 8).then(|| vec![number]) }
}
