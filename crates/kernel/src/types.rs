//! The running kernel's types (BTF), by which kernels differ.

use super::messages::listening;
use libbpf_rs::btf::types::{FuncProto, MemberAttr, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};
use mechanism::Error;
use mechanism::kernel_types::{OVERRIDE, override_path};
use std::path::Path;
use std::sync::OnceLock;

/// Name of the struct in the map of a congestion control: the state of its registration, then the
/// operations.
const REGISTERED: &str = "bpf_struct_ops_tcp_congestion_ops";

/// Byte offsets in the value of the operations' map. Since Linux 5.6 the value begins with two
/// 32-bit numbers, references and state.
#[derive(Clone)]
pub(crate) struct OperationsLayout {
    /// The type that identifies such a map.
    pub(crate) value_type: u32,
    /// Offset of the congestion control's name.
    pub(crate) name: usize,
    /// Each callback, with the offset of its program's id.
    pub(crate) callbacks: Vec<(String, usize)>,
}

/// Features of the kernel that its types reveal.
#[derive(Clone)]
pub(crate) struct Types {
    /// Whether the kernel takes congestion controls in BPF.
    pub(crate) has_controls: bool,
    /// Whether a link can hold the registration of a congestion control (since Linux 6.4). Before,
    /// its map is the registration.
    pub(crate) has_links: bool,
    /// Number of arguments of `cong_control`: two before Linux 6.10, four since.
    pub(crate) cong_control_arguments: usize,
    /// Offsets in the value that the operations' map shows to user space.
    pub(crate) operations_layout: OperationsLayout,
}

impl Types {
    /// Reads the types.
    ///
    /// # Errors
    /// Fails if the kernel has none, or lacks those of BPF congestion controls.
    pub(crate) fn read() -> Result<Types, Error> {
        let types = Types::find().map_err(|why| {
            Error::machine(format!(
                "kernel types (BTF) are missing: {why}; loading needs a kernel with CONFIG_DEBUG_INFO_BTF, as Debian, \
                 Ubuntu and Fedora have"
            ))
        })?;
        if types.has_controls {
            Ok(types)
        } else {
            Err(Error::machine(
                "this kernel does not support congestion controls in BPF: it needs CONFIG_BPF_SYSCALL and \
                 CONFIG_BPF_JIT",
            ))
        }
    }

    /// Reads the types, those of the kernel once, or explains where they are missing.
    pub(crate) fn find() -> Result<Types, String> {
        // A kernel has a hundred thousand types, which never change.
        static OF_THE_KERNEL: OnceLock<Result<Types, String>> = OnceLock::new();
        // libbpf's own complaint says less than the sentence here.
        let of = |read: &dyn Fn() -> libbpf_rs::Result<Btf<'static>>| listening(read).0.map(|all| All(all).summary());
        match override_path() {
            Some(path) => {
                let path = Path::new(&path);
                of(&|| Btf::from_path(path))
                    .map_err(|_| format!("{OVERRIDE} names {}, which contains none", path.display()))
            }
            None => OF_THE_KERNEL
                .get_or_init(|| {
                    of(&Btf::from_vmlinux).map_err(|_| "/sys/kernel/btf/vmlinux does not exist".to_string())
                })
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

    /// Finds a struct by name.
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

    /// Returns the function type behind a pointer.
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
