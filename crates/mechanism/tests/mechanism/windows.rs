//! Window controllers: their papers' formulae by number, and the compiled controllers driven by hand.

use crate::harness::{UserFiles, compile_text, library};
use model::{MechanismRef, MechanismSource, ParamValue};
use unbloat_mechanism::{About, Error, MechanismKind, WindowAck, WindowController, WindowFlow};

const MSS: u32 = 1448;
const FIRST_WINDOW: u32 = 65_535;
const RTAC: &str = "#include \"rtac.bpf.c\"\n\
    __u64 inverse(__u64 packets, __u32 percent) { return rtac_inverse_k(packets, percent); }\n\
    __u64 queued(__u32 rtt, __u32 base, __u32 w) { return rtac_queued(rtt, base, w); }\n\
    __u64 target(__u32 rtt, __u32 base, __u32 w, __u64 k) { return rtac_target(rtt, base, w, k); }\n";
const DRWA: &str = "#include \"drwa.bpf.c\"\n\
    __u64 target(__u32 rtt, __u32 base, __u32 w) { return drwa_target(rtt, base, w); }\n";

/// Converts 1/256ths to packets.
fn packets(q8: u64) -> f64 {
    q8 as f64 / 256.0
}

fn near(measured: f64, card: f64) -> bool {
    (measured - card).abs() <= 0.005 * card.max(1.0)
}

/// RTAC's windows for rows of RTT and w, with a least RTT of 50 ms and K = 3e-7.
#[test]
fn the_cards_windows_of_rtac() {
    let library = compile_text("rtac", RTAC);
    // SAFETY: RTAC declares them so.
    let queued = unsafe { library.get::<unsafe extern "C" fn(u32, u32, u32) -> u64>(b"queued").expect("exported") };
    // SAFETY: as above.
    let target =
        unsafe { library.get::<unsafe extern "C" fn(u32, u32, u32, u64) -> u64>(b"target").expect("exported") };
    for (rtt_ms, w, q, window) in [
        (50, 200, 0.0, 2236.07),
        (60, 250, 41.667, 410.79),
        (69, 325, 89.493, 324.38),
        (100, 500, 250.0, 282.28),
        (200, 1000, 750.0, 326.38),
    ] {
        // SAFETY: as above.
        let (measured_q, measured) =
            unsafe { (queued(1000 * rtt_ms, 50_000, 256 * w), target(1000 * rtt_ms, 50_000, 256 * w, 3_333_333)) };
        assert!(near(packets(measured_q), q), "Q {} for {q}", packets(measured_q));
        assert!(near(packets(measured), window), "{rtt_ms} ms, w {w}: {} for {window}", packets(measured));
    }
}

/// K follows from equation 2.11 with theta 1.38.
#[test]
fn the_cards_k() {
    let library = compile_text("rtac_k", RTAC);
    // SAFETY: RTAC declares it so.
    let inverse = unsafe { library.get::<unsafe extern "C" fn(u64, u32) -> u64>(b"inverse").expect("exported") };
    for (bdp, k) in [(50, 3.15789e-5), (100, 3.94737e-6), (236, 3.00311e-7), (500, 3.15789e-8)] {
        // SAFETY: as above.
        let measured = 1.0 / unsafe { inverse(bdp, 138) } as f64;
        assert!((measured / k - 1.0).abs() < 1e-4, "{bdp} packets: {measured:e} for {k:e}");
    }
}

#[test]
fn the_cards_windows_of_drwa() {
    let library = compile_text("drwa", DRWA);
    // SAFETY: DRWA declares it so.
    let target = unsafe { library.get::<unsafe extern "C" fn(u32, u32, u32) -> u64>(b"target").expect("exported") };
    for (rtt_ms, w, window) in [(50, 200, 600.0), (60, 250, 625.0), (100, 500, 750.0), (150, 600, 600.0)] {
        // SAFETY: as above.
        let measured = unsafe { target(1000 * rtt_ms, 50_000, 256 * w) };
        assert!(near(packets(measured), window), "{rtt_ms} ms, w {w}: {} for {window}", packets(measured));
    }
}

fn load(source: MechanismSource, params: &[(&str, ParamValue)]) -> Result<WindowController, Error> {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    library().load_window(&MechanismRef::new(source, params), 1)
}

