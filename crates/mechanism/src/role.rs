//! Roles of the mechanisms of a scenario, and their errors.

use crate::error::{About, Error};
use crate::library::MechanismKind;
use model::{MechanismRef, Scenario};
use std::fmt;

/// The part that a mechanism plays in a scenario, which is also where the scenario names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The congestion control of this flow group.
    CongestionControl(usize),
    /// The window controller of this flow group's receivers.
    WindowController(usize),
    /// The classifier of the host of this name.
    Classifier(String),
}

impl Role {
    /// Yields the mechanisms of a scenario with their roles: group by group, then host by host.
    pub fn all(scenario: &Scenario) -> impl Iterator<Item = (Role, &MechanismRef)> {
        let groups = scenario.flows.iter().enumerate().flat_map(|(group, flows)| {
            let controller = flows.window_controller.as_ref();
            let controller = controller.map(|controller| (Role::WindowController(group), controller));
            [Some((Role::CongestionControl(group), &flows.cc)), controller].into_iter().flatten()
        });
        let hosts = scenario.hosts.iter();
        groups.chain(hosts.filter_map(|host| Some((Role::Classifier(host.name.clone()), host.classifier.as_ref()?))))
    }

    /// Returns the kind of mechanism that plays this part.
    pub fn kind(&self) -> MechanismKind {
        match self {
            Role::CongestionControl(_) => MechanismKind::CongestionControl,
            Role::WindowController(_) => MechanismKind::WindowController,
            Role::Classifier(_) => MechanismKind::Classifier,
        }
    }

    /// Returns the scenario's key for the mechanism, such as `flows.0.cc`.
    pub fn key(&self) -> String {
        let (section, name, _) = self.keys();
        format!("{section}.{name}")
    }

    /// Returns the scenario's section, the key for the mechanism's name, and the key for its parameters.
    fn keys(&self) -> (String, &'static str, &'static str) {
        match self {
            Role::CongestionControl(group) => (format!("flows.{group}"), "cc", "params"),
            Role::WindowController(group) => {
                (format!("flows.{group}"), "window_controller", "window_controller_params")
            }
            Role::Classifier(host) => (format!("host.{host}"), "classifier", "classifier_params"),
        }
    }
}

/// A mechanism that a run cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MechanismError {
    /// The role of the mechanism in the scenario.
    pub role: Role,
    /// The reason for which it cannot be used.
    pub error: Error,
}

impl MechanismError {
    /// Returns the scenario's key that the error is about, such as `flows.0.params.beta`.
    pub fn key(&self) -> String {
        let (section, _, params) = self.role.keys();
        match &self.error.about {
            None => self.role.key(),
            Some(About::Parameter(name)) => format!("{section}.{params}.{name}"),
            Some(About::Map(name)) => format!("{section}.maps.{name}"),
        }
    }
}

impl fmt::Display for MechanismError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for MechanismError {}
