//! Contents of BPF maps when a run begins.

use crate::build::map_shapes::{Layout, MapShape};
use model::MapContents;
use model::did_you_mean;
use std::collections::{BTreeMap, HashSet};

/// A key and its value, as bytes of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// The map's name.
    pub map: String,
    /// The bytes of the key, as many as the map's keys have.
    pub key: Vec<u8>,
    /// The bytes of the value, as many as the map's values have.
    pub value: Vec<u8>,
    pub(crate) max_entries: u32,
    pub(crate) is_array: bool,
}

/// The reason for which contents do not fit; it continues a sentence that begins with the mechanism's name.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The map or, behind a dot, its key.
    pub(crate) place: String,
    pub(crate) reason: String,
}

/// `BPF_MAP_TYPE_HASH`.
const HASH: u64 = 1;
/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u64 = 2;
/// `BPF_MAP_TYPE_LRU_HASH`.
const LRU_HASH: u64 = 9;

/// The names of other maps (`enum bpf_map_type`).
const NOT_FILLABLE: &[(u64, &str)] = &[
    (5, "a hash map for each processor"),
    (6, "an array for each processor"),
    (10, "a hash map for each processor"),
    (24, "the storage of sockets"),
    (27, "a ring buffer"),
];

/// The entries of all maps that `wanted` fills.
pub(crate) fn entries(known: &[MapShape], wanted: &BTreeMap<String, MapContents>) -> Result<Vec<MapEntry>, Misfit> {
    let mut entries = Vec::new();
    for (name, contents) in wanted {
        let about = |reason: String| Misfit { place: name.clone(), reason };
        let map = known.iter().find(|map| map.name == *name).ok_or_else(|| about(unknown(known, name)))?;
        let cannot = |why: String| about(format!("cannot be set up: map {name} {why}"));
        let (key, value) = sides(map).map_err(cannot)?;
        let most = u32::try_from(map.max_entries).unwrap_or(u32::MAX);
        if contents.len() > most as usize {
            return Err(cannot(format!("has room for {most} entries, not for {}", contents.len())));
        }
        let mut seen = HashSet::new();
        for (text, numbers) in contents {
            let about = |why: String| Misfit {
                place: format!("{name}.{text}"),
                reason: format!("cannot be set up: map {name} {why}"),
            };
            let key = key_bytes(map, key, text).map_err(about)?;
            if !seen.insert(key.clone()) {
                return Err(about(format!("has the key {text} twice, written differently")));
            }
            let value = bytes(value, numbers, "values").map_err(about)?;
            entries.push(MapEntry { map: name.clone(), key, value, max_entries: most, is_array: map.kind == ARRAY });
        }
    }
    Ok(entries)
}

fn unknown(known: &[MapShape], name: &str) -> String {
    if known.is_empty() {
        return format!("has no maps, so no map {name}");
    }
    let hint = did_you_mean(name, known.iter().map(|map| map.name.as_str()));
    let names: Vec<_> = known.iter().map(|map| map.name.as_str()).collect();
    format!("has no map {name}{hint}; valid: {}", names.join(", "))
}

/// The layouts of keys and values, if a scenario can give entries of this map.
fn sides(map: &MapShape) -> Result<(&Layout, &Layout), String> {
    const ALLOWED: &str = "contents can be set for arrays and hash maps";
    if !matches!(map.kind, HASH | ARRAY | LRU_HASH) {
        let other = NOT_FILLABLE.iter().find(|(kind, _)| *kind == map.kind);
        let what = other.map_or_else(|| format!("of type {}", map.kind), |(_, what)| what.to_string());
        return Err(format!("is {what}; {ALLOWED}"));
    }
    match (&map.key, &map.value) {
        (Some(key), Some(value)) => Ok((key, value)),
        _ => Err(format!("does not declare the types or sizes of its keys and values; {ALLOWED} that do")),
    }
}

fn key_bytes(map: &MapShape, key: &Layout, text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("needs whole numbers as keys, such as 0 or 0x10, with commas between several, not {text:?}");
    let numbers: Vec<i128> = text.split(',').map(whole).collect::<Option<_>>().ok_or_else(wrong)?;
    match numbers[..] {
        [index] if map.kind == ARRAY && !(0..i128::from(map.max_entries)).contains(&index) => {
            Err(format!("has the keys 0 to {}, not {index}", map.max_entries.saturating_sub(1)))
        }
        _ => bytes(key, &numbers, "keys"),
    }
}

/// Reads a whole number in decimal or hexadecimal digits.
fn whole(text: &str) -> Option<i128> {
    let text = text.trim();
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |digits| i128::from_str_radix(digits, 16).ok())
}

/// The bytes of these numbers in memory; `what` is the word for them, keys or values.
fn bytes(layout: &Layout, numbers: &[i128], what: &str) -> Result<Vec<u8>, String> {
    let Some(places) = &layout.numbers else {
        let size = layout.size;
        return Err(format!(
            "has {what} of {size} bytes that contain a pointer, a union or a bit field, not only whole numbers"
        ));
    };
    if places.len() != numbers.len() {
        let needed = match places.len() {
            1 => format!("one number of {} bytes", layout.size),
            count => format!("{count} numbers, one for each member"),
        };
        return Err(format!("has {what} of {needed}, not of {}", numbers.len()));
    }
    let mut bytes = vec![0; layout.size];
    for (place, number) in places.iter().zip(numbers) {
        let bits = 8 * place.size as u32;
        let half = 1_i128 << (bits - 1);
        let (lowest, highest) = if place.is_signed { (-half, half - 1) } else { (0, 2 * half - 1) };
        if !(lowest..=highest).contains(number) {
            return Err(format!("has {what} from {lowest} to {highest}, not {number}"));
        }
        let stored =
            bytes.get_mut(place.offset..place.offset + place.size).ok_or("has keys or values beyond their end")?;
        stored.copy_from_slice(&number.to_le_bytes()[..place.size]);
    }
    Ok(bytes)
}