/// A built-in window controller. RTAC needs a path, which `params` may override.
fn builtin(name: &str, params: &[(&str, ParamValue)]) -> WindowController {
    let of_the_path = (name == "rtac").then_some(("bdp", ParamValue::Integer(236)));
    let params: Vec<_> = of_the_path.iter().chain(params).cloned().collect();
    load(MechanismSource::Builtin(name.into()), &params).unwrap_or_else(|error| panic!("{error}"))
}

/// A connection whose acknowledgements leave every millisecond.
struct Connection<'a> {
    controller: &'a WindowController,
    flow: WindowFlow,
    now_us: u64,
    /// Packets that come in the next round trip and in the one after it (`follow`).
    on_the_way: [u32; 2],
}

impl<'a> Connection<'a> {
    /// A new connection, whose first RTT begins the first round trip.
    fn new(controller: &'a WindowController, rtt_ms: u32) -> Connection<'a> {
        let (mut flow, now_us) = (WindowFlow::new(MSS), 1_000_000);
        controller.window(&mut flow, &WindowAck { now_us, rtt_us: 1000 * rtt_ms, ..WindowAck::default() });
        Connection { controller, flow, now_us, on_the_way: [10; 2] }
    }

    /// Plays a round trip of `rtt_ms` in which `bytes` come, and returns the window after it.
    fn round(&mut self, rtt_ms: u32, bytes: u32, has_hole: bool) -> u32 {
        let mut window = 0;
        for ms in 0..rtt_ms {
            self.now_us += 1000;
            let copied = bytes / rtt_ms + u32::from(ms < bytes % rtt_ms);
            let (rtt_us, has_hole) = (1000 * rtt_ms, has_hole.into());
            let ack = WindowAck { now_us: self.now_us, copied, rtt_us, has_hole, no_rtts: 0 };
            window = self.controller.window(&mut self.flow, &ack);
        }
        window
    }
}

/// After round trips with 50, 80 and 60 kB the window is twice the most up to then.
#[test]
fn the_cards_auto_tuning() {
    let controller = builtin("autotuning", &[]);
    let mut connection = Connection::new(&controller, 100);
    assert_eq!([50_000, 80_000, 60_000].map(|bytes| connection.round(100, bytes, false)), [100_000, 160_000, 160_000]);
}

/// After 200 packets and then 280, the average is 7/8 of the old value and an eighth of the new one.
#[test]
fn the_cards_average() {
    let controller = builtin("drwa", &[("lambda", ParamValue::Integer(1)), ("rtt_weight", ParamValue::Integer(1024))]);
    let mut connection = Connection::new(&controller, 50);
    assert_eq!(connection.round(50, 200 * MSS, false), 200 * MSS);
    assert_eq!(connection.round(50, 280 * MSS, false), 210 * MSS);
}

#[test]
fn a_static_window_is_what_was_set() {
    let controller = builtin("static", &[("most", ParamValue::Integer(100))]);
    assert_eq!(Connection::new(&controller, 10).round(10, 0, false), 100 * MSS);
}

/// Before the end of the first round trip the window is the one that Linux offers then (half of `tcp_rmem[1]`). Later
/// it has at least two segments.
#[test]
fn what_is_shown_is_a_window() {
    for name in library().names_of(unbloat_mechanism::MechanismKind::WindowController) {
        let controller = builtin(&name, &[]);
        let first = controller.window(&mut WindowFlow::new(MSS), &WindowAck::default());
        let mut connection = Connection::new(&controller, 100);
        assert!(first == FIRST_WINDOW || ["static", "rledbat"].contains(&&*name), "{name}: {first}");
        let least = (0..20).map(|_| connection.round(100, 1, false)).filter(|window| *window > 0).min();
        assert!(least.is_none_or(|least| least >= 2 * MSS || name == "autotuning"), "{name}: {least:?}");
    }
}

/// 65 590 segments of the loopback device need more than 32 bits. The bytes of ten round trips make the other
/// controllers show their largest window, too, if they measure that.
#[test]
fn a_window_ends_where_windows_end() {
    let most = [("most", ParamValue::Integer(65_590))];
    for name in library().names_of(unbloat_mechanism::MechanismKind::WindowController) {
        // Its window has no largest size of its own.
        let params: &[_] = if name == "rledbat" { &[] } else { &most };
        let controller = builtin(&name, params);
        let mut connection = Connection::new(&controller, 10);
        connection.flow.mss = 65_483;
        let shown: Vec<_> = (0..10).map(|_| connection.round(10, 600_000_000, false)).collect();
        assert!(shown.iter().all(|shown| *shown <= 1 << 30), "{name}: {shown:?}");
        if ["static", "autotuning", "drwa"].contains(&name.as_str()) {
            assert_eq!(shown.last(), Some(&(1 << 30)), "{name}");
        }
    }
}

/// Without timestamps controllers leave the stack's window alone, except the one that measures nothing
/// (`MEASURES_NOTHING` of a scenario's checks).
#[test]
fn what_cannot_measure_leaves_the_window_alone() {
    for name in library().names_of(unbloat_mechanism::MechanismKind::WindowController) {
        let (controller, mut flow) = (builtin(&name, &[]), WindowFlow::new(MSS));
        let ack = |now_us| WindowAck { now_us, copied: 20 * MSS, no_rtts: 1, ..WindowAck::default() };
        let lowered = (1..100).any(|number| controller.window(&mut flow, &ack(10_000 * number)) > 0);
        assert_eq!(lowered, name == "static", "{name}");
    }
}

#[test]
fn a_round_trip_with_a_hole_says_nothing() {
    for (skips, expected) in [(true, true), (false, false)] {
        let controller = builtin("rtac", &[("skip_on_hole", ParamValue::Bool(skips))]);
        let mut connection = Connection::new(&controller, 50);
        connection.round(50, 200 * MSS, false);
        let before = (0..20).map(|_| connection.round(60, 250 * MSS, false)).last();
        assert_eq!(Some(connection.round(60, 20 * MSS, true)) == before, expected, "skip_on_hole {skips}");
    }
}

/// Five round trips without data, and two packets behind them, say nothing about the sender's window. A hole among them
/// does not either. The round trip after them counts again.
#[test]
fn a_pause_says_nothing() {
    for name in ["rtac", "drwa"] {
        let controller = builtin(name, &[]);
        let mut connection = Connection::new(&controller, 50);
        let before = (0..20).map(|_| connection.round(60, 200 * MSS, false)).last().expect("twenty");
        connection.now_us += 5 * 60_000;
        let ack = WindowAck { now_us: connection.now_us, copied: 2 * MSS, has_hole: 1, ..WindowAck::default() };
        assert_eq!(controller.window(&mut connection.flow, &ack), before, "{name} behind the pause");
        assert_eq!(connection.round(60, 200 * MSS, false), before, "{name} when all goes on");
        assert_ne!(connection.round(60, 50 * MSS, false), before, "{name} when less comes");
    }
}

/// A path that delivers `packets_per_s`, however many more are on the way, and has 50 ms without a queue.
struct Path {
    packets_per_s: u32,
    /// The RTT if others fill the queue, ms; deliveries are then in proportion to the window.
    full_rtt_ms: Option<u32>,
}

impl Path {
    const BASE_MS: u32 = 50;

