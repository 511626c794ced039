//! The backends, each of which runs a scenario and returns its records.

use crate::errors::{fault, input_error, interrupted, run_error};
use mechanism::{Library, MechanismError, Role};
use model::records::{Options, Outcome, Progress};
use pyo3::prelude::*;
use scenario::GridPoint;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use testbed::Time;

/// A place to run a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Backend {
    /// The discrete-event simulator.
    Simulator,
    /// The running kernel's TCP over emulated links, in real time.
    Kernel,
    /// A guest's TCP over emulated links, in virtual time.
    Vm,
}

impl Backend {
    /// Returns the backend that `--on` names.
    pub fn named(name: &str) -> PyResult<Backend> {
        match name {
            "simulator" => Ok(Backend::Simulator),
            "kernel" => Ok(Backend::Kernel),
            "vm" => Ok(Backend::Vm),
            _ => Err(input_error(format!("unknown backend \"{name}\"; valid: simulator, kernel, vm"))),
        }
    }

    /// Returns how time passes on the machine that programs run on.
    pub fn time(self) -> Time {
        match self {
            Backend::Simulator | Backend::Kernel => Time::Real,
            Backend::Vm => Time::Virtual,
        }
    }

    /// Refuses a scenario with features that the backend lacks. A run would refuse them too, but
    /// only when it comes to that grid point.
    pub fn check(self, point: &GridPoint) -> PyResult<()> {
        match self {
            Backend::Simulator => {
                point.scenario.only_in_the_kernel().map_or(Ok(()), |why| Err(refused(point, &why.key, &why)))
            }
            Backend::Kernel => {
                testbed::check(&point.scenario, kernel::running_version()).map_err(|error| testbed_error(point, &error))
            }
            // Its kernel may lack more, which only the guest can find out.
            Backend::Vm => {
                testbed::check(&point.scenario, kernel::ANY_VERSION).map_err(|error| testbed_error(point, &error))
            }
        }
    }

    /// Refuses programs behind the link of a scenario with features that the backend lacks.
    pub fn check_shell(self, point: &GridPoint) -> PyResult<()> {
        let version = match self {
            Backend::Simulator | Backend::Kernel => kernel::running_version(),
            Backend::Vm => kernel::ANY_VERSION,
        };
        testbed::check_shell(&point.scenario, version).map_err(|error| testbed_error(point, &error))
    }

    /// Runs one grid point.
    pub fn run(self, point: &GridPoint, library: &Library, options: &Options, progress: Progress) -> PyResult<Outcome> {
        let run = || match self {
            Backend::Simulator => simulate(point, library, options, progress),
            Backend::Kernel | Backend::Vm => testbed::run(&point.scenario, library, self.time(), options, progress)
                .map_err(|error| testbed_error(point, &error)),
        };
        catch_unwind(AssertUnwindSafe(run)).map_err(|_| fault())?
    }
}

fn simulate(point: &GridPoint, library: &Library, options: &Options, progress: Progress) -> PyResult<Outcome> {
    let places: Vec<_> = mechanism_keys(point).iter().map(|key| point.locate(key)).collect();
    mechanism::watchdog::set_places(&places);
    engine::run(&point.scenario, library, options, progress).map_err(|error| match error {
        engine::Error::Mechanism(error) => mechanism_error(point, &error),
        engine::Error::Fault(fault) => refused(point, &mechanism_keys(point)[fault.group], &fault),
        engine::Error::OnlyInTheKernel(why) => refused(point, &why.key, &why),
        engine::Error::Pcap(why) => {
            let file = options.pcap.as_deref().unwrap_or(Path::new("")).display();
            run_error(format!("the packet trace {file} cannot be written: {why}"))
        }
        engine::Error::Interrupted => interrupted(),
    })
}

/// Returns the keys that name a run's mechanisms: those of the flow groups, then the classifiers of
/// the hosts.
fn mechanism_keys(point: &GridPoint) -> Vec<String> {
    let groups = (0..point.scenario.flows.len()).map(Role::CongestionControl);
    let hosts = point.scenario.hosts.iter().map(|host| Role::Classifier(host.name.clone()));
    groups.chain(hosts).map(|role| role.key()).collect()
}

/// Converts an error of the testbed to an exception, with its place in the file if it has one.
pub fn testbed_error(point: &GridPoint, error: &testbed::Error) -> PyErr {
    match error {
        testbed::Error::Mechanism(error) => mechanism_error(point, error),
        testbed::Error::Unswitchable { group, .. } => refused(point, &format!("flows.{group}.profile"), error),
        testbed::Error::Scenario { key, why } => refused(point, key, why),
        testbed::Error::Interrupted => interrupted(),
        testbed::Error::Step { .. } => input_error(error),
        _ => run_error(error),
    }
}

/// Refuses a key of the scenario, with its place in the file.
fn refused(point: &GridPoint, key: &str, why: &dyn Display) -> PyErr {
    input_error(format!("{}: {why}", point.locate(key)))
}

/// Converts an error of a mechanism to an exception, with its place in the file unless the machine
/// is to blame.
pub fn mechanism_error(point: &GridPoint, error: &MechanismError) -> PyErr {
    if error.error.is_input { refused(point, &error.key(), error) } else { run_error(error) }
}
