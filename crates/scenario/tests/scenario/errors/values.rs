//! Mistakes in values: the wrong type, unit or size.

use super::{BASE, Case, check, sentence};

#[rustfmt::skip]
const VALUES: &[Case] = &[
    ("20mbit\"", "20mbt\"",
     "base.toml:8: link.bottleneck.rate: \"20mbt\" is not a rate (did you mean mbit?); units: bit, kbit, mbit, gbit, \
         tbit (kibit and so on for 1024), and bps to tbps for bytes a second"),
    ("\"20mbit\"", "20",
     "base.toml:8: link.bottleneck.rate: must be a rate such as \"2mbit\", not 20"),
    ("20mbit", "20",
     "base.toml:8: link.bottleneck.rate: \"20\" needs a unit; units of a rate: bit, kbit, mbit, gbit, tbit (kibit \
         and so on for 1024), and bps to tbps for bytes a second"),
    ("20mbit", "0bit",
     "base.toml:8: link.bottleneck.rate: 0bit is out of range; valid: 1bit to 100tbit"),
    ("20mbit", "fast",
     "base.toml:8: link.bottleneck.rate: \"fast\" is not a rate; write a number and its unit, such as \"2mbit\""),
    ("20mbit", "-1mbit",
     "base.toml:8: link.bottleneck.rate: \"-1mbit\" is negative; write a rate such as \"2mbit\""),
    ("20mbit", "1000tbit",
     "base.toml:8: link.bottleneck.rate: 1000tbit is out of range; valid: 1bit to 100tbit"),
    ("20mbit", "99999999999tbit",
     "base.toml:8: link.bottleneck.rate: \"99999999999tbit\" is too large for this program"),
    ("20mbit", "0.5bit",
     "base.toml:8: link.bottleneck.rate: \"0.5bit\" is not a whole number of bits a second"),
    ("\"10ms\"", "10",
     "base.toml:9: link.bottleneck.delay: must be a time such as \"10ms\", not 10"),
    ("10ms", "10 ms",
     "base.toml:9: link.bottleneck.delay: \"10 ms\" is not a time (did you mean 10ms?); units: ns, us, ms, s"),
    ("10ms", "10m",
     "base.toml:9: link.bottleneck.delay: \"10m\" is not a time (did you mean 600s?); units: ns, us, ms, s"),
    ("20mbit", "1,5 Mbit",
     "base.toml:8: link.bottleneck.rate: \"1,5 Mbit\" is not a rate (did you mean 1.5Mbit?); units: bit, kbit, mbit, \
         gbit, tbit (kibit and so on for 1024), and bps to tbps for bytes a second"),
    ("10ms", "2h",
     "base.toml:9: link.bottleneck.delay: \"2h\" is not a time (did you mean 7200s?); units: ns, us, ms, s"),
    ("10ms", "0.5ns",
     "base.toml:9: link.bottleneck.delay: \"0.5ns\" is not a whole number of nanoseconds"),
    ("10ms", "2000000s",
     "base.toml:9: link.bottleneck.delay: 2000000s is out of range; valid: 0s to 3600s"),
    ("\"60s\"", "\"0s\"",
     "base.toml:2: duration: 0s is out of range; valid: 1ns to 1000000s"),
    ("seed = 1", "seed = -1",
     "base.toml:4: seed: must be a whole number of at least 0, not -1"),
    ("seed = 1", "seed = 1.5",
     "base.toml:4: seed: must be a whole number, not 1.5"),
    ("seed = 1", "seed = 99999999999999999999",
     "base.toml:4: seed: 99999999999999999999 is out of range; valid: 0 to 9223372036854775807"),
    ("\"linux\"", "{ base = \"lin\" }",
     "base.toml:5: profile.base: must be one of linux, sack, newreno, ns2-linux, lln, not \"lin\" (did you mean lln?)"),
    ("\"linux\"", "{ sack = 1 }",
     "base.toml:5: profile.sack: must be true or false, not 1"),
    ("droptail", "codl",
     "base.toml:10: link.bottleneck.queue.kind: must be one of droptail, drophead, red, codel, fq_codel, pie, \
         fq_pie, prio, pfifo_fast, cake, kernel:fq_codel, kernel:codel, kernel:pie, kernel:fq_pie, kernel:red, \
         kernel:prio, kernel:pfifo_fast, kernel:cake, kernel:pfifo, kernel:bfifo, not \"codl\" (did you mean codel?)"),
    ("{ kind = \"droptail\", limit = \"500kb\" }", "{ kind = \"cake\", diffserv = \"diffserv5\" }",
     "base.toml:10: link.bottleneck.queue.diffserv: must be one of diffserv3, diffserv4, diffserv8, besteffort, \
         precedence, not \"diffserv5\" (did you mean diffserv3?)"),
    ("{ kind = \"droptail\", limit = \"500kb\" }", "{ kind = \"cake\", keywords = [\"docsys\"] }",
     "base.toml:10: link.bottleneck.queue.keywords: unknown keyword docsys (did you mean docsis?); valid: \
         raw, atm, ptm, noatm, conservative, ipoa-vcmux, ipoa-llcsnap, bridged-vcmux, bridged-llcsnap, pppoa-vcmux, \
         pppoa-llc, pppoe-vcmux, pppoe-llcsnap, pppoe-ptm, bridged-ptm, docsis, ethernet, ether-vlan, datacentre, lan, \
         metro, regional, internet, oceanic, satellite, interplanetary"),
    ("{ kind = \"droptail\", limit = \"500kb\" }", "{ kind = \"pie\", limit = \"500kb\" }",
     "base.toml:10: link.bottleneck.queue.limit: 500kb has the wrong unit; valid: 1p to 4294967295p"),
    ("500kb", "500kx",
     "base.toml:10: link.bottleneck.queue.limit: \"500kx\" is not a size (did you mean kb?); units: b, kb, mb, gb, \
         or kib, mib, gib for 1024; or write packets such as \"300p\", or \"1bdp\""),
    ("\"500kb\"", "500",
     "base.toml:10: link.bottleneck.queue.limit: must be a size such as \"500kb\", packets such as \"300p\", or \
         \"1bdp\", not 500"),
    ("\"0%\"", "\"101%\"",
     "base.toml:11: link.bottleneck.loss: \"101%\" is more than \"100%\""),
    ("\"0%\"", "0.01",
     "base.toml:11: link.bottleneck.loss: must be a percentage such as \"1%\", or a table such as { p = \"1%\", r \
         = \"30%\" }, not 0.01"),
    ("\"0%\"", "\"0.01\"",
     "base.toml:11: link.bottleneck.loss: \"0.01\" is not a percentage; write it such as \"1%\" or \"0.01%\""),
    ("\"0%\"", "1",
     "base.toml:11: link.bottleneck.loss: must be a percentage such as \"1%\", or a table such as { p = \"1%\", r \
         = \"30%\" }, not 1"),
    ("\"0%\"", "{ p = \"101%\" }",
     "base.toml:11: link.bottleneck.loss.p: \"101%\" is more than \"100%\""),
    ("\"0%\"", "{ p = \"1%\", 1-h = 1 }",
     "base.toml:11: link.bottleneck.loss.1-h: must be a percentage such as \"1%\", not 1"),
    ("\"0%\"", "{ kind = \"state\", p = \"1%\" }",
     "base.toml:11: link.bottleneck.loss.kind: must be one of gemodel, not \"state\""),
    ("\"cubic\"", "7",
     "base.toml:14: flows.0.cc: must be a string, not 7"),
    ("count = 2", "count = 0",
     "base.toml:15: flows.0.count: 0 is out of range; valid: 1 to 1000000"),
    ("count = 2", "count = 3000000",
     "base.toml:15: flows.0.count: 3000000 is out of range; valid: 1 to 1000000"),
    ("count = 2", "count = \"two\"",
     "base.toml:15: flows.0.count: must be a whole number, not \"two\""),
    ("count = 2", "size = \"0b\"",
     "base.toml:15: flows.0.size: 0b is out of range; valid: 1b to 1000000gb"),
    ("count = 2", "packet = \"99b\"",
     "base.toml:15: flows.0.packet: 99b is out of range; valid: 100b to 65535b"),
    ("count = 2", "packet = \"70kb\"",
     "base.toml:15: flows.0.packet: 70kb is out of range; valid: 100b to 65535b"),
    ("count = 2", "params = { period = [1] }",
     "base.toml:15: flows.0.params.period: must be a number, true or false, or a string such as \"100ms\", not a list"),
    ("count = 2", "access = { rate = \"1gb\" }",
     "base.toml:15: flows.0.access.rate: \"1gb\" is not a rate; units: bit, kbit, mbit, gbit, tbit (kibit and so on \
         for 1024), and bps to tbps for bytes a second"),
    ("count = 2", "clock = { drift = \"2%\" }",
     "base.toml:15: flows.0.clock.drift: \"2%\" is not a drift; units: ppm, ppb"),
    ("count = 2", "clock = { drift = \"-10001ppm\" }",
     "base.toml:15: flows.0.clock.drift: -10001ppm is out of range; valid: -10000ppm to 10000ppm"),
    ("count = 2", "clock = { drift = 100 }",
     "base.toml:15: flows.0.clock.drift: must be a drift such as \"100ppm\" or \"-20ppm\", not 100"),
    ("count = 2", "clock = { drift = \"-fast\" }",
     "base.toml:15: flows.0.clock.drift: \"-fast\" is not a drift; write a number and its unit, such as \"100ppm\""),
    ("count = 2", "clock = { drift = \"0.0001ppm\" }",
     "base.toml:15: flows.0.clock.drift: \"0.0001ppm\" is not a whole number of billionths"),
    ("count = 2", "clock = { offset = \"-1h\" }",
     "base.toml:15: flows.0.clock.offset: \"-1h\" is not a time (did you mean s?); units: ns, us, ms, s"),
    ("count = 2", "clock = { offset = \"99999999999s\" }",
     "base.toml:15: flows.0.clock.offset: \"99999999999s\" is too large for this program"),
    ("count = 2", "clock = { offset = \"-2000000s\" }",
     "base.toml:15: flows.0.clock.offset: -2000000s is out of range; valid: -1000000s to 1000000s"),
    ("count = 2", "rto_min = \"0s\"",
     "base.toml:15: flows.0.rto_min: 0s is out of range; valid: 1ms to 120s"),
    ("count = 2", "initial_window = 0",
     "base.toml:15: flows.0.initial_window: 0 is out of range; valid: 1 to 10000"),
];

