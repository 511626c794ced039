//! The part of a scenario whose hash gives the seeds of a sweep.

use crate::app::{App, Traffic};
use crate::{Compile, FlowGroup, MechanismRef, Scenario};
use serde::Serialize;

/// A scenario without names, congestion controls and compiler options. Runs that differ only in these have the same
/// random draws. The seeds of the papers' runs are a hash of this JSON, so it must never change.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    #[serde(flatten)]
    shared: Scenario,
    flows: Vec<GroupSettings>,
}

#[derive(Clone, Debug, Serialize)]
struct GroupSettings {
    #[serde(flatten)]
    group: FlowGroup,
    /// The traffic of the group's application, independent of how the file describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<Traffic>,
}

impl From<Scenario> for Settings {
    fn from(scenario: Scenario) -> Settings {
        let group = |group: FlowGroup| GroupSettings {
            app: group.app.as_ref().map(App::traffic),
            group: FlowGroup { name: None, cc: MechanismRef::default(), app: None, ..group },
        };
        Settings {
            flows: scenario.flows.into_iter().map(group).collect(),
            shared: Scenario { name: String::new(), compile: Compile::default(), flows: vec![], ..scenario },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MechanismSource;
    use crate::declare::Declared;
    use serde_json::json;

    #[test]
    fn names_and_controls_are_left_out() {
        let cc = MechanismRef { source: MechanismSource::Builtin("reno".into()), ..MechanismRef::default() };
        let named = FlowGroup { name: Some("one".into()), ..FlowGroup::bulk(cc) };
        let scenario = |group| Scenario { name: "sample".into(), flows: vec![group], ..Scenario::absent() };
        let json = |scenario: Scenario| serde_json::to_value(Settings::from(scenario)).unwrap();
        let settings = json(scenario(named.clone()));
        assert_eq!(settings, json(scenario(FlowGroup::bulk(MechanismRef::default()))));
        let mut whole = serde_json::to_value(scenario(named)).unwrap();
        whole.as_object_mut().unwrap().remove("name");
        for key in ["name", "cc"] {
            whole["flows"][0].as_object_mut().unwrap().remove(key);
        }
        assert_eq!(settings, whole);
        let app = Some(App::Web(Default::default()));
        let with_app = json(scenario(FlowGroup { app, ..FlowGroup::bulk(MechanismRef::default()) }));
        assert_eq!(with_app["flows"][0]["app"]["Requests"]["connections"], json!(6));
    }
}
