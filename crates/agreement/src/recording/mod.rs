//! Records the calls that a kernel makes to a congestion control compiled with `-DUNBLOAT_RECORD`, from its ring
//! buffer.
//!
//! The writer of the ring buffer is `algorithms/include/unbloat/record.h`; [`crate::replay`] replays a recording.

mod layout;
mod pairs;
mod snapshot;
mod windows;

use crate::replay::{RecordedCall, Recording};
use kernel::btf::Type;
use layout::Layout;
use libbpf_rs::btf::Btf;
use libbpf_rs::{MapCore, MapHandle, Object, RingBufferBuilder};
use mechanism::sock::{AckSample, RateSample, TcpSock};
use mechanism::{HelperResults, Library};
use model::Scenario;
use model::records::{Options, Outcome, Progress};
use pairs::{Call, Pairs};
use snapshot::{SAMPLE_BYTES, SOCK_BYTES, Snapshot};
use std::cell::RefCell;
use std::mem::offset_of;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use testbed::{Error, GroupControl, Time, load_controls, run_with};
pub use windows::{run_windows, window_events};

/// Runs `scenario` as [`testbed::run`] does, with congestion controls from `algorithms` that record. Also returns the
/// recording of each flow group.
///
/// # Errors
/// The errors of [`testbed::run`]; also if a group's congestion control is the kernel's own, or a recording contradicts
/// itself.
pub fn run(scenario: &Scenario, algorithms: &Path, progress: Progress) -> Result<(Outcome, Vec<Recording>), Error> {
    let library = Library::recording(algorithms);
    let controls = load_controls(scenario, &library)?;
    let recorder = |control: &GroupControl| match control.loaded() {
        Some(loaded) => Recorder::start(loaded.object()),
        None => Err(format!("{} belongs to the kernel and does not record", control.listed)),
    };
    let recorders: Vec<_> = controls.iter().map(recorder).collect::<Result<_, _>>().map_err(Error::Machine)?;
    let outcome = run_with(scenario, &library, &controls, Time::Real, &Options::default(), progress)?;
    let stopped = recorders.into_iter().zip(&controls).map(|(recorder, control)| {
        recorder.stop().map_err(|reason| Error::Machine(format!("{}: {reason}", control.listed)))
    });
    Ok((outcome, stopped.collect::<Result<_, _>>()?))
}

/// Reads the calls of one loaded congestion control while it runs.
pub struct Recorder {
    over: Arc<AtomicBool>,
    reader: JoinHandle<Result<Recording, String>>,
}

impl Recorder {
    /// Begins to read; `object` is the loaded congestion control.
    ///
    /// # Errors
    /// A sentence, if the file was not compiled for recording, or the kernel does not describe its types.
    pub fn start(object: &Object) -> Result<Recorder, String> {
        let ring = map_of(object, "unbloat_recording")?;
        let layouts = Layouts::of(object)?;
        let over = Arc::new(AtomicBool::new(false));
        let reader = std::thread::spawn({
            let over = over.clone();
            move || read(&ring, layouts, &over)
        });
        Ok(Recorder { over, reader })
    }

    /// Stops reading and returns the recording. It leaves out calls that have not ended and calls of which a snapshot
    /// was lost. It ends at a call that the kernel skipped ([`Recording::end_at_skipped_call`]).
    ///
    /// # Errors
    /// A sentence, if the recording contradicts itself.
    pub fn stop(self) -> Result<Recording, String> {
        self.over.store(true, Ordering::Relaxed);
        self.reader.join().map_err(|_| "the reader of the recording panicked")?
    }
}

fn map_of(object: &Object, name: &str) -> Result<MapHandle, String> {
    let found = object.maps().find(|map| map.name() == name);
    let found = found.ok_or_else(|| format!("the mechanism does not record: it lacks the map {name}"))?;
    MapHandle::try_from(&found).map_err(|e| format!("the map {name} cannot be opened: {e}"))
}

