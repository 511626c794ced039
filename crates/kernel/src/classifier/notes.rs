//! Classifiers at devices: the device has queues and the program, and a note records what was there
//! before.

use super::bands::{self, Before};
use super::programs::{Loaded, PROGRAM, Place};
use crate::device::Device;
use crate::device_notes::{self, AtDevice, DeviceNote, DeviceUnloaded};
use crate::messages::listening;
use crate::pins;
use crate::rights;
use crate::tc_program::remove_clsact;
use mechanism::Error;
use mechanism::Library;
use model::MechanismRef;
use model::units::Rate;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Folder with the pins of the programs that time packets, one for each device.
const TIMERS: &str = "/sys/fs/bpf/unbloat-classifiers";

/// The record of a classifier at a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClassifierNote {
    /// The mechanism, and its device.
    #[serde(flatten)]
    pub at: AtDevice,
    /// Rate limit of the device, bit/s; none without a limit.
    pub rate_bps: Option<u64>,
    /// The queue discipline that will return; none leaves the choice to the kernel.
    pub before: Option<Before>,
    /// Whether no packet waits before the device, since it takes every packet at once and has no
    /// rate limit.
    #[serde(default)]
    pub sorts_nothing: bool,
}

impl DeviceNote for ClassifierNote {
    const FOLDER: &'static str = device_notes::CLASSIFIERS;
    const WHAT: &'static str = "classifier";

    fn at(&self) -> &AtDevice {
        &self.at
    }

    fn is_whole(&self) -> bool {
        bands::has(self.at.index) && PROGRAM.maps_at(self.at.index).is_some()
    }

    /// Takes away the queues, then the program. Also removes `clsact` if this crate made it and no
    /// filters of others are there.
    fn take_from_device(&self) -> Result<(), Error> {
        let device = self.at.device();
        if let Some(device) = Device::numbered(device.index) {
            bands::take(&device, self.before.as_ref())?;
        }
        // Missing if the kernel does not time packets.
        let _ = std::fs::remove_file(timer_pin(&self.at));
        let _ = std::fs::remove_dir(TIMERS);
        let (_, _) = listening(|| {
            PROGRAM.detach(device.index);
            if self.at.made_clsact && !device.has_filters() {
                remove_clsact(device.index);
            }
        });
        Ok(())
    }
}

fn timer_pin(at: &AtDevice) -> PathBuf {
    Path::new(TIMERS).join(at.file_name())
}

/// Gives a device a classifier and the queues that it sorts into, until [`unload_classifier`], the
/// device's end or the next boot.
///
/// # Errors
/// Fails if mechanism or device does not exist, or if the device has a classifier already or no
/// room for one. Also fails if this process lacks the rights, or the kernel refuses. Nothing has
/// changed then.
pub fn load_classifier(
    library: &Library,
    classifier: &MechanismRef,
    device: &str,
    rate: Option<Rate>,
) -> Result<ClassifierNote, Error> {
    rights::require("loading a classifier")?;
    let device = Device::named(device)?;
    let link_header = device.link_header()?;
    let _lock = device_notes::lock()?;
    let _ = device_notes::sweep_locked::<ClassifierNote>();
    device_notes::require_none::<ClassifierNote>(&device)?;
    let before = bands::before(&device)?;
    let sorts_nothing = rate.is_none() && bands::takes_all(&device)?;
    let timed = Some((device.index, device_notes::namespace_number()));
    let program = Loaded::load(library, classifier, Place { link_header, bands: bands::BANDS, timed })?;
    let at = AtDevice::new(&device, &program.source, &program.parameters)?;
    let timer = timer_pin(&at);
    let note = ClassifierNote { at, rate_bps: rate.map(|rate| rate.0), before, sorts_nothing };
    device_notes::keep(note, || {
        bands::give(&device, rate)?;
        let attached = program.attach(device.index);
        attached.map_err(|error| {
            Error::machine(format!("the kernel cannot attach the classifier to {}: {error}", device.name))
        })?;
        // A kernel that does not let packets be timed still sorts them.
        let has_place = pins::mount_bpffs().is_ok() && std::fs::create_dir_all(TIMERS).is_ok();
        if !has_place || !program.time_packets(&timer) {
            let _ = std::fs::remove_dir(TIMERS);
        }
        Ok(())
    })
}

/// Takes the classifier `source` from `device`, or from every device that has it.
///
/// # Errors
/// Fails if no device has it, or this process lacks the rights.
pub fn unload_classifier(source: &str, device: Option<&str>) -> Result<Vec<DeviceUnloaded>, Error> {
    device_notes::unload::<ClassifierNote>(source, device)
}
