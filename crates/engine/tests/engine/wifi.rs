//! TCP flows over the air of a Wi-Fi cell.

use crate::world::{library, run};
use model::radio::ieee80211::{Slot, Standard};
use model::records::Run;
use model::units::Bytes;
use scenario::load_text;
use std::path::Path;
use unbloat_engine::Options;

/// A run of one download or more, each to a station of its own; the access point does not limit the queue.
fn downloads(standard: &str, rates: &[&str], queue: &str, changes: &[(&str, &str)]) -> Run {
    let mut text = format!("duration = \"30s\"\nwarmup = \"5s\"\n[wifi.home]\nstandard = \"{standard}\"\n");
    if !queue.is_empty() {
        text += &format!("queue = {queue}\n");
    }
    text += "[link.core]\nrate = \"1gbit\"\ndelay = \"5ms\"\nqueue = { limit = \"10mb\" }\n";
    for (number, rate) in rates.iter().enumerate() {
        text += &format!("[link.s{number}]\nwifi = \"home\"\nphy_rate = \"{rate}\"\ndelay = \"0ms\"\n");
        if queue.is_empty() {
            text += "queue = { limit = \"256kb\" }\n";
        }
    }
    for number in 0..rates.len() {
        text += &format!("[[flows]]\ncc = \"cubic\"\npath = [\"core\", \"s{number}\"]\n");
    }
    let changes: Vec<_> = changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let experiment = load_text(&text, "wifi.toml", Path::new(""), &changes).unwrap_or_else(|error| panic!("{error}"));
    assert!(!library().names().is_empty());
    run(&experiment.points[0].scenario, &Options::default()).run
}

/// The acknowledgements of a download take air. So its rate is below that of a lone sender of frames. It is above the
/// rate with a whole exchange, and the mean back-off before it, for the acknowledgement of every second segment. The
/// measurement with a phone of 2011 agrees with long slots.
#[test]
fn a_download_at_54_mbit_shares_the_air_with_its_acknowledgements() {
    /// The rate in Im, "TCP Performance Enhancement in Wireless Networks", 2015, section 2.5.2, Mbit/s.
    const MEASURED: f64 = 18.9;
    let goodputs = [(Slot::Short, "true"), (Slot::Long, "false")].map(|(slot, short)| {
        let record = downloads("802.11g", &["54mbit"], "", &[("wifi.home.short_slot", short)]);
        let goodput = record.flows[0].goodput_mbps;
        let exchange = |bytes| 8.0 * bytes as f64 / Standard::G.most_carried(slot, 7, Bytes(bytes)).0 as f64;
        let least = 2.0 * 1448.0 * 8.0 / (2.0 * exchange(1500) + exchange(52)) / 1e6;
        let most = 1448.0 * 8.0 / exchange(1500) / 1e6;
        println!(
            "{slot:?} slots: {goodput:.2} Mbit/s of TCP; alone {most:.2}, with acknowledgements in turn {least:.2}"
        );
        assert!(goodput > least && goodput < most, "{goodput}, not between {least} and {most}");
        goodput
    });
    let [short, long] = goodputs;
    assert!((long / MEASURED - 1.0).abs() < 0.03, "{long}");
    // An exchange takes 11 us less for each of the slots that it waits, some nine of each 600 us.
    assert!(short / long > 1.2 && short / long < 1.3, "{short} against {long}");
}

/// The links' records contain retransmissions, and shares of the air that do not exceed all of it.
#[test]
fn records_say_what_the_air_was_used_for() {
    let record = downloads("802.11g", &["54mbit", "54mbit"], "", &[("link.s0.frame_errors", "10%")]);
    let link = |name: &str| record.links.iter().find(|link| link.link == name).expect("it is there");
    let air: f64 = ["s0", "s0.reverse", "s1", "s1.reverse"].map(|name| link(name).utilisation_percent).iter().sum();
    assert!(air > 50.0 && air < 100.0, "{air} %");
    assert!(link("s0").retries.unwrap() > link("s1").retries.unwrap());
    assert_eq!((link("core").retries, link("s0").setup.rate_mbps), (None, None));
}

