//! The running kernel's types (BTF): what tells one kernel from another.

use super::messages::listening;
use libbpf_rs::btf::types::{FuncProto, MemberAttr, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};
use mechanism::Error;
use mechanism::kernel_types::{OVERRIDE, override_path};
use std::path::Path;
use std::sync::OnceLock;

/// A congestion control as its map tells it: the state of its registration, then the operations.
const REGISTERED: &str = "bpf_struct_ops_tcp_congestion_ops";

/// Where in the value of the operations' map things stand, in bytes. Since Linux 5.6 it begins with two 32-bit numbers:
/// references and state.
#[derive(Clone)]
pub(crate) struct OperationsLayout {
    /// The type by which such a map is known.
    pub(crate) value_type: u32,
    /// The control's name.
    pub(crate) name: usize,
    /// Each callback and where the id of its program stands.
    pub(crate) callbacks: Vec<(String, usize)>,
}

/// What the kernel's types say.
#[derive(Clone)]
pub(crate) struct Types {
    /// Does the kernel take congestion controls in BPF?
    pub(crate) has_controls: bool,
    /// Can a congestion control be held by a link (since Linux 6.4)? Else its map is its registration.
    pub(crate) has_links: bool,
    /// How many arguments `cong_control` has: two before Linux 6.10, four since.
    pub(crate) cong_control_arguments: usize,
    /// Where things stand in what the operations' map tells user space.
    pub(crate) operations_layout: OperationsLayout,
}

impl Types {
    /// Reads them.
    ///
    /// # Errors
    /// If the kernel has none, or not those of BPF congestion controls.
    pub(crate) fn read() -> Result<Types, Error> {
        let types = Types::find().map_err(|why| {
            Error::machine(format!(
                "no kernel types (BTF): {why}; loading needs a kernel built with CONFIG_DEBUG_INFO_BTF, as those of \
                 Debian, Ubuntu and Fedora are"
            ))
        })?;
        if types.has_controls {
            Ok(types)
        } else {
            Err(Error::machine(
                "this kernel takes no congestion controls in BPF: it needs CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT",
            ))
        }
    }

    /// Reads them, those of the kernel once, or says where they are missed.
    pub(crate) fn find() -> Result<Types, String> {
        // There are a hundred thousand, and the kernel's never change.
        static OF_THE_KERNEL: OnceLock<Result<Types, String>> = OnceLock::new();
        // libbpf's own complaint says less than ours.
        let of = |read: &dyn Fn() -> libbpf_rs::Result<Btf<'static>>| listening(read).0.map(|all| All(all).summary());
        match override_path() {
            Some(path) => {
                let path = Path::new(&path);
                of(&|| Btf::from_path(path))
                    .map_err(|_| format!("{OVERRIDE} names {}, which holds none", path.display()))
            }
            None => OF_THE_KERNEL
                .get_or_init(|| of(&Btf::from_vmlinux).map_err(|_| "there is no /sys/kernel/btf/vmlinux".to_string()))
                .clone(),
        }
    }
}

/// All types of a kernel.
struct All(Btf<'static>);

impl All {
    fn summary(&self) -> Types {
        Types {
            has_controls: self.structure(REGISTERED).is_some(),
            has_links: self.structure("bpf_struct_ops_link").is_some(),
            cong_control_arguments: self.cong_control_arguments(),
            operations_layout: self.operations_layout(),
        }
    }

    /// A struct by name.
    fn structure(&self, name: &str) -> Option<Struct<'_>> {
        self.0.type_by_name(name)
    }

    fn cong_control_arguments(&self) -> usize {
        let operations = self.structure("tcp_congestion_ops");
        let members = operations.iter().flat_map(|operations| operations.iter());
        let callback =
            members.filter(|member| member.name.is_some_and(|name| name == "cong_control")).map(|m| m.ty).next();
        callback.and_then(|ty| self.function_behind(ty)).map_or(0, |function| function.len())
    }

    fn operations_layout(&self) -> OperationsLayout {
        let offset = |structure: Option<&Struct<'_>>, name: &str| {
            let member = structure.and_then(|s| s.iter().find(|member| member.name.is_some_and(|own| own == name)));
            member.map_or(0, |member| byte_offset(member.attr))
        };
        let start = offset(self.structure(REGISTERED).as_ref(), "data");
        let operations = self.structure("tcp_congestion_ops");
        let callbacks = operations.iter().flat_map(|operations| operations.iter()).filter_map(|member| {
            self.function_behind(member.ty)?;
            Some((member.name?.to_string_lossy().into_owned(), start + byte_offset(member.attr)))
        });
        OperationsLayout {
            value_type: self.structure(REGISTERED).map_or(0, |structure| structure.type_id().into()),
            name: start + offset(operations.as_ref(), "name"),
            callbacks: callbacks.collect(),
        }
    }

    /// What a pointer to a function leads to.
    fn function_behind(&self, id: libbpf_rs::btf::TypeId) -> Option<FuncProto<'_>> {
        let pointer: Ptr<'_> = self.0.type_by_id(id)?;
        let target: BtfType<'_> = pointer.referenced_type();
        self.0.type_by_id(target.type_id())
    }
}

fn byte_offset(attribute: MemberAttr) -> usize {
    match attribute {
        MemberAttr::Normal { offset } => offset as usize / 8,
        MemberAttr::BitField { offset, .. } => offset as usize / 8,
    }
}
