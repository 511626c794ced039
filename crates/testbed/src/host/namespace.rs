//! Network namespaces without a name: they live as long as something refers to them, so nothing stays behind when a run ends in any way.

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
        let made = Namespace::of_this_thread();
        home.enter()?;
        made
    }

    /// Where the calling thread is.
    fn of_this_thread() -> io::Result<Namespace> {
        File::open("/proc/thread-self/ns/net").map(Namespace)
    }

    fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// Does `work` with the calling thread inside; what it opens (sockets, devices) stays inside when the thread is back.
    ///
    /// # Errors
    /// Those of `work`, and those of going in and out.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let home = Namespace::of_this_thread()?;
        self.enter()?;
        let result = work();
        home.enter()?;
        result
    }

    /// The open file, for a process that is to start inside.
    pub fn file(&self) -> &File {
        &self.0
    }
}