/// With one FIFO at the access point a slow station's packets hold up those of a fast one. With a queue for each, they
/// take turns by time on the air (Høiland-Jørgensen et al., "Ending the Anomaly", USENIX ATC 2017).
#[test]
fn a_queue_for_each_station_keeps_the_slow_from_slowing_the_fast() {
    let goodput = |queue: &str| {
        let record = downloads("802.11g", &["54mbit", "6mbit"], queue, &[]);
        (record.flows[0].goodput_mbps, record.flows[1].goodput_mbps)
    };
    let (fifo, own) = (goodput("{ limit = \"256kb\" }"), goodput(""));
    println!("one FIFO: {:.2} and {:.2} Mbit/s; a queue for each: {:.2} and {:.2}", fifo.0, fifo.1, own.0, own.1);
    assert!(own.0 > 2.0 * fifo.0, "{own:?}, {fifo:?}");
}

/// Aggregates carry more in the same air.
#[test]
fn aggregates_carry_more() {
    let goodput = |standard, rate| downloads(standard, &[rate], "", &[]).flows[0].goodput_mbps;
    let (g, n) = (goodput("802.11g", "54mbit"), goodput("802.11n", "65mbit"));
    println!("802.11g at 54: {g:.2}; 802.11n at 65: {n:.2} Mbit/s");
    assert!(n > 1.5 * g, "{n}, {g}");
}

/// Packets that CAKE holds back for one station do not hold up the other, and leave when their time has come.
#[test]
fn a_station_behind_a_shaper_gets_its_rate_and_leaves_the_rest() {
    let shaper = [("link.s1.queue", "{ kind = \"cake\", bandwidth = \"2mbit\" }")];
    let record = downloads("802.11g", &["54mbit", "54mbit"], "", &shaper);
    let [free, shaped] = [0, 1].map(|flow: usize| record.flows[flow].goodput_mbps);
    assert!((1.8..2.0).contains(&shaped), "{shaped}");
    assert!(free > 15.0, "{free}");
}

/// A queue of nine packets is full before a bad channel, found by the search of `tools/invariants`. The frames of an
/// aggregate that waits for the air have left the queue, which never has more than nine packets.
#[test]
fn frames_that_wait_for_the_air_have_left_the_queue() {
    let text = r#"
duration = "12103501072ns"
warmup = "6051750536ns"
seed = 63134
[wifi.cell]
standard = "802.11n"
short_slot = true
[link.bottleneck]
wifi = "cell"
phy_rate = "6500000bit"
frame_errors = "83.4216300%"
queue = { kind = "droptail", limit = "9p" }
outages = [{ at = "1635323494ns", for = "79089514ns", lose = true }]
delay = "89323567ns"
[[flows]]
app = { kind = "udp", rate = "10000000bit", packet = "320b" }
start = "121628961ns..590529921ns"
"#;
    let experiment = load_text(text, "found.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(!library().names().is_empty());
    let link = &run(&experiment.points[0].scenario, &Options::default()).run.links[0];
    let percent = link.queue_percent_mean.expect("it has a limit");
    assert!(percent > 80.0 && percent <= 100.0, "{percent} %");
    // The queueing delay ends when a frame is on the air, and so does the count of bytes.
    assert!(link.queue_bytes_mean > percent / 100.0 * 9.0 * 320.0, "{link:?}");
}

/// Stations that share a queue each count the packets that wait for them.
#[test]
fn shares_of_a_shared_queue_add_up_to_all_of_it() {
    let record = downloads("802.11g", &["6mbit", "6mbit"], "{ kind = \"droptail\", limit = \"20p\" }", &[]);
    let percents: Vec<_> = record.links.iter().filter(|link| !link.link.ends_with("reverse")).collect();
    let shares: Vec<_> = percents[1..].iter().map(|link| link.queue_percent_mean.expect("a limit")).collect();
    let all: f64 = shares.iter().sum();
    assert!(shares.iter().all(|share| *share > 10.0) && all > 50.0 && all <= 100.0, "{shares:?}");
}
