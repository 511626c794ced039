//! Applications on idle paths, with figures that can be calculated, and behind an upload.

use crate::world::{flow, phone_of_2013, run, scenario};
use model::app::{App, Game, Messenger, Ping, Udp, Upload, Video, Voice, Web, WhenFull, Write, Writer};
use model::records::{AppStats, Flow};
use model::units::{Bytes, Nanos, Rate};
use model::{FlowGroup, Scenario, Service, Transmitter};
use unbloat_engine::Options;

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn of_app(app: App) -> FlowGroup {
    let cc = if app.is_datagrams() { "reno" } else { "cubic" };
    FlowGroup { app: Some(app), ..flow(cc) }
}

fn call() -> FlowGroup {
    of_app(App::Voice(Voice::default()))
}

/// A path with 10 Mbit/s and 20 ms each way.
fn path(groups: Vec<FlowGroup>) -> Scenario {
    let mut s = scenario(30);
    s.links[0].reverse.service = Service::Own(Transmitter::Rate(Rate(10_000_000)));
    s.flows = groups;
    s
}

fn flows(s: &Scenario) -> Vec<Flow> {
    run(s, &Options::default()).run.flows
}

fn stats(flow: &Flow) -> AppStats {
    flow.app.expect("it is an application's first")
}

fn near(measured: Option<f64>, expected: f64, within: f64) {
    let measured = measured.expect("it is measured");
    assert!((measured - expected).abs() <= within, "{measured} for {expected}");
}

/// A billion datagrams a second enter a queue without a limit. Four million are under way, and the others find no
/// memory.
#[test]
fn datagrams_are_bounded_by_memory() {
    let mut s = path(vec![of_app(App::Udp(Udp { rate: Rate(8_000_000_000_000), packet: Bytes(1000) }))]);
    s.duration = ms(6);
    let flow = &flows(&s)[0];
    assert_eq!((flow.sent_packets, flow.lost_packets), (6_000_000, 6_000_000 - (1 << 22)));
}

/// 1000 bytes take 0.8 ms at 10 Mbit/s, there and back.
#[test]
fn a_ping_takes_its_round_trip() {
    let flows = flows(&path(vec![of_app(App::Ping(Ping { every: ms(100), packet: Bytes(1000) }))]));
    near(flows[0].rtt.rtt_ms_mean, 41.6, 0.001);
    near(stats(&flows[0]).delay.delay_ms_mean, 20.8, 0.001);
    assert_eq!((flows[0].sent_packets, flows[0].lost_packets, flows[0].cc.as_str()), (300, 0, "none"));
}

/// On an idle path a call takes 20 ms for a packet and 20.16 ms for the way.
#[test]
fn a_call_is_rated_by_its_delay() {
    let flows = flows(&path(vec![call()]));
    let rating = measure_rating(40.16);
    near(stats(&flows[0]).rating, rating, 0.05);
    near(stats(&flows[0]).rating_in, rating, 0.05);
    near(flows[0].rtt.rtt_ms_mean, 40.32, 0.001);
    assert!(stats(&flows[0]).opinion_score.expect("a score") > 4.3);
    assert!((flows[0].throughput_mbps - 0.08).abs() < 0.001, "50 packets of 200 bytes a second");
}

fn measure_rating(ms: f64) -> f64 {
    measure::rating(measure::Codec::G711, Nanos((ms * 1e6) as u64), 0.0)
}