#[test]
fn wrong_values_name_what_is_allowed() {
    check(VALUES);
}

#[test]
fn a_unit_that_means_bits_to_some_and_bytes_to_others_is_refused() {
    let rate = |text: &str| sentence(BASE, &[("link.bottleneck.rate", text)]);
    for (text, number, letter) in
        [("20Mbps", "20", "m"), ("1.5GBPS", "1.5", "g"), ("9 Kbps", "", ""), ("64Bps", "64", "")]
    {
        let said = rate(text);
        match number {
            "" => {
                assert!(said.starts_with(&format!("link.bottleneck.rate: \"{text}\" is not a rate")), "{said}")
            }
            _ => assert_eq!(
                said,
                format!(
                    "link.bottleneck.rate: \"{text}\" may mean bits or bytes; write \"{number}{letter}bit\" for \
                     bits, or \"{number}{letter}bps\" for bytes a second, as tc(8) does"
                )
            ),
        }
    }
    for plain in ["20mbps", "20mbit", "20Mbit", "20MBIT"] {
        assert_eq!(rate(plain), "no mistake was found", "{plain}");
    }
}

#[test]
fn a_wrong_limit_of_packets_or_bytes_is_told_of_both() {
    let said = sentence(BASE, &[("link.bottleneck.queue.limit", "1pkt")]);
    assert!(said.contains("b, kb, mb, gb") && said.contains("or write packets such as \"300p\""), "{said}");
    let negative = sentence(BASE, &[("link.bottleneck.queue.limit", "-3p")]);
    assert!(negative.contains("\"-3p\" is negative; write a number of packets"), "{negative}");
}
