//! How the offered window and the acknowledgements affect each other.

use super::Receiver;
use super::delayed_ack::MAX_QUICKACKS;
use super::window::{ReceiveWindow, Room};
use model::units::Nanos;

impl Receiver {
    /// Widens the window after a new segment, if there is room. The buffer then holds `waiting` segments that the
    /// application cannot read yet. A wider window is acknowledged at once (`tcp_grow_window`).
    #[inline(always)]
    pub(super) fn widen(&mut self, waiting: u32) {
        if self.window.as_mut().is_some_and(|window| window.widen(waiting)) {
            self.delayed_ack.window_widened();
        }
    }

    /// Notes a new segment beside `waiting` others. Quick acknowledgements end if the buffer has no room for them.
    pub(super) fn comes_to(&mut self, waiting: u32) {
        if self.window.as_mut().is_some_and(|window| window.overflows(waiting)) {
            self.delayed_ack.leave_quickack_mode();
        }
    }

    /// Notes a segment in order, whose spacing sets the delay of acknowledgements.
    #[inline(always)]
    pub(super) fn note_spacing(&mut self, now: Nanos) {
        if self.delayed_ack.in_order(now) {
            self.delayed_ack.acknowledge_quickly(MAX_QUICKACKS, self.window.as_ref().map(ReceiveWindow::offered));
        }
    }

    /// Acknowledges up to `most` of the next segments at once, after something unexpected.
    pub(super) fn enter_quickack_mode(&mut self, most: u8) {
        self.delayed_ack.enter_quickack_mode(most, self.window.as_ref().map(ReceiveWindow::offered));
    }

    /// Offers a window above segment `next`, while `held` others wait above it.
    #[inline(always)]
    pub(super) fn select_window(&mut self, next: u32, held: u32) {
        let Some(window) = &mut self.window else { return };
        let room = window.select(next, held, self.unread);
        self.rcv_wnd = self.window_in(room);
        if let Some(sk) = &mut self.socket {
            sk.rcv_wnd = self.rcv_wnd;
        }
    }

    /// Reports whether the window beside `waiting` segments is at least the one offered last.
    #[inline]
    pub(super) fn offers_no_less(&mut self, waiting: u32) -> bool {
        let Some(window) = &self.window else { return true };
        let (room, last) = (window.room_beside(waiting), window.offered());
        self.window_in(room) >= last
    }

    /// Reports whether to acknowledge now that the application has read everything (`tcp_cleanup_rbuf`); `waiting`
    /// segments are not yet acknowledged. It is time with the second segment, or with a pushed one if nothing more
    /// waits. A receiver that acknowledges more segments at once (`ack_every`) waits for them, pushed or not. It is
    /// also time if reading doubles a window that was small, so that the sender knows.
    pub(super) fn reading_acknowledges(&mut self, waiting: u32, held: u32) -> bool {
        let is_due = waiting >= self.stack.ack_every;
        let is_pushed = self.stack.ack_every == 2 && self.delayed_ack.was_pushed() && waiting > 0 && held == 0;
        is_due || is_pushed || self.reading_reopens(held)
    }

    /// Reports whether reading at least doubles the rest of a small window.
    pub(super) fn reading_reopens(&mut self, held: u32) -> bool {
        let Some(window) = &self.window else { return false };
        let Some(left) = window.little_left(self.next) else { return false };
        let room = window.room_beside(held);
        let now = self.window_in(room);
        now > 0 && now >= left.saturating_mul(2)
    }

    /// Returns the window in `room`. Quick acknowledgements end if it is small (`__tcp_select_window`).
    #[inline(always)]
    fn window_in(&mut self, room: Room) -> u32 {
        if room.is_little {
            self.delayed_ack.leave_quickack_mode();
        }
        room.window
    }
}
