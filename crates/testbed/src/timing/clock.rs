//! A run's clock: the time since its start.

use mechanism::sock::HZ;
use model::units::Nanos;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::hint::black_box;
use std::io;
use std::time::Duration;

/// A tick of the kernel, ns.
const JIFFY: u64 = 1_000_000_000 / HZ;
/// The jiffies of a simulated host when a run begins, whose uptime is then 1000 s.
const JIFFIES_AT_START: u64 = 1000 * HZ;
/// The jiffies after which the first four levels of the kernel's timer wheel are back where they were.
const WHEEL_TURN: u64 = 512;
/// In virtual time a packet is in the hands of a host's TCP so many instructions after it was due, more or less. A tick
/// comes that much after the time at which a simulated host has it, so that both find the same number of ticks gone by
/// when they count them.
const HANDLING: Nanos = Nanos::from_micros(8);
/// Within so many instructions of a tick what a timer of the kernel sends is on the wire, and a flow's first packet
/// after its application has opened it.
const SENDING: Nanos = Nanos::from_micros(80);
/// A timer that does not go by ticks, such as that of compressed acknowledgements, is set late by `HANDLING`, and what
/// it sends is on the wire as many instructions after it rings.
const RINGING: Nanos = Nanos::from_micros(16);
/// What a run may take to get its sockets ready before it starts.
const PREPARATION: Nanos = Nanos::from_millis(200);

/// How time passes on the machine that the run is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// As everywhere: a processor that sleeps needs some time to wake up.
    #[default]
    Real,
    /// By instructions, as in an emulated machine: a thread that sleeps wakes up some thousands of them late, and
    /// reading the clock takes some.
    Virtual,
}

/// Counts from its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// On the monotonic clock.
    start: Nanos,
    time: Time,
}

impl Clock {
    /// Starts to count now.
    pub fn start(time: Time) -> Clock {
        Clock { start: monotonic(), time }
    }

    /// For a run. In virtual time it starts a little later: when the kernel's ticks, and with them its timers, stand as
    /// those of a simulated host do at the start of a run. A kernel timer that is set for the same time then expires at
    /// the same time.
    pub fn of_run(time: Time) -> io::Result<Clock> {
        let start = match time {
            Time::Real => monotonic(),
            Time::Virtual => aligned(monotonic() + PREPARATION, jiffies_at_zero()?).since(HANDLING),
        };
        Ok(Clock { start, time })
    }

    /// What the kernel's monotonic clock shows at the start.
    pub fn origin(&self) -> Nanos {
        self.start
    }

    /// Sleeps until the start.
    pub fn wait_for_start(&self) {
        let start = TimeSpec::from_duration(Duration::from_nanos(self.start.0));
        while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &start).is_err() {}
    }

    /// The time since the start; zero before.
    #[inline]
    pub fn now(&self) -> Nanos {
        monotonic().since(self.start)
    }

    /// Keeps the processor until `at`. In virtual time an iteration takes a few nanoseconds, whatever the machine; the
    /// clock, which is emulated slowly, is read a few times only.
    pub fn spin_until(&self, at: Nanos) {
        const ITERATION: u64 = 8;
        while let left @ 1.. = at.since(self.now()).0 {
            (0..left / ITERATION).for_each(|iteration| {
                black_box(iteration);
            });
        }
    }

    /// Does it go on while all processors are idle?
    pub fn is_real(&self) -> bool {
        self.time == Time::Real
    }

    /// How long a thread takes to wake up. It is awake during the last part of a wait, of this length.
    pub fn wake_up(&self) -> Nanos {
        match self.time {
            Time::Real => Nanos::from_micros(120),
            Time::Virtual => Nanos::from_micros(5),
        }
    }

    /// How much too long a wait may be, to handle more packets at once, where `slack` is allowed.
    pub fn slack(&self, slack: Nanos) -> Nanos {
        match self.time {
            Time::Real => slack,
            Time::Virtual => Nanos::ZERO,
        }
    }
}

