//! Runs any program behind an emulated link.
//!
//! The programs run in the network namespaces of the two hosts and in a process namespace of their own. Its first
//! process dies with the calling thread; then the kernel ends all other processes in it, including those in the
//! background.

use crate::emulator::Emulator;
use crate::emulator::network::{Network, Sample};
use crate::error::Error;
use crate::flows::plan::Plan;
use crate::host::stack;
use crate::host::{End, Host, Pair};
use crate::ip::Version;
use crate::timing::clock::{Clock, Time};
use crate::{controls, run, soundness};
use kernel::namespace::Namespace;
use measure::Sampler;
use mechanism::Library;
use model::records::{Options, Progress, ProgressUpdate};
use model::units::Nanos;
use model::{FlowGroup, Scenario};
use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The duration of the scenario: long enough for any shell.
const ENDLESS: Nanos = Nanos::from_secs(10 * 365 * 86_400);
/// How long the near program waits for the far one to listen before it starts anyway.
const PATIENCE: Duration = Duration::from_secs(2);
/// The state of a listening socket in `/proc/net/tcp`, hexadecimal.
const LISTENING: &str = "0A";
/// The state of an unconnected UDP socket in `/proc/net/udp`, hexadecimal.
const UNCONNECTED: &str = "07";

/// The programs to run behind a link.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The end at which the near program runs.
    pub at: End,
    /// The near program with its arguments.
    pub near: Vec<OsString>,
    /// A program that runs at the other end meanwhile, with its arguments.
    pub far: Option<Vec<OsString>>,
    /// How time passes on this machine.
    pub time: Time,
}

/// How a program behind a link ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The near program's exit status, or 128 plus the number of the signal that ended it.
    pub status: i32,
    /// Why the link did not behave as the scenario says, if the machine could not keep up.
    pub unsound_because: Option<String>,
}

/// Returns the scenario for a user's programs: its links and the settings of its flows, without its applications and
/// hosts.
fn without_flows(scenario: &Scenario) -> Scenario {
    let flows = scenario.flows.iter().map(|group| FlowGroup {
        count: 1,
        arrivals: None,
        reverse: false,
        app: None,
        host: None,
        ..group.clone()
    });
    let (flows, hosts) = (flows.collect(), vec![]);
    Scenario { duration: ENDLESS, warmup: Nanos::ZERO, flows, hosts, ..scenario.clone() }
}

/// Checks that a kernel of this version supports programs behind the link of `scenario`, as [`crate::check`] does for a
/// run.
///
/// # Errors
/// The first unsupported key.
pub fn check_shell(scenario: &Scenario, version: (u32, u32)) -> Result<(), Error> {
    run::check(&without_flows(scenario), version)
}

