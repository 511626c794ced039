//! Cache of compiled objects on disk. Each is in one file with the compiler's messages, and either complete or absent.

use crate::error::{Error, unwritable};
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The result of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) image: Vec<u8>,
    /// The compiler's own text; empty if it had nothing to say.
    pub(crate) warnings: String,
}

impl Compiled {
    /// The bytes of the cache's file: a checksum over the rest, the length of the warnings, the warnings, the image.
    fn to_bytes(&self) -> Vec<u8> {
        let length = (self.warnings.len() as u64).to_le_bytes();
        let rest = [&length, self.warnings.as_bytes(), &self.image].concat();
        [&Sha256::digest(&rest)[..], &rest].concat()
    }

    /// Reads the bytes of the cache's file; `None` if they are damaged.
    fn from_bytes(bytes: &[u8]) -> Option<Compiled> {
        let (sum, rest) = bytes.split_at_checked(Sha256::output_size())?;
        let (length, behind) = rest.split_first_chunk()?;
        let (warnings, image) = behind.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        let is_whole = Sha256::digest(rest)[..] == *sum;
        is_whole.then(|| Compiled { warnings: String::from_utf8_lossy(warnings).into_owned(), image: image.to_vec() })
    }
}

/// The object that the cache has under `name`. If it is missing or damaged, `compile` makes it. Without a cache that
/// can be written, `compile` makes it in a temporary folder every time.
pub(crate) fn cached(
    cache: Option<&Path>,
    name: &str,
    compile: impl Fn(&Path) -> Result<Compiled, Error>,
) -> Result<Compiled, Error> {
    let Some(cache) = cache else { return compile(Workplace::temporary()?.path()) };
    let target = cache.join(name);
    if let Some(found) = own(&target).and_then(|bytes| Compiled::from_bytes(&bytes)) {
        return Ok(found);
    }
    let Ok(work) = Workplace::below(cache) else { return compile(Workplace::temporary()?.path()) };
    match compile(work.path()) {
        Ok(compiled) => {
            // An object that cannot be stored is made again next time.
            let _ = keep(&work.path().join("whole"), &target, &compiled.to_bytes());
            Ok(compiled)
        }
        // The disk of the cache may be full.
        Err(error) if !error.is_input => compile(Workplace::temporary()?.path()),
        Err(error) => Err(error),
    }
}

/// Reads a regular file that only this user or root can have written; returns None for anything else.
fn own(path: &Path) -> Option<Vec<u8>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let state = file.metadata().ok()?;
    let is_own = state.is_file() && is_ours(&state) && state.mode() & (libc::S_IWGRP | libc::S_IWOTH) == 0;
    let mut bytes = Vec::new();
    is_own.then(|| file.read_to_end(&mut bytes).ok())??;
    Some(bytes)
}

/// Writes a file that appears complete, even if the power fails. It replaces a folder of that name.
fn keep(draft: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    if target.symlink_metadata().is_ok_and(|state| state.is_dir()) {
        #[expect(clippy::disallowed_methods, reason = "the target, a file of the cache, is a folder")]
        std::fs::remove_dir_all(target)?;
    }
    std::fs::rename(draft, target)
}

const PREFIX: &str = "build-";
const LOCK: &str = ".lock";
/// Prefix of temporary folders; Python's `Scratch` removes those that no process has locked.
const TEMPORARY: &str = "unbloat-run-";

/// A folder for one compilation, removed when it is dropped. It holds a lock while its process lives. So the next
/// process recognises folders of killed ones, and removes them.
pub(crate) struct Workplace {
    folder: tempfile::TempDir,
    _lock: File,
}

impl Workplace {
    pub(crate) fn below(cache: &Path) -> Result<Workplace, Error> {
        let folders = DirBuilder::new().recursive(true).mode(0o700).create(cache);
        folders.map_err(|error| unwritable(cache, &error))?;
        let made = || {
            let _all = locked(&cache.join(LOCK), true)?;
            // A folder that cannot be removed does no harm. A guest shares this machine's files, but not its locks, and
            // sees folders change without a lock.
            let _ = remove_abandoned(cache);
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(cache)?;
            let lock = locked(&folder.path().join(LOCK), true)?;
            Ok(Workplace { folder, _lock: lock.expect("nobody else knows the folder") })
        };
        made().map_err(|error: io::Error| unwritable(cache, &error))
    }

