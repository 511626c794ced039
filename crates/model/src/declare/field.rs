//! The types of fields with a key: their spelling in a file, and their value for the kernel's queue disciplines.

use super::{Declared, Written, table};
use crate::quantity::{Between, Number, Share, Start};
use crate::schema::{self, Key, KeyType};
use crate::section::{Names, Readable, Section};
use crate::units::{Bytes, Dbm, Decibels, Drift, Frequency, Limit, Nanos, Offset, Rate};
use serde::{Deserialize, Serialize};

/// A type of a field with a key.
pub trait Field: Sized {
    /// The kind of value that the key takes in a file.
    const KIND: KeyType;
    /// Reads the value from `section`, or the default; a placeholder if there is neither.
    fn read(section: &Section, name: &'static str) -> Self {
        Self::find(section, name).unwrap_or_else(|| Self::absent(schema::find(section.shape, name)))
    }
    /// Reads the value from `section`, or the default; none if there is neither or the value is wrong.
    fn find(section: &Section, name: &'static str) -> Option<Self>;
    /// Returns the value for a missing key.
    fn absent(key: &Key) -> Self;
    /// Returns the value as a file has it; none if the key is left out.
    fn written(&self) -> Option<String>;
    /// Returns the value in the kernel's unit for queue disciplines: packets, bytes, microseconds, bytes per second, 0
    /// or 1. None for a missing value, or for a type that the kernel's disciplines do not have.
    fn in_kernel(&self) -> Option<u64> {
        None
    }
}

macro_rules! field {
    ($($type:ty: $kind:ident $(, |$value:ident| $in_kernel:expr)?);+ $(;)?) => {
        $(impl Field for $type {
            $(fn in_kernel(&self) -> Option<u64> {
                let $value = self;
                Some($in_kernel)
            })?
            const KIND: KeyType = KeyType::$kind;
            fn find(section: &Section, name: &'static str) -> Option<$type> {
                section.read(name)
            }
            fn absent(key: &Key) -> $type {
                key.default().unwrap_or_default()
            }
            fn written(&self) -> Option<String> {
                Some(Readable::written(self))
            }
        })+
    };
}
field! {
    bool: Flag, |flag| (*flag).into();
    u64: Integer, |number| *number;
    Number: Number;
    String: Text;
    Names: Names;
    Share: Share;
    Frequency: Frequency;
    Decibels: Ratio;
    Rate: Rate, |rate| rate.0 / 8;
    Nanos: Time, |time| time.as_micros();
    Start: Start;
    Between<Rate>: RateRange;
    Between<u64>: Numbers;
    Bytes: Size, |size| size.0;
    Offset: Offset;
    Drift: Drift;
    Dbm: Signal;
}

/// Implements [`Field`] for whole numbers whose range in the schema fits fewer than 64 bits.
macro_rules! narrow_field {
    ($($type:ty),+) => {
        $(impl Field for $type {
            const KIND: KeyType = KeyType::Integer;
            fn find(section: &Section, name: &'static str) -> Option<$type> {
                section.read::<u64>(name).map(|number| number as $type)
            }
            fn absent(key: &Key) -> $type {
                u64::absent(key) as $type
            }
            fn written(&self) -> Option<String> {
                Some(self.to_string())
            }
            fn in_kernel(&self) -> Option<u64> {
                Some((*self).into())
            }
        })+
    };
}
narrow_field!(u8, u32);

impl Field for Limit {
    const KIND: KeyType = KeyType::Limit;
    fn find(section: &Section, name: &'static str) -> Option<Limit> {
        section.read_limit(name)
    }
    fn absent(key: &Key) -> Limit {
        key.default().unwrap_or(Limit::Packets(0))
    }
    fn written(&self) -> Option<String> {
        Some(Readable::written(self))
    }
}

/// Declares limits whose range in the schema allows only packets, or only bytes.
macro_rules! limit_field {
    ($($(#[$doc:meta])* $Name:ident($type:ty): $Unit:ident($own:ty)),+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $Name(pub $type);

        impl From<$Name> for Limit {
            fn from(limit: $Name) -> Limit {
                Limit::$Unit(<$own>::from(limit.0))
            }
        }

        impl From<$Name> for $type {
            fn from(limit: $Name) -> $type {
                limit.0
            }
        }

        impl From<$type> for $Name {
            fn from(limit: $type) -> $Name {
                $Name(limit)
            }
        }

        impl Field for $Name {
            const KIND: KeyType = KeyType::Limit;
            fn find(section: &Section, name: &'static str) -> Option<$Name> {
                $Name::of(section.read_limit(name)?)
            }
            fn absent(key: &Key) -> $Name {
                key.default().and_then($Name::of).unwrap_or($Name(<$type>::default()))
            }
            fn written(&self) -> Option<String> {
                Some(Readable::written(&Limit::from(*self)))
            }
            fn in_kernel(&self) -> Option<u64> {
                self.0.in_kernel()
            }
        })+
    };
}
limit_field! {
    /// A limit in packets.
    Packets(u32): Packets(u64),
    /// A limit in bytes.
    Room(Bytes): Bytes(Bytes)
}

impl Packets {
    fn of(limit: Limit) -> Option<Packets> {
        match limit {
            Limit::Packets(packets) => Some(Packets(packets as u32)),
            Limit::Bytes(_) => None,
        }
    }
}

impl Room {
    fn of(limit: Limit) -> Option<Room> {
        match limit {
            Limit::Bytes(bytes) => Some(Room(bytes)),
            Limit::Packets(_) => None,
        }
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: KeyType = T::KIND;
    fn read(section: &Section, name: &'static str) -> Option<T> {
        T::find(section, name)
    }
    fn find(section: &Section, name: &'static str) -> Option<Option<T>> {
        Some(T::find(section, name))
    }
    fn absent(_: &Key) -> Option<T> {
        None
    }
    fn written(&self) -> Option<String> {
        self.as_ref().and_then(T::written)
    }
    fn in_kernel(&self) -> Option<u64> {
        self.as_ref().and_then(T::in_kernel)
    }
}

/// A field that is a table with its own keys.
impl<T: Declared> Field for T {
    const KIND: KeyType = KeyType::Table;
    fn read(section: &Section, name: &'static str) -> T {
        T::read(&section.child(name, T::SECTION))
    }
    fn find(section: &Section, name: &'static str) -> Option<T> {
        let table = section.child(name, T::SECTION);
        table.is_there().then(|| T::read(&table))
    }
    fn absent(_: &Key) -> T {
        T::absent()
    }
    fn written(&self) -> Option<String> {
        Some(table(&Written::written(self)))
    }
}

/// A field that is a list of tables, each with its own keys.
impl<T: Declared> Field for Vec<T> {
    const KIND: KeyType = KeyType::Tables;
    fn find(section: &Section, name: &'static str) -> Option<Vec<T>> {
        Some(section.list(name).iter().map(T::read).collect())
    }
    fn absent(_: &Key) -> Vec<T> {
        Vec::new()
    }
    fn written(&self) -> Option<String> {
        let tables: Vec<_> = self.iter().map(|item| table(&item.written())).collect();
        (!tables.is_empty()).then(|| format!("[{}]", tables.join(", ")))
    }
}
