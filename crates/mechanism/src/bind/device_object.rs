//! A mechanism that works at a device, in the form for the running kernel: an eBPF object with its parameters and its
//! scope set.

use crate::bind::opened::Function;
use crate::bind::parameter::Setting;
use crate::build::object_file::Object;

/// The global that holds the scope of the programs (`include/window_program.h`, `include/classify_program.h`).
const SCOPE: &str = "unbloat_scope";

/// A compiled window controller or classifier, ready for the kernel's loader.
#[derive(Clone, Debug)]
pub struct DeviceObject {
    /// The ELF file for libbpf, with the parameters set.
    pub bytes: Vec<u8>,
    /// The built-in's name, or the path of the source file.
    pub source: String,
    /// Each parameter with its value, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    scope: std::ops::Range<usize>,
}

/// The scope of the programs of a device object: `struct unbloat_scope`.
pub trait Scope {
    /// The bytes of the scope in the kernel's memory, without padding at the end.
    fn bytes(&self) -> Vec<u8>;
}

/// The scope of a window controller: the connections whose windows it lowers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowScope {
    /// The network of the other end, with an IPv4 address behind `::ffff`; any network if `mask` is zero.
    pub net: [u8; 16],
    /// The bits of the address that count.
    pub mask: [u8; 16],
    /// Bytes of a frame before its IP header.
    pub link_header: u32,
    /// The other end's port; zero stands for any.
    pub port: [u8; 2],
    /// True to include connections without a socket on this host.
    pub forwards: bool,
    /// True to include only sockets of the control group in the map `unbloat_group`.
    pub in_group: bool,
}

impl Scope for WindowScope {
    fn bytes(&self) -> Vec<u8> {
        let WindowScope { net, mask, link_header, port, forwards, in_group } = self;
        let flags = [u8::from(*forwards), u8::from(*in_group)];
        [&net[..], mask, &link_header.to_ne_bytes(), port, &flags].concat()
    }
}

/// The scope of a classifier: the classes of the device's queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassifierScope {
    /// Bytes of a frame before its IP header.
    pub link_header: u32,
    /// The handle of the queue discipline, whose classes are `handle:1` and so on.
    pub handle: u32,
    /// The number of classes.
    pub bands: u32,
    /// The number of the device whose packets are timed; 0 for none.
    pub device: u32,
    /// The number of the device's network namespace.
    pub namespace: u32,
}

impl Scope for ClassifierScope {
    fn bytes(&self) -> Vec<u8> {
        let ClassifierScope { link_header, handle, bands, device, namespace } = *self;
        [link_header, handle, bands, device, namespace].map(u32::to_ne_bytes).concat()
    }
}

impl DeviceObject {
    /// Makes the object from a compiled file with this function. The error continues a sentence that begins with the
    /// file's path.
    pub(crate) fn new(
        image: &[u8],
        object: &Object,
        function: &Function,
        settings: &[Setting],
        source: String,
        parameters: Vec<(String, String)>,
    ) -> Result<DeviceObject, String> {
        let scope = object.symbol(SCOPE).and_then(|symbol| symbol.file_range.clone());
        let (Some(_), Some(scope)) = (object.symbol(function.symbol), scope) else {
            return Err(function.missing.into());
        };
        let mut bytes = image.to_vec();
        for setting in settings {
            let range = setting.symbol.file_range.clone().expect("an eBPF object holds its read-only data");
            bytes[range].copy_from_slice(&setting.bytes);
        }
        Ok(DeviceObject { bytes, source, parameters, scope })
    }

    /// Sets the scope of the programs.
    ///
    /// # Panics
    /// If the scope is not the structure that the object's headers declare.
    pub fn set_scope(&mut self, scope: &impl Scope) {
        let bytes = scope.bytes();
        assert_eq!(self.scope.len(), bytes.len(), "the header repeats struct unbloat_scope");
        self.bytes[self.scope.clone()].copy_from_slice(&bytes);
    }
}
