//! Declares a section of scenario files once. The field, kind, default, range and meaning of each key give the struct,
//! its `Default`, its reader, its writer and its rows of the schema.

mod field;

pub use field::{Field, Packets, Room};

use crate::schema::{Absence, Key, KeyType, OnKernel};
use crate::section::Section;
use crate::value::bare_or_quoted;
use serde::{Deserialize, Serialize};

/// A value that a file writes as a section.
pub trait Written {
    /// Returns the keys that have a value, with their values as a file has them.
    fn written(&self) -> Vec<(&'static str, String)>;
}

/// A struct that is declared as a section.
pub trait Declared: Written + Sized {
    /// The section's name in the schema.
    const SECTION: &'static str;
    /// The section's keys, in the order of the reference.
    const KEYS: &'static [Key];
    /// Reads a section. A field without a key gets a placeholder, and so does a field whose value is wrong.
    fn read(section: &Section) -> Self;
    /// Returns the struct with the default of every key.
    fn absent() -> Self;
    /// Sets the fields whose keys a section has, or whose keys have defaults.
    fn change(&mut self, section: &Section);
    /// Returns the netlink attributes of the keys in `said`, in the kernel's units.
    fn attributes(&self, said: Said) -> Vec<(u16, u64)>;
}

/// The set of keys of a section that a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said(u32);

impl Said {
    /// The set of all keys.
    pub const ALL: Said = Said(u32::MAX);

    /// The empty set.
    pub const NONE: Said = Said(0);

    /// Returns the set of those `keys` that `section` has.
    pub fn of(section: &Section, keys: &[Key]) -> Said {
        Said::which(keys, |name| section.get(name).is_some())
    }

    /// Returns the set of those `keys` that have these names.
    pub fn these(keys: &[Key], names: &[&str]) -> Said {
        Said::which(keys, |name| names.contains(&name))
    }

    /// Returns the keys of both sets.
    pub fn and(self, other: Said) -> Said {
        Said(self.0 | other.0)
    }

    /// Returns the set without key `name` of `keys`.
    pub fn without(self, keys: &[Key], name: &str) -> Said {
        Said(self.0 & !Said::these(keys, &[name]).0)
    }

    fn which(keys: &[Key], is_said: impl Fn(&str) -> bool) -> Said {
        Said(keys.iter().enumerate().map(|(number, key)| u32::from(is_said(key.name)) << number).sum())
    }

