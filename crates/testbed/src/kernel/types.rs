//! The running kernel's types (BTF): what tells one kernel from another.

use super::error::Error;
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};
use std::ffi::OsString;
use std::path::Path;

/// Names a file with the kernel's types, in place of what the kernel itself offers.
const OVERRIDE: &str = "UNBLOAT_BTF";

/// The kernel's types.
pub(crate) struct Types(Btf<'static>);

impl Types {
    /// Reads them.
    ///
    /// # Errors
    /// If the kernel has none, or not those of BPF congestion controls.
    pub(crate) fn read() -> Result<Types, Error> {
        let found = match override_path() {
            Some(path) => {
                let path = Path::new(&path);
                Btf::from_path(path).map_err(|_| format!("{OVERRIDE} names {}, which holds none", path.display()))
            }
            None => Btf::from_vmlinux().map_err(|_| "there is no /sys/kernel/btf/vmlinux".to_string()),
        };
        let types = found.map(Types).map_err(|why| {
            Error::machine(format!(
                "no kernel types (BTF): {why}; loading needs a kernel built with CONFIG_DEBUG_INFO_BTF, as those of Debian, Ubuntu and \
                 Fedora are"
            ))
        })?;
        match types.structure("bpf_struct_ops_tcp_congestion_ops") {
            Some(_) => Ok(types),
            None => Err(Error::machine(
                "this kernel takes no congestion controls in BPF: it needs CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL",
            )),
        }
    }

    /// A struct by name.
    pub(crate) fn structure(&self, name: &str) -> Option<Struct<'_>> {
        self.0.type_by_name(name)
    }

    /// Can a congestion control be held by a link (since Linux 6.4)? Else its map is its registration.
    pub(crate) fn has_links(&self) -> bool {
        self.structure("bpf_struct_ops_link").is_some()
    }

    /// How many arguments `cong_control` has: two before Linux 6.10, four since.
    pub(crate) fn cong_control_arguments(&self) -> usize {
        let operations = self.structure("tcp_congestion_ops");
        let members = operations.iter().flat_map(|operations| operations.iter());
        let callback =
            members.filter(|member| member.name.is_some_and(|name| name == "cong_control")).map(|m| m.ty).next();
        callback.and_then(|ty| self.function_behind(ty)).map_or(0, |function| function.len())
    }

    /// What a pointer to a function leads to.
    fn function_behind(&self, id: libbpf_rs::btf::TypeId) -> Option<FuncProto<'_>> {
        let pointer: Ptr<'_> = self.0.type_by_id(id)?;
        let target: BtfType<'_> = pointer.referenced_type();
        self.0.type_by_id(target.type_id())
    }
}

/// The file that the environment names.
pub(crate) fn override_path() -> Option<OsString> {
    std::env::var_os(OVERRIDE).filter(|path| !path.is_empty())
}
