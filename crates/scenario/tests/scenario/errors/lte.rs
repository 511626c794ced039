//! Mistakes in LTE cells, and in links to their users.

use super::sentence;

const BASE: &str = r#"duration = "60s"
[lte.city]
bandwidth = "20mhz"
[link.phone]
lte = "city"
snr = "18db"
delay = "10ms"
queue = { limit = "2560kb" }
[link.phone.reverse]
queue = { limit = "100kb" }
[[flows]]
cc = "cubic"
"#;

#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("\"20mhz\"", "\"20mbit\"",
     "base.toml:3: lte.city.bandwidth: must be one of 1.4mhz, 3mhz, 5mhz, 10mhz, 15mhz, 20mhz, not \"20mbit\""),
    ("bandwidth = \"20mhz\"", "",
     "base.toml:2: lte.city.bandwidth: is missing; write one of 1.4mhz, 3mhz, 5mhz, 10mhz, 15mhz, 20mhz: bandwidth of \
         the carrier in either direction: 6, 15, 25, 50, 75 or 100 resource blocks; one layer, no MIMO"),
    ("\"20mhz\"", "\"20mhz\"\nscheduler = \"wfq\"",
     "base.toml:4: lte.city.scheduler: must be one of pf, rr, not \"wfq\""),
    ("\"20mhz\"", "\"20mhz\"\nerror_rate = \"95%\"",
     "base.toml:4: lte.city.error_rate: 95% is out of range; valid: 0% to 90%"),
    ("\"20mhz\"", "\"20mhz\"\nbler = \"5%\"",
     "base.toml:4: lte.city.bler: unknown key; valid keys: bandwidth, scheduler, error_rate"),
    ("lte = \"city\"", "lte = \"town\"",
     "base.toml:5: link.phone.lte: unknown LTE cell town; valid: city"),
    ("[lte.city]\nbandwidth = \"20mhz\"\n", "",
     "base.toml:3: link.phone.lte: unknown LTE cell city; write [lte.city] with bandwidth = \"20mhz\""),
    ("[link.phone]", "[lte.village]\nbandwidth = \"5mhz\"\n[link.phone]",
     "base.toml:4: lte.village: has no user; write lte = \"village\" for a link, or leave [lte.village] out"),
    ("delay = \"10ms\"", "delay = \"10ms\"\nrate = \"20mbit\"",
     "base.toml:8: link.phone.rate: cannot be set together with lte, because the cell decides the rate; leave one of \
         the two out"),
    ("snr = \"18db\"", "",
     "base.toml:5: link.phone.lte: needs a channel quality; write snr such as \"18db\", or cqi from 1 to 15"),
    ("snr = \"18db\"", "snr = \"18db\"\ncqi = 9",
     "base.toml:7: link.phone.cqi: cannot be set together with snr, which gives it; leave one of the two out"),
    ("snr = \"18db\"", "cqi = 16",
     "base.toml:6: link.phone.cqi: 16 is out of range; valid: 1 to 15"),
    ("\"18db\"", "18",
     "base.toml:6: link.phone.snr: must be a ratio such as \"18db\", not 18"),
    ("\"18db\"", "\"18dbm\"",
     "base.toml:6: link.phone.snr: \"18dbm\" is not a ratio (did you mean db?); units: db"),
    ("\"18db\"", "\"-5db\"",
     "base.toml:6: link.phone.snr: -5db is out of range; valid: -2.1db to 60db"),
    ("lte = \"city\"", "rate = \"20mbit\"",
     "base.toml:6: link.phone.snr: needs lte, because it describes the link to a user of an LTE cell; write lte \
         beside it, or leave it out"),
    ("[link.phone.reverse]", "[link.phone.reverse]\nrate = \"20mbit\"",
     "base.toml:10: link.phone.reverse.rate: cannot be set on an LTE uplink, because the cell grants its rate; leave \
         it out"),
    ("delay = \"10ms\"", "delay = \"10ms\"\noutages = [{ at = \"1s\", for = \"1s\" }]",
     "base.toml:8: link.phone.outages: cannot stop an LTE cell; write lose = true in each outage of a link to its \
         user"),
    ("{ limit = \"2560kb\" }", "{ kind = \"kernel:fq_codel\" }",
     "base.toml:5: link.phone.lte: is not supported by the kernel's shaper; kernel:fq_codel needs a rate"),
    ("{ limit = \"100kb\" }", "{ kind = \"kernel:codel\" }",
     "base.toml:10: link.phone.reverse.queue.kind: kernel:codel cannot wait for the grants of an LTE cell; write a \
         queue without \"kernel:\""),
    ("duration = \"60s\"", "duration = \"60s\"\nemulator = \"netem\"",
     "base.toml:6: link.phone.lte: is not supported by the kernel's shaper; netem needs a rate"),
];

#[test]
fn every_mistake_gets_its_sentence() {
    assert_eq!(sentence(BASE, &[]), "no mistake was found");
    let said = CASES.iter().map(|(piece, replacement, _)| {
        assert!(BASE.contains(piece), "{piece:?} does not occur in the base");
        sentence(&BASE.replacen(piece, replacement, 1), &[])
    });
    let wrong: Vec<_> = said.zip(CASES).filter(|(said, case)| said != case.2).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