    fn rtt_ms(&self, window: u32) -> u32 {
        self.full_rtt_ms.unwrap_or((1000 * window / self.packets_per_s).max(Path::BASE_MS))
    }
}

/// Plays a sender that follows its window for `rounds` round trips, but at most doubles. Packets that a window allows
/// come a round trip after the one at whose end it was shown. Returns the windows shown, packets.
fn follow(connection: &mut Connection, path: &Path, rounds: usize) -> Vec<u32> {
    let round = |_| {
        let [comes, next] = connection.on_the_way;
        let shown = connection.round(path.rtt_ms(comes), comes * MSS, false) / MSS;
        connection.on_the_way = [next, shown.min(2 * next)];
        shown
    };
    (0..rounds).map(round).collect()
}

fn median(windows: &[u32]) -> f64 {
    let mut sorted = windows.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2].into()
}

/// At 2000 packets a second and 50 ms the path holds 100 packets. The window of `rtac_auto` rests at about 1.38 times
/// that without configuration. It does so, too, after the rate has become a tenth or ten times as much.
#[test]
fn rtac_auto_finds_its_path() {
    let controller = builtin("rtac_auto", &[]);
    let mut connection = Connection::new(&controller, Path::BASE_MS);
    for packets_per_s in [2000, 200, 2000, 20_000] {
        let path = Path { packets_per_s, full_rtt_ms: None };
        follow(&mut connection, &path, 200);
        let rest = median(&follow(&mut connection, &path, 200)) / (packets_per_s * Path::BASE_MS / 1000) as f64;
        assert!((1.15..1.45).contains(&rest), "{packets_per_s} packets/s: {rest}");
    }
}

