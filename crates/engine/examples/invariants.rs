//! Looks for a random scenario that breaks an invariant: `invariants COUNT [FIRST]`, or `invariants FILE.toml` for one
//! that was found. Scenarios have numbers; each is the same on every machine. What breaks an invariant is written as
//! a scenario file into build/invariants, and made smaller as long as that breaks it too.

#[path = "../tests/engine/auditor.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod auditor;
#[path = "../tests/engine/invariants.rs"]
mod invariants;
#[path = "../tests/engine/networks.rs"]
mod networks;
#[path = "../tests/engine/random.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod random;
#[path = "../tests/engine/world.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod world;
#[path = "../tests/engine/written.rs"]
mod written;

use proptest::strategy::ValueTree;
use scenario::model::Scenario;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: invariants COUNT [FIRST], or invariants FILE.toml";
/// Where what was found is written, in the current folder.
const FOLDER: &str = "build/invariants";
/// Attempts at a smaller scenario.
const ATTEMPTS: u32 = 300;
/// Time between two lines of progress.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

thread_local! {
    /// What the last panic of this thread said, and where.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A scenario that broke an invariant.
struct Found {
    number: u64,
    why: String,
    file: PathBuf,
}

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| PANIC.set(info.to_string())));
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().ok();
    match arguments.as_slice() {
        [file] if file.ends_with(".toml") => repeat(Path::new(file)),
        [count] if number(count).is_some() => search(number(count).unwrap_or(0), 0),
        [count, first] => match (number(count), number(first)) {
            (Some(count), Some(first)) => search(count, first),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn repeat(file: &Path) -> ExitCode {
    let experiment = match scenario::load(file, &[]) {
        Ok(experiment) => experiment,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    for cell in &experiment.cells {
        if let Err(why) = check(&cell.scenario) {
            eprintln!("{}: {why}", file.display());
            return ExitCode::FAILURE;
        }
    }
    println!("{}: every invariant holds", file.display());
    ExitCode::SUCCESS
}

/// Does a scenario, as a user would read it from a file, keep every invariant?
fn check(scenario: &Scenario) -> Result<(), String> {
    panic::catch_unwind(AssertUnwindSafe(|| invariants::check(scenario))).map_err(|_| PANIC.take())
}

/// The same by way of its file, so that what is found can be repeated from there. The traces stand in `folder`.
fn check_as_a_file(scenario: &Scenario, folder: &Path) -> Result<(), String> {
    let read = || {
        written::write_traces(scenario, folder).map_err(|why| why.to_string())?;
        let text = written::text(scenario);
        scenario::load_text(&text, "scenario.toml", folder, &[]).map_err(|why| format!("cannot be read again: {why}"))
    };
    let experiment = panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(PANIC.take()))?;
    check(&experiment.cells[0].scenario)
}

/// Checks scenarios `first..first + count` on all processors, until one breaks an invariant.
fn search(count: u64, first: u64) -> ExitCode {
    let (next, done, stop) = (AtomicU64::new(first), AtomicU64::new(0), AtomicBool::new(false));
    let found = Mutex::new(None);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..processors {
            let (next, done, stop, found) = (&next, &done, &stop, &found);
            let folder = PathBuf::from(FOLDER).join(format!("worker-{}-{worker}", std::process::id()));
            scope.spawn(move || {
                std::fs::create_dir_all(&folder).expect("a folder for traces");
                while !stop.load(Relaxed) {
                    let number = next.fetch_add(1, Relaxed);
                    if number >= first + count {
                        break;
                    }
                    if let Some(one) = find(number, &folder) {
                        stop.store(true, Relaxed);
                        found.lock().expect("no worker panics").get_or_insert(one);
                    }
                    done.fetch_add(1, Relaxed);
                }
                let _ = std::fs::remove_dir_all(folder);
            });
        }
        let mut line = start;
        while done.load(Relaxed) < count && !stop.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
            if line.elapsed() >= BETWEEN_LINES {
                line = Instant::now();
                let (done, seconds) = (done.load(Relaxed), start.elapsed().as_secs_f64());
                eprintln!("{done} of {count} scenarios in {seconds:.0} s, {:.0} a second", done as f64 / seconds);
            }
        }
    });
    let (done, seconds) = (done.into_inner(), start.elapsed().as_secs_f64());
    match found.into_inner().expect("no worker panics") {
        None => {
            println!("{done} scenarios, {first} to {}, in {seconds:.0} s: every invariant holds", first + count - 1);
            ExitCode::SUCCESS
        }
        Some(Found { number, why, file }) => {
            println!("{}", std::fs::read_to_string(&file).unwrap_or_default());
            println!("scenario {number} of {done} so far breaks an invariant: {why}");
            println!("to repeat it: tools/invariants {}", file.display());
            ExitCode::FAILURE
        }
    }
}

/// Checks one scenario. One that breaks an invariant is made smaller and kept.
fn find(number: u64, folder: &Path) -> Option<Found> {
    let mut tree = invariants::numbered(number);
    let mut why = check_as_a_file(&tree.current(), folder).err()?;
    let mut smallest = tree.current();
    let mut smaller = tree.simplify();
    for _ in 0..ATTEMPTS {
        if !smaller {
            break;
        }
        smaller = match check_as_a_file(&tree.current(), folder) {
            Err(other) => {
                (why, smallest) = (other, tree.current());
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
    }
    let kept = Path::new(FOLDER).join(number.to_string());
    let written = written::write(&smallest, &kept);
    written.unwrap_or_else(|why| eprintln!("{} cannot be written: {why}", kept.display()));
    Some(Found { number, why, file: kept.join("scenario.toml") })
}
