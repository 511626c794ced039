//! The congestion controls of a run: each group's instance in the kernel, gone when the run is over.

use crate::Error;
use mechanism::Library;
use scenario::model::{CcSource, Scenario};

/// What the groups use.
pub struct Controls {
    /// The name in the kernel, and whether the receiver needs the control too, as those that need ECN do.
    names: Vec<(String, bool)>,
}

impl Controls {
    /// Loads one instance for each group.
    pub fn load(scenario: &Scenario, _library: &Library) -> Result<Controls, Error> {
        let mut names = vec![];
        for flows in &scenario.flows {
            match &flows.cc.source {
                CcSource::Kernel(name) => names.push((name.clone(), name == "dctcp")),
                CcSource::Builtin(_) | CcSource::File(_) => todo!(),
            }
        }
        Ok(Controls { names })
    }

    /// By group.
    pub fn names(&self) -> &[(String, bool)] {
        &self.names
    }

    /// What the scenario calls the control of a flow.
    pub fn listed<'a>(&self, scenario: &'a Scenario, flow: usize) -> &'a str {
        let mut index = flow;
        for group in &scenario.flows {
            if index < group.count as usize {
                return match &group.cc.source {
                    CcSource::Kernel(name) => name,
                    _ => todo!(),
                };
            }
            index -= group.count as usize;
        }
        unreachable!("flow {flow} is in no group")
    }
}
