//! Parameters of mechanisms, and the values that a scenario may set.

use crate::build::debug_info::Holds;
use crate::build::object_file::{Object, Symbol};
use model::did_you_mean;
use model::quantity::Share;
use model::units::{Bytes, Nanos};
use model::{Limit, ParamValue};
use std::fmt;

/// A global that is set before a mechanism starts, and constant afterwards. Texts have the form of a scenario.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The global's name and the scenario's key.
    pub name: String,
    /// The purpose of the parameter; empty for a global that does not describe itself.
    pub meaning: String,
    unit: Unit,
    default: i64,
    lowest: i64,
    highest: i64,
}

/// The form in which a scenario writes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// `true` or `false`.
    Flag,
    /// A text with its unit; the number is the nanoseconds of one step of the global.
    Time(u64),
    /// A share that the global counts in hundredths.
    Percent,
    /// A share that the global counts in 1/1024; a scenario may also give that number.
    Per1024,
    /// A number, or a text such as "16p".
    Packets,
    /// A text such as "256kb", or a number of bytes.
    Bytes,
    /// A plain number.
    Plain,
}

/// Integers up to this may be meant as multiples if a global counts in 1/1024, because no parameter may be a larger
/// multiple.
const LARGEST_MULTIPLE: i64 = 10;

impl Parameter {
    /// The value without a setting.
    pub fn default(&self) -> String {
        self.unit.written(self.default)
    }
    /// The least value that may be set.
    pub fn lowest(&self) -> String {
        self.unit.written(self.lowest)
    }
    /// The largest value that may be set.
    pub fn highest(&self) -> String {
        self.unit.written(self.highest)
    }
    /// The value at a share of the range: 0 gives the least, 1 the largest; decades above the least are equally wide.
    pub fn at(&self, share: f64) -> String {
        let width = self.highest as f64 - self.lowest as f64;
        let above = (width + 1.0).powf(share) - 1.0;
        self.unit.written(self.lowest.saturating_add(above.round() as i64).min(self.highest))
    }
    /// The kind of the value, in words.
    pub fn kind(&self) -> &'static str {
        match self.unit {
            Unit::Flag => "true or false",
            Unit::Time(_) => "a time such as \"100ms\"",
            Unit::Percent => "a share such as \"90%\"",
            Unit::Per1024 => "a share such as \"70%\" or \"717/1024\"",
            Unit::Packets => "a number of packets",
            Unit::Bytes => "a size such as \"256kb\"",
            Unit::Plain => "a whole number",
        }
    }

    /// The number to store, or the reason against the value.
    fn number(&self, value: &ParamValue) -> Result<i64, String> {
        let wrong = || format!("must be {}, not {}", self.kind(), shown(value));
        let number = match (self.unit, value) {
            (Unit::Flag, ParamValue::Bool(flag)) => *flag as i64,
            (Unit::Time(_), ParamValue::Integer(0)) => 0,
            (Unit::Time(step), ParamValue::Text(text)) => steps_of_time(text, step)?,
            (Unit::Percent, ParamValue::Text(text)) => steps_of_share(text, 100).ok_or_else(wrong)?,
            (Unit::Per1024, ParamValue::Text(text)) => steps_of_share(text, 1024).ok_or_else(wrong)?,
            (Unit::Packets, ParamValue::Text(text)) => match text.parse() {
                Ok(Limit::Packets(packets)) => packets as i64,
                _ => return Err(wrong()),
            },
            (Unit::Bytes, ParamValue::Text(text)) => {
                text.parse::<Bytes>().map_err(|e| format!("needs a size, and {e}"))?.0 as i64
            }
            (Unit::Per1024, ParamValue::Integer(number @ 1..=LARGEST_MULTIPLE)) => {
                let percent = 100 * number;
                return Err(format!("needs a share: {number} may mean {percent}% or {number}/1024; write one of them"));
            }
            (Unit::Per1024 | Unit::Packets | Unit::Bytes | Unit::Plain, ParamValue::Integer(number)) => *number,
            _ => return Err(wrong()),
        };
        if number < self.lowest || number > self.highest {
            return Err(format!("must be from {} to {}, not {}", self.lowest(), self.highest(), shown(value)));
        }
        Ok(number)
    }
}

impl fmt::Display for Parameter {
    /// Writes the name with range and default, as errors list it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Flag => write!(f, "{} (true or false; {})", self.name, self.default()),
            _ => write!(f, "{} ({} to {}; {})", self.name, self.lowest(), self.highest(), self.default()),
        }
    }
}

impl Unit {
    fn of_description(kind: &str, unit: &str) -> Unit {
        match (kind, unit) {
            ("bool", _) => Unit::Flag,
            (_, "ns") => Unit::Time(1),
            (_, "us") => Unit::Time(1_000),
            (_, "ms") => Unit::Time(1_000_000),
            (_, "%") => Unit::Percent,
            (_, "/1024") => Unit::Per1024,
            (_, "packets") => Unit::Packets,
            (_, "bytes") => Unit::Bytes,
            _ => Unit::Plain,
        }
    }

    fn written(self, number: i64) -> String {
        match self {
            Unit::Flag => (number != 0).to_string(),
            Unit::Time(_) if number == 0 => "0".into(),
            Unit::Time(step) => Nanos(number as u64 * step).to_string(),
            Unit::Percent => format!("{number}%"),
            Unit::Per1024 => format!("{number}/1024"),
            Unit::Bytes => Bytes(number as u64).to_string(),
            Unit::Packets | Unit::Plain => number.to_string(),
        }
    }
}

/// A value as text, in the form of the scenario.
fn shown(value: &ParamValue) -> String {
    match value {
        ParamValue::Bool(flag) => flag.to_string(),
        ParamValue::Integer(number) => number.to_string(),
        ParamValue::Text(text) => format!("\"{text}\""),
    }
}