/// Runs programs behind the link of `scenario` and returns how the near program ended. Both ends have the congestion
/// control of the first flow as the default.
///
/// With `watch`, a callback gets a sample of the links at each such step and may end the programs.
///
/// # Errors
/// The errors of [`crate::run()`], and if a program cannot be started.
pub fn shell(
    scenario: &Scenario,
    library: &Library,
    programs: &Programs,
    watch: Option<(Nanos, Progress)>,
) -> Result<Ended, Error> {
    let scenario = without_flows(scenario);
    run::check(&scenario, kernel::running_version())?;
    kernel::require_hosts().map_err(|error| Error::Machine(error.message))?;
    kernel::clean().map_err(|error| Error::Machine(error.message))?;
    let controls = controls::load(&scenario, library)?;
    let control = &controls[0];
    if let (Time::Virtual, Some(name)) = (programs.time, control.preferred()) {
        // A guest's kernel is there for these programs only.
        stack::allow(name).map_err(Error::machine)?;
    }
    // Programs resolve the names of the hosts, and many of them support only IPv4.
    let pair = run::pair(0, &scenario.flows[0], Version::V4, control.needs_ecn, control.preferred());
    let pair = pair.map_err(Error::machine)?;
    control.attach_to(&pair.receiver).map_err(Error::machine)?;
    let pairs = [pair];
    let clock = Clock::start(programs.time);
    let options = Options { series: watch.as_ref().map(|(step, _)| *step), ..Options::default() };
    let mut network = Network::new(&scenario, Plan::new(&scenario)?, vec![], Time::Real, &options)?;
    let mut watch = watch.map(|(step, progress)| Watch::new(step, network.samples(), progress));
    let emulator = Emulator::new(&scenario, &pairs, network, clock);
    let ended = AtomicBool::new(false);
    let keeper = Keeper::default();
    let (status, stood_still) = std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            let result = emulator.run(ENDLESS, || ended.load(Ordering::Relaxed));
            if result.is_err() {
                // Without a network the programs might wait for ever.
                end(&keeper);
            }
            result
        });
        let (tell, told) = channel();
        // A thread of its own, because it enters other namespaces.
        let living = scope.spawn(|| {
            let status = live(&pairs[0], programs, &keeper);
            drop(tell);
            status
        });
        if let Some(watch) = &mut watch {
            watch.until(&told, || end(&keeper));
        }
        let status = living.join().expect("it does not panic");
        ended.store(true, Ordering::Relaxed);
        let stood_still = carrying.join().expect("the emulator does not panic").map_err(Error::machine)?;
        Ok::<_, Error>((status.map_err(Error::machine)?, stood_still))
    })?;
    let scenario = Scenario { duration: clock.now(), ..scenario.clone() };
    let network = emulator.finish();
    let unsound_because = unsound(&scenario, &network, &pairs, stood_still, clock).map_err(Error::machine)?;
    [&pairs[0].sender, &pairs[0].receiver]
        .into_iter()
        .try_for_each(|host| host.namespace.within(stack::give_up_what_is_undelivered))
        .map_err(Error::machine)?;
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Ended { status, unsound_because })
}

/// Returns why the link did not behave as the scenario says, if so. A link that carried no packet is sound.
fn unsound(
    scenario: &Scenario,
    network: &Network,
    pairs: &[Pair],
    stood_still: Nanos,
    clock: Clock,
) -> io::Result<Option<String>> {
    let lateness = &network.around.lateness;
    if lateness.max_ms().is_none() {
        return Ok(None);
    }
    let complaint = soundness::complaint(scenario, lateness, network.missed()?, pairs, &[])?;
    Ok(complaint.or_else(|| soundness::standstill(scenario, stood_still).filter(|_| clock.is_real())))
}

/// Reports samples of the links to the caller while the programs run.
struct Watch<'a> {
    sampler: Sampler,
    samples: Receiver<Sample>,
    progress: Progress<'a>,
    /// Whether the caller has ended the programs, so that nothing more is reported.
    is_over: bool,
}

