//! A mechanism that works at a device, as the running kernel takes it: an eBPF object with its parameters and its scope
//! set.

use crate::bind::opened::Function;
use crate::bind::parameter::Setting;
use crate::build::object_file::Object;

/// The global by which its programs know what is theirs (`include/window_program.h`, `include/classify_program.h`).
const SCOPE: &str = "unbloat_scope";

/// A compiled window controller or classifier, ready for the kernel's loader.
#[derive(Clone, Debug)]
pub struct DeviceObject {
    /// The ELF file for libbpf, with the parameters in it.
    pub bytes: Vec<u8>,
    /// The built-in's name, or the path of the file that it was written in.
    pub source: String,
    /// Each parameter with the value that it has, as a scenario writes it.
    pub parameters: Vec<(String, String)>,
    scope: std::ops::Range<usize>,
}

/// What the programs of such an object know of their place: `struct unbloat_scope`.
pub trait Scope {
    /// As it lies in the kernel's memory, padding at the end left out.
    fn bytes(&self) -> Vec<u8>;
}

/// That of a window controller: whose acknowledgements are lowered.
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

impl Scope for WindowScope {
    fn bytes(&self) -> Vec<u8> {
        let WindowScope { net, mask, link_header, port, forwards, in_group } = self;
        let flags = [u8::from(*forwards), u8::from(*in_group)];
        [&net[..], mask, &link_header.to_ne_bytes(), port, &flags].concat()
    }
}

/// That of a classifier: which classes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassifierScope {
    /// Bytes of a frame before its IP header.
    pub link_header: u32,
    /// The queue discipline, whose classes are `handle:1` and so on.
    pub handle: u32,
    /// How many they are.
    pub bands: u32,
    /// The number of the device whose packets are timed; 0 for nobody's.
    pub device: u32,
    /// The number of its network namespace.
    pub namespace: u32,
}

impl Scope for ClassifierScope {
    fn bytes(&self) -> Vec<u8> {
        let ClassifierScope { link_header, handle, bands, device, namespace } = *self;
        [link_header, handle, bands, device, namespace].map(u32::to_ne_bytes).concat()
    }
}

impl DeviceObject {
    /// Makes one of a compiled file with this function. The error continues a sentence that begins with the file's
    /// path.
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

    /// Tells the programs their place.
    ///
    /// # Panics
    /// If that is not the structure that the object's headers declare.
    pub fn set_scope(&mut self, scope: &impl Scope) {
        let bytes = scope.bytes();
        assert_eq!(self.scope.len(), bytes.len(), "the header repeats struct unbloat_scope");
        self.bytes[self.scope.clone()].copy_from_slice(&bytes);
    }
}
