//! Reads mechanisms with their parameters: congestion controls, window controllers and classifiers.

use crate::checks;
use model::Location;
use model::declare::Declared;
use model::mechanism_ref::{Maps, Params, is_path};
use model::schema::OF_THE_KERNEL;
use model::section::Section;
use model::{Compile, CompileKeys, MechanismRef, MechanismSource, NamedControl};
use std::path::PathBuf;

/// The folder of the scenario file, at which its relative paths start.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    /// Resolves a path: one in the file starts at the file's folder, one of an override at the current folder.
    pub(crate) fn resolve(&self, path: &str, place: &Location) -> PathBuf {
        match place {
            Location::Override => PathBuf::from(path),
            _ => self.0.join(path),
        }
    }

    /// Reads the congestion control of a group, with its parameters and maps.
    pub(crate) fn congestion_control(
        &self,
        group: &Section,
        NamedControl(name): NamedControl,
        Params(params): Params,
        Maps(maps): Maps,
    ) -> MechanismRef {
        // The key is required, so a missing one is already reported.
        let Some(name) = name else { return MechanismRef::default() };
        let source = match name.strip_prefix(OF_THE_KERNEL) {
            Some(name) => {
                checks::kernel_control(group, name, &params, &maps);
                MechanismSource::Kernel(name.to_string())
            }
            None => self.source(group, "cc", name),
        };
        MechanismRef { maps, ..MechanismRef::new(source, params) }
    }

    /// Reads an optional mechanism that kernels do not have, a window controller or classifier, with its parameters
    /// from `params_key`.
    pub(crate) fn mechanism(
        &self,
        section: &Section,
        (key, name): (&str, Option<String>),
        (params_key, params): (&str, Option<Params>),
    ) -> Option<MechanismRef> {
        let Some(name) = name else {
            if params.is_some() {
                section
                    .complain(params_key, format!("needs {key}; write {key} beside it, or leave the parameters out"));
            }
            return None;
        };
        if name.starts_with(OF_THE_KERNEL) {
            section.complain(key, format!("\"kernel:\" works with cc only; leave {key} out"));
        }
        let Params(params) = params.unwrap_or_default();
        Some(MechanismRef::new(self.source(section, key, name), params))
    }

    /// Reads the folders and macros for the compiler of users' own mechanisms.
    pub(crate) fn compile(&self, section: &Section) -> Compile {
        let CompileKeys { include, define } = CompileKeys::read(section);
        let (include, define) = (include.unwrap_or_default().0, define.unwrap_or_default().0);
        let place = section.place_of("include");
        for wrong in define.iter().filter(|define| !is_macro(define)) {
            section.complain("define", format!("{wrong:?} is not a macro; write \"NAME\" or \"NAME=VALUE\""));
        }
        let folders: Vec<_> = include.iter().map(|folder| self.resolve(folder, &place)).collect();
        for wrong in folders.iter().filter(|folder| !folder.is_dir()) {
            section.complain("include", format!("the folder {} does not exist", wrong.display()));
        }
        Compile { include: folders, define }
    }

    /// Returns the source of a mechanism: a user's file if `text` is a path, otherwise a built-in.
    fn source(&self, group: &Section, key: &str, text: String) -> MechanismSource {
        if is_path(&text) {
            MechanismSource::File(self.resolve(&text, &group.place_of(key)))
        } else {
            MechanismSource::Builtin(text)
        }
    }
}

/// Whether a text defines a macro of C: `NAME` or `NAME=VALUE`.
fn is_macro(text: &str) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_of_name) && name.starts_with(|c: char| !c.is_ascii_digit()) && !text.contains('\n')
}
