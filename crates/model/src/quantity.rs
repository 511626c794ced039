//! Quantities as text: `2mbit`, `10ms`, `500kb`, `300p`, `1%`, `-20ppm`. They are exact: a value that its type cannot
//! represent is an error, never rounded.

use crate::Limit;
use crate::rng::{Rng, up_to};
use crate::units::{Bytes, Dbm, Decibels, Drift, Frequency, Nanos, Offset, Rate};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// Why a text is not a valid quantity: a sentence that begins with the quoted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError(pub String);

impl std::error::Error for QuantityError {}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A share of a whole, 0 to 1, written as a percentage.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// A percentage in units so small that every written percentage is a whole number of them, for sums without rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinePercentage(pub u64);

/// Decimal places of a percentage in its smallest unit.
const PERCENT_PLACES: usize = 12;
/// The largest number of decimal places of a written share.
const MOST_PERCENT_PLACES: usize = 18;
/// Decimal places of a frequency in its smallest unit.
const FREQUENCY_PLACES: usize = 6;
/// Decimal places of a ratio in decibels in its smallest unit.
const DECIBEL_PLACES: usize = 3;
/// Decimal places of a multiple of the bandwidth-delay product in its smallest unit.
const BDP_PLACES: usize = 6;

/// The units and spelling of quantities of one type.
struct Scale {
    /// The name of the quantity with its article, such as "a rate".
    what: &'static str,
    /// An example of the quantity.
    example: &'static str,
    /// The smallest step of the type, in the plural.
    step: &'static str,
    /// The units with their sizes in steps; the first unit of a size is used in output.
    units: &'static [(&'static str, u64)],
    /// The units in words, for errors.
    choice: &'static str,
}

/// Rates as in tc(8): `bit` is a bit per second, `bps` a byte per second.
const RATE: Scale = Scale {
    what: "a rate",
    example: "2mbit",
    step: "bits a second",
    units: &[
        ("tbit", 1_000_000_000_000),
        ("gbit", 1_000_000_000),
        ("mbit", 1_000_000),
        ("kbit", 1_000),
        ("bit", 1),
        ("tibit", 1 << 40),
        ("gibit", 1 << 30),
        ("mibit", 1 << 20),
        ("kibit", 1 << 10),
        ("tbps", 8_000_000_000_000),
        ("gbps", 8_000_000_000),
        ("mbps", 8_000_000),
        ("kbps", 8_000),
        ("bps", 8),
        ("tibps", 8 << 40),
        ("gibps", 8 << 30),
        ("mibps", 8 << 20),
        ("kibps", 8 << 10),
    ],
    choice: "bit, kbit, mbit, gbit, tbit (kibit and so on for 1024), and bps to tbps for bytes a second",
};

/// Times as in tc(8), and nanoseconds.
const TIME: Scale = Scale {
    what: "a time",
    example: "10ms",
    step: "nanoseconds",
    units: &[
        ("s", 1_000_000_000),
        ("sec", 1_000_000_000),
        ("secs", 1_000_000_000),
        ("ms", 1_000_000),
        ("msec", 1_000_000),
        ("msecs", 1_000_000),
        ("us", 1_000),
        ("usec", 1_000),
        ("usecs", 1_000),
        ("ns", 1),
        ("nsec", 1),
        ("nsecs", 1),
    ],
    choice: "ns, us, ms, s",
};

/// Sizes as on the wire: `k` is 1000. For tc(8) it is 1024, which is `kib` here.
const SIZE: Scale = Scale {
    what: "a size",
    example: "500kb",
    step: "bytes",
    units: &[
        ("gb", 1_000_000_000),
        ("g", 1_000_000_000),
        ("mb", 1_000_000),
        ("m", 1_000_000),
        ("kb", 1_000),
        ("k", 1_000),
        ("b", 1),
        ("gib", 1 << 30),
        ("mib", 1 << 20),
        ("kib", 1 << 10),
    ],
    choice: "b, kb, mb, gb, or kib, mib, gib for 1024",
};

