//! Watchdog for callbacks that crash the process or do not return: the process reports the mechanism before it ends.
//!
//! The watchdog is for processes that do nothing but run simulations. After [`report_to`], handlers of signals write a
//! line that the process's parent reads. They handle the signals of a crash, and those of a clock. The clock counts the
//! processor time of this process, so a busy machine raises no alarm. A handler can neither allocate memory nor take a
//! lock, so all texts are prepared beforehand.

use crate::bind::ops::Callback;
use std::ops::Range;
use std::os::fd::{IntoRawFd, RawFd};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Processor time between two looks at the running code, s.
const TICK_S: i64 = 1;
/// Number of consecutive looks that may find a mechanism at work at the same simulated time. It is also the limit in
/// seconds of processor time.
const PATIENCE: u32 = 3;
/// Bytes of the stack that are searched for return addresses in a mechanism's code.
const SEARCHED: usize = 8192;
/// Bytes of the handlers' own stack, because a mechanism may have used up its own.
const STACK: usize = 1 << 16;
/// Exit status of the process after its report, which the parent knows.
const STATUS: i32 = 70;

/// The opened mechanisms, a list that handlers walk.
static OPENED: AtomicPtr<Entry> = AtomicPtr::new(null_mut());
/// Lock for changes of the list.
static CHANGES: Mutex<()> = Mutex::new(());
/// The beginning of the report about each flow group.
static PLACES: AtomicPtr<Vec<String>> = AtomicPtr::new(null_mut());
/// The path whose constructors run, in the form of a JSON string.
static LOADING: AtomicPtr<String> = AtomicPtr::new(null_mut());
/// The file descriptor for reports.
static REPORT: AtomicI32 = AtomicI32::new(-1);
/// This process's memory as a file, from which a handler reads: an address that is not mapped gives an error in place
/// of another signal.
static MEMORY: AtomicI32 = AtomicI32::new(-1);
/// The simulated time at the latest look, and the number of consecutive looks that found the same time.
static SEEN: AtomicU64 = AtomicU64::new(0);
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// An opened mechanism as handlers know it.
struct Entry {
    next: AtomicPtr<Entry>,
    code: Range<usize>,
    /// `unbloat_instance.now` and `callback`.
    now: *const u64,
    callback: *const u64,
    /// Subjects of sentences, by the callback's number, in the form of JSON strings.
    subjects: [String; Callback::ALL.len()],
    group: AtomicUsize,
}

/// Registration of an opened mechanism with the handlers, until it is dropped.
pub(crate) struct Watched(Box<Entry>);

impl Watched {
    /// Registers a mechanism. `now` and `callback` must be readable until the registration is dropped.
    pub(crate) fn new(
        code: Range<usize>,
        now: *const u64,
        callback: *const u64,
        subjects: [String; Callback::ALL.len()],
    ) -> Watched {
        let _changes = changes();
        let subjects = subjects.map(|text| escaped(&text));
        let next = AtomicPtr::new(OPENED.load(Ordering::Relaxed));
        let mut entry = Box::new(Entry { next, code, now, callback, subjects, group: AtomicUsize::new(0) });
        OPENED.store(&mut *entry, Ordering::Release);
        Watched(entry)
    }

    pub(crate) fn set_group(&self, group: usize) {
        self.0.group.store(group, Ordering::Relaxed);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _changes = changes();
        let own: *mut Entry = &mut *self.0;
        let mut link = &OPENED;
        // SAFETY: entries leave the list before they are freed, and only one thread at a time changes it.
        while let Some(entry) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
            if std::ptr::eq(entry, own) {
                link.store(entry.next.load(Ordering::Relaxed), Ordering::Release);
                return;
            }
            link = &entry.next;
        }
    }
}

fn changes() -> MutexGuard<'static, ()> {
    CHANGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Guard that marks a mechanism's constructors as running.
#[expect(clippy::box_collection, reason = "handlers read the string where it is")]
pub(crate) struct Loading(Box<String>);

