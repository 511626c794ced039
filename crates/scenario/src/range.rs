//! Expands a range on an axis of a sweep, such as `{ from = "1mbit", to = "10mbit", step = "1mbit" }`, into values.
//!
//! Values are whole numbers of the smallest step of their kind. Their unit tells the kind, so this module does not need
//! the key. Each grid point checks whether the key accepts its value.

use model::Limit;
use model::quantity::{Bdp, FinePercentage};
use model::units::{Bytes, Dbm, Decibels, Drift, Frequency, Offset, Rate};
use model::value::{Node, Table, Value, quoted};
use model::{Error, Location};

/// The largest number of values; more must be a mistake.
const MOST_VALUES: usize = 100_000;
/// The significant digits of a value that `count` makes.
const DIGITS: i32 = 3;
const FORM: &str = "a range has from, to, and one of step (added), factor (multiplied) and count (values, spaced \
                    evenly or with scale = \"log\")";

/// Whether a table is a range. No key of a scenario is named `from` or `to`.
pub(crate) fn is_range(table: &Table) -> bool {
    table.get("from").is_some() || table.get("to").is_some()
}

/// Returns the values of the range at `place` for the axis `name`, in ascending order.
pub(crate) fn values(name: &str, table: &Table, place: &Location) -> Result<Vec<Value>, Error> {
    let range = Range { name, table, place };
    range.refuse_unknown_keys()?;
    let (kind, from) = range.quantity("from")?;
    let to = range.quantity_like(kind, "to")?;
    if from > to {
        return Err(range.wrong("to", "must not be less than from"));
    }
    let steps = match range.spacing()? {
        ("step", _) => range.added(from, to, range.quantity_like(kind, "step")?)?,
        ("factor", node) => range.multiplied(from, to, node)?,
        (_, node) => range.counted(from, to, node)?,
    };
    // The ends stay as they are written: "64kib" does not become "65536b".
    let ends = [(from, table.get("from")), (to, table.get("to"))];
    let written = |steps| ends.iter().find(|(end, _)| *end == steps).and_then(|(_, node)| *node);
    let value = |steps| written(steps).map_or_else(|| kind.value(steps), |node| node.value.clone());
    Ok(steps.into_iter().map(value).collect())
}

/// The kind of values in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dimension {
    Number,
    Rate,
    Time,
    Size,
    Packets,
    Bdp,
    Percentage,
    Frequency,
    Drift,
    Signal,
    Ratio,
}

impl Dimension {
    /// Returns the kind of a value, and the number of its smallest steps.
    fn of(value: &Value) -> Option<(Dimension, i128)> {
        let text = match value {
            Value::Integer(number) => return Some((Dimension::Number, *number)),
            Value::Text(text) => text,
            _ => return None,
        };
        let rate = text.parse().ok().map(|Rate(bits)| (Dimension::Rate, bits.into()));
        let time = || text.parse().ok().map(|Offset(ns)| (Dimension::Time, ns.into()));
        let drift = || text.parse().ok().map(|Drift(parts)| (Dimension::Drift, parts.into()));
        let signal = || text.parse().ok().map(|Dbm(dbm)| (Dimension::Signal, dbm.into()));
        let size = || text.parse().ok().map(|Bytes(bytes)| (Dimension::Size, bytes.into()));
        let share = || text.parse().ok().map(|FinePercentage(parts)| (Dimension::Percentage, parts.into()));
        let packets = || match text.parse() {
            Ok(Limit::Packets(packets)) => Some((Dimension::Packets, packets.into())),
            _ => None,
        };
        let bdp = || text.parse().ok().map(|Bdp(parts)| (Dimension::Bdp, parts.into()));
        let frequency = || text.parse().ok().map(|Frequency(parts)| (Dimension::Frequency, parts.into()));
        let ratio = || text.parse().ok().map(|Decibels(parts)| (Dimension::Ratio, parts.into()));
        let first = rate.or_else(time).or_else(drift).or_else(signal).or_else(ratio).or_else(size);
        first.or_else(share).or_else(packets).or_else(bdp).or_else(frequency)
    }