/// A request of 200 bytes and its response, each in a packet of 252 bytes, take an RTT and two transmissions of 0.2016
/// ms. An acknowledgement before the response takes one more. The first request also waits for SYNs of 60 bytes,
/// another RTT, and comes behind the acknowledgement that ends the handshake.
#[test]
fn a_message_is_answered_in_a_round_trip() {
    let flows = flows(&path(vec![of_app(App::Messenger(Messenger::default()))]));
    let (packet, syn, ack) = (0.2016, 0.048, 0.0416);
    let response = 40.0 + 2.0 * packet + ack;
    let first = response + 40.0 + 2.0 * syn + ack;
    near(stats(&flows[0]).response.response_ms_mean, (29.0 * response + first) / 30.0, 0.001);
    near(stats(&flows[0]).response.response_ms_max, first, 0.001);
    assert_eq!(flows[1].app, None);
    assert_eq!((flows[0].lost_packets, flows[0].retransmitted_packets, flows[0].timeouts), (0, 0, 0));
    assert!((29..=31).contains(&flows[0].sent_packets), "{}", flows[0].sent_packets);
}

/// Ten packets of 1.2 ms leave in one window. Their answer of 53 bytes is there a round trip later.
#[test]
fn writes_leave_at_their_times() {
    let writes = [(1, 14_480), (5, 14_480)].map(|(s, size)| Write { at: Nanos::from_secs(s), size: Bytes(size) });
    let flows = flows(&path(vec![of_app(App::Writer(Writer { writes: writes.into(), response: Bytes(1) }))]));
    let response = 40.0 + 10.0 * 1.2 + 53.0 * 8.0 / 10_000.0;
    near(stats(&flows[0]).response.response_ms_max, response, 0.1);
    assert_eq!((stats(&flows[0]).unfinished, flows[0].lost_packets), (Some(0), 0));
    assert_eq!(flows[0].sent_packets, 20);
}

/// Chunks of 1 MB at 10 Mbit/s take 0.83 s with their headers, and a round trip for the answer. The histogram has the
/// median to half a percent.
#[test]
fn chunks_go_one_after_the_other() {
    let flows =
        flows(&path(vec![of_app(App::Upload(Upload { chunk: Bytes(1_000_000), response: Bytes(300), pause: ms(0) }))]));
    let chunk_bytes = 690.0 * 1500.0 + (1_000_000.0 - 690.0 * 1448.0 + 52.0);
    let whole_ms = (chunk_bytes + 352.0) * 8.0 / 10_000.0 + 40.0;
    near(stats(&flows[0]).response.response_ms_p50, whole_ms, 0.005 * whole_ms);
    // The first chunk starts slowly, and the last is not complete.
    near(Some(flows[0].goodput_mbps), 8000.0 / whole_ms, 0.05);
}

/// A film of 1 Mbit/s on 10 Mbit/s starts with two pieces of 4 s. The first has 500 kB. The second has the best quality
/// below 4 Mbit/s, which is 1.5 to the third power, as have those after it. Each takes a round trip and its
/// transmission. The handshake is another round trip, and slow start idles for at most two.
#[test]
fn a_film_plays_without_a_pause() {
    let (lowest, highest, piece) = (Rate(1_000_000), Rate(4_000_000), Nanos::from_secs(4));
    let film = Video { lowest, highest, piece, most: Nanos::from_secs(20), ..Video::default() };
    let film = stats(&flows(&path(vec![of_app(App::Video(film))]))[0]);
    let on_the_wire = |mbps: f64| mbps * 4e6 / 8.0 / 1448.0 * 1500.0 * 8.0 / 10e6;
    let least_s = 3.0 * 0.04 + on_the_wire(1.0) + on_the_wire(3.375);
    assert!((least_s..least_s + 0.08).contains(&film.startup_s.expect("it starts")), "{film:?} {least_s}");
    assert_eq!((film.stalls, film.stalled_percent), (Some(0), Some(0.0)));
    assert_eq!(film.quality_switches, Some(1));
    near(film.bitrate_mbps_mean, (1.0 + 10.0 * 3.375) / 11.0, 1e-6);
}

