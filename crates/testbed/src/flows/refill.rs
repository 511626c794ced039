//! How an application fills its socket again in virtual time: piece by piece.
//!
//! Applications go before the emulator, for one that is put aside with its socket's lock holds packets up. What a link
//! carries in 20 ms takes some hundred microseconds to write; a timer that rings meanwhile would be seen that much
//! late, and an acknowledgement be handled that much late. The simulated application takes no time at all. So ours
//! writes a piece, and lets the emulator have the processor before the next. What it writes, and which segments are
//! pushed, is the same as at once: that is known beforehand.

use model::units::{Bytes, Nanos};

/// Segments of a piece. They take some 20 us, a nanosecond an instruction.
const PIECE: u64 = 4;
/// A refill has no more pieces than this, as long as one call can write them: a fast link goes on sending meanwhile.
const PIECES: u64 = 64;
/// Between two pieces.
pub const PAUSE: Nanos = Nanos::from_micros(40);

/// How an application writes, and what it has begun to write.
#[derive(Clone, Copy, Debug)]
pub struct Refill {
    ahead: Bytes,
    segment: Bytes,
    at_once: Bytes,
    /// Still to be written, bytes.
    rest: u64,
    /// What is written before the next pause, bytes.
    piece: u64,
    /// The last segment is to have PSH.
    pushes_last: bool,
}

impl Refill {
    /// An application that writes segments of so many bytes, as if by calls with `at_once` bytes each, until `ahead`
    /// bytes are unsent. It has begun nothing.
    pub fn new(ahead: Bytes, segment: Bytes, at_once: Bytes) -> Refill {
        Refill { ahead, segment, at_once, rest: 0, piece: 0, pushes_last: false }
    }

    /// Begins, when so many bytes are unsent and `left` bytes of the flow are not written.
    pub fn begin(&mut self, unsent: u64, left: u64) {
        let segments = self.ahead.0.saturating_sub(unsent).div_ceil(self.segment.0);
        self.rest = left.min(segments * self.segment.0);
        self.piece = (self.segment.0 * PIECE.max(segments.div_ceil(PIECES))).min(self.at_once.0);
        // By a call that writes the last of all, or a part of what it was to write (`tcp_sendmsg_locked`).
        self.pushes_last = self.rest == left || !self.rest.is_multiple_of(self.at_once.0);
    }

    /// Leaves it at what has been written.
    pub fn end(&mut self) {
        self.rest = 0;
    }

    /// Nothing is left to be written.
    pub fn is_done(&self) -> bool {
        self.rest == 0
    }

    /// The next piece, in bytes, and whether more will follow it at once.
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
