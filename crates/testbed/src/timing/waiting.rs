//! Waits for packets or a time, whichever comes first, more precisely than a sleeping thread wakes up.

use crate::timing::clock::Clock;
use model::units::Nanos;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::time::Duration;

const AT_ONCE: usize = 64;

/// A set of files to wait for, each with a number.
pub struct Waiting {
    epoll: OwnedFd,
    slack: Nanos,
    /// The numbers of the files that are ready.
    ready: Vec<usize>,
}

impl Waiting {
    /// Makes an empty set. Its waits may be too long by `slack`, so that more is done at once and less time goes into
    /// wake-ups.
    pub fn new(slack: Nanos) -> io::Result<Waiting> {
        // The default slack of 50 us would come on top of every sleep.
        nix::sys::prctl::set_timerslack(1)?;
        Ok(Waiting { epoll: epoll::create(CreateFlags::CLOEXEC)?, slack, ready: Vec::with_capacity(AT_ONCE) })
    }

    /// Adds a file to read from, under a number.
    pub fn watch(&self, file: impl AsFd, number: usize) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, file, EventData::new_u64(number as u64), EventFlags::IN)?)
    }

    /// Adds a file to write to, under a number.
    pub fn watch_writing(&self, file: impl AsFd, number: usize) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, file, EventData::new_u64(number as u64), EventFlags::OUT)?)
    }

    /// Removes a file; one that is not in the set is ignored.
    pub fn unwatch(&self, file: impl AsFd) -> io::Result<()> {
        match epoll::delete(&self.epoll, file) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until a file is ready, or until `at`, and returns the numbers of the ready files.
    pub fn until(&mut self, clock: &Clock, at: Nanos) -> io::Result<impl Iterator<Item = usize> + use<'_>> {
        self.ready.clear();
        let mut looked = false;
        loop {
            let asleep = (at.since(clock.now()) + self.slack).since(clock.wake_up());
            // In virtual time there is one processor: no file becomes ready while this thread has it.
            if looked && asleep == Nanos::ZERO && !clock.is_real() {
                clock.spin_until(at);
                break;
            }
            self.look(asleep)?;
            looked = true;
            if !self.ready.is_empty() || clock.now() >= at {
                break;
            }
        }
        Ok(self.ready.iter().copied())
    }

    /// Finds the ready files; if none is ready, it waits for one, but no longer than `long`.
    fn look(&mut self, long: Nanos) -> io::Result<()> {
        let long = Timespec::try_from(Duration::from_nanos(long.0)).expect("64 bits of nanoseconds fit");
        let mut events = [const { MaybeUninit::uninit() }; AT_ONCE];
        match epoll::wait(&self.epoll, &mut events, Some(&long)) {
            Ok((ready, _)) => self.ready.extend(ready.iter().map(|event| event.data.u64() as usize)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::clock::Time;
    use nix::unistd::{pipe, write};

    #[test]
    fn a_wait_ends_with_a_file_or_on_time() {
        for time in [Time::Real, Time::Virtual] {
            let clock = Clock::start(time);
            let mut waiting = Waiting::new(Nanos::ZERO).unwrap();
            let (reads, writes) = pipe().unwrap();
            waiting.watch(&reads, 7).unwrap();
            let soon = clock.now() + Nanos::from_millis(2);
            assert_eq!(waiting.until(&clock, soon).unwrap().count(), 0);
            assert!(clock.now() >= soon);

            write(&writes, b"a byte").unwrap();
            assert!(waiting.until(&clock, Nanos::from_secs(3600)).unwrap().eq([7]));
            // Ready files are returned when the time is over, too.
            assert!(waiting.until(&clock, soon).unwrap().eq([7]));
            waiting.unwatch(&reads).unwrap();
            waiting.unwatch(&reads).unwrap();
            assert_eq!(waiting.until(&clock, soon).unwrap().count(), 0);
        }
    }
}