/// Pages of eleven objects of 30 kB over six connections take three rounds of requests, and 330 kB at 10 Mbit/s. A
/// round trip passes in silence before the page itself and before its objects. An object has 21 segments, more than a
/// first window of ten, so no round is silent for more than two round trips.
#[test]
fn a_page_takes_its_rounds_and_its_bytes() {
    let page = stats(&flows(&path(vec![of_app(App::Web(Web { objects: 10, pause: ms(1000), ..Web::default() }))]))[0]);
    let bytes_s = 330_000.0 * 1500.0 / 1448.0 * 8.0 / 10e6;
    let (least, most) = (bytes_s + 2.0 * 0.04, bytes_s + 3.0 * 2.0 * 0.04);
    let mean = page.page.page_load_s_mean.expect("pages");
    assert!((least..most).contains(&mean), "{mean} s, not {least} to {most}");
}

/// A download that fills the queue on its way down spoils the audio of that direction, and with it the call.
#[test]
fn a_call_is_as_good_as_its_worse_direction() {
    let mut s = path(vec![call(), flow("cubic")]);
    s.warmup = Nanos::from_secs(10);
    s.links[0].reverse.queue = crate::world::droptail(model::Limit::Packets(1000));
    s.flows[1].reverse = true;
    let call = stats(&flows(&s)[0]);
    assert!(call.rating_out > Some(91.0) && call.rating_in < Some(60.0), "{call:?}");
    assert!(call.rating == call.rating_in && call.opinion_score < Some(3.1), "{call:?}");
    assert!(call.delay.delay_ms_max < Some(40.0), "what is sent does not wait: {call:?}");
}

/// Behind an upload in one queue a call is unusable; the upload gets no signal of it.
#[test]
fn an_upload_spoils_a_call() {
    let mut s = path(vec![flow("cubic"), call()]);
    s.warmup = Nanos::from_secs(10);
    s.links[0].forward.queue = crate::world::droptail(model::Limit::Packets(1000));
    s.hosts = vec![phone_of_2013(Bytes(2_000_000))];
    s.flows.iter_mut().for_each(|group| group.host = Some(0));
    let alone = stats(&flows(&Scenario { flows: vec![s.flows[1].clone()], ..s.clone() })[0]);
    let behind = stats(&flows(&s)[1]);
    assert!(alone.opinion_score > Some(4.3) && behind.opinion_score < Some(2.0), "{alone:?} {behind:?}");
}

/// Messages of four packets every 60 ms take 120 ms at 400 kbit/s, behind a send buffer of 20 packets. Messages that
/// wait get later and later; or the program leaves out every second one; or it makes half as many. A written message
/// takes as long as the data before it in the buffer, and itself.
#[test]
fn a_program_whose_send_buffer_is_full_waits_skips_or_is_delayed() {
    const PACKETS_MS: f64 = 1500.0 * 8.0 / 400.0;
    let with = |when_full| {
        let game = of_app(App::Game(Game { every: ms(60), when_full, request: Bytes(4 * 1448), response: Bytes(200) }));
        let mut s = path(vec![FlowGroup { host: Some(0), ..game }]);
        s.links[0].forward.service = Service::Own(Transmitter::Rate(Rate(400_000)));
        s.hosts = vec![phone_of_2013(Bytes(20 * (896 + 1448)))];
        let flows = flows(&s);
        let stats = stats(&flows[0]);
        (stats.response.response_ms_max.expect("some are answered"), stats.skipped, stats.unfinished.expect("counted"))
    };
    let (longest_ms, skipped, unfinished) = with(WhenFull::Wait);
    assert!(longest_ms > 14_000.0 && skipped.is_none() && unfinished > 230, "{longest_ms} {skipped:?} {unfinished}");
    let bound_ms = 40.0 + 28.0 * PACKETS_MS;
    let (longest_ms, skipped, unfinished) = with(WhenFull::Skip);
    assert!(longest_ms < bound_ms && unfinished < 10, "{longest_ms} {unfinished}");
    assert!((240..=260).contains(&skipped.expect("counted")), "{skipped:?} of 500");
    let (longest_ms, skipped, unfinished) = with(WhenFull::Delay);
    assert!(longest_ms < bound_ms && skipped.is_none() && unfinished < 10, "{longest_ms} {skipped:?} {unfinished}");
}
