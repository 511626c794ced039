//! Detects misspelled names in overrides, such as names of links.

use model::schema::{self, Absence};
use model::value::{Node, Table, Value};
use model::{Error, Location, did_you_mean};

/// Rejects an override of an unknown name that is spelled nearly like one of the file, such as `link.botleneck.rate`. A
/// new name is accepted if the overrides set all its required keys.
pub(crate) fn refuse(file: &Table, overrides: &[(&str, Node)]) -> Result<(), Error> {
    for (key, _) in overrides {
        let mut parts = key.split('.');
        let (Some(section), Some(name), Some(_)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let Some(Value::Table(known)) = file.get(section).map(|node| &node.value) else { continue };
        let has_names = schema::keys_of(&format!("{section}.NAME")).next().is_some();
        if !has_names || known.get(name).is_some() {
            continue;
        }
        let hint = did_you_mean(name, known.names());
        let missing: Vec<_> = schema::keys_of(&format!("{section}.NAME"))
            .filter(|needed| needed.absence == Absence::Required)
            .map(|needed| format!("{section}.{name}.{}", needed.name))
            .filter(|needed| !overrides.iter().any(|(key, _)| key.starts_with(needed.as_str())))
            .collect();
        if !hint.is_empty() && !missing.is_empty() {
            let message = format!("unknown {section} {name}{hint}; a new {section} needs {}", missing.join(" and "));
            return Err(Error::one(Location::Override, *key, message));
        }
    }
    Ok(())
}
