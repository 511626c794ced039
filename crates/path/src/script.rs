//! What happens to chosen packets of a direction, by their number, flow and time.

use model::script::{Action, Scripted};
use model::units::Nanos;

/// The effect of a script on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// The channel loses it.
    pub lose: bool,
    /// It gets the mark CE if it is capable of ECN.
    pub mark: bool,
    /// It arrives twice.
    pub duplicate: bool,
    /// How much later it arrives.
    pub hold: Nanos,
}

/// The rules of a direction, each with the number of packets that it has counted.
pub(crate) struct Script(Vec<(Scripted, u64)>);

impl Script {
    /// Creates a script that has seen no packet; none without rules.
    pub fn of(rules: &[Scripted]) -> Option<Script> {
        (!rules.is_empty()).then(|| Script(rules.iter().map(|rule| (*rule, 0)).collect()))
    }

    /// Returns what happens to the next packet of the direction, whose last bit is sent at `end`.
    pub fn next(&mut self, end: Nanos, flow: u32) -> Fate {
        let mut fate = Fate::default();
        for (rule, count) in &mut self.0 {
            if rule.flow.is_some_and(|only| only != flow) {
                continue;
            }
            *count += 1;
            let is_chosen = rule.packets.is_none_or(|packets| packets.from <= *count && *count <= packets.until);
            if !is_chosen || end < rule.from || rule.to.is_some_and(|to| end >= to) {
                continue;
            }
            match rule.action {
                Action::Lose => fate.lose = true,
                Action::Mark => fate.mark = true,
                Action::Duplicate => fate.duplicate = true,
                Action::Hold => fate.hold = fate.hold.max(rule.time.unwrap_or_default()),
            }
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::quantity::Between;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn rule(action: Action, packets: Option<(u64, u64)>, flow: Option<u32>) -> Scripted {
        let packets = packets.map(|(from, until)| Between { from, until });
        Scripted { action, packets, flow, from: Nanos::ZERO, to: None, time: None }
    }

    /// Packet `n` of ten is sent at `n` ms; odd ones are of flow 1.
    fn numbers_of(rule: Scripted) -> Vec<u64> {
        let mut script = Script::of(&[rule]).expect("there is a rule");
        (1..=10).filter(|n| script.next(MS(*n), (n % 2) as u32) != Fate::default()).collect()
    }

    #[test]
    fn packets_are_chosen_by_number_flow_and_time() {
        let lose = |packets, flow| rule(Action::Lose, packets, flow);
        assert_eq!(numbers_of(lose(Some((3, 5)), None)), [3, 4, 5]);
        assert_eq!(numbers_of(lose(Some((2, 3)), Some(1))), [3, 5]);
        assert_eq!(numbers_of(lose(None, Some(0))), [2, 4, 6, 8, 10]);
        assert_eq!(numbers_of(Scripted { from: MS(4), to: Some(MS(7)), ..lose(None, None) }), [4, 5, 6]);
        assert_eq!(numbers_of(Scripted { from: MS(4), ..lose(Some((1, 4)), None) }), [4]);
        assert!(Script::of(&[]).is_none());
    }

    #[test]
    fn rules_add_up() {
        let hold = Scripted { time: Some(MS(9)), ..rule(Action::Hold, None, None) };
        let rules = [rule(Action::Mark, Some((1, 1)), None), rule(Action::Duplicate, Some((1, 2)), None), hold];
        let mut script = Script::of(&rules).expect("there are rules");
        assert_eq!(script.next(MS(1), 0), Fate { lose: false, mark: true, duplicate: true, hold: MS(9) });
        assert_eq!(script.next(MS(1), 0), Fate { lose: false, mark: false, duplicate: true, hold: MS(9) });
    }
}