/// Frequencies, in steps small enough for once in two weeks.
const FREQUENCY: Scale = Scale {
    what: "a number of times a second",
    example: "10/s",
    step: "millionths a second",
    units: &[("/s", 10u64.pow(FREQUENCY_PLACES as u32))],
    choice: "/s",
};

/// Queue limits as multiples of the bandwidth-delay product.
const PRODUCTS: Scale = Scale {
    what: "a multiple of the bandwidth-delay product",
    example: "0.5bdp",
    step: "millionths",
    units: &[("bdp", 10u64.pow(BDP_PLACES as u32))],
    choice: "bdp",
};

const PACKETS: Scale =
    Scale { what: "a number of packets", example: "300p", step: "packets", units: &[("p", 1)], choice: "p" };

/// Drifts of clocks, in the unit of data sheets.
const DRIFT: Scale = Scale {
    what: "a drift",
    example: "100ppm",
    step: "billionths",
    units: &[("ppm", 1_000), ("ppb", 1)],
    choice: "ppm, ppb",
};

/// Strengths of signals, which are mostly negative.
const DBM: Scale =
    Scale { what: "a signal strength", example: "-51dbm", step: "dBm", units: &[("dbm", 1)], choice: "dbm" };

/// Ratios of powers.
const RATIO: Scale = Scale {
    what: "a ratio",
    example: "18db",
    step: "thousandths of a decibel",
    units: &[("db", 10u64.pow(DECIBEL_PLACES as u32))],
    choice: "db",
};

const PERCENTAGE: Scale = Scale {
    what: "a percentage",
    example: "1%",
    step: "millionths of a millionth of a percent",
    units: &[("%", 10u64.pow(PERCENT_PLACES as u32))],
    choice: "%",
};

impl Scale {
    /// Parses a quantity that must not be negative, and returns it in steps.
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        if text.trim_start().starts_with('-') {
            let Scale { what, example, .. } = self;
            return Err(QuantityError(format!("\"{text}\" is negative; write {what} such as \"{example}\"")));
        }
        self.parse_amount(text, text)
    }

    /// Parses a quantity that may be negative, and returns it in steps.
    fn parse_signed(&self, text: &str) -> Result<i64, QuantityError> {
        let amount = text.strip_prefix('-');
        let steps = i64::try_from(self.parse_amount(amount.unwrap_or(text), text)?).map_err(|_| too_large(text))?;
        Ok(if amount.is_some() { -steps } else { steps })
    }

    /// Parses the quantity `amount`, which is all or a part of `text`, and returns it in steps.
    fn parse_amount(&self, amount: &str, text: &str) -> Result<u64, QuantityError> {
        let (number, unit) = split(amount);
        let Some(decimal) = Decimal::parse(number) else {
            let Scale { what, example, .. } = self;
            let message = format!("\"{text}\" is not {what}; write a number and its unit, such as \"{example}\"");
            return Err(QuantityError(message));
        };
        let lower = unit.to_ascii_lowercase();
        let Some((_, steps)) = self.units.iter().find(|(name, _)| *name == lower) else {
            return Err(self.no_unit(text, &lower));
        };
        if lower.ends_with("bps") && unit != lower {
            return Err(ambiguous(text, number, &lower));
        }
        let digits = decimal.digits.checked_mul(u128::from(*steps)).ok_or_else(|| too_large(text))?;
        let divisor = 10u128.pow(decimal.places);
        if !digits.is_multiple_of(divisor) {
            return Err(QuantityError(format!("\"{text}\" is not a whole number of {}", self.step)));
        }
        u64::try_from(digits / divisor).map_err(|_| too_large(text))
    }

    /// Returns the size of a unit in steps; none for a unit of another scale, and for one that may mean bits or bytes.
    fn steps(&self, unit: &str) -> Option<u64> {
        let lower = unit.to_ascii_lowercase();
        let (_, steps) = self.units.iter().find(|(name, _)| *name == lower)?;
        (!lower.ends_with("bps") || unit == lower).then_some(*steps)
    }

    fn no_unit(&self, text: &str, unit: &str) -> QuantityError {
        let hint = match self.meant(text) {
            Some(meant) => format!(" (did you mean {meant}?)"),
            None => crate::error::did_you_mean(unit, self.units.iter().map(|(name, _)| *name)),
        };
        QuantityError(match unit {
            "" => format!("\"{text}\" needs a unit; units of {}: {}", self.what, self.choice),
            _ => format!("\"{text}\" is not {}{hint}; units: {}", self.what, self.choice),
        })
    }

    /// Returns the intended spelling of a text with a blank before its unit, a decimal comma, or minutes or hours,
    /// which tc(8) does not have.
    fn meant(&self, text: &str) -> Option<String> {
        let plain = text.replace(',', ".").replace(char::is_whitespace, "");
        if plain != text && self.parse_amount(&plain, &plain).is_ok() {
            return Some(plain);
        }
        let (number, unit) = split(&plain);
        let seconds = match unit {
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            _ => return None,
        };
        let count: u64 = number.parse().ok().filter(|_| self.what == TIME.what)?;
        count.checked_mul(seconds).map(|seconds| format!("{seconds}s"))
    }

    /// Writes the shortest text without a fraction that `parse` reads as `steps`.
    fn write(&self, steps: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = self.units.iter().filter(|(_, size)| size.to_string().trim_end_matches('0') == "1");
        let whole = |(_, size): &&(&str, u64)| *size == 1 || steps != 0 && steps.is_multiple_of(*size);
        match decimal.into_iter().find(whole) {
            Some((name, size)) => write!(f, "{}{name}", steps / size),
            None => write!(f, "{steps}"),
        }
    }

    /// Writes the shortest text without a fraction that `parse_signed` reads as `steps`.
    fn write_signed(&self, steps: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if steps < 0 { "-" } else { "" })?;
        self.write(steps.unsigned_abs(), f)
    }
}