    /// A workplace in the system's folder for temporary files.
    fn temporary() -> Result<Workplace, Error> {
        let made = || {
            let folder = tempfile::Builder::new().prefix(TEMPORARY).tempdir()?;
            let lock = lock(File::open(folder.path())?, true)?;
            Ok(Workplace { folder, _lock: lock.expect("it was waited for") })
        };
        #[expect(clippy::disallowed_methods, reason = "the message names the folder")]
        made().map_err(|error: io::Error| unwritable(&std::env::temp_dir(), &error))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders that killed processes left below `cache`, if it exists.
pub(crate) fn sweep(cache: &Path) -> io::Result<()> {
    if !cache.is_dir() {
        return Ok(());
    }
    let _all = locked(&cache.join(LOCK), true)?;
    remove_abandoned(cache)
}

/// Removes folders that killed processes left; the caller holds the lock of the whole cache.
fn remove_abandoned(cache: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(cache)? {
        let path = entry?.path();
        let is_workplace = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
        let remove = || match locked(&path.join(LOCK), false)? {
            Some(_lock) => remove_workplace(&path),
            None => Ok(()),
        };
        // Its own process may be removing it at the same time.
        match if is_workplace { remove() } else { Ok(()) } {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes a folder that was found below the cache, without following links.
#[expect(clippy::disallowed_methods, reason = "its process is gone, and the folder's name was found, not given")]
fn remove_workplace(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Locks a file; `None` if another process has locked it and `wait` is false.
fn locked(path: &Path, wait: bool) -> io::Result<Option<File>> {
    lock(OpenOptions::new().create(true).append(true).open(path)?, wait)
}

fn lock(file: File, wait: bool) -> io::Result<Option<File>> {
    let how = if wait { libc::LOCK_EX } else { libc::LOCK_EX | libc::LOCK_NB };
    // SAFETY: the descriptor is open.
    match unsafe { libc::flock(file.as_raw_fd(), how) } {
        0 => Ok(Some(file)),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        },
    }
}

/// The folder for objects in `$UNBLOAT_CACHE`, or in the user's cache folder, as in Python. A user without a home has
/// none.
///
/// # Errors
/// If others may write there, because this user runs the contents.
pub(crate) fn folder() -> Result<Option<PathBuf>, Error> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("UNBLOAT_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("unbloat")))
        .or_else(|| set("HOME").or_else(home).map(|home| home.join(".cache/unbloat")));
    let Some(cache) = cache else { return Ok(None) };
    let objects = cache.join("mechanisms");
    refuse_of_others(&cache)?;
    refuse_of_others(&objects)?;
    Ok(Some(objects))
}

fn is_ours(state: &Metadata) -> bool {
    // SAFETY: it only gives a number.
    [0, unsafe { libc::geteuid() }].contains(&state.uid())
}

/// Refuses a folder into which anyone but this user and root may put files. A folder that does not exist will be this
/// user's.
fn refuse_of_others(folder: &Path) -> Result<(), Error> {
    let Ok(state) = folder.metadata() else { return Ok(()) };
    let shown = folder.display();
    if !is_ours(&state) {
        return Err(Error::input(format!(
            "the cache folder {shown} belongs to another user (uid {}), who could have you run their code: set \
             UNBLOAT_CACHE to a folder of your own",
            state.uid()
        )));
    }
    if state.mode() & (libc::S_IWGRP | libc::S_IWOTH) != 0 {
        return Err(Error::input(format!(
            "other users may write to the cache folder {shown}, whose code you run: chmod go-w {shown}, or set \
             UNBLOAT_CACHE to a folder of your own"
        )));
    }
    Ok(())
}

/// The user's home by the password file, because services have no HOME.
fn home() -> Option<PathBuf> {
    let mut buffer = vec![0; 1 << 16];
    // SAFETY: zero is a value of each member.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: the pointers lead to what the function may write; the texts that it finds lie in the buffer.
    unsafe {
        libc::getpwuid_r(libc::getuid(), &mut entry, buffer.as_mut_ptr(), buffer.len(), &mut found);
        let home = (!found.is_null() && !entry.pw_dir.is_null()).then(|| std::ffi::CStr::from_ptr(entry.pw_dir));
        let home = home.map(|path| PathBuf::from(std::ffi::OsString::from_vec(path.to_bytes().to_vec())));
        home.filter(|path| path.is_absolute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn compiled() -> Compiled {
        Compiled { image: b"an object".to_vec(), warnings: "x.c:1: a warning\n".into() }
    }

    #[test]
    fn what_is_damaged_is_not_there() {
        let whole = compiled().to_bytes();
        assert_eq!(Compiled::from_bytes(&whole), Some(compiled()));
        for end in 0..whole.len() {
            assert_eq!(Compiled::from_bytes(&whole[..end]), None, "cut to {end} bytes");
        }
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 1;
            assert_eq!(Compiled::from_bytes(&flipped), None, "byte {place} flipped");
        }
    }

    #[test]
    fn a_damaged_file_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let make = || cached(Some(folder.path()), "x.object", |_| Ok(compiled())).expect("an object");
        make();
        std::fs::write(folder.path().join("x.object"), b"").expect("a file");
        assert_eq!(make(), compiled());
        let again = cached(Some(folder.path()), "x.object", |_| panic!("it is there"));
        assert_eq!(again.expect("an object"), compiled());
    }

    #[test]
    fn what_stands_in_the_place_of_a_file_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("x.object");
        let make = || cached(Some(folder.path()), "x.object", |_| Ok(compiled())).expect("an object");
        std::fs::create_dir(&place).expect("a folder");
        assert_eq!(make(), compiled());
        assert!(place.is_file());
        std::fs::remove_file(&place).expect("it is there");
        let name = std::ffi::CString::new(place.as_os_str().as_encoded_bytes()).expect("no zeros");
        // SAFETY: the name ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(make(), compiled());
        assert!(place.is_file());
    }

    #[test]
    fn a_file_of_others_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("x.object");
        let other = Compiled { image: b"another".to_vec(), ..compiled() };
        std::fs::write(&place, other.to_bytes()).expect("a file");
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o666)).expect("ours");
        assert_eq!(cached(Some(folder.path()), "x.object", |_| Ok(compiled())).expect("an object"), compiled());
        assert_eq!(place.metadata().expect("it is there").mode() & 0o777, 0o600);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the folder is only compared")]
    fn without_a_cache_it_is_made_in_a_temporary_folder() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let make = |work: &Path| {
            assert!(work.starts_with(std::env::temp_dir()) && work.is_dir());
            Ok(compiled())
        };
        assert_eq!(cached(None, "x.object", make).expect("an object"), compiled());
        assert_eq!(cached(Some(file.path()), "x.object", make).expect("an object"), compiled());
    }

    #[test]
    fn the_folder_of_a_killed_process_goes_with_the_next_and_that_of_a_living_one_stays() {
        let cache = tempfile::tempdir().expect("a folder");
        let abandoned = cache.path().join("build-123-0");
        std::fs::create_dir(&abandoned).expect("a folder");
        std::fs::write(abandoned.join("program.o"), b"half").expect("a file");
        let living = Workplace::below(cache.path()).expect("a folder");
        assert!(!abandoned.exists());
        sweep(cache.path()).expect("a folder to sweep");
        assert!(living.path().is_dir());
        let path = living.path().to_path_buf();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_removed_hinders_nobody() {
        let cache = tempfile::tempdir().expect("a folder");
        std::fs::write(cache.path().join(format!("{PREFIX}stray")), "not a folder").expect("a file");
        assert!(Workplace::below(cache.path()).is_ok());
        assert!(sweep(cache.path()).is_err());
    }

    /// Files that others could put there would run as this user.
    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        let cache = tempfile::tempdir().expect("a folder");
        let objects = cache.path().join("mechanisms");
        drop(Workplace::below(&objects).expect("a folder"));
        assert_eq!(refuse_of_others(&objects).map_err(|error| error.message), Ok(()));
        for mode in [0o770, 0o707, 0o1777] {
            std::fs::set_permissions(&objects, PermissionsExt::from_mode(mode)).expect("ours");
            let refused = refuse_of_others(&objects).expect_err("others may write there");
            assert!(refused.message.contains("other users may write to the cache folder"), "{refused}");
        }
        std::fs::set_permissions(&objects, PermissionsExt::from_mode(0o755)).expect("ours");
        // SAFETY: it only gives a number.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(&objects, Some(12_345), None).expect("root may");
            let refused = refuse_of_others(&objects).expect_err("another user's");
            assert!(refused.message.contains("belongs to another user (uid 12345)"), "{refused}");
        }
    }

    #[test]
    fn many_come_and_go_at_once() {
        let cache = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..200).for_each(|_| drop(Workplace::below(cache.path()).expect("a folder"))));
            }
        });
        sweep(cache.path()).expect("a folder to sweep");
        let left = std::fs::read_dir(cache.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        assert_eq!(left.collect::<Vec<_>>(), [LOCK]);
    }

    /// Two processes may have one pid, in containers that share a cache.
    #[test]
    fn two_workplaces_are_two_folders() {
        let cache = tempfile::tempdir().expect("a folder");
        let (one, other) = (Workplace::below(cache.path()), Workplace::below(cache.path()));
        assert_ne!(one.expect("a folder").path(), other.expect("a folder").path());
    }
}
