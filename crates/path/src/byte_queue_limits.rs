//! Byte queue limits, which bound the bytes in a device so that it stays busy and hardly anything
//! waits in it.
//!
//! The arithmetic is that of `dql_completed` in lib/dynamic_queue_limits.c of Linux.

use model::units::Nanos;

/// Time after which the limit shrinks by the bytes that went unused (`slack_hold_time`, a second of
/// jiffies).
const SLACK_HOLD_TIME: Nanos = Nanos::from_secs(1);

/// Counts the bytes that a device got and those that it has sent; the kernel's `struct dql`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteQueueLimits {
    num_queued: u64,
    num_completed: u64,
    limit: u64,
    adj_limit: u64,
    last_obj_cnt: u64,
    prev_num_queued: u64,
    prev_last_obj_cnt: u64,
    prev_ovlimit: u64,
    lowest_slack: Option<u64>,
    slack_start_time: Nanos,
}

impl ByteQueueLimits {
    /// Reports whether the device may get another packet (`dql_avail`).
    pub fn has_room(&self) -> bool {
        self.adj_limit >= self.num_queued
    }

    /// Returns the limit in bytes; the last packet may exceed it.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Counts a packet of `bytes` bytes that the device gets (`dql_queued`).
    pub fn queued(&mut self, bytes: u32) {
        self.last_obj_cnt = bytes.into();
        self.num_queued += u64::from(bytes);
    }

    /// Counts a packet of `bytes` bytes that the device has sent, and adapts the limit
    /// (`dql_completed`).
    pub fn completed(&mut self, now: Nanos, bytes: u32) {
        let completed = self.num_completed + u64::from(bytes);
        let mut ovlimit = (self.num_queued - self.num_completed).saturating_sub(self.limit);
        let is_busy = self.num_queued > completed;
        let was_busy = self.prev_num_queued > self.num_completed;
        let all_prev_completed = completed >= self.prev_num_queued;
        let mut limit = self.limit;
        if (ovlimit > 0 && !is_busy) || (self.prev_ovlimit > 0 && all_prev_completed) {
            // The device ran dry, or had only the bytes above the limit.
            limit += completed.saturating_sub(self.prev_num_queued) + self.prev_ovlimit;
            (self.slack_start_time, self.lowest_slack) = (now, None);
        } else if is_busy && was_busy && !all_prev_completed {
            let sent = completed - self.num_completed;
            let of_last =
                if self.prev_ovlimit > 0 { self.prev_last_obj_cnt.saturating_sub(self.prev_ovlimit) } else { 0 };
            let slack = (limit + self.prev_ovlimit).saturating_sub(2 * sent).max(of_last);
            let lowest = self.lowest_slack.map_or(slack, |lowest| lowest.min(slack));
            self.lowest_slack = Some(lowest);
            if now > self.slack_start_time + SLACK_HOLD_TIME {
                limit = limit.saturating_sub(lowest);
                (self.slack_start_time, self.lowest_slack) = (now, None);
            }
        }
        if limit != self.limit {
            self.limit = limit;
            ovlimit = 0;
        }
        self.adj_limit = limit + completed;
        self.prev_ovlimit = ovlimit;
        self.prev_last_obj_cnt = self.last_obj_cnt;
        self.num_completed = completed;
        self.prev_num_queued = self.num_queued;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many packets of 1500 bytes are in a device that is never idle, and gets another
    /// whenever the limit permits.
    fn held_at_rest(steps: u64) -> u64 {
        let (mut limits, mut held) = (ByteQueueLimits::default(), 0);
        for step in 0..steps {
            while limits.has_room() {
                limits.queued(1500);
                held += 1;
            }
            limits.completed(Nanos::from_millis(step), 1500);
            held -= 1;
        }
        held
    }

    /// A sender that refills the device after each packet needs two in it: the one under way and
    /// the next.
    #[test]
    fn a_device_holds_two_packets() {
        assert_eq!(held_at_rest(20_000), 2);
    }

    /// The first packet exceeds a limit of 0; when the device has run dry, the limit grows by that
    /// packet.
    #[test]
    fn a_device_that_runs_dry_gets_more() {
        let mut limits = ByteQueueLimits::default();
        assert!(limits.has_room());
        limits.queued(1500);
        assert!(!limits.has_room());
        limits.completed(Nanos::from_millis(1), 1500);
        assert_eq!((limits.limit, limits.has_room()), (1500, true));
    }
}