/// Makes the error for an ambiguous unit: `Mbps` is megabytes per second for tc(8), but megabits per second for most
/// people.
fn ambiguous(text: &str, number: &str, bytes: &str) -> QuantityError {
    let bits = bytes.replace("bps", "bit");
    QuantityError(format!(
        "\"{text}\" may mean bits or bytes; write \"{number}{bits}\" for bits, \
         or \"{number}{bytes}\" for bytes a second, as tc(8) does"
    ))
}

fn too_large(text: &str) -> QuantityError {
    QuantityError(format!("\"{text}\" is too large for this program"))
}

/// The largest number of decimal places: ten to this power fits 128 bits, and real values have fewer.
const MOST_PLACES: u32 = 30;

/// A decimal number as written: `digits` over ten to the power of `places`.
struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    /// Parses digits with at most one point, and at least one digit before it.
    fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}").parse().ok()?;
        let places = u32::try_from(fraction.len()).ok().filter(|places| *places <= MOST_PLACES)?;
        Some(Decimal { digits, places })
    }
}

/// Splits a quantity into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

macro_rules! quantity {
    ($type:ident, $scale:expr, $parse:ident, $write:ident) => {
        impl FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<$type, QuantityError> {
                $scale.$parse(text).map($type)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $scale.$write(self.0, f)
            }
        }
    };
}
quantity!(Rate, RATE, parse, write);
quantity!(Nanos, TIME, parse, write);
quantity!(Bytes, SIZE, parse, write);
quantity!(Offset, TIME, parse_signed, write_signed);
quantity!(Drift, DRIFT, parse_signed, write_signed);
quantity!(Dbm, DBM, parse_signed, write_signed);

