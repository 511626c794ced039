//! A run's clock: the time since its start.

use mechanism::sock::HZ;
use model::units::Nanos;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::hint::black_box;
use std::io;
use std::time::Duration;

/// The length of a kernel tick, ns.
const JIFFY: u64 = 1_000_000_000 / HZ;
/// The jiffies of a simulated host at the start of a run: its uptime is then 1000 s.
const JIFFIES_AT_START: u64 = 1000 * HZ;
/// The number of jiffies after which the first four levels of the kernel's timer wheel repeat.
const WHEEL_TURN: u64 = 512;
/// The time in virtual time, in instructions of 1 ns, between the due time of a packet and its handling by a host's
/// TCP. Ticks come later than a simulated host's by this time, so that both count the same number of ticks when they
/// handle a packet.
const HANDLING: Nanos = Nanos::from_micros(8);
/// The time after a tick, in instructions of 1 ns, within which the packets of the kernel's timers are on the wire. A
/// flow's first packet follows within this time after its application has opened it.
const SENDING: Nanos = Nanos::from_micros(80);
/// The total lateness of packets that a timer finer than ticks sends, such as that of compressed acknowledgements. The
/// timer is set late by `HANDLING`, and its packet is on the wire as many instructions after it expires.
const RINGING: Nanos = Nanos::from_micros(16);
/// The time that a run may need to get its sockets ready before it starts.
const PREPARATION: Nanos = Nanos::from_millis(200);

/// How time passes on the machine that the run is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Real time: a processor that sleeps needs some time to wake up.
    #[default]
    Real,
    /// Virtual time, which counts instructions of an emulated machine. A sleeping thread wakes up some thousands of
    /// them late, and reading the clock takes some too.
    Virtual,
}

/// The clock of a run, which counts from its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The start on the monotonic clock.
    start: Nanos,
    time: Time,
}

impl Clock {
    /// Makes a clock that starts now.
    pub fn start(time: Time) -> Clock {
        Clock { start: monotonic(), time }
    }

    /// Makes the clock of a run. In virtual time it starts a little later: the kernel's ticks and timer wheel then have
    /// the phase of a simulated host at its start. A kernel timer that is set for a time then expires when the
    /// simulated one does.
    pub fn of_run(time: Time) -> io::Result<Clock> {
        let start = match time {
            Time::Real => monotonic(),
            Time::Virtual => aligned(monotonic() + PREPARATION, jiffies_at_zero()?).since(HANDLING),
        };
        Ok(Clock { start, time })
    }

    /// Returns the start on the kernel's monotonic clock.
    pub fn origin(&self) -> Nanos {
        self.start
    }

    /// Sleeps until the start.
    pub fn wait_for_start(&self) {
        let start = TimeSpec::from_duration(Duration::from_nanos(self.start.0));
        while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &start).is_err() {}
    }

    /// Returns the time since the start; zero before it.
    #[inline]
    pub fn now(&self) -> Nanos {
        monotonic().since(self.start)
    }

    /// Waits until `at` without giving up the processor. In virtual time an iteration takes a few nanoseconds on every
    /// machine. The clock is slow to emulate, so it is read only a few times.
    pub fn spin_until(&self, at: Nanos) {
        const ITERATION: u64 = 8;
        while let left @ 1.. = at.since(self.now()).0 {
            (0..left / ITERATION).for_each(|iteration| {
                black_box(iteration);
            });
        }
    }

    /// Whether the clock goes on while all processors are idle.
    pub fn is_real(&self) -> bool {
        self.time == Time::Real
    }

    /// Returns how long a thread takes to wake up. A thread polls during the last part of a wait, of this length.
    pub fn wake_up(&self) -> Nanos {
        match self.time {
            Time::Real => Nanos::from_micros(120),
            Time::Virtual => Nanos::from_micros(5),
        }
    }

    /// Returns how much longer than needed a wait may be, to handle more packets at once: `slack` in real time, nothing
    /// in virtual time.
    pub fn slack(&self, slack: Nanos) -> Nanos {
        match self.time {
            Time::Real => slack,
            Time::Virtual => Nanos::ZERO,
        }
    }
}

/// Returns when a packet left that a host in virtual time sent by itself and that was seen at `now`. If the flow opened
/// just before, at `arrival`, or a tick came just before, it left then; otherwise a timer finer than ticks sent it. The
/// difference is the time of instructions, which a simulated host does not need.
pub fn sent_by_itself(now: Nanos, arrival: Nanos) -> Nanos {
    let is_just_before = |at: &Nanos| *at <= now && now - *at < SENDING;
    let tick = Nanos(now.0 - now.0 % JIFFY);
    [arrival, tick].into_iter().find(is_just_before).unwrap_or(sent_by_a_fine_timer(now))
}

/// Returns when a packet left that was seen at `now`, if a timer finer than ticks sent it, such as the pacer's.
pub fn sent_by_a_fine_timer(now: Nanos) -> Nanos {
    now.since(RINGING)
}

/// Returns the time of the kernel's timers (`CLOCK_MONOTONIC`).
#[inline]
fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Nanos::from_secs(now.tv_sec() as u64) + Nanos(now.tv_nsec() as u64)
}

/// Returns the value that the kernel's jiffies had, or would have had, when its monotonic clock showed zero.
fn jiffies_at_zero() -> io::Result<u64> {
    let timers = std::fs::read_to_string("/proc/timer_list")?;
    let number = |before: &str| {
        let rest = timers.lines().find_map(|line| line.strip_prefix(before))?;
        rest.split(' ').next()?.parse::<u64>().ok()
    };
    let missing = || io::Error::other("/proc/timer_list lacks the time");
    let now = number("now at ").ok_or_else(missing)?;
    Ok(number("jiffies: ").ok_or_else(missing)?.wrapping_sub(now / JIFFY))
}

/// Returns the first tick from `earliest` on at which the timer wheel has the same phase as at the start of a simulated
/// run.
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
