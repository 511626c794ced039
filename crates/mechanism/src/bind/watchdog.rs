//! Callbacks that crash the process or do not come back: the process says whose they were before it ends.
//!
//! This is for processes that do nothing but run simulations. [`report_to`] has signals answered by a line that the
//! process's parent reads: those of a crash, and those of a clock that counts the processor time of this process, so
//! that a busy machine raises no alarm. Within a signal's handler there is no memory to allocate and no lock to take:
//! all texts are written beforehand.

use crate::bind::ops::Callback;
use std::ops::Range;
use std::os::fd::{IntoRawFd, RawFd};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Processor time between two looks at what runs.
const TICK_S: i64 = 1;
/// Looks in a row that find a control at work at the same simulated time: so many seconds of the processor are too
/// many.
const PATIENCE: u32 = 3;
/// Bytes of the stack that are searched for a control's code.
const SEARCHED: usize = 8192;
/// Bytes of the handlers' own stack: that of a control may be used up.
const STACK: usize = 1 << 16;
/// Ends the process after its report; the parent knows why.
const STATUS: i32 = 70;

/// The opened controls, a list that handlers walk.
static OPENED: AtomicPtr<Entry> = AtomicPtr::new(null_mut());
/// Held by whoever changes the list.
static CHANGES: Mutex<()> = Mutex::new(());
/// What begins the answer about each flow group.
static PLACES: AtomicPtr<Vec<String>> = AtomicPtr::new(null_mut());
/// The path whose constructors run, as JSON has it.
static LOADING: AtomicPtr<String> = AtomicPtr::new(null_mut());
/// Where reports go.
static REPORT: AtomicI32 = AtomicI32::new(-1);
/// This process's memory as a file: a handler that reads there what is not mapped gets an error in place of another
/// signal.
static MEMORY: AtomicI32 = AtomicI32::new(-1);
/// The simulated time at the latest look, and how many looks in a row found the same.
static SEEN: AtomicU64 = AtomicU64::new(0);
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// An opened control as handlers know it.
struct Entry {
    next: AtomicPtr<Entry>,
    code: Range<usize>,
    /// `unbloat_instance.now` and `callback`.
    now: *const u64,
    callback: *const u64,
    /// Subjects of sentences, by the callback's number, as JSON has them.
    subjects: [String; Callback::ALL.len()],
    group: AtomicUsize,
}

/// Keeps an opened control known to the handlers.
pub(crate) struct Watched(Box<Entry>);

impl Watched {
    /// `now` and `callback` are readable as long as this lives.
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

/// While it lives, a control's constructors run.
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

/// Says where in the scenario the control of each flow group stands, for the reports of the run that begins.
pub fn set_places(places: &[String]) {
    let places = places.iter().map(|place| escaped(place)).collect();
    let before = PLACES.swap(Box::into_raw(Box::new(places)), Ordering::AcqRel);
    if !before.is_null() {
        // SAFETY: it was made here, and handlers of this thread do not run now.
        drop(unsafe { Box::from_raw(before) });
    }
}

/// From now on this process, before it ends by a control's fault, writes one line to `fd`:
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
        libc::SIGILL => b" runs into what is no instruction (SIGILL)",
        libc::SIGBUS => b" touches memory that is not its own (SIGBUS)",
        _ => b" touches memory that is not its own (SIGSEGV)",
    };
    let (pc, sp) = registers(context);
    if let Some(entry) = entry_at(pc).or_else(|| entry_on_stack(sp)) {
        report(entry, did);
    }
    report_loading(b" crashes while it is loaded: its constructor");
    // Somebody else's fault: the signal comes again, and is not answered.
    // SAFETY: as any process may.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Is the control at work since the look before? Then no simulated time has passed. No run has so many flows that their
/// calls at one instant take seconds. Time in functions that the control calls, such as memset, counts for nobody, so
/// that what is found at work is the control.
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
                b" has not come back after 3 s of processor time: a loop without an end, which no kernel takes",
            );
        }
        report_loading(b" does not come back while it is loaded: its constructor");
    }
}

fn opened() -> impl Iterator<Item = &'static Entry> {
    // SAFETY: entries leave the list before they are freed.
    let entry = |at: *mut Entry| unsafe { at.as_ref() };
    std::iter::successors(entry(OPENED.load(Ordering::Acquire)), move |at| entry(at.next.load(Ordering::Acquire)))
}

/// The clocks of all opened controls, a sum that changes as simulated time passes.
fn clocks() -> u64 {
    // SAFETY: `Watched::new` asks for it.
    opened().fold(0, |sum, entry| sum.wrapping_add(unsafe { entry.now.read_volatile() }))
}

fn entry_at(pc: usize) -> Option<&'static Entry> {
    opened().find(|entry| entry.code.contains(&pc))
}

/// Whose code is to be returned to: a callback that called the C library, or what is no function.
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

/// Where the process was interrupted: program counter and stack pointer.
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

/// A text as it stands in a JSON string.
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
