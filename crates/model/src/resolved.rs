//! Scenarios that another process has read: no file, no places, every value filled in.
//!
//! A scenario's JSON (`serde_json` on `model::Scenario`) can be read again if each trace brings its `text` along.

use crate::schema::{self, OF_THE_KERNEL};
use crate::{KernelQueue, ParameterValue};
use serde::de::{Deserialize, Deserializer, Error};

/// A queue of the kernel's in such a JSON.
#[derive(serde::Deserialize)]
struct WrittenKernelQueue {
    discipline: String,
    parameters: Vec<(String, ParameterValue)>,
}

/// Derived, it would borrow the names for ever.
impl<'de> Deserialize<'de> for KernelQueue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<KernelQueue, D::Error> {
        KernelQueue::try_from(WrittenKernelQueue::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl TryFrom<WrittenKernelQueue> for KernelQueue {
    type Error = String;

    fn try_from(written: WrittenKernelQueue) -> Result<KernelQueue, String> {
        let of_the_kernel = schema::QUEUES.iter().filter_map(|kind| kind.strip_prefix(OF_THE_KERNEL));
        let discipline = of_the_kernel
            .clone()
            .find(|name| *name == written.discipline)
            .ok_or_else(|| format!("there is no queue {OF_THE_KERNEL}{}", written.discipline))?;
        let section = format!("{OF_THE_KERNEL}{discipline}");
        let parameter = |(name, value): (String, ParameterValue)| {
            let key = schema::keys_of(&section).find(|key| key.name == name);
            key.map(|key| (key.name, value)).ok_or_else(|| format!("{section} has no {name}"))
        };
        let parameters = written.parameters.into_iter().map(parameter).collect::<Result<_, _>>()?;
        Ok(KernelQueue { discipline, parameters })
    }
}