fn steps_of_time(text: &str, step: u64) -> Result<i64, String> {
    let time: Nanos = text.parse().map_err(|e| format!("needs a time, and {e}"))?;
    if !time.0.is_multiple_of(step) {
        return Err(format!("must be a multiple of {}, not \"{text}\"", Nanos(step)));
    }
    Ok((time.0 / step) as i64)
}

/// Reads "70%", "0.7" or "717/1024" as a number of 1/`whole`, to the nearest. A percentage may exceed the whole.
fn steps_of_share(text: &str, whole: u32) -> Option<i64> {
    if let Some((number, of)) = text.split_once('/') {
        return (of.parse() == Ok(whole)).then(|| number.parse().ok())?;
    }
    if let Some(percent) = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<u32>().ok()) {
        return Some((percent as f64 * whole as f64 / 100.0).round() as i64);
    }
    let share = match text.parse::<Share>() {
        Ok(Share(share)) => share,
        Err(_) if text.contains('.') => text.parse().ok()?,
        Err(_) => return None,
    };
    (0.0..=1.0).contains(&share).then(|| (share * whole as f64).round() as i64)
}

/// The parameters of a compiled file: those that describe themselves, then its other `const volatile` globals.
pub(crate) fn parameters(object: &Object, image: &[u8], plain: &[(String, Holds)]) -> Vec<Parameter> {
    let mut placed: Vec<_> = object.descriptions.iter().filter_map(|text| described(text, object, image)).collect();
    placed.sort_by_key(|(place, _)| *place);
    let mut found: Vec<Parameter> = placed.into_iter().map(|(_, parameter)| parameter).collect();
    for (name, holds) in plain {
        if let Some(symbol) = object.symbol(name).filter(|symbol| matches!(symbol.size, 1 | 2 | 4 | 8))
            && found.iter().all(|known| known.name != *name)
        {
            found.push(undescribed(name, *holds, symbol, image));
        }
    }
    found
}

/// The parameter of a global whose type alone is known.
fn undescribed(name: &str, holds: Holds, symbol: &Symbol, image: &[u8]) -> Parameter {
    let spare = 64 - 8 * symbol.size as u32;
    let negative = i64::MIN >> spare;
    let positive = (u64::MAX >> spare).min(i64::MAX as u64) as i64;
    let (lowest, highest) = match holds {
        Holds::Flag => (0, 1),
        Holds::Unsigned => (0, positive),
        Holds::Signed => (negative, i64::MAX >> spare),
    };
    let bits = stored(symbol, image);
    Parameter {
        name: name.to_string(),
        meaning: String::new(),
        unit: if holds == Holds::Flag { Unit::Flag } else { Unit::Plain },
        default: if holds == Holds::Signed { bits << spare >> spare } else { bits },
        lowest,
        highest,
    }
}

/// Reads `place|name|type|lowest|highest|unit|meaning`, as the macro `PARAM` writes it. It returns the place as well,
/// because a compiler may reverse the order.
fn described(text: &str, object: &Object, image: &[u8]) -> Option<(u32, Parameter)> {
    let mut fields = text.splitn(7, '|');
    let place = fields.next()?.parse().ok()?;
    let name = fields.next()?.to_string();
    let kind = fields.next()?;
    let (lowest, highest) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let unit = Unit::of_description(kind, fields.next()?);
    let default = stored(object.symbol(&name)?, image);
    Some((place, Parameter { name, meaning: fields.next()?.to_string(), unit, default, lowest, highest }))
}

/// The initial value of a global; zero if the file leaves it out.
fn stored(symbol: &Symbol, image: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    if let Some(range) = symbol.file_range.clone() {
        bytes[..range.len()].copy_from_slice(&image[range]);
    }
    i64::from_le_bytes(bytes)
}

/// A global and its new bytes.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) symbol: &'a Symbol,
    pub(crate) bytes: Vec<u8>,
    name: &'a str,
    /// The value as a scenario writes it.
    written: String,
}

/// Every parameter with its value after `settings`, as a scenario writes it.
pub(crate) fn values(known: &[Parameter], settings: &[Setting]) -> Vec<(String, String)> {
    let value = |parameter: &Parameter| {
        let set = settings.iter().find(|setting| setting.name == parameter.name);
        set.map_or_else(|| parameter.default(), |setting| setting.written.clone())
    };
    known.iter().map(|parameter| (parameter.name.clone(), value(parameter))).collect()
}

/// The bytes to store for a scenario's setting. The error continues a sentence that begins with the mechanism's name.
pub(crate) fn setting<'a>(
    known: &'a [Parameter],
    object: &'a Object,
    name: &str,
    value: &ParamValue,
) -> Result<Setting<'a>, String> {
    let found = known.iter().find(|parameter| parameter.name == name);
    let (Some(parameter), Some(symbol)) = (found, object.symbol(name)) else {
        return Err(unknown(known, name));
    };
    let number = parameter.number(value).map_err(|reason| format!("cannot be set up: {name} {reason}"))?;
    Ok(Setting {
        symbol,
        bytes: number.to_le_bytes()[..symbol.size as usize].to_vec(),
        name: &parameter.name,
        written: parameter.unit.written(number),
    })
}

fn unknown(known: &[Parameter], name: &str) -> String {
    if known.is_empty() {
        return format!("has no parameters, so no parameter {name}");
    }
    let hint = did_you_mean(name, known.iter().map(|parameter| parameter.name.as_str()));
    let mut list: Vec<_> = known.iter().map(|parameter| parameter.to_string()).collect();
    list.sort();
    format!("has no parameter {name}{hint}; valid: {}", list.join(", "))
}