    /// Returns the value of a number of steps, as a file would have it.
    fn value(self, steps: i128) -> Value {
        let count = u64::try_from(steps).unwrap_or_default();
        let signed = i64::try_from(steps).unwrap_or_default();
        match self {
            Dimension::Number => Value::Integer(steps),
            Dimension::Rate => Value::Text(Rate(count).to_string()),
            Dimension::Time => Value::Text(Offset(signed).to_string()),
            Dimension::Size => Value::Text(Bytes(count).to_string()),
            Dimension::Packets => Value::Text(Limit::Packets(count).to_string()),
            Dimension::Bdp => Value::Text(Bdp(count).to_string()),
            Dimension::Percentage => Value::Text(FinePercentage(count).to_string()),
            Dimension::Frequency => Value::Text(Frequency(count).to_string()),
            Dimension::Drift => Value::Text(Drift(signed).to_string()),
            Dimension::Signal => Value::Text(Dbm(signed).to_string()),
            Dimension::Ratio => Value::Text(Decibels(signed).to_string()),
        }
    }

    fn article(self) -> &'static str {
        match self {
            Dimension::Number => "a whole number",
            Dimension::Rate => "a rate",
            Dimension::Time => "a time",
            Dimension::Size => "a size",
            Dimension::Packets => "a number of packets",
            Dimension::Bdp => "a multiple of the bandwidth-delay product",
            Dimension::Percentage => "a percentage",
            Dimension::Frequency => "a number of times a second",
            Dimension::Drift => "a drift",
            Dimension::Signal => "a signal strength",
            Dimension::Ratio => "a ratio",
        }
    }
}

/// A range with its place in a file.
struct Range<'a> {
    name: &'a str,
    table: &'a Table,
    place: &'a Location,
}

impl<'a> Range<'a> {
    /// Makes an error at a key of the range, or at the range if the key is missing.
    fn wrong(&self, key: &str, message: impl Into<String>) -> Error {
        let place = self.table.get(key).map_or(self.place, |node| &node.place);
        Error::one(place.clone(), format!("sweep.{}.{key}", self.name), message)
    }