impl<'a> Watch<'a> {
    fn new(step: Nanos, samples: Receiver<Sample>, progress: Progress<'a>) -> Watch<'a> {
        Watch { sampler: Sampler::new(step, 0), samples, progress, is_over: false }
    }

    /// Reports samples until the other end of `ended` is closed; calls `end` if the caller stops earlier.
    fn until(&mut self, ended: &Receiver<()>, end: impl Fn()) {
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(run::TICK) {
            if !self.is_over && self.tell().is_break() {
                self.is_over = true;
                end();
            }
        }
    }

    fn tell(&mut self) -> ControlFlow<()> {
        while let Ok(sample) = self.samples.try_recv() {
            self.sampler.take(sample.at, std::iter::empty(), sample.links.into_iter());
            (self.progress)(ProgressUpdate { now: sample.at, step: Some(self.sampler.latest()) })?;
            self.sampler.forget();
        }
        ControlFlow::Continue(())
    }
}

/// Starts the programs, waits for the near one, and returns its exit status.
fn live(pair: &Pair, programs: &Programs, keeper: &Keeper) -> io::Result<ExitStatus> {
    let (near, opposite) = match programs.at {
        End::Sender => (&pair.sender, &pair.receiver),
        End::Receiver => (&pair.receiver, &pair.sender),
    };
    unshare(CloneFlags::CLONE_NEWPID)?;
    let first = start(&["sleep".into(), "infinity".into()], &near.namespace, pair)?;
    *keeper.lock().expect("no thread panics with the lock") = Some(first);
    let far = programs.far.as_ref().map(|program| start(program, &opposite.namespace, pair)).transpose();
    let waited = far.and_then(|mut far| {
        if let Some(far) = &mut far {
            wait_until_listening(far, opposite)?;
        }
        let mut near = start(&programs.near, &near.namespace, pair)?;
        Ok((far, near.wait()?))
    });
    // The first process stays until the others have been waited for.
    end(keeper);
    let (far, status) = waited?;
    if let Some(mut far) = far {
        far.wait()?;
    }
    let first = keeper.lock().expect("no thread panics with the lock").take();
    first.map_or(Ok(()), |mut first| first.wait().map(|_| ()))?;
    Ok(status)
}

/// The first process of the programs' process namespace, while it exists: all others end with it.
type Keeper = Mutex<Option<Child>>;

/// Ends all programs.
fn end(keeper: &Keeper) {
    if let Some(first) = keeper.lock().expect("no thread panics with the lock").as_mut() {
        // An error means that it is dead already, which is fine.
        let _ = first.kill();
    }
}

fn start(program: &[OsString], place: &Namespace, pair: &Pair) -> io::Result<Child> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]);
    command.env("UNBLOAT_SENDER", pair.sender.address.to_string());
    command.env("UNBLOAT_RECEIVER", pair.receiver.address.to_string());
    let network = place.file().try_clone()?;
    let hosts = format!("127.0.0.1 localhost\n{} sender\n{} receiver\n", pair.sender.address, pair.receiver.address);
    // SAFETY: between fork and exec the closure makes system calls only, with paths that fit the stack.
    unsafe { command.pre_exec(move || settle(&network, &hosts)) };
    command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("{} cannot be started: {error}", program[0].to_string_lossy()))
    })
}

/// Moves a new process into its host, with `/proc` and `/etc/hosts` to match, and lets it die with the thread that
/// started it. A missing `/etc/hosts` stays missing, because a file can be mounted only over an existing one.
fn settle(network: &File, hosts: &str) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    setns(network, CloneFlags::CLONE_NEWNET)?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    if Path::new(HOSTS).exists() {
        name_the_ends(hosts)?;
    }
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), NONE)?;
    Ok(())
}

/// The file with the names of hosts (hosts(5)).
const HOSTS: &str = "/etc/hosts";

/// Mounts a file with names for the two ends over `/etc/hosts`. The file is in a file system that only this process and
/// its children see, and that disappears with them. While the file is written, that file system is mounted at `/proc`.
fn name_the_ends(hosts: &str) -> io::Result<()> {
    const FOLDER: &str = "/proc";
    const FILE: &str = "/proc/hosts";
    mount(Some("none"), FOLDER, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=0755,size=64k"))?;
    std::fs::write(FILE, hosts)?;
    std::fs::set_permissions(FILE, Permissions::from_mode(0o644))?;
    mount(Some(FILE), HOSTS, NONE, MsFlags::MS_BIND, NONE)?;
    Ok(umount(FOLDER)?)
}

/// An argument that `mount` ignores.
const NONE: Option<&str> = None;

/// Waits until the far program listens, as a server does after a moment, or until the program ends or [`PATIENCE`] is
/// over.
fn wait_until_listening(far: &mut Child, host: &Host) -> io::Result<()> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && far.try_wait()?.is_none() && !is_listening(host)? {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn is_listening(host: &Host) -> io::Result<bool> {
    let in_state = |table: &str, state| {
        let sockets = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        sockets.lines().any(|line| line.split_whitespace().nth(3) == Some(state))
    };
    host.namespace.within(|| {
        Ok(["tcp", "tcp6"].iter().any(|table| in_state(table, LISTENING))
            || ["udp", "udp6"].iter().any(|table| in_state(table, UNCONNECTED)))
    })
}
