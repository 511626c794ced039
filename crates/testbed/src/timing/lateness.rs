//! Whether the threads of a run keep up with its clock.

use model::units::Nanos;

/// A thread may spend one part in this many of its time on sampling sockets, because it has priority over those that
/// carry packets.
const LOOKING_TAKES_AT_MOST: u64 = 4;

/// Measures how long a thread stood still that looks at the clock at least once per packet. It finds delays of packets
/// that nobody has taken yet, whose lateness is not measured.
#[derive(Clone, Copy, Debug)]
pub struct Standstill {
    /// The time by which the thread should look at the clock again.
    expected: Nanos,
    /// The total time for which the thread stood still.
    pub total: Nanos,
}

impl Standstill {
    /// The shortest delay that counts: the work for one packet never takes as long.
    const NOTABLE: Nanos = Nanos::from_millis(1);

    /// Starts to measure at `now`.
    pub fn from(now: Nanos) -> Standstill {
        Standstill { expected: now, total: Nanos::ZERO }
    }

    /// Notes that the thread has looked at the clock, which showed `now`.
    #[inline]
    pub fn look(&mut self, now: Nanos) {
        let behind = now.since(self.expected);
        if behind > Self::NOTABLE {
            self.total += behind;
        }
        self.expected = now;
    }

    /// Notes that the thread sleeps until `next` at the latest.
    pub fn sleep_until(&mut self, next: Nanos) {
        self.expected = next;
    }
}

/// Counts the steps at which a thread samples sockets, and those that it missed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    /// The number of steps, including missed ones.
    pub due: u64,
    /// The number of steps at whose time nothing was sampled.
    pub missed: u64,
}

impl Steps {
    /// Notes that the step due at `due` was sampled from `began` to `done`. Returns how many steps are over with it, of
    /// which all but the first are missed. The next step is late enough to leave three times the sampling time in
    /// between.
    pub fn take(&mut self, due: Nanos, step: Nanos, began: Nanos, done: Nanos) -> u64 {
        let earliest = began + Nanos(done.since(began).0 * LOOKING_TAKES_AT_MOST);
        let over = (earliest.since(due).0 / step.0) + 1;
        self.due += over;
        self.missed += over - 1;
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanos = Nanos::from_millis(1);

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    #[test]
    fn a_step_that_was_taken_in_time_is_one() {
        let mut steps = Steps::default();
        assert_eq!(steps.take(us(5000), STEP, us(5050), us(5070)), 1);
        assert_eq!((steps.due, steps.missed), (1, 0));
    }

    /// Sampling very many sockets takes longer than a step, and the thread has priority over those that carry packets.
    #[test]
    fn looking_takes_a_quarter_of_the_time_at_most() {
        let mut steps = Steps::default();
        // 2 ms from 5 ms on: the next time is at 13 ms or later.
        assert_eq!(steps.take(us(5000), STEP, us(5000), us(7000)), 9);
        assert_eq!((steps.due, steps.missed), (9, 8));
    }

    #[test]
    fn steps_that_are_over_are_not_made_up_for_one_by_one() {
        let mut steps = Steps::default();
        assert_eq!(steps.take(us(5000), STEP, us(905_500), us(905_510)), 901);
    }

    #[test]
    fn a_thread_stands_still_when_the_clock_goes_on_without_it() {
        let mut stalls = Standstill::from(us(300));
        // Packet after packet, then a wait, from which it comes back on time, early, and 20 ms late.
        for at in [310, 900, 1700] {
            stalls.look(us(at));
        }
        for back in [12_000, 15_000] {
            stalls.sleep_until(us(12_000).max(us(back + 5000)));
            stalls.look(us(back));
        }
        assert_eq!(stalls.total, Nanos::ZERO);
        stalls.sleep_until(us(20_000));
        stalls.look(us(40_000));
        assert_eq!(stalls.total, us(20_000));
        // In the middle of its work.
        stalls.look(us(45_000));
        assert_eq!(stalls.total, us(25_000));
    }
}