    /// Whether the set contains key `name` of `keys`.
    pub fn has(self, keys: &[Key], name: &str) -> bool {
        keys.iter().position(|key| key.name == name).is_some_and(|number| self.0 >> number & 1 == 1)
    }
}

/// Writes keys and values as a table in one line.
pub fn table<K: AsRef<str>>(keys: &[(K, String)]) -> String {
    let keys: Vec<_> =
        keys.iter().map(|(name, value)| format!("{} = {value}", bare_or_quoted(name.as_ref()))).collect();
    format!("{{ {} }}", keys.join(", "))
}

/// Returns a doc comment as the meaning of a key.
pub const fn meaning(doc: &'static str) -> &'static str {
    doc.trim_ascii_start()
}

/// Returns the number of keys in all rows.
pub const fn count(rows: &[&[Key]]) -> usize {
    let (mut count, mut row) = (0, 0);
    while row < rows.len() {
        count += rows[row].len();
        row += 1;
    }
    count
}

const NO_KEY: Key = Key {
    section: "",
    name: "",
    kind: KeyType::Table,
    absence: Absence::Required,
    range: "",
    meaning: "",
    on_kernel: OnKernel::Has,
};

/// Returns the keys of all rows.
pub const fn flat<const COUNT: usize>(rows: &[&[Key]]) -> [Key; COUNT] {
    let mut keys = [NO_KEY; COUNT];
    let (mut at, mut row) = (0, 0);
    while row < rows.len() {
        let mut column = 0;
        while column < rows[row].len() {
            keys[at] = rows[row][column];
            (at, column) = (at + 1, column + 1);
        }
        row += 1;
    }
    keys
}

/// Returns the keys with `section` as their section.
pub const fn in_section<const COUNT: usize>(section: &'static str, mut keys: [Key; COUNT]) -> [Key; COUNT] {
    let mut at = 0;
    while at < COUNT {
        keys[at].section = section;
        at += 1;
    }
    keys
}

/// Declares the choices of a key: an enum whose variants have the names in a file.
macro_rules! choice {
    (
        $(#[$attr:meta])*
        pub enum $Name:ident { $($(#[$variant_attr:meta])* $Variant:ident = $name:literal),+ $(,)? }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $Name {
            $($(#[$variant_attr])* #[serde(rename = $name)] $Variant),+
        }

        impl $Name {
            /// The names of the choices, as a file has them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name of the choice, as a file has it.
            pub fn name(self) -> &'static str {
                $Name::NAMES[self as usize]
            }

            /// Returns the choice with this name.
            pub fn named(name: &str) -> Option<$Name> {
                let all = [$($Name::$Variant),+];
                $Name::NAMES.iter().position(|other| *other == name).map(|number| all[number])
            }
        }

        impl $crate::declare::Field for $Name {
            const KIND: $crate::schema::KeyType = $crate::schema::KeyType::Choice($Name::NAMES);
            fn find(section: &$crate::section::Section, name: &'static str) -> Option<$Name> {
                $Name::named(&section.read::<String>(name)?)
            }
            fn absent(key: &$crate::schema::Key) -> $Name {
                // A missing required key is already reported as an error.
                key.default::<String>().and_then(|name| $Name::named(&name)).unwrap_or([$($Name::$Variant),+][0])
            }
            fn written(&self) -> Option<String> {
                Some(format!("{:?}", self.name()))
            }
            // The variants are in the order of the kernel's numbers, where it has them.
            fn in_kernel(&self) -> Option<u64> {
                Some(*self as u64)
            }
        }
    };
}

/// Declares a table of one of several kinds: an enum whose variants hold the sections named like the kinds.
macro_rules! kinds {
    (
        $(#[$attr:meta])*
        pub enum $Name:ident { $($(#[$variant_attr:meta])* $Variant:ident($Section:ty)),+ $(,)? }
    ) => {
        $(#[$attr])*
        pub enum $Name {
            $($(#[$variant_attr])* $Variant($Section)),+
        }

        impl $Name {
            /// The names of the kinds.
            pub const KINDS: &'static [&'static str] =
                &[$(<$Section as $crate::declare::Declared>::SECTION),+];

            /// The keys of each kind, in the order of `KINDS`.
            pub const SECTIONS: &'static [&'static [$crate::schema::Key]] =
                &[$(<$Section as $crate::declare::Declared>::KEYS),+];

            /// Returns the keys of this kind.
            pub fn keys(&self) -> &'static [$crate::schema::Key] {
                match self {
                    $($Name::$Variant(_) => <$Section as $crate::declare::Declared>::KEYS),+
                }
            }

            /// Returns the netlink attributes of the keys in `said`, in the kernel's units.
            pub fn attributes(&self, said: $crate::declare::Said) -> Vec<(u16, u64)> {
                match self {
                    $($Name::$Variant(keys) => $crate::declare::Declared::attributes(keys, said)),+
                }
            }

            /// Returns the name of the kind.
            pub fn name(&self) -> &'static str {
                match self {
                    $($Name::$Variant(_) => <$Section as $crate::declare::Declared>::SECTION),+
                }
            }

            /// Reads a section of one of the kinds; none if it is of another kind.
            pub fn read(section: &$crate::section::Section) -> Option<$Name> {
                // The kind is read only for its errors: it has already chosen the section.
                section.read::<String>("kind");
                $Name::read_keys(section)
            }

            /// Reads all keys except the kind.
            pub fn read_keys(section: &$crate::section::Section) -> Option<$Name> {
                $(if section.shape == <$Section as $crate::declare::Declared>::SECTION {
                    return Some($Name::$Variant($crate::declare::Declared::read(section)));
                })+
                None
            }
        }

        impl $crate::declare::Written for $Name {
            fn written(&self) -> Vec<(&'static str, String)> {
                let keys = match self {
                    $($Name::$Variant(keys) => $crate::declare::Written::written(keys)),+
                };
                [vec![("kind", format!("{:?}", self.name()))], keys].concat()
            }
        }
    };
}

/// Declares a section: `/// meaning`, then `pub field: Type = absence, range;` for each key.
///
/// `field("key")` has another name in the file, and `Type [Written]` another type there. `field: Type;` has no key, and
/// the code that reads the section fills it in. `"key" = kind, absence, range => "meaning";` has no field. `: Default`
/// after the name implements `Default`.
///
/// `key name: Type = absence, range => "meaning";` declares a key for fields without one, such as a name in place of a
/// number. `with Keys` after the section's name makes a struct of these keys.
macro_rules! section {
    (
        $(#[$struct_attr:meta])*
        pub struct $Name:ident $(: $Default:ident)? in $section:literal with $Keys:ident { $($body:tt)* }
    ) => {
        section! {
            $(#[$struct_attr])*
            pub struct $Name $(: $Default)? in $section { $($body)* }
        }
        section! { @keys $Name $Keys { $($body)* } }
    };
    (
        $(#[$struct_attr:meta])*
        pub struct $Name:ident $(: $Default:ident)? in $section:literal {
            $($first:literal = $first_kind:expr, $first_absence:expr $(, $first_range:expr)? => $first_meaning:expr;)*
            $(key $front:ident: $front_type:ty = $front_absence:expr => $front_meaning:expr;)*
            $(
                $(#[doc = $doc:literal])*
                $(#[kernel($($on_kernel:tt)*)])?
                $(#[serde($($serde:tt)*)])?
                pub $field:ident $(($name:literal))? : $type:ty $([$written:ty])?
                    $(= $absence:expr $(, $range:expr)?)?;
                $($key:literal = $key_kind:expr, $key_absence:expr $(, $key_range:expr)? => $key_meaning:expr;)*
                $(key $said:ident: $said_type:ty = $said_absence:expr $(, $said_range:expr)? => $said_meaning:expr;)*
            )*
        }
    ) => {
        $(#[$struct_attr])*
        pub struct $Name {
            $($(#[doc = $doc])* $(#[serde($($serde)*)])? pub $field: $type,)*
        }

        impl $crate::declare::Declared for $Name {
            const SECTION: &'static str = $section;
            const KEYS: &'static [$crate::schema::Key] = {
                #[allow(unused_imports)]
                use $crate::schema::Absence::{Default, Means, Required};
                const ROWS: &[&[$crate::schema::Key]] = &[
                    $(&[section!(
                        @key $section, $first, $first_kind, $first_absence, [$($first_range)?], $first_meaning, []
                    )],)*
                    $(&[section!(
                        @key $section, stringify!($front), <$front_type as $crate::declare::Field>::KIND,
                        $front_absence, [], $front_meaning, []
                    )],)*
                    $(
                        section!(
                            @row $section, section!(@name $field $($name)?), section!(@type $type $([$written])?),
                            [$($absence $(, $range)?)?], concat!($($doc),*), [$($($on_kernel)*)?]
                        ),
                        $(&[section!(
                            @key $section, $key, $key_kind, $key_absence, [$($key_range)?], $key_meaning, []
                        )],)*
                        $(&[section!(
                            @key $section, stringify!($said), <$said_type as $crate::declare::Field>::KIND,
                            $said_absence, [$($said_range)?], $said_meaning, []
                        )],)*
                    )*
                ];
                &$crate::declare::flat::<{ $crate::declare::count(ROWS) }>(ROWS)
            };

            fn read(section: &$crate::section::Section) -> $Name {
                $Name {
                    $($field: section!(
                        @read section, section!(@name $field $($name)?), $type $([$written])? $(= $absence)?
                    ),)*
                }
            }

            fn absent() -> $Name {
                $Name {
                    $($field: section!(
                        @absent $section, section!(@name $field $($name)?), $type $([$written])? $(= $absence)?
                    ),)*
                }
            }

            fn attributes(&self, said: $crate::declare::Said) -> Vec<(u16, u64)> {
                let values: &[(&str, Option<u64>)] = &[$(section!(
                    @number self.$field, section!(@name $field $($name)?), $type $([$written])? $(= $absence)?
                )),*];
                let said_value = |(name, value): &(&str, Option<u64>)| {
                    let key = Self::KEYS.iter().find(|key| key.name == *name)?;
                    let $crate::schema::OnKernel::Attribute(number) = key.on_kernel else { return None };
                    Some((number, value.filter(|_| said.has(Self::KEYS, name))?))
                };
                values.iter().filter_map(said_value).collect()
            }

            fn change(&mut self, section: &$crate::section::Section) {
                $(section!(
                    @change self.$field, section, section!(@name $field $($name)?), $type $([$written])? $(= $absence)?
                );)*
            }
        }

        impl $crate::declare::Written for $Name {
            fn written(&self) -> Vec<(&'static str, String)> {
                let values = [$(section!(
                    @write self.$field, section!(@name $field $($name)?), $type $([$written])? $(= $absence)?
                )),*];
                values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }

        $(impl $Default for $Name {
            fn default() -> $Name {
                $crate::declare::Declared::absent()
            }
        })?
    };

    (@keys $Name:ident $Keys:ident {
        $($first:literal = $first_kind:expr, $first_absence:expr $(, $first_range:expr)? => $first_meaning:expr;)*
        $(key $front:ident: $front_type:ty = $front_absence:expr => $front_meaning:expr;)*
        $(
            $(#[doc = $doc:literal])*
            $(#[kernel($($on_kernel:tt)*)])?
            $(#[serde($($serde:tt)*)])?
            pub $field:ident $(($name:literal))? : $type:ty $([$written:ty])?
                $(= $absence:expr $(, $range:expr)?)?;
            $($key:literal = $key_kind:expr, $key_absence:expr $(, $key_range:expr)? => $key_meaning:expr;)*
            $(key $said:ident: $said_type:ty = $said_absence:expr $(, $said_range:expr)? => $said_meaning:expr;)*
        )*
    }) => {
        #[doc = concat!("What a file says of the fields of a [`", stringify!($Name), "`] that have no key.")]
        pub struct $Keys {
            $(#[doc = $front_meaning] pub $front: $front_type,)*
            $($(#[doc = $said_meaning] pub $said: $said_type,)*)*
        }

        impl $Keys {
            /// Reads the keys from a section.
            pub fn read(section: &$crate::section::Section) -> $Keys {
                $Keys {
                    $($front: <$front_type as $crate::declare::Field>::read(section, stringify!($front)),)*
                    $($($said: <$said_type as $crate::declare::Field>::read(section, stringify!($said)),)*)*
                }
            }
        }

        impl $crate::declare::Written for $Keys {
            fn written(&self) -> Vec<(&'static str, String)> {
                let values = [
                    $((stringify!($front), $crate::declare::Field::written(&self.$front)),)*
                    $($((stringify!($said), $crate::declare::Field::written(&self.$said)),)*)*
                ];
                values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }
        }
    };

    (@key $section:expr, $name:expr, $kind:expr, $absence:expr, [$($range:expr)?], $meaning:expr, [$($on_kernel:tt)*]) => {
        $crate::schema::Key {
            section: $section,
            name: $name,
            kind: $kind,
            absence: $absence,
            range: section!(@range $($range)?),
            meaning: $meaning,
            on_kernel: section!(@on_kernel $($on_kernel)*),
        }
    };
    (@on_kernel) => { $crate::schema::OnKernel::Has };
    (@on_kernel $($on_kernel:tt)+) => { $crate::schema::OnKernel::$($on_kernel)+ };
    (@row $section:expr, $name:expr, $type:ty, [], $doc:expr, []) => { &[] };
    (@row $section:expr, $name:expr, $type:ty, [$absence:expr $(, $range:expr)?], $doc:expr, $on_kernel:tt) => {
        &[section!(
            @key $section, $name, <$type as $crate::declare::Field>::KIND, $absence, [$($range)?],
            $crate::declare::meaning($doc), $on_kernel
        )]
    };
    (@range) => { "" };
    (@range $range:expr) => { $range };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@type $type:ty) => { $type };
    (@type $type:ty [$written:ty]) => { $written };

    (@read $section:ident, $name:expr, $type:ty $([$written:ty])?) => { ::std::default::Default::default() };
    (@read $section:ident, $name:expr, $type:ty = $absence:expr) => {
        <$type as $crate::declare::Field>::read($section, $name)
    };
    (@read $section:ident, $name:expr, $type:ty [$written:ty] = $absence:expr) => {
        <$type>::from(<$written as $crate::declare::Field>::read($section, $name))
    };

    (@absent $section:expr, $name:expr, $type:ty) => { ::std::default::Default::default() };
    (@absent $section:expr, $name:expr, $type:ty = $absence:expr) => {
        <$type as $crate::declare::Field>::absent($crate::schema::find($section, $name))
    };
    (@absent $section:expr, $name:expr, $type:ty [$written:ty] = $absence:expr) => {
        <$type>::from(<$written as $crate::declare::Field>::absent($crate::schema::find($section, $name)))
    };

    (@change $value:expr, $section:ident, $name:expr, $type:ty) => {};
    (@change $value:expr, $section:ident, $name:expr, $type:ty = $absence:expr) => {
        if let Some(value) = <$type as $crate::declare::Field>::find($section, $name) {
            $value = value;
        }
    };
    (@change $value:expr, $section:ident, $name:expr, $type:ty [$written:ty] = $absence:expr) => {
        if let Some(value) = <$written as $crate::declare::Field>::find($section, $name) {
            $value = value.into();
        }
    };

    (@number $value:expr, $name:expr, $type:ty) => { ($name, None) };
    (@number $value:expr, $name:expr, $type:ty = $absence:expr) => {
        ($name, $crate::declare::Field::in_kernel(&$value))
    };
    (@number $value:expr, $name:expr, $type:ty [$written:ty] = $absence:expr) => {
        ($name, $crate::declare::Field::in_kernel(&<$written>::from($value)))
    };

    (@write $value:expr, $name:expr, $type:ty) => { ($name, None) };
    (@write $value:expr, $name:expr, $type:ty = $absence:expr) => {
        ($name, $crate::declare::Field::written(&$value))
    };
    (@write $value:expr, $name:expr, $type:ty [$written:ty] = $absence:expr) => {
        ($name, $crate::declare::Field::written(&<$written>::from($value)))
    };
}

pub(crate) use {choice, kinds, section};