impl FromStr for Limit {
    type Err = QuantityError;
    /// Parses packets (`300p`) or bytes (`500kb`), at least one.
    fn from_str(text: &str) -> Result<Limit, QuantityError> {
        let limit = match split(text.trim_start_matches('-')).1 {
            "p" | "P" => Limit::Packets(PACKETS.parse(text)?),
            _ => Limit::Bytes(text.parse().map_err(|QuantityError(why)| {
                QuantityError(format!("{why}; or write packets such as \"300p\", or \"1bdp\""))
            })?),
        };
        match limit {
            Limit::Packets(0) | Limit::Bytes(Bytes(0)) => {
                Err(QuantityError(format!("\"{text}\" has no room for a packet; write at least \"1p\" or \"1b\"")))
            }
            _ => Ok(limit),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(bytes) => bytes.fmt(f),
            Limit::Packets(packets) => PACKETS.write(*packets, f),
        }
    }
}

/// The base units of results. Each has the ending of a column's name, the scale, and the number of steps in one unit,
/// as a power of ten.
const BASES: [(&str, &Scale, u32); 10] = [
    ("bps", &RATE, 0),
    ("s", &TIME, 9),
    ("bytes", &SIZE, 0),
    ("packets", &PACKETS, 0),
    ("bdp", &PRODUCTS, BDP_PLACES as u32),
    ("percent", &PERCENTAGE, PERCENT_PLACES as u32),
    ("per_s", &FREQUENCY, FREQUENCY_PLACES as u32),
    ("ppm", &DRIFT, 3),
    ("dbm", &DBM, 0),
    ("db", &RATIO, DECIBEL_PLACES as u32),
];
/// The base unit of a number without a unit.
const PLAIN: &str = "value";

/// Returns the endings of column names for quantities in base units.
pub fn base_units() -> impl Iterator<Item = &'static str> {
    BASES.into_iter().map(|(base, ..)| base).chain([PLAIN])
}

/// Parses a quantity such as `10mbit` and returns its base unit and its value in that unit; none if the text is not a
/// quantity.
pub fn in_base_unit(text: &str) -> Option<(&'static str, f64)> {
    let text = text.trim();
    let is_negative = text.starts_with('-');
    let (number, unit) = split(text.strip_prefix(['-', '+']).unwrap_or(text));
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let decimal = Decimal::parse(number)?;
    let (base, steps, power) = match unit {
        "" => (PLAIN, 1, 0),
        _ => BASES.into_iter().find_map(|(base, scale, power)| Some((base, scale.steps(unit)?, power)))?,
    };
    let digits = decimal.digits.checked_mul(u128::from(steps))?;
    // Parsing a decimal text gives the nearest floating-point number.
    let amount: f64 = format!("{digits}e-{}", decimal.places + power).parse().ok()?;
    Some((base, if is_negative { -amount } else { amount }))
}

/// A multiple of the bandwidth-delay product, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bdp(pub u64);

impl Bdp {
    /// Whether a text has the unit `bdp`.
    pub fn is_meant_by(text: &str) -> bool {
        split(text.trim_start_matches('-')).1.eq_ignore_ascii_case("bdp")
    }
}

impl FromStr for Bdp {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bdp, QuantityError> {
        PRODUCTS.parse(text).map(Bdp)
    }
}

impl fmt::Display for Bdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_parts(self.0, BDP_PLACES, "bdp", f)
    }
}

/// A value, or a range from which one is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
pub struct Between<T> {
    /// The value, or the least of the range.
    pub from: T,
    /// The largest value of the range; equal to `from` for a fixed value.
    pub until: T,
}

/// A time, or a range from which it is drawn.
pub type Start = Between<Nanos>;

impl<T: Copy> Between<T> {
    /// Returns the range that has one value only.
    pub const fn only(value: T) -> Between<T> {
        Between { from: value, until: value }
    }
}

impl Between<Nanos> {
    /// Draws a time, all equally likely.
    pub fn draw(&self, rng: &mut Rng) -> Nanos {
        self.from + Nanos(up_to(self.until.since(self.from).0, rng))
    }
}

