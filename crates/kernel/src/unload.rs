//! Takes a congestion control out of the running kernel.

use super::cgroup;
use super::loader::available;
use super::pins::{self, default, pin_path, pinned};
use super::registry::registered;
use super::rights;
use super::types::Types;
use libbpf_rs::{MapCore, MapHandle};
use mechanism::ControlName;
use mechanism::Error;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time that the kernel may take to release a congestion control whose last holder is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The outcome of unloading a congestion control.
#[derive(Debug, Serialize)]
pub struct Unloaded {
    /// Name of the congestion control.
    pub name: String,
    /// Number of sockets that keep it until they close.
    pub draining: u32,
    /// The kernel's new default, if this congestion control was the default.
    pub default_now: Option<String>,
    /// Whether the new default is the one before this congestion control. If not, that one is
    /// unknown or gone.
    pub default_is_restored: bool,
    /// Control groups that had it, and now have that of an enclosing group or the default.
    pub cgroups: Vec<PathBuf>,
}

/// Unregisters a congestion control that [`super::load_pinned`] loaded, so that nobody can choose
/// it any more.
///
/// With `drain`, sockets that use it keep it until they close; without, they are a reason to
/// refuse. The kernel's old default returns, and control groups get the default again.
///
/// # Errors
/// Fails if the congestion control does not exist or is in use, or this process lacks the rights.
pub fn unload(name: &str, drain: bool) -> Result<Unloaded, Error> {
    let pin = &known(name)?;
    rights::require("unloading a congestion control")?;
    let types = Types::read()?;
    let is_default = default() == name;
    let users = users(name, &types).saturating_sub(u32::from(is_default));
    if users > 0 && !drain {
        return Err(Error::machine(format!(
            "{name} is in use by {}: close them, or add --drain, which lets them keep it until they close",
            sockets(users)
        )));
    }
    let before = pins::note(pin).and_then(|note| note.default_before);
    let default_now = if is_default { Some(restore_default(before.clone())?) } else { None };
    let cgroups = cgroup::detach_all(name);
    if !types.has_links {
        unregister_map(pin)?;
    }
    pins::remove(pin)?;
    pins::skip_default(pin, before.as_deref())?;
    wait_until_gone(name)?;
    Ok(Unloaded {
        name: name.to_string(),
        draining: users,
        default_is_restored: default_now.is_some() && default_now == before,
        default_now,
        cgroups,
    })
}

fn sockets(count: u32) -> String {
    if count == 1 { "1 socket".into() } else { format!("{count} sockets") }
}

/// Finds the pinned congestion control of this name.
fn known(name: &str) -> Result<ControlName, Error> {
    let pinned = pinned();
    if let Some(known) = pinned.iter().find(|known| known.as_str() == name) {
        return Ok(known.clone());
    }
    let loaded = if pinned.is_empty() {
        "`unbloat load` has loaded nothing".to_string()
    } else {
        let names: Vec<_> = pinned.iter().map(ControlName::as_str).collect();
        format!("`unbloat load` has loaded {}", names.join(", "))
    };
    Err(Error::input(if available().iter().any(|known| known == name) {
        format!("{name} belongs to the kernel or to another process; {loaded}")
    } else {
        format!("unknown congestion control {name}; {loaded}")
    }))
}

/// Counts the sockets that use it, and the namespaces whose default it is.
fn users(name: &str, types: &Types) -> u32 {
    let all = registered(&types.operations_layout, types.has_links);
    all.iter().find(|control| control.is_offered && control.name == name).map_or(0, |control| control.users)
}

/// Restores the default from before, if it is still there; otherwise chooses one of the kernel's
/// own.
fn restore_default(before: Option<String>) -> Result<String, Error> {
    let there = available();
    let candidates = before.into_iter().chain(["cubic".to_string(), "reno".to_string()]);
    let mut refused = None;
    for next in candidates.filter(|name| there.contains(name)) {
        match pins::set_default(&next) {
            Ok(()) => return Ok(next),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused
        .unwrap_or_else(|| Error::machine("the kernel has no other congestion control that could be the default")))
}

/// Deletes the map's one element, which unregisters it: before Linux 6.4 the map is the
/// registration.
fn unregister_map(name: &ControlName) -> Result<(), Error> {
    let path = pin_path(name);
    let map = MapHandle::from_pinned_path(&path).map_err(|e| Error::machine(format!("{}: {e}", path.display())))?;
    map.delete(&0_u32.to_ne_bytes()).map_err(|e| Error::machine(format!("the kernel cannot unregister {name}: {e}")))
}

/// Waits until the kernel no longer offers the name; it unregisters a link some time later.
fn wait_until_gone(name: &str) -> Result<(), Error> {
    let start = Instant::now();
    while available().iter().any(|known| known == name) {
        if start.elapsed() > PATIENCE {
            return Err(Error::machine(format!(
                "{name} is unpinned, but the kernel still has it, because another process uses it"
            )));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
