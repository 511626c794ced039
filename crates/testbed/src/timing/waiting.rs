//! Waiting for packets or an instant, whichever comes first, more precisely than a sleeping thread is woken.

use crate::timing::clock::Clock;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use scenario::units::Nanos;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

const AT_ONCE: usize = 64;

/// A set of files to read from, each with a number.
pub struct Waiting {
    epoll: Epoll,
    slack: Nanos,
    events: [EpollEvent; AT_ONCE],
}

impl Waiting {
    /// An empty set, whose waits may be too long by `slack`: then more is done at once, and less time is spent waking
    /// up.
    pub fn new(slack: Nanos) -> io::Result<Waiting> {
        // The default slack of 50 us would come on top of every sleep.
        nix::sys::prctl::set_timerslack(1)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Waiting { epoll, slack, events: [EpollEvent::empty(); AT_ONCE] })
    }

    /// Adds a file under a number.
    pub fn watch(&self, file: impl AsFd, number: usize) -> io::Result<()> {
        Ok(self.epoll.add(file, EpollEvent::new(EpollFlags::EPOLLIN, number as u64))?)
    }

    /// Adds a file to write to under a number.
    pub fn watch_writing(&self, file: impl AsFd, number: usize) -> io::Result<()> {
        Ok(self.epoll.add(file, EpollEvent::new(EpollFlags::EPOLLOUT, number as u64))?)
    }

    /// Takes a file out again; one that is not in is fine.
    pub fn unwatch(&self, file: impl AsFd) -> io::Result<()> {
        match self.epoll.delete(file) {
            Ok(()) | Err(nix::Error::ENOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until a file can be used, or until `at`; gives the numbers of those that can be.
    pub fn until(&mut self, clock: &Clock, at: Nanos) -> io::Result<impl Iterator<Item = usize> + use<'_>> {
        let mut ready = self.look()?;
        while ready == 0 {
            let left = at.since(clock.now());
            if left == Nanos::ZERO {
                break;
            }
            let wake_up = clock.wake_up();
            if left + self.slack > wake_up {
                self.sleep(left + self.slack - wake_up)?;
            }
            ready = self.look()?;
        }
        Ok(self.events[..ready].iter().map(|event| event.data() as usize))
    }

    fn look(&mut self) -> io::Result<usize> {
        Ok(self.epoll.wait(&mut self.events, EpollTimeout::ZERO)?)
    }

    fn sleep(&self, long: Nanos) -> io::Result<()> {
        let mut files = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        let long = TimeSpec::from_duration(Duration::from_nanos(long.0));
        match ppoll(&mut files, Some(long), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