impl Between<Rate> {
    /// Draws a rate, all equally likely.
    pub fn draw(&self, rng: &mut Rng) -> Rate {
        Rate(self.from.0 + up_to(self.until.0.saturating_sub(self.from.0), rng))
    }
}

impl<T: FromStr + Copy + PartialOrd> FromStr for Between<T>
where
    QuantityError: From<T::Err>,
{
    type Err = QuantityError;
    /// Parses a value such as `10ms`, or a range such as `0s..1s`.
    fn from_str(text: &str) -> Result<Between<T>, QuantityError> {
        let Some((from, until)) = text.split_once("..") else {
            return Ok(Between::only(text.parse()?));
        };
        let (from, until) = (from.parse()?, until.parse()?);
        match from <= until {
            true => Ok(Between { from, until }),
            false => Err(QuantityError(format!("\"{text}\" ends before it begins; write the lower value first"))),
        }
    }
}

impl From<ParseIntError> for QuantityError {
    fn from(_: ParseIntError) -> QuantityError {
        QuantityError("must be a whole number such as 10, or a range such as \"10..20\"".into())
    }
}

impl FromStr for FinePercentage {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<FinePercentage, QuantityError> {
        PERCENTAGE.parse(text).map(FinePercentage)
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for Between<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from == self.until {
            true => self.from.fmt(f),
            false => write!(f, "{}..{}", self.from, self.until),
        }
    }
}

impl fmt::Display for FinePercentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_parts(self.0, PERCENT_PLACES, "%", f)
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Frequency, QuantityError> {
        FREQUENCY.parse(text).map(Frequency)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_parts(self.0, FREQUENCY_PLACES, "/s", f)
    }
}

impl FromStr for Decibels {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Decibels, QuantityError> {
        RATIO.parse_signed(text).map(Decibels)
    }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 < 0 { "-" } else { "" })?;
        write_parts(self.0.unsigned_abs(), DECIBEL_PLACES, "db", f)
    }
}

/// Writes `parts`, of which 10 to the power of `width` make one, as a decimal number with its unit.
fn write_parts(parts: u64, width: usize, unit: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let one = 10u64.pow(width as u32);
    let places = format!("{:0width$}", parts % one);
    match places.trim_end_matches('0') {
        "" => write!(f, "{}{unit}", parts / one),
        places => write!(f, "{}.{places}{unit}", parts / one),
    }
}

/// A number without a unit, which may have a fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl FromStr for Number {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Number, QuantityError> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Number).ok_or_else(|| QuantityError(format!("\"{text}\" is not a number; write it such as 1.2")))
    }
}

impl FromStr for Share {
    type Err = QuantityError;
    /// Parses a percentage from 0 % to 100 %.
    fn from_str(text: &str) -> Result<Share, QuantityError> {
        let number = text.strip_suffix('%').map(str::trim_end);
        let Some(decimal) = number.and_then(Decimal::parse) else {
            return Err(QuantityError(format!("\"{text}\" is not a percentage; write it such as \"1%\" or \"0.01%\"")));
        };
        // Both are exact below 2^53 and 10^22, so the quotient is the nearest floating-point number.
        let share = decimal.digits as f64 / 10f64.powi(decimal.places as i32 + 2);
        match share <= 1.0 {
            true => Ok(Share(share)),
            false => Err(QuantityError(format!("\"{text}\" is more than \"100%\""))),
        }
    }
}

impl fmt::Display for Share {
    /// Writes a percentage with as many decimal places as needed to read the same share again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |places: usize| format!("{:.places$}%", self.0 * 100.0);
        let is_same = |text: &String| text.parse() == Ok(*self);
        f.write_str(&(0..MOST_PERCENT_PLACES).map(with).find(is_same).unwrap_or_else(|| with(MOST_PERCENT_PLACES)))
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> f64 {
        share.0
    }
}

impl From<f64> for Share {
    fn from(share: f64) -> Share {
        Share(share)
    }
}

impl From<Number> for f64 {
    fn from(number: Number) -> f64 {
        number.0
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Number {
        Number(number)
    }
}