/// Reads the ring buffer until `over` is set, and then the rest.
fn read(ring: &MapHandle, layouts: Layouts, over: &AtomicBool) -> Result<Recording, String> {
    const PAUSE: Duration = Duration::from_millis(5);
    let unreadable = |e: libbpf_rs::Error| format!("the ring buffer cannot be read: {e}");
    let reader = RefCell::new(Reader::new(layouts));
    let mut builder = RingBufferBuilder::new();
    let take = |bytes: &[u8]| {
        reader.borrow_mut().take(bytes);
        0
    };
    builder.add(ring, take).map_err(unreadable)?;
    let buffer = builder.build().map_err(unreadable)?;
    loop {
        let last = over.load(Ordering::Relaxed);
        buffer.consume().map_err(unreadable)?;
        if last {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    drop(buffer);
    reader.into_inner().finish()
}

/// Makes a recording from snapshots.
struct Reader {
    layouts: Layouts,
    pairs: Pairs,
    recording: Recording,
    failure: Option<String>,
}

impl Reader {
    fn new(layouts: Layouts) -> Reader {
        let recording = Recording { jiffies_per_second: 0, members: layouts.sock.members(), events: Vec::new() };
        Reader { layouts, pairs: Pairs::default(), recording, failure: None }
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.read(bytes).err();
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), String> {
        if let Some(call) = self.pairs.take(Snapshot::of(bytes)?)? {
            self.recording.jiffies_per_second = call.after.jiffies_per_second;
            self.recording.events.push(self.layouts.event(&call));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Recording, String> {
        self.recording.end_at_skipped_call();
        self.failure.map_or(Ok(self.recording), Err)
    }
}

/// The layouts of the structures in a snapshot.
struct Layouts {
    sock: Layout,
    ack_sample: Layout,
    rate_sample: Layout,
}

impl Layouts {
    fn of(object: &Object) -> Result<Layouts, String> {
        let ours = object.btf().ok().flatten().ok_or("the mechanism's file describes no types")?;
        let kernel = Btf::from_vmlinux().map_err(|e| format!("the kernel does not describe its types: {e}"))?;
        let layout = |name: &str, native_bytes: usize, room: usize| {
            let (Some(ours), Some(kernel)) = (Type::structure(name, &ours), Type::structure(name, &kernel)) else {
                return Err(format!("the types lack struct {name}"));
            };
            let layout = Layout::new(&ours, &kernel);
            assert_eq!(layout.native_bytes, native_bytes, "mechanism::sock repeats struct {name}");
            if layout.kernel_bytes > room {
                return Err(format!(
                    "struct {name} has {} bytes here, but a snapshot has room for {room}",
                    layout.kernel_bytes
                ));
            }
            Ok(layout)
        };
        Ok(Layouts {
            sock: layout("tcp_sock", offset_of!(TcpSock, sim), SOCK_BYTES)?,
            ack_sample: layout("ack_sample", size_of::<AckSample>(), SAMPLE_BYTES)?,
            rate_sample: layout("rate_sample", size_of::<RateSample>(), SAMPLE_BYTES)?,
        })
    }

    fn event(&self, Call { before, after, follows_gap }: &Call) -> RecordedCall {
        let [ns, jiffies, random] = before.helper_results;
        RecordedCall {
            socket: before.socket,
            program: before.name(),
            helper_results: HelperResults { ns, jiffies, random },
            arguments: before.arguments,
            ack_sample: native(&self.ack_sample, &before.sample),
            rate_sample: native(&self.rate_sample, &before.sample),
            before: native(&self.sock, &before.sock),
            after: native(&self.sock, &after.sock),
            result: after.result,
            follows_gap: *follows_gap,
        }
    }
}

/// A structure that consists of numbers only, so that any bytes are a valid value.
///
/// # Safety
/// Every value of every member must be valid, except members beyond the bytes that a [`Layout`] of the structure fills.
unsafe trait Numbers: Default {}
// SAFETY: integers, and at the end of the socket what the layout does not know.
unsafe impl Numbers for TcpSock {}
// SAFETY: integers.
unsafe impl Numbers for AckSample {}
// SAFETY: integers; its flags are u8.
unsafe impl Numbers for RateSample {}

fn native<T: Numbers>(layout: &Layout, kernel: &[u8]) -> T {
    let mut value = T::default();
    let mut bytes = vec![0; layout.native_bytes];
    layout.translate(kernel, &mut bytes);
    assert!(bytes.len() <= size_of::<T>());
    // SAFETY: the bytes find room, and are a value as the trait promises.
    unsafe { bytes.as_ptr().copy_to_nonoverlapping((&raw mut value).cast::<u8>(), bytes.len()) }
    value
}
