//! A scenario for another process, which does not have its files.

use crate::{Scenario, Service, Trace, Transmitter};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A scenario together with the text of its traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Portable(pub Scenario);

#[derive(Serialize, Deserialize)]
struct Parts {
    scenario: Scenario,
    /// The texts of the traces, in the order of [`traces`].
    texts: Vec<String>,
}

/// Returns the traces of a scenario's links.
fn traces(scenario: &mut Scenario) -> impl Iterator<Item = &mut Arc<Trace>> {
    let directions = scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]);
    directions.filter_map(|link| match &mut link.service {
        Service::Own(Transmitter::Trace(trace)) => Some(trace),
        _ => None,
    })
}

impl From<Portable> for Parts {
    fn from(Portable(mut scenario): Portable) -> Parts {
        let texts = traces(&mut scenario).map(|trace| trace.text()).collect();
        Parts { scenario, texts }
    }
}

impl TryFrom<Parts> for Portable {
    type Error = String;

    fn try_from(Parts { mut scenario, texts }: Parts) -> Result<Portable, String> {
        let mut texts = texts.iter();
        for trace in traces(&mut scenario) {
            let text = texts.next().ok_or_else(|| format!("{} comes without its text", trace.path.display()))?;
            *trace = Arc::new(Trace::parse(&trace.path, text)?);
        }
        Ok(Portable(scenario))
    }
}
