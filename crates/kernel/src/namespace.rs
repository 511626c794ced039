//! Network namespaces without a name. They live as long as something refers to them, so nothing
//! stays behind however a run ends.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;

/// A network namespace that an open file keeps alive.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Creates an empty namespace. The calling thread stays in its own.
    ///
    /// # Errors
    /// Fails without CAP_SYS_ADMIN, or if the kernel has no room for another.
    pub fn new() -> io::Result<Namespace> {
        let home = Namespace::of_this_thread()?;
        unshare(CloneFlags::CLONE_NEWNET)?;
        let _back = Home(home);
        Namespace::of_this_thread()
    }

    /// Returns the namespace of the calling thread.
    fn of_this_thread() -> io::Result<Namespace> {
        File::open("/proc/thread-self/ns/net").map(Namespace)
    }

    fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// Runs `work` with the calling thread inside the namespace. Sockets and devices that it opens
    /// stay inside when the thread has returned.
    ///
    /// # Errors
    /// Returns the errors of `work`, and those of entering the namespace.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let home = Namespace::of_this_thread()?;
        self.enter()?;
        let _back = Home(home);
        work()
    }

    /// Returns the open file, for a process that starts inside the namespace.
    pub fn file(&self) -> &File {
        &self.0
    }
}

/// Returns the thread that drops it to its own namespace, even when it panics.
struct Home(Namespace);

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = self.0.enter() {
            // A thread in the wrong namespace would open sockets in another network, and it may be
            // Python's.
            eprintln!("unbloat: a thread cannot leave the network namespace of a run: {error}");
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Returns the number of the calling thread's network namespace.
    fn here() -> u64 {
        std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino()
    }

    #[test]
    fn a_panic_does_not_leave_the_thread_inside() {
        let (namespace, before) = (Namespace::new().unwrap(), here());
        let work = AssertUnwindSafe(|| {
            namespace.within(|| -> io::Result<()> {
                assert_eq!(here(), before, "is another one: this panics");
                Ok(())
            })
        });
        assert!(catch_unwind(work).is_err());
        assert_eq!(here(), before);
    }
}
