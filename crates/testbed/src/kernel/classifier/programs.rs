//! The program of a classifier: loaded, at a device, and taken from it.

use super::bands;
use crate::kernel::error::Error;
use crate::kernel::loader::{explained, opened};
use crate::kernel::messages::listening;
use crate::kernel::tc_program::TcProgram;
use libbpf_rs::{Object, TC_EGRESS};
use mechanism::{ClassifierScope, DeviceObject, Kind, Library};
use scenario::model::CongestionControl;
use std::os::fd::AsFd;

/// The program (`include/classify_program.h`). It stands behind a window controller's, if there is one.
pub(super) const PROGRAM: TcProgram = TcProgram { name: "unbloat_egress", point: TC_EGRESS, priority: 0x4248 };

/// A classifier in the kernel.
pub(super) struct Loaded {
    pub(super) source: String,
    pub(super) parameters: Vec<(String, String)>,
    object: Object,
}

impl Loaded {
    /// Builds and loads it for a device whose frames have such headers.
    pub(super) fn load(library: &Library, classifier: &CongestionControl, link_header: u32) -> Result<Loaded, Error> {
        let mut object = library.device_object(Kind::Classifier, classifier)?;
        object.set_scope(&ClassifierScope { link_header, handle: bands::HANDLE, bands: bands::BANDS });
        let DeviceObject { bytes, source, parameters, .. } = object;
        let (loaded, said) = listening(|| opened("unbloat_classify", &bytes)?.load());
        let object = loaded.map_err(|error| explained(&source, &error, said))?;
        Ok(Loaded { source, parameters, object })
    }

    /// Gives it to a device.
    pub(super) fn attach(&self, device: u32) -> libbpf_rs::Result<()> {
        let program = self.object.progs().find(|program| program.name() == PROGRAM.name);
        let program = program.expect("the header declares it");
        let (done, _) = listening(|| PROGRAM.attach(program.as_fd(), device));
        done
    }
}
