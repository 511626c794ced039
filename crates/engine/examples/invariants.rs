//! Looks for a random scenario that breaks an invariant: `invariants COUNT [FIRST]`, or `invariants FILE.toml` for one
//! that was found. Scenarios have numbers; each is the same on every machine. A scenario that breaks an invariant is
//! written as a file into build/invariants, and made smaller as long as it breaks one.

#[path = "../tests/engine/auditor.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod auditor;
#[path = "../tests/engine/inhabited.rs"]
mod inhabited;
#[path = "../tests/engine/invariants.rs"]
mod invariants;
#[path = "../tests/engine/meshed.rs"]
mod meshed;
#[path = "../tests/engine/networks.rs"]
mod networks;
#[path = "../tests/engine/random.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod random;
#[path = "../tests/engine/under_way.rs"]
mod under_way;
#[path = "../tests/engine/world.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod world;
#[path = "../tests/engine/written.rs"]
mod written;

use model::Scenario;
use proptest::strategy::ValueTree;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: invariants COUNT [FIRST], or invariants FILE.toml; COUNT is 1 or more, FIRST 0 or more";
/// Ctrl-C was pressed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Folder of the scenarios found, in the current folder.
const FOLDER: &str = "build/invariants";
/// Number of attempts at a smaller scenario.
const ATTEMPTS: u32 = 300;
/// Time between two lines of progress.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

thread_local! {
    /// Message and place of the last panic of this thread.
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
    let numbers: Option<Vec<_>> = arguments.iter().map(number).collect();
    match (arguments.as_slice(), numbers.as_deref()) {
        ([file], _) if file.ends_with(".toml") => repeat(Path::new(file)),
        (_, Some([count])) => search(*count, 0),
        (_, Some([count, first])) => search(*count, *first),
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
    for cell in &experiment.points {
        if let Err(why) = check(&cell.scenario) {
            eprintln!("{}: {why}", file.display());
            return ExitCode::FAILURE;
        }
    }
    println!("{}: every invariant holds", file.display());
    ExitCode::SUCCESS
}

/// Checks that a scenario, as a user would read it from a file, breaks no invariant.
fn check(scenario: &Scenario) -> Result<(), String> {
    panic::catch_unwind(AssertUnwindSafe(|| invariants::check(scenario))).map_err(|_| PANIC.take())
}

/// Writes a scenario as a file, and checks what the file says, so that a finding can be repeated from there. The traces
/// are in `folder`.
fn check_as_a_file(scenario: &Scenario, folder: &Path) -> Result<(), String> {
    let read = || {
        let with_files = written::write_traces(scenario, folder).map_err(|why| why.to_string())?;
        let text = scenario::to_toml(&with_files);
        scenario::load_text(&text, "scenario.toml", folder, &[]).map_err(|why| format!("cannot be read again: {why}"))
    };
    let experiment = panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(PANIC.take()))?;
    check(&experiment.points[0].scenario)
}

/// State that the workers of a search share.
struct Search {
    first: u64,
    /// One above the last number of the search.
    end: u64,
    next: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
    /// The number of the scenario that each worker checks; all below the least of them are done.
    at: Vec<AtomicU64>,
    found: Mutex<Vec<Found>>,
    start: Instant,
}

impl Search {
    fn new(first: u64, end: u64) -> Search {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Search {
            first,
            end,
            next: AtomicU64::new(first),
            done: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            at: (0..processors).map(|_| AtomicU64::new(first)).collect(),
            found: Mutex::new(vec![]),
            start: Instant::now(),
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Relaxed) || INTERRUPTED.load(Relaxed) || self.done.load(Relaxed) == self.end - self.first
    }

    /// Checks one scenario after the other.
    fn work(&self, worker: usize) {
        std::fs::create_dir_all(FOLDER).expect("a folder");
        let folder = tempfile::tempdir_in(FOLDER).expect("a folder for traces");
        while !self.is_over() {
            let number = self.next.fetch_add(1, Relaxed);
            self.at[worker].store(number.min(self.end), Relaxed);
            if number >= self.end {
                break;
            }
            if let Some(one) = find(number, folder.path()) {
                self.stop.store(true, Relaxed);
                self.found.lock().expect("no worker panics").push(one);
            }
            self.done.fetch_add(1, Relaxed);
            self.at[worker].store(number + 1, Relaxed);
        }
    }

    /// The lowest number that may not be checked yet, from which an interrupted search goes on.
    fn goes_on_at(&self) -> u64 {
        self.at.iter().map(|at| at.load(Relaxed)).min().unwrap_or(self.first)
    }

    /// Prints the progress, and the scenarios that do not end: those that were `under_way` at the line before.
    fn say_progress(&self, under_way: &mut Vec<u64>) {
        let (done, seconds) = (self.done.load(Relaxed), self.start.elapsed().as_secs_f64());
        let a_second = done as f64 / seconds;
        let minutes_left = (self.end - self.first - done) as f64 / a_second / 60.0;
        eprintln!(
            "{done} of {} scenarios, {a_second:.0} a second, {minutes_left:.0} min left; all below {} hold",
            self.end - self.first,
            self.goes_on_at()
        );
        let now: Vec<_> = self.at.iter().map(|at| at.load(Relaxed)).collect();
        for number in now.iter().filter(|number| under_way.contains(number)) {
            eprintln!("scenario {number} does not come to an end: see it with tools/invariants 1 {number}");
        }
        *under_way = now;
    }

    /// Prints the result when all workers have ended.
    fn close(self) -> ExitCode {
        let (done, seconds) = (self.done.load(Relaxed), self.start.elapsed().as_secs_f64());
        let Search { first, end, found, next, .. } = self;
        let next = next.into_inner().min(end);
        let mut found = found.into_inner().expect("no worker panics");
        found.sort_by_key(|one| one.number);
        for Found { number, why, file } in &found {
            println!("{}", std::fs::read_to_string(file).unwrap_or_default());
            println!("scenario {number}, of {done} so far, breaks an invariant: {why}");
            println!("to repeat it: tools/invariants {}", file.display());
        }
        if found.is_empty() {
            println!("{done} scenarios, from {first} on, all below {next}, in {seconds:.0} s: every invariant holds");
        }
        if next < end {
            println!("to go on: tools/invariants {} {next}", end - next);
        }
        match (found.is_empty(), next < end) {
            (true, false) => ExitCode::SUCCESS,
            (true, true) => ExitCode::from(130), // As a shell has it for what Ctrl-C ends.
            _ => ExitCode::FAILURE,
        }
    }
}

/// Checks scenarios `first..first + count` on all processors, until one breaks an invariant.
fn search(count: u64, first: u64) -> ExitCode {
    let (true, Some(end)) = (count > 0, first.checked_add(count)) else { return usage() };
    // SAFETY: the handler does nothing but store a flag.
    unsafe { libc::signal(libc::SIGINT, interrupt as *const () as libc::sighandler_t) };
    let search = Search::new(first, end);
    std::thread::scope(|scope| {
        for worker in 0..search.at.len() {
            let search = &search;
            scope.spawn(move || search.work(worker));
        }
        let (mut line, mut under_way) = (search.start, vec![]);
        while !search.is_over() {
            std::thread::sleep(Duration::from_millis(100));
            if line.elapsed() >= BETWEEN_LINES {
                line = Instant::now();
                search.say_progress(&mut under_way);
            }
        }
    });
    search.close()
}

extern "C" fn interrupt(_: libc::c_int) {
    INTERRUPTED.store(true, Relaxed);
}

/// Checks one scenario. If it breaks an invariant, makes it smaller and returns it.
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
