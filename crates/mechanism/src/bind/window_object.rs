//! A window controller as the running kernel takes it: an eBPF object with its parameters and its scope set.

use crate::bind::object_file::Object;
use crate::bind::parameter::Setting;
use crate::bind::window::{NO_CONTROLLER, WINDOW};

/// The global by which its programs know whose acknowledgements are theirs (`include/window_program.h`).
const SCOPE: &str = "unbloat_scope";

/// A compiled window controller, ready for the kernel's loader.
#[derive(Clone, Debug)]
pub struct WindowObject {
    /// The ELF file for libbpf, with the parameters in it.
    pub bytes: Vec<u8>,
    /// The built-in's name, or the path of the file that it was written in.
    pub source: String,
    /// Each parameter with the value that it has, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    scope: usize,
}

/// `struct unbloat_scope`: whose acknowledgements are lowered.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowScope {
    /// The network that the other end is in, an IPv4 address behind `::ffff`; with `mask` all zero, any.
    pub net: [u8; 16],
    /// The bits of its address that count.
    pub mask: [u8; 16],
    /// Bytes of a frame before its IP header.
    pub link_header: u32,
    /// The other end's port; zeroes stand for any.
    pub port: [u8; 2],
    /// Also of connections without a socket on this host.
    pub forwards: bool,
    /// Only of sockets of the control group in the map `unbloat_group`.
    pub in_group: bool,
}

impl WindowObject {
    /// Makes one of a compiled file. The error continues a sentence that begins with the file's path.
    pub(crate) fn new(
        image: &[u8],
        object: &Object,
        settings: &[Setting],
        source: String,
        parameters: Vec<(String, String)>,
    ) -> Result<WindowObject, String> {
        let scope = object.symbol(SCOPE).and_then(|symbol| symbol.file_range.clone());
        let (Some(_), Some(scope)) = (object.symbol(WINDOW), scope) else {
            return Err(NO_CONTROLLER.into());
        };
        assert_eq!(scope.len(), size_of::<WindowScope>(), "include/window_program.h repeats struct unbloat_scope");
        let mut bytes = image.to_vec();
        for setting in settings {
            let range = setting.symbol.file_range.clone().expect("an eBPF object holds its read-only data");
            bytes[range].copy_from_slice(&setting.bytes);
        }
        Ok(WindowObject { bytes, source, parameters, scope: scope.start })
    }

    /// Says whose acknowledgements are lowered.
    pub fn set_scope(&mut self, scope: &WindowScope) {
        let WindowScope { net, mask, link_header, port, forwards, in_group } = scope;
        let flags = [u8::from(*forwards), u8::from(*in_group)];
        let bytes = [&net[..], mask, &link_header.to_le_bytes(), port, &flags].concat();
        self.bytes[self.scope..self.scope + bytes.len()].copy_from_slice(&bytes);
    }
}
