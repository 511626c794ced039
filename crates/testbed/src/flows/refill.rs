//! How an application refills its socket in virtual time: piece by piece.
//!
//! Applications have priority over the emulator, because a preempted application that holds its socket's lock delays
//! packets. Writing the data of 20 ms of a link takes some hundred microseconds. A timer that expires meanwhile would
//! be seen that much later, and acknowledgements would be handled that much later. The simulated application takes no
//! time at all. So an application here writes a piece, and leaves the processor to the emulator before the next. It
//! writes the same bytes as a single call would, and the same segments have PSH: both are known beforehand.

use model::units::{Bytes, Nanos};

/// Segments of a piece. Writing them takes some 20 us, with a nanosecond per instruction.
const PIECE: u64 = 4;
/// The largest number of pieces of a refill, as long as one call can write a piece: a fast link goes on sending
/// meanwhile.
const PIECES: u64 = 64;
/// The pause between two pieces.
pub const PAUSE: Nanos = Nanos::from_micros(40);

/// The pieces of an application's present refill.
#[derive(Clone, Copy, Debug)]
pub struct Refill {
    ahead: Bytes,
    segment: Bytes,
    at_once: Bytes,
    /// Bytes of the refill that are not written yet.
    rest: u64,
    /// Bytes that are written before the next pause.
    piece: u64,
    /// Whether the last segment gets PSH.
    pushes_last: bool,
}

impl Refill {
    /// Describes an application that writes segments of `segment` bytes until `ahead` bytes are unsent, as if by calls
    /// with `at_once` bytes each. No refill has begun.
    pub fn new(ahead: Bytes, segment: Bytes, at_once: Bytes) -> Refill {
        Refill { ahead, segment, at_once, rest: 0, piece: 0, pushes_last: false }
    }

    /// Begins a refill: `unsent` bytes are in the socket, and `left` bytes of the flow are not written.
    pub fn begin(&mut self, unsent: u64, left: u64) {
        let segments = self.ahead.0.saturating_sub(unsent).div_ceil(self.segment.0);
        self.rest = left.min(segments * self.segment.0);
        self.piece = (self.segment.0 * PIECE.max(segments.div_ceil(PIECES))).min(self.at_once.0);
        // PSH comes from a call that writes the flow's last bytes, or only a part of its bytes (`tcp_sendmsg_locked`).
        self.pushes_last = self.rest == left || !self.rest.is_multiple_of(self.at_once.0);
    }

    /// Ends the refill early.
    pub fn end(&mut self) {
        self.rest = 0;
    }

    /// Whether everything of the refill is written.
    pub fn is_done(&self) -> bool {
        self.rest == 0
    }

    /// Returns the next piece in bytes, and whether more data follows it immediately.
    pub fn next_piece(&mut self) -> Option<(usize, bool)> {
        let piece = self.rest.min(self.piece);
        self.rest -= piece;
        (piece > 0).then_some((piece as usize, !self.is_done() || !self.pushes_last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(ahead: u64, unsent: u64, left: u64) -> Vec<(usize, bool)> {
        let mut refill = Refill::new(Bytes(ahead), Bytes(1000), Bytes(16_000));
        refill.begin(unsent, left);
        std::iter::from_fn(|| refill.next_piece()).collect()
    }

    #[test]
    fn a_socket_is_filled_with_whole_segments_of_which_the_last_is_pushed() {
        assert_eq!(pieces(20_000, 9_500, u64::MAX), [(4000, true), (4000, true), (3000, false)]);
    }

    /// The kernel then waits for room at the beginning of the next call, when there is nothing to push.
    #[test]
    fn what_ends_with_a_whole_call_is_not_pushed() {
        assert_eq!(pieces(20_000, 4_000, u64::MAX), [(4000, true); 4]);
    }

    #[test]
    fn the_last_of_all_is_pushed_however_short() {
        assert_eq!(pieces(20_000, 4_000, 5_700), [(4000, true), (1700, false)]);
        assert_eq!(pieces(20_000, 4_000, 16_000).last(), Some(&(4000, false)));
    }

    #[test]
    fn nothing_is_written_where_nothing_is_missing() {
        assert_eq!(pieces(20_000, 20_000, u64::MAX), []);
        assert_eq!(pieces(20_000, 30_000, u64::MAX), []);
    }

    #[test]
    fn what_is_ended_is_not_gone_on_with() {
        let mut refill = Refill::new(Bytes(20_000), Bytes(1000), Bytes(16_000));
        assert!(refill.is_done());
        refill.begin(0, u64::MAX);
        assert!(refill.next_piece().is_some() && !refill.is_done());
        refill.end();
        assert!(refill.is_done() && refill.next_piece().is_none());
    }

    #[test]
    fn much_is_written_in_larger_pieces_but_not_more_than_by_one_call() {
        for (ahead, number, piece) in [(400_000, 58, 7000), (1_000_000, 63, 16_000), (10_000_000, 625, 16_000)] {
            let pieces = pieces(ahead, 0, u64::MAX);
            assert_eq!((pieces.len(), pieces[0].0), (number, piece), "{ahead}");
        }
    }
}
