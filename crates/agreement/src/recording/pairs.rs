//! Pairs the two snapshots that each call of a congestion control leaves.

use super::snapshot::Snapshot;
use std::collections::HashMap;

const BEFORE: u64 = 0;

/// A call with both of its snapshots.
pub(super) struct Call {
    pub before: Box<Snapshot>,
    pub after: Box<Snapshot>,
    /// Whether calls of the socket just before this one may be missing.
    pub follows_gap: bool,
}

/// Pairs snapshots to calls. The kernel makes each call with the socket locked, so the calls of one socket do not
/// overlap. A snapshot that does not fit means that another one was lost, which the count of lost snapshots then shows.
#[derive(Default)]
pub(super) struct Pairs {
    sockets: HashMap<u64, Socket>,
}

/// The state of a socket's recording.
#[derive(Default)]
struct Socket {
    /// The first snapshot of a call that has not ended.
    open: Option<Box<Snapshot>>,
    /// The count of lost snapshots in this socket's latest snapshot.
    lost: u64,
    /// Whether a snapshot may be missing since the latest complete call.
    gap: bool,
}

impl Pairs {
    /// Takes the next snapshot, and returns the call that it completes, if any.
    ///
    /// # Errors
    /// A sentence, if the snapshots contradict each other and no lost snapshot explains it.
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
            return if known.gap { Ok(None) } else { Err("a call ends without a beginning".into()) };
        };
        if before.helper_results != snapshot.helper_results {
            return Err(format!("a call of {} lost its clock to another on the same processor", before.name()));
        }
        let follows_gap = std::mem::take(&mut known.gap);
        Ok(Some(Call { before, after: snapshot, follows_gap }))
    }
}

impl Socket {
    /// Starts the recording of a socket. A snapshot that was lost before may have been of this socket, which makes a
    /// gap.
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

    /// Returns for each complete call whether it follows a gap.
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

    /// The first half of one call and the second half of the next look like a call, but must not count as one.
    #[test]
    fn two_halves_are_no_call() {
        assert_eq!(calls(&[(BEFORE, 0), (AFTER, 2), (BEFORE, 2), (AFTER, 2)]), Ok(vec![true]));
    }

    #[test]
    fn what_was_lost_before_the_first_call_may_be_of_this_socket() {
        assert_eq!(calls(&[(BEFORE, 3), (AFTER, 3)]), Ok(vec![true]));
    }

    #[test]
    fn a_contradiction_that_no_loss_explains_is_an_error() {
        assert!(calls(&[(BEFORE, 0), (BEFORE, 0)]).unwrap_err().contains("interrupted"));
        assert!(calls(&[(AFTER, 0)]).unwrap_err().contains("without a beginning"));
        let mut pairs = Pairs::default();
        let mut end = snapshot(AFTER, 0);
        end.helper_results[0] = 1;
        assert!(pairs.take(snapshot(BEFORE, 0)).is_ok());
        assert!(pairs.take(end).err().is_some_and(|reason| reason.contains("lost its clock")));
    }
}