/// Once in `probe_rounds` round trips rtac_auto shows half for three of them, and needs two to come back.
#[test]
fn rtac_auto_tries_now_and_then() {
    let controller = builtin("rtac_auto", &[("probe_rounds", ParamValue::Integer(32))]);
    let mut connection = Connection::new(&controller, Path::BASE_MS);
    let path = Path { packets_per_s: 2000, full_rtt_ms: None };
    follow(&mut connection, &path, 200);
    let halves = follow(&mut connection, &path, 370).iter().filter(|window| **window < 80).count();
    assert!((9 * 3..=11 * 3).contains(&halves), "{halves} of ten times three");
}

/// Others keep the RTT at ten times the base, and take 90 % of a path that rtac_auto knows, 50 packets. It gets less
/// than the path carries, and does not take that for the path's rate. It then shows more, as it has to beside such a
/// queue.
#[test]
fn rtac_auto_does_not_take_a_share_for_the_path() {
    let controller = builtin("rtac_auto", &[]);
    let mut connection = Connection::new(&controller, Path::BASE_MS);
    follow(&mut connection, &Path { packets_per_s: 1000, full_rtt_ms: None }, 200);
    connection.on_the_way = [50; 2];
    let full = Path { packets_per_s: 1000, full_rtt_ms: Some(10 * Path::BASE_MS) };
    let (early, late) = (follow(&mut connection, &full, 40), follow(&mut connection, &full, 200));
    // Equation 2.8 with K of 2.11, theta 1.38: w^3 = 0.38 / 0.9 * 50^3 * 10^2.
    let expected = (0.38 / 0.9 * 50_f64.powi(3) * 100.0).cbrt();
    assert!(median(&early) > 0.9 * expected, "{} for {expected}", median(&early));
    assert!(median(&late) >= median(&early), "{} after {}", median(&late), median(&early));
}

#[test]
fn each_describes_itself() {
    let list = library().list_of(unbloat_mechanism::MechanismKind::WindowController).expect("a list");
    let names: Vec<_> = list.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, library().names_of(unbloat_mechanism::MechanismKind::WindowController));
    for each in &list {
        assert!(each.summary.ends_with('.') && each.summary.len() < 130, "{}", each.summary);
        assert!(each.prose.contains("\n\nFrom ") && each.prose.contains("Departures"), "{}", each.name);
        assert!(each.parameters.iter().all(|parameter| !parameter.meaning.is_empty()));
    }
}

#[test]
fn what_is_none_is_a_sentence() {
    let refusal = |source, params: &[_]| load(source, params).err().expect("a refusal").message;
    assert_eq!(
        refusal(MechanismSource::Builtin("rtax".into()), &[]),
        "unknown window controller \"rtax\" (did you mean rtac?); valid: autotuning, drwa, rledbat, rtac, rtac_auto, static, \
            or the path of a .bpf.c file"
    );
    let files = UserFiles::new("window");
    let text =
        "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\nint x;\nchar _license[] SEC(\"license\") = \"GPL\";\n";
    let file = files.write("none.bpf.c", text);
    assert_eq!(
        refusal(MechanismSource::File(file.clone()), &[]),
        format!(
            "{} is not a window controller: it lacks WINDOW_CONTROL(...) (include/window_control.h)",
            file.display()
        )
    );
    let unknown = refusal(MechanismSource::Builtin("drwa".into()), &[("lamda", ParamValue::Integer(1))]);
    assert!(unknown.contains("lamda") && unknown.contains("lambda"), "{unknown}");
}

/// A default would have no effect on most paths, and users would not notice that.
#[test]
fn rtac_asks_for_the_path() {
    let refused = |params: &[(&str, ParamValue)]| {
        let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let rtac = MechanismRef::new(MechanismSource::Builtin("rtac".into()), params);
        let loaded = library().load_window(&rtac, 0).map(drop);
        let for_kernel = library().device_object(MechanismKind::WindowController, &rtac).map(drop);
        assert_eq!(loaded, for_kernel, "simulator and kernel");
        loaded.err()
    };
    let error = refused(&[("theta", ParamValue::Text("138%".into()))]).expect("no path");
    assert_eq!(error.about, Some(About::Parameter("bdp".into())));
    assert_eq!(
        error.to_string(),
        "rtac needs bdp or inverse_k: set bdp to the path's bandwidth-delay product in packets, or use rtac_auto, \
         which measures it"
    );
    for name in ["bdp", "inverse_k"] {
        assert_eq!(refused(&[(name, ParamValue::Integer(68))]), None, "{name}");
    }
}