/// When a packet left that a host in virtual time has sent by itself, and that was seen at `now`: with the tick before,
/// if a timer can have sent it, when its flow was to open, if it is the first of one, or otherwise with a timer that is
/// finer than ticks. In between are instructions, which a simulated host does not take.
pub fn sent_by_itself(now: Nanos, arrival: Nanos) -> Nanos {
    let is_just_before = |at: &Nanos| *at <= now && now - *at < SENDING;
    let tick = Nanos(now.0 - now.0 % JIFFY);
    [arrival, tick].into_iter().find(is_just_before).unwrap_or(sent_by_a_fine_timer(now))
}

/// When a packet left that a timer finer than ticks has sent, such as the pacer's, and that was seen at `now`.
pub fn sent_by_a_fine_timer(now: Nanos) -> Nanos {
    now.since(RINGING)
}

/// The time of day of timers (`CLOCK_MONOTONIC`).
#[inline]
fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Nanos::from_secs(now.tv_sec() as u64) + Nanos(now.tv_nsec() as u64)
}

/// What the kernel's jiffies were, or would have been, when its monotonic clock showed zero.
fn jiffies_at_zero() -> io::Result<u64> {
    let timers = std::fs::read_to_string("/proc/timer_list")?;
    let number = |before: &str| {
        let rest = timers.lines().find_map(|line| line.strip_prefix(before))?;
        rest.split(' ').next()?.parse::<u64>().ok()
    };
    let missing = || io::Error::other("/proc/timer_list does not say what the time is");
    let now = number("now at ").ok_or_else(missing)?;
    Ok(number("jiffies: ").ok_or_else(missing)?.wrapping_sub(now / JIFFY))
}

/// The first tick from `earliest` on with which a turn of the timer wheel stands as at the start of a simulated run.
fn aligned(earliest: Nanos, jiffies_at_zero: u64) -> Nanos {
    let tick = earliest.0.div_ceil(JIFFY);
    let behind = JIFFIES_AT_START.wrapping_sub(jiffies_at_zero).wrapping_sub(tick) % WHEEL_TURN;
    Nanos((tick + behind) * JIFFY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_starts_with_the_ticks_of_a_simulated_one() {
        // A kernel counts from five minutes before its 32 bits wrap, and misses some ticks while it boots.
        let at_zero = (1 << 32) - 300 * HZ - 20;
        for earliest in [Nanos(1), Nanos::from_millis(4), Nanos::from_secs(31), Nanos::from_secs(7000)] {
            let start = aligned(earliest, at_zero);
            assert!(start >= earliest && start.since(earliest) <= Nanos(WHEEL_TURN * JIFFY), "{start:?}");
            assert_eq!(start.0 % JIFFY, 0);
            assert_eq!((at_zero + start.0 / JIFFY) % WHEEL_TURN, JIFFIES_AT_START % WHEEL_TURN);
        }
    }

    #[test]
    fn what_a_timer_sends_leaves_with_its_tick_and_a_flow_opens_on_time() {
        let (ms, us) = (Nanos::from_millis, Nanos::from_micros);
        for (now, arrival, sent) in [
            (ms(8) + us(24), ms(0), ms(8)),
            (ms(8) + us(80), ms(0), ms(8) + us(64)),
            (ms(9), ms(9), ms(9)),
            (ms(9) + us(40), ms(9), ms(9)),
            (ms(9) + us(40), ms(10), ms(9) + us(24)),
            // A SYN that is sent again.
            (ms(1012) + us(30), ms(9), ms(1012)),
        ] {
            assert_eq!(sent_by_itself(now, arrival), sent, "{now:?} {arrival:?}");
        }
    }

    #[test]
    fn a_clock_counts_from_its_start() {
        let start = monotonic() + Nanos::from_millis(2);
        let clock = Clock { start, time: Time::Virtual };
        assert_eq!(clock.now(), Nanos::ZERO);
        clock.wait_for_start();
        assert!(monotonic() >= start);
    }
}
