//! The two snapshots that one call of a control leaves.

use super::snapshot::Snapshot;
use std::collections::HashMap;

const BEFORE: u64 = 0;

/// A call of which both snapshots arrived.
pub(super) struct Call {
    pub before: Box<Snapshot>,
    pub after: Box<Snapshot>,
    /// The socket may have had calls before this one that are not known.
    pub follows_gap: bool,
}

/// Puts snapshots together. The calls of one socket follow each other, because the kernel makes each of them with the
/// socket locked; so a snapshot that does not fit means that one was lost, and then the count of lost ones says so.
#[derive(Default)]
pub(super) struct Pairs {
    sockets: HashMap<u64, Socket>,
}

/// What is known of a socket.
#[derive(Default)]
struct Socket {
    /// The first snapshot of a call that has not ended.
    open: Option<Box<Snapshot>>,
    /// The count of lost snapshots at the latest one of this socket.
    lost: u64,
    /// Something is missing since the latest call that is known whole.
    gap: bool,
}

impl Pairs {
    /// Takes the next snapshot; gives the call if it completes one.
    ///
    /// # Errors
    /// In a sentence: the snapshots contradict each other, and none was lost that would explain it.
    pub(super) fn take(&mut self, snapshot: Box<Snapshot>) -> Result<Option<Call>, String> {
        let known = self.sockets.entry(snapshot.socket).or_insert_with(|| Socket::begin(snapshot.lost));
        if known.lost != snapshot.lost {
            *known = Socket { open: None, lost: snapshot.lost, gap: true };
        }
        if snapshot.phase == BEFORE {
            return match known.open.replace(snapshot) {
                None => Ok(None),
                Some(outer) => Err(format!("a call of {} was interrupted by one on the same socket", outer.name())),
            };
        }
        let Some(before) = known.open.take() else {
            return if known.gap { Ok(None) } else { Err("a call ends that has not begun".into()) };
        };
        if before.helper_results != snapshot.helper_results {
            return Err(format!("a call of {} lost its clock to another on the same processor", before.name()));
        }
        let follows_gap = std::mem::take(&mut known.gap);
        Ok(Some(Call { before, after: snapshot, follows_gap }))
    }
}

impl Socket {
    /// If any was lost before its first snapshot, that may have been one of this socket.
    fn begin(lost: u64) -> Socket {
        Socket { open: None, lost, gap: lost > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: u64 = 1;

    fn snapshot(phase: u64, lost: u64) -> Box<Snapshot> {
        let none = vec![0; size_of::<Snapshot>()];
        let mut snapshot = Snapshot::of(&none).expect("as many bytes");
        (snapshot.socket, snapshot.phase, snapshot.lost) = (1, phase, lost);
        snapshot
    }

    /// For each whole call whether it follows a gap.
    fn calls(snapshots: &[(u64, u64)]) -> Result<Vec<bool>, String> {
        let mut pairs = Pairs::default();
        let taken: Result<Vec<_>, _> =
            snapshots.iter().map(|&(phase, lost)| pairs.take(snapshot(phase, lost))).collect();
        Ok(taken?.into_iter().flatten().map(|call| call.follows_gap).collect())
    }

    #[test]
    fn two_snapshots_are_a_call() {
        assert_eq!(calls(&[(BEFORE, 0), (AFTER, 0), (BEFORE, 0), (AFTER, 0)]), Ok(vec![false, false]));
    }

    #[test]
    fn the_end_of_a_call_is_lost() {
        assert_eq!(calls(&[(BEFORE, 0), (BEFORE, 1), (AFTER, 1), (BEFORE, 1), (AFTER, 1)]), Ok(vec![true, false]));
    }

    #[test]
    fn the_beginning_of_a_call_is_lost() {
        assert_eq!(calls(&[(BEFORE, 0), (AFTER, 0), (AFTER, 1), (BEFORE, 1), (AFTER, 1)]), Ok(vec![false, true]));
    }

    /// The end of one call and the beginning of the next: what is left looks like a call, and is none.
    #[test]
    fn two_halves_are_no_call() {
        assert_eq!(calls(&[(BEFORE, 0), (AFTER, 2), (BEFORE, 2), (AFTER, 2)]), Ok(vec![true]));
    }

    #[test]
    fn what_was_lost_before_the_first_call_may_be_of_this_socket() {
        assert_eq!(calls(&[(BEFORE, 3), (AFTER, 3)]), Ok(vec![true]));
    }

    #[test]
    fn a_contradiction_that_no_loss_explains_is_told() {
        assert!(calls(&[(BEFORE, 0), (BEFORE, 0)]).unwrap_err().contains("interrupted"));
        assert!(calls(&[(AFTER, 0)]).unwrap_err().contains("has not begun"));
        let mut pairs = Pairs::default();
        let mut end = snapshot(AFTER, 0);
        end.helper_results[0] = 1;
        assert!(pairs.take(snapshot(BEFORE, 0)).is_ok());
        assert!(pairs.take(end).err().is_some_and(|reason| reason.contains("lost its clock")));
    }
}