    fn refuse_unknown_keys(&self) -> Result<(), Error> {
        let known = ["from", "to", "step", "factor", "count", "scale"];
        match self.table.0.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => Err(self.wrong(key, format!("unknown key; {FORM}"))),
            None => Ok(()),
        }
    }

    fn quantity(&self, key: &str) -> Result<(Dimension, i128), Error> {
        let node = self.table.get(key).ok_or_else(|| self.wrong(key, format!("is missing; {FORM}")))?;
        Dimension::of(&node.value).ok_or_else(|| {
            let what = "must be a whole number, or a quantity with its unit such \
                as \"2mbit\", \"10ms\", \"500kb\", \"300p\" or \"1%\"";
            self.wrong(key, format!("{what}, not {}", quoted(&node.value)))
        })
    }

    fn quantity_like(&self, kind: Dimension, key: &str) -> Result<i128, Error> {
        match self.quantity(key)? {
            (same, steps) if same == kind => Ok(steps),
            (other, _) => {
                Err(self.wrong(key, format!("must be {} as from is, not {}", kind.article(), other.article())))
            }
        }
    }

    /// Finds the only key of the range that gives the distance of its values.
    fn spacing(&self) -> Result<(&'static str, &'a Node), Error> {
        let given = ["step", "factor", "count"].map(|key| self.table.get(key).map(|node| (key, node)));
        let mut given = given.into_iter().flatten();
        let first = given.next().ok_or_else(|| self.wrong("step", format!("is missing; {FORM}")))?;
        if let Some((second, _)) = given.next() {
            return Err(self.wrong(second, format!("cannot be set together with {}; {FORM}", first.0)));
        }
        match self.table.get("scale").is_some() && first.0 != "count" {
            true => Err(self.wrong("scale", format!("works with count only; {FORM}"))),
            false => Ok(first),
        }
    }

    fn added(&self, from: i128, to: i128, step: i128) -> Result<Vec<i128>, Error> {
        if step <= 0 {
            return Err(self.wrong("step", "must be more than 0"));
        }
        self.until(to, from, |value| value.checked_add(step))
    }

    fn multiplied(&self, from: i128, to: i128, factor: &Node) -> Result<Vec<i128>, Error> {
        let factor = match factor.value {
            Value::Integer(factor) if factor > 1 => factor,
            ref other => {
                let message = format!("must be a whole number above 1, not {}", quoted(other));
                return Err(self.wrong("factor", message));
            }
        };
        self.above_nothing(from, "with factor")?;
        self.until(to, from, |value| value.checked_mul(factor))
    }

    fn above_nothing(&self, from: i128, because: &str) -> Result<(), Error> {
        match from > 0 {
            true => Ok(()),
            false => Err(self.wrong("from", format!("must be more than 0 {because}"))),
        }
    }

    fn until(&self, to: i128, from: i128, next: impl Fn(i128) -> Option<i128>) -> Result<Vec<i128>, Error> {
        let within = |value: &i128| *value <= to;
        let values = std::iter::successors(Some(from), |value| next(*value).filter(within));
        let values: Vec<_> = values.take(MOST_VALUES + 1).collect();
        match values.len() <= MOST_VALUES {
            true => Ok(values),
            false => Err(self.wrong("to", format!("makes more than {MOST_VALUES} values; write a larger step"))),
        }
    }

    fn counted(&self, from: i128, to: i128, count: &Node) -> Result<Vec<i128>, Error> {
        let count = match count.value {
            Value::Integer(count) if (2..=MOST_VALUES as i128).contains(&count) => count,
            ref other => {
                let message = format!("must be a whole number from 2 to {MOST_VALUES}, not {}", quoted(other));
                return Err(self.wrong("count", message));
            }
        };
        let mut values = match self.table.get("scale").map(|node| &node.value) {
            None => evenly(from, to, count),
            Some(Value::Text(scale)) if scale == "linear" => evenly(from, to, count),
            Some(Value::Text(scale)) if scale == "log" => {
                self.above_nothing(from, "on a logarithmic scale")?;
                by_factor(from, to, count)
            }
            Some(other) => {
                let message = format!("must be \"linear\" or \"log\", not {}", quoted(other));
                return Err(self.wrong("scale", message));
            }
        };
        values.dedup();
        match values.len() as i128 == count {
            true => Ok(values),
            false => {
                let message = format!("is too large: only {} values differ between from and to", values.len());
                Err(self.wrong("count", message))
            }
        }
    }
}

/// Returns `count` values with equal distances. They are exact if the distance is whole, otherwise rounded to three
/// digits of the distance.
fn evenly(from: i128, to: i128, count: i128) -> Vec<i128> {
    let (span, gaps) = (to - from, count - 1);
    let grain = match span % gaps {
        0 => 1,
        _ => grain(span as f64 / gaps as f64),
    };
    let between = (1..gaps).map(|n| (from + span * n / gaps + grain / 2).div_euclid(grain) * grain);
    [from].into_iter().chain(between).chain([to]).collect()
}

/// Returns `count` values with equal ratios; those between the ends are rounded to three digits.
fn by_factor(from: i128, to: i128, count: i128) -> Vec<i128> {
    let gaps = count - 1;
    let between = (1..gaps).map(|n| {
        let exact = from as f64 * (to as f64 / from as f64).powf(n as f64 / gaps as f64);
        let grain = grain(exact);
        (exact / grain as f64).round() as i128 * grain
    });
    [from].into_iter().chain(between).chain([to]).collect()
}

/// Returns the power of ten of a value's last significant digit.
fn grain(value: f64) -> i128 {
    10i128.pow((value.log10().floor() as i32 - DIGITS + 1).max(0) as u32)
}
