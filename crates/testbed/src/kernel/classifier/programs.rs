//! The program of a classifier: loaded, at a device, and taken from it.

use super::bands;
use super::flows::{BAND_COUNTS, counts_in};
use crate::kernel::error::Error;
use crate::kernel::loader::{explained, opened};
use crate::kernel::messages::listening;
use crate::kernel::tc_program::TcProgram;
use libbpf_rs::{MapCore, MapHandle, Object, TC_EGRESS};
use mechanism::{ClassifierScope, DeviceObject, Kind, Library};
use scenario::model::CongestionControl;
use std::os::fd::AsFd;

/// The program (`include/classify_program.h`). It stands behind a window controller's, if there is one.
pub(super) const PROGRAM: TcProgram = TcProgram { name: "unbloat_egress", point: TC_EGRESS, priority: 0x4248 };

/// A classifier in the kernel.
pub(crate) struct Loaded {
    pub(super) source: String,
    pub(super) parameters: Vec<(String, String)>,
    bands: u32,
    object: Object,
}

/// Tells how many packets a classifier has dropped.
pub(crate) struct ClassifierDrops {
    counts: MapHandle,
    bands: u32,
}

impl ClassifierDrops {
    /// So far.
    pub(crate) fn total(&self) -> u64 {
        counts_in(&self.counts, self.bands).iter().map(|count| count.dropped).sum()
    }
}

impl Loaded {
    /// Builds and loads it for a device whose frames have such headers, and whose discipline `bands::HANDLE` has so many
    /// bands.
    pub(crate) fn load(
        library: &Library,
        classifier: &CongestionControl,
        link_header: u32,
        bands: u32,
    ) -> Result<Loaded, Error> {
        let mut object = library.device_object(Kind::Classifier, classifier)?;
        object.set_scope(&ClassifierScope { link_header, handle: bands::HANDLE, bands });
        let DeviceObject { bytes, source, parameters, .. } = object;
        let (loaded, said) = listening(|| opened("unbloat_classify", &bytes)?.load());
        let object = loaded.map_err(|error| explained(&source, &error, said))?;
        Ok(Loaded { source, parameters, bands, object })
    }

    /// Gives it to a device.
    pub(crate) fn attach(&self, device: u32) -> libbpf_rs::Result<()> {
        let program = self.object.progs().find(|program| program.name() == PROGRAM.name);
        let program = program.expect("the header declares it");
        let (done, _) = listening(|| PROGRAM.attach(program.as_fd(), device));
        done
    }

    /// What tells how many packets it has dropped.
    pub(crate) fn drops(&self) -> libbpf_rs::Result<ClassifierDrops> {
        let map = self.object.maps().find(|map| map.name() == BAND_COUNTS).expect("the header declares it");
        Ok(ClassifierDrops { counts: MapHandle::try_from(&map)?, bands: self.bands })
    }
}
