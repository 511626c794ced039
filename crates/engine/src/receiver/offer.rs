//! What the window that is offered and the acknowledgements make of each other.

use super::Receiver;
use super::delayed_ack::MAX_QUICKACKS;
use super::window::{ReceiveWindow, Room};
use model::units::Nanos;

impl Receiver {
    /// A new segment came, with which `waiting` are in the buffer that the application cannot read yet: if there is
    /// room to widen the window, the sender shall know at once (`tcp_grow_window`).
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

    /// A segment came in order, from whose spacing the delay follows.
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
        self.rcv_wnd = self.minded(room);
        if let Some(sk) = &mut self.socket {
            sk.rcv_wnd = self.rcv_wnd;
        }
    }

    /// Reports whether the window beside `waiting` segments is at least the one offered last.
    #[inline]
    pub(super) fn offers_no_less(&mut self, waiting: u32) -> bool {
        let Some(window) = &self.window else { return true };
        let (room, last) = (window.room_beside(waiting), window.offered());
        self.minded(room) >= last
    }

    /// The application has read what came, of which `waiting` segments are not yet acknowledged: is it to be
    /// acknowledged now (`tcp_cleanup_rbuf`)? It is with the second segment; if its sender pushed it and nothing more
    /// waits; and if it doubles a window that was small, so that the sender knows.
    pub(super) fn reading_acknowledges(&mut self, waiting: u32, held: u32) -> bool {
        waiting >= 2 || self.delayed_ack.was_pushed() && waiting > 0 && held == 0 || self.reading_reopens(held)
    }

    /// Reports whether reading doubles a window that was offered before it.
    pub(super) fn reading_reopens(&mut self, held: u32) -> bool {
        let Some(window) = &self.window else { return false };
        let Some(left) = window.little_left(self.next) else { return false };
        let room = window.room_beside(held);
        let now = self.minded(room);
        now > 0 && now >= left.saturating_mul(2)
    }

    /// The window in `room`; if that is little, no more is acknowledged quickly (`__tcp_select_window`).
    #[inline(always)]
    fn minded(&mut self, room: Room) -> u32 {
        if room.is_little {
            self.delayed_ack.leave_quickack_mode();
        }
        room.window
    }
}
