//! The program of a classifier: loads it, attaches it to a device, and takes it away.

use super::bands;
use super::flows::{BAND_COUNTS, counts_in};
use crate::loader::{explained, opened};
use crate::messages::listening;
use crate::tc_program::TcProgram;
use libbpf_rs::{MapCore, MapHandle, Object, TC_EGRESS};
use mechanism::Error;
use mechanism::{ClassifierScope, DeviceObject, Library, MechanismKind};
use model::MechanismRef;
use std::os::fd::AsFd;
use std::path::Path;

/// The program (`include/classify_program.h`). It runs after a window controller's program, if
/// there is one.
pub(super) const PROGRAM: TcProgram = TcProgram { name: "unbloat_egress", point: TC_EGRESS, priority: 0x4248 };

/// The device that a classifier serves, and its task there.
#[derive(Clone, Copy)]
pub struct Place {
    /// Length in bytes of a frame's header before its IP header.
    pub link_header: u32,
    /// Number of bands of the queue discipline whose handle is `bands::HANDLE`.
    pub bands: u32,
    /// Numbers of the device whose packets are timed, and of its network namespace.
    pub timed: Option<(u32, u32)>,
}

/// Name of the program that times packets, at a tracepoint of the kernel.
const TIMER: &str = "unbloat_dequeue";

/// A classifier that is loaded into the kernel.
pub struct Loaded {
    pub(super) source: String,
    pub(super) parameters: Vec<(String, String)>,
    bands: u32,
    object: Object,
}

/// Counts the packets that a classifier has dropped.
pub struct ClassifierDrops {
    counts: MapHandle,
    bands: u32,
}

impl ClassifierDrops {
    /// Returns the packets dropped so far.
    pub fn total(&self) -> u64 {
        counts_in(&self.counts, self.bands).iter().map(|count| count.dropped).sum()
    }
}

impl Loaded {
    /// Builds and loads a classifier. If the kernel refuses the program that times packets, the
    /// classifier works without it.
    pub fn load(library: &Library, classifier: &MechanismRef, place: Place) -> Result<Loaded, Error> {
        let Place { link_header, bands, timed } = place;
        let mut object = library.device_object(MechanismKind::Classifier, classifier)?;
        let (device, namespace) = timed.unwrap_or_default();
        object.set_scope(&ClassifierScope { link_header, handle: bands::HANDLE, bands, device, namespace });
        let DeviceObject { bytes, source, parameters, .. } = object;
        let load = |is_timed: bool| {
            listening(|| {
                let mut open = opened("unbloat_classify", &bytes)?;
                open.progs_mut().filter(|program| program.name() == TIMER).for_each(|mut timer| {
                    timer.set_autoload(is_timed);
                });
                open.load()
            })
        };
        let (loaded, said) = match timed.map(|_| load(true)) {
            Some((Ok(object), said)) => (Ok(object), said),
            Some((Err(_), _)) | None => load(false),
        };
        let object = loaded.map_err(|error| explained(&source, &error, said))?;
        Ok(Loaded { source, parameters, bands, object })
    }

    /// Times packets until the pin at this path is removed. Returns false if the kernel does not
    /// permit it.
    pub(super) fn time_packets(&self, pin: &Path) -> bool {
        let Some(timer) = self.object.progs_mut().find(|program| program.name() == TIMER) else { return false };
        let (pinned, _) = listening(|| timer.attach()?.pin(pin));
        pinned.is_ok()
    }

    /// Attaches the classifier to a device.
    pub fn attach(&self, device: u32) -> libbpf_rs::Result<()> {
        let program = self.object.progs().find(|program| program.name() == PROGRAM.name);
        let program = program.expect("the header declares it");
        let (done, _) = listening(|| PROGRAM.attach(program.as_fd(), device));
        done
    }

    /// Returns a counter of the packets that the classifier has dropped.
    pub fn drops(&self) -> libbpf_rs::Result<ClassifierDrops> {
        let map = self.object.maps().find(|map| map.name() == BAND_COUNTS).expect("the header declares it");
        Ok(ClassifierDrops { counts: MapHandle::try_from(&map)?, bands: self.bands })
    }
}
