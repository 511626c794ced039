//! Network namespaces without a name: they live as long as something refers to them, so nothing stays behind when a run
//! ends in any way.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;

/// A network namespace of our own, kept by an open file.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new, empty one. The calling thread stays where it is.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or when the kernel has no room for another.
    pub fn new() -> io::Result<Namespace> {
        let home = Namespace::of_this_thread()?;
        unshare(CloneFlags::CLONE_NEWNET)?;
        let _back = Home(home);
        Namespace::of_this_thread()
    }

    /// Where the calling thread is.
    fn of_this_thread() -> io::Result<Namespace> {
        File::open("/proc/thread-self/ns/net").map(Namespace)
    }

    fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// Does `work` with the calling thread inside; what it opens (sockets, devices) stays inside when the thread is
    /// back.
    ///
    /// # Errors
    /// Those of `work`, and those of going in.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let home = Namespace::of_this_thread()?;
        self.enter()?;
        let _back = Home(home);
        work()
    }

    /// The open file, for a process that is to start inside.
    pub fn file(&self) -> &File {
        &self.0
    }
}

/// Takes the thread that drops it back to where it was, also when it panics.
struct Home(Namespace);

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = self.0.enter() {
            // A thread in the wrong namespace would go on with sockets of another network, and it may be Python's.
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

    /// The number of the calling thread's network namespace.
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