impl Loading {
    pub(crate) fn new(path: &str) -> Loading {
        let mut text = Box::new(escaped(path));
        LOOKS.store(0, Ordering::Relaxed);
        LOADING.store(&mut *text, Ordering::Release);
        Loading(text)
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        let own: *mut String = &mut *self.0;
        let _ = LOADING.compare_exchange(own, null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Sets the place of each flow group's mechanism in the scenario, for the reports of the run that begins.
pub fn set_places(places: &[String]) {
    let places = places.iter().map(|place| escaped(place)).collect();
    let before = PLACES.swap(Box::into_raw(Box::new(places)), Ordering::AcqRel);
    if !before.is_null() {
        // SAFETY: it was made here, and handlers of this thread do not run now.
        drop(unsafe { Box::from_raw(before) });
    }
}

/// Makes this process write one line to `fd` before a mechanism's fault ends it:
/// `{"error": SENTENCE, "wrong_input": true, "ended": true}`.
///
/// # Errors
/// If the system refuses handlers, or a clock.
pub fn report_to(fd: RawFd) -> std::io::Result<()> {
    MEMORY.store(std::fs::File::open("/proc/self/mem")?.into_raw_fd(), Ordering::Relaxed);
    REPORT.store(fd, Ordering::Release);
    // SAFETY: the stack is never freed, the handlers do what handlers may, and the structures are as the system wants
    // them.
    unsafe {
        let stack = Box::leak(vec![0_u8; STACK].into_boxed_slice());
        let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
        checked(libc::sigaltstack(&stack, null_mut()))?;
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
            handle(signal, crashed)?;
        }
        handle(libc::SIGVTALRM, looked)?;
        let every = libc::timeval { tv_sec: TICK_S, tv_usec: 0 };
        let clock = libc::itimerval { it_interval: every, it_value: every };
        checked(libc::setitimer(libc::ITIMER_VIRTUAL, &clock, null_mut()))
    }
}

fn checked(status: i32) -> std::io::Result<()> {
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

unsafe fn handle(signal: i32, handler: Handler) -> std::io::Result<()> {
    // SAFETY: zero is a value of each member.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the handler has the signature that SA_SIGINFO asks for.
    checked(unsafe { libc::sigaction(signal, &action, null_mut()) })
}

extern "C" fn crashed(signal: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let did: &[u8] = match signal {
        libc::SIGFPE => b" divides by zero, or the least number by -1 (SIGFPE)",
        libc::SIGILL => b" executes an invalid instruction (SIGILL)",
        libc::SIGBUS => b" accesses invalid memory (SIGBUS)",
        _ => b" accesses invalid memory (SIGSEGV)",
    };
    let (pc, sp) = registers(context);
    if let Some(entry) = entry_at(pc).or_else(|| entry_on_stack(sp)) {
        report(entry, did);
    }
    report_loading(b" crashes while it is loaded: its constructor");
    // The fault is not a mechanism's: the signal comes again, and has its default effect. SAFETY: as any process may.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Handles a tick of the clock: ends the process if a mechanism has been at work for too many looks. No simulated time
/// has passed then: even with all its flows, the calls of a run at one instant do not take seconds. Time in functions
/// that the mechanism calls, such as memset, does not count, so the look finds the mechanism itself.
extern "C" fn looked(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let clocks = clocks();
    if SEEN.swap(clocks, Ordering::Relaxed) != clocks {
        LOOKS.store(0, Ordering::Relaxed);
    }
    let (pc, _) = registers(context);
    let entry = entry_at(pc);
    let loading = !LOADING.load(Ordering::Acquire).is_null();
    if (entry.is_some() || loading) && LOOKS.fetch_add(1, Ordering::Relaxed) + 1 > PATIENCE {
        if let Some(entry) = entry {
            report(
                entry,
                b" has not returned within 3 s of processor time: an endless loop, which every kernel refuses",
            );
        }
        report_loading(b" does not return while it is loaded: its constructor");
    }
}

fn opened() -> impl Iterator<Item = &'static Entry> {
    // SAFETY: entries leave the list before they are freed.
    let entry = |at: *mut Entry| unsafe { at.as_ref() };
    std::iter::successors(entry(OPENED.load(Ordering::Acquire)), move |at| entry(at.next.load(Ordering::Acquire)))
}

/// The sum of the clocks of all opened mechanisms, which changes as simulated time passes.
fn clocks() -> u64 {
    // SAFETY: `Watched::new` asks for it.
    opened().fold(0, |sum, entry| sum.wrapping_add(unsafe { entry.now.read_volatile() }))
}

fn entry_at(pc: usize) -> Option<&'static Entry> {
    opened().find(|entry| entry.code.contains(&pc))
}

/// The mechanism to whose code the stack returns, if its callback called the C library, or an address without a
/// function.
fn entry_on_stack(sp: usize) -> Option<&'static Entry> {
    let mut words = [0_usize; SEARCHED / size_of::<usize>()];
    let memory = MEMORY.load(Ordering::Relaxed);
    // SAFETY: the buffer has as many bytes.
    let read = unsafe { libc::pread(memory, words.as_mut_ptr().cast(), SEARCHED, sp as libc::off_t) };
    words[..read.max(0) as usize / size_of::<usize>()].iter().find_map(|&word| entry_at(word))
}

fn report(entry: &Entry, did: &[u8]) {
    // SAFETY: `Watched::new` asks for it.
    let callback = unsafe { entry.callback.read_volatile() } as usize;
    // SAFETY: the list is replaced by this thread only, and not now.
    let places = unsafe { PLACES.load(Ordering::Acquire).as_ref() };
    let place = places.and_then(|places| places.get(entry.group.load(Ordering::Relaxed)));
    let subject = entry.subjects.get(callback).map_or("", |subject| subject.as_str());
    end(&[place.map_or("", String::as_str), if place.is_some() { ": " } else { "" }, subject], did);
}

fn report_loading(did: &[u8]) {
    // SAFETY: `Loading` keeps it until it takes it away.
    if let Some(path) = unsafe { LOADING.load(Ordering::Acquire).as_ref() } {
        end(&[path], did);
    }
}

fn end(subject: &[&str], did: &[u8]) -> ! {
    let fd = REPORT.load(Ordering::Acquire);
    let write = |bytes: &[u8]| {
        // SAFETY: the bytes are there. Who does not get them all will see that the process has ended.
        unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    };
    write(b"{\"error\": \"");
    subject.iter().for_each(|part| write(part.as_bytes()));
    write(did);
    write(b"\", \"wrong_input\": true, \"ended\": true}\n");
    // SAFETY: nothing of this process is wanted any more.
    unsafe { libc::_exit(STATUS) }
}

/// Program counter and stack pointer at the interruption.
fn registers(context: *mut libc::c_void) -> (usize, usize) {
    if context == null::<libc::c_void>().cast_mut() {
        return (0, 0);
    }
    // SAFETY: SA_SIGINFO gives the handler this structure.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return (machine.gregs[libc::REG_RIP as usize] as usize, machine.gregs[libc::REG_RSP as usize] as usize);
    #[cfg(target_arch = "aarch64")]
    return (machine.pc as usize, machine.sp as usize);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = machine;
        (0, 0)
    }
}

/// A text in the form of a JSON string, without quotes.
fn escaped(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c < ' ' => json.push_str(&format!("\\u{:04x}", c as u32)),
            c => json.push(c),
        }
    }
    json
}
