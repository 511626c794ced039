//! The register of metrics: each number of a run's records with its unit, its names, and its fold over flows.

use serde::Serialize;

/// A column of a table of records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// The column's name in records and in tables.
    pub name: &'static str,
    /// The type of the column's values.
    pub kind: Kind,
    /// Whether a row may have no value in the column.
    pub is_optional: bool,
    /// Whether a row may lack the column.
    pub is_rare: bool,
    /// The definition of the column, for the reference page.
    pub definition: &'static str,
    /// The metric that the column is; none for columns that identify rows.
    pub metric: Option<Metric>,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A string.
    Text,
    /// True or false.
    Flag,
    /// A whole number.
    Integer,
    /// A real number.
    Number,
    /// A list of whole numbers.
    Integers,
}

/// The names, fold and bound of a number in the records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// The short name in claims, tolerances and options.
    pub key: &'static str,
    /// The heading in tables; a percentile or a maximum follows the mean.
    pub heading: &'static str,
    /// The unit in tables; empty for counts.
    pub unit: &'static str,
    /// How the values of several flows become one; none for metrics that are not of flows.
    pub fold: Option<Fold>,
    /// The upper bound of all values, if there is one.
    pub most: Option<f64>,
    /// The backends that measure it.
    pub on: Backends,
}

/// How the values of several flows become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// The sum of the values.
    Sum,
    /// The mean over flows that have a value.
    Mean,
    /// The mean, in which a flow without a value counts as 0.
    MeanOrZero,
    /// The least value.
    Min,
    /// The largest value.
    Max,
    /// The largest value; none if a flow has no value.
    Last,
    /// The lost packets of all flows over their sent packets.
    Loss,
}

impl Fold {
    /// Every way to fold, with the words of the reference page.
    pub const WORDS: [(Fold, &'static str); 7] = [
        (Fold::Sum, "sum"),
        (Fold::Mean, "mean"),
        (Fold::MeanOrZero, "mean; 0 for a flow without"),
        (Fold::Min, "minimum"),
        (Fold::Max, "maximum"),
        (Fold::Last, "maximum; empty if a flow is unfinished"),
        (Fold::Loss, "lost over sent packets of all flows"),
    ];
}

/// The backends that measure a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backends {
    /// Every backend.
    All,
    /// Only the simulator, which has access to its TCP and its radios.
    Simulator,
    /// Only real TCP: the running kernel and guests.
    RealTcp,
}

/// Makes a metric without a fold or a bound, which every backend measures.
pub(crate) const fn metric(key: &'static str, heading: &'static str, unit: &'static str) -> Metric {
    Metric { key, heading, unit, fold: None, most: None, on: Backends::All }
}

impl Metric {
    /// Sets how the values of several flows become one.
    pub(crate) const fn over_flows(self, fold: Fold) -> Metric {
        Metric { fold: Some(fold), ..self }
    }
    /// Sets the upper bound of all values.
    pub(crate) const fn most(self, most: f64) -> Metric {
        Metric { most: Some(most), ..self }
    }
    /// Sets the backends that measure it.
    pub(crate) const fn only(self, on: Backends) -> Metric {
        Metric { on, ..self }
    }
}

/// The declaration of a field of a record.
pub struct Declaration {
    /// The field's name.
    pub name: &'static str,
    /// The field's doc comment.
    pub doc: &'static str,
    /// How serde writes the field.
    pub serde: &'static str,
    /// The metric that the field is.
    pub metric: Option<Metric>,
}

/// A type of a record's field, which gives one column or several.
pub trait Recorded {
    /// Returns the columns of a field of this type.
    fn columns(field: Declaration) -> Vec<Column>;
}

macro_rules! recorded {
    ($($type:ty as $Kind:ident),+) => {
        $(impl Recorded for $type {
            fn columns(field: Declaration) -> Vec<Column> {
                vec![Column {
                    name: field.name,
                    kind: Kind::$Kind,
                    is_optional: false,
                    is_rare: field.serde.starts_with("skip_serializing_if"),
                    definition: crate::declare::meaning(field.doc),
                    metric: field.metric,
                }]
            }
        })+
    };
}
recorded!(String as Text, &'static str as Text, bool as Flag, u32 as Integer, u64 as Integer, f64 as Number,
    Vec<usize> as Integers);

/// A scalar may be empty, and a group of columns may be absent as a whole.
impl<T: Recorded> Recorded for Option<T> {
    fn columns(field: Declaration) -> Vec<Column> {
        let is_group = field.serde == "flatten";
        let columns = T::columns(field).into_iter();
        columns.map(|each| Column { is_optional: true, is_rare: each.is_rare || is_group, ..each }).collect()
    }
}

impl<T: Recorded> Recorded for &T {
    fn columns(field: Declaration) -> Vec<Column> {
        T::columns(field)
    }
}

/// Declares a record once: each field gives the field itself, its column and, after `=`, its metric.
///
/// The doc comment of a field is its definition on the reference page.
#[macro_export]
macro_rules! record {
    (
        $(#[$attr:meta])* pub struct $Name:ident $(<$life:lifetime>)? {
            $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)+)])? $field:ident: $type:ty $(= $metric:expr)?,)+
        }
    ) => {
        $(#[$attr])*
        #[derive(serde::Serialize)]
        pub struct $Name $(<$life>)? {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])? pub $field: $type,)+
        }

        impl $(<$life>)? $crate::metric::Recorded for $Name $(<$life>)? {
            fn columns(_: $crate::metric::Declaration) -> Vec<$crate::metric::Column> {
                let mut columns = Vec::new();
                $(columns.extend(<$type as $crate::metric::Recorded>::columns($crate::metric::Declaration {
                    name: stringify!($field),
                    doc: concat!($($doc),+),
                    serde: concat!("", $(stringify!($($serde)+))?),
                    metric: None $(.or(Some($metric)))?,
                }));)+
                columns
            }
        }
    };
}
