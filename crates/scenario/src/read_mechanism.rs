//! Mechanisms, with their parameters: congestion controls, and what kernels do not have.

use crate::checks;
use crate::read_maps;
use model::Location;
use model::declare::Declared;
use model::schema::OF_THE_KERNEL;
use model::section::Section;
use model::value::Value;
use model::{Compile, CompileKeys, MechanismRef, MechanismSource, ParamValue};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The experiment file's folder: where its own paths start.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    /// A path in the file starts at the file's folder; one on the command line at the current folder.
    pub(crate) fn resolve(&self, path: &str, place: &Location) -> PathBuf {
        match place {
            Location::Override => PathBuf::from(path),
            _ => self.0.join(path),
        }
    }

    /// The congestion control of a group.
    pub(crate) fn congestion_control(&self, group: &Section) -> MechanismRef {
        let text: String = group.need("cc");
        let params = params(group, "params", cc_name(&text));
        let maps = read_maps::maps(group, cc_name(&text));
        let source = match text.strip_prefix(OF_THE_KERNEL) {
            Some(name) => {
                checks::kernel_control(group, name, &params, &maps);
                MechanismSource::Kernel(name.to_string())
            }
            None => self.source(group, "cc", text),
        };
        MechanismRef { maps, ..MechanismRef::new(source, params) }
    }

    /// A mechanism that kernels do not have, such as the receiver's, which may be absent; its parameters stand under
    /// another key.
    pub(crate) fn mechanism(&self, section: &Section, key: &str, params_key: &str) -> Option<MechanismRef> {
        let Some(text) = section.read::<String>(key) else {
            if section.get(params_key).is_some() {
                section.complain(params_key, format!("needs a {key}, whose parameters these are"));
            }
            return None;
        };
        if text.starts_with(OF_THE_KERNEL) {
            section.complain(key, format!("kernels have no such mechanism of their own; leave {key} out"));
        }
        let params = params(section, params_key, cc_name(&text));
        Some(MechanismRef::new(self.source(section, key, text), params))
    }

    /// What the compiler of users' own mechanisms is given.
    pub(crate) fn compile(&self, section: &Section) -> Compile {
        let CompileKeys { include, define } = CompileKeys::read(section);
        let (include, define) = (include.unwrap_or_default().0, define.unwrap_or_default().0);
        let place = section.place_of("include");
        for wrong in define.iter().filter(|define| !is_macro(define)) {
            section.complain("define", format!("{wrong:?} is no macro; write \"NAME\" or \"NAME=VALUE\""));
        }
        let folders: Vec<_> = include.iter().map(|folder| self.resolve(folder, &place)).collect();
        for wrong in folders.iter().filter(|folder| !folder.is_dir()) {
            section.complain("include", format!("there is no folder {}", wrong.display()));
        }
        Compile { include: folders, define }
    }

    /// Our own, or a user's file.
    fn source(&self, group: &Section, key: &str, text: String) -> MechanismSource {
        if is_path(&text) {
            MechanismSource::File(self.resolve(&text, &group.place_of(key)))
        } else {
            MechanismSource::Builtin(text)
        }
    }
}

/// A name as C has them, and maybe what it stands for.
fn is_macro(text: &str) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_of_name) && name.starts_with(|c: char| !c.is_ascii_digit()) && !text.contains('\n')
}

/// Is this the path of a congestion control, not the name of one? A path has a slash in it or ends in `.c`; `#NAME` may
/// follow.
pub fn is_path(cc: &str) -> bool {
    let file = cc.split_once('#').map_or(cc, |(file, _)| file);
    file.contains('/') || file.ends_with(".c")
}

/// The name under which `params.NAME` speaks to a control: its own, the `#NAME` of a path, or else the file's name up
/// to the first dot.
pub(crate) fn cc_name(cc: &str) -> &str {
    if !is_path(cc) {
        return cc;
    }
    let file = cc.rsplit('/').next().unwrap_or(cc);
    file.split_once('#').map_or_else(|| file.split('.').next().unwrap_or(file), |(_, name)| name)
}

/// The parameters under `key` for the mechanism `name`: those for all, then those of the table with its name.
fn params(group: &Section, key: &str, name: &str) -> BTreeMap<String, ParamValue> {
    let mut params = BTreeMap::new();
    let Some(node) = group.get(key) else {
        return params;
    };
    let Some(table) = node.value.as_table() else {
        group.complain(
            key,
            format!("must be a table of parameters such as {{ period = \"100ms\" }}, not {}", node.value.kind()),
        );
        return params;
    };
    let for_all = table.0.iter().filter(|(_, node)| node.value.as_table().is_none());
    let for_this = table.get(name).and_then(|node| node.value.as_table()).into_iter().flat_map(|table| &table.0);
    for (name, node) in for_all.chain(for_this) {
        match param_value(&node.value) {
            Ok(value) => drop(params.insert(name.clone(), value)),
            Err(message) => group.complain_about(&node.place, group.path_of(&format!("{key}.{name}")), message),
        }
    }
    params
}

fn param_value(value: &Value) -> Result<ParamValue, String> {
    match value {
        Value::Flag(flag) => Ok(ParamValue::Bool(*flag)),
        Value::Integer(number) => {
            i64::try_from(*number).map(ParamValue::Integer).map_err(|_| format!("{number} is out of range"))
        }
        Value::Text(text) => Ok(ParamValue::Text(text.clone())),
        Value::Float(number) => Ok(ParamValue::Text(number.clone())),
        other => Err(format!("must be a number, true or false, or a string such as \"100ms\", not {}", other.kind())),
    }
}
