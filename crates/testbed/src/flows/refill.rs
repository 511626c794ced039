//! How an application fills its socket again in virtual time: piece by piece.
//!
//! Applications go before the emulator, for one that is put aside with its socket's lock holds packets up. What a link
//! carries in 20 ms takes some hundred microseconds to write; a timer that rings meanwhile would be seen that much late,
//! and an acknowledgement be handled that much late. The simulated application takes no time at all. So ours writes a
//! piece, and lets the emulator have the processor before the next. What it writes, and which segments are pushed, is
//! the same as at once: that is known beforehand.

use scenario::units::Nanos;

/// Segments of a piece. They take some 20 us, a nanosecond an instruction.
const PIECE: u64 = 4;
/// On a fast link the pieces are larger, if one call writes as much: it goes on sending, so no more are to be needed.
const PIECES: u64 = 64;
/// Between two pieces.
pub const PAUSE: Nanos = Nanos::from_micros(40);

/// What is still to be written; nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refill {
    rest: u64,
    piece: u64,
    /// The last segment is.
    is_pushed: bool,
}

impl Refill {
    /// Until `ahead` bytes are unsent, or the last of the `left` bytes that the flow still has is written; `unsent` are
    /// so far. It is written in segments of so many bytes, as if by calls with `at_once` bytes each.
    pub fn new(ahead: u64, unsent: u64, left: u64, segment: u64, at_once: u64) -> Refill {
        let segments = ahead.saturating_sub(unsent).div_ceil(segment);
        let rest = left.min(segments * segment);
        Refill {
            rest,
            piece: (segment * PIECE.max(segments.div_ceil(PIECES))).min(at_once),
            // By a call that writes the last of all, or a part of what it was to write (`tcp_sendmsg_locked`).
            is_pushed: rest == left || !rest.is_multiple_of(at_once),
        }
    }

    /// Nothing is left to be written.
    pub fn is_done(&self) -> bool {
        self.rest == 0
    }

    /// The next piece, in bytes, and whether more will follow it at once.
    pub fn next_piece(&mut self) -> Option<(usize, bool)> {
        let piece = self.rest.min(self.piece);
        self.rest -= piece;
        (piece > 0).then_some((piece as usize, !self.is_done() || !self.is_pushed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(ahead: u64, unsent: u64, left: u64) -> Vec<(usize, bool)> {
        let mut refill = Refill::new(ahead, unsent, left, 1000, 16_000);
        std::iter::from_fn(|| refill.next_piece()).collect()
    }

    #[test]
    fn a_socket_is_filled_with_whole_segments_of_which_the_last_is_pushed() {
        assert_eq!(pieces(20_000, 9_500, u64::MAX), [(4000, true), (4000, true), (3000, false)]);
    }

    /// Only then the kernel has it wait at the beginning of a call, which has nothing to push.
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
        assert!(Refill::default().is_done());
    }

    #[test]
    fn much_is_written_in_larger_pieces_but_not_more_than_by_one_call() {
        for (ahead, number, piece) in [(400_000, 58, 7000), (1_000_000, 63, 16_000), (10_000_000, 625, 16_000)] {
            let pieces = pieces(ahead, 0, u64::MAX);
            assert_eq!((pieces.len(), pieces[0].0), (number, piece), "{ahead}");
        }
    }
}
