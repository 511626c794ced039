//! Mistakes in overrides, such as `--set KEY=VALUE`.

use super::{BASE, Case, sentence};

#[rustfmt::skip]
const OVERRIDES: &[Case] = &[
    ("link.bottleneck.rate", "10mbt",
     "link.bottleneck.rate: \"10mbt\" is not a rate; its unit must be one of bit, kbit, mbit, gbit, tbit, with \
         kibit and so on for 1024, or bps, kbps, mbps, gbps, tbps for bytes a second (did you mean mbit?)"),
    ("link.bottleneck.rat", "1",
     "link.bottleneck.rat: no such key; here may stand rate, trace, wifi, signal, phy_rate, frame_errors, lte, \
         snr, cqi, delay, queue, loss, reverse, rates, jitter, jitter_distribution, jitter_reorder, reorder, \
         reorder_gap, reorder_by, duplicate, outages (did you mean rate?)"),
    ("link.botleneck.rate", "1mbit",
     "link.botleneck.rate: there is no link botleneck (did you mean bottleneck?); a new one needs \
         link.botleneck.delay and link.botleneck.queue"),
    ("a", "1",
     "a: no such key; here may stand name, duration, warmup, seed, emulator, profile, compile, wifi, link, lte, host, \
         mesh, flows, sweep"),
    ("link.bottleneck.loss.p", "1%",
     "link.bottleneck.loss.p: loss is a string here, so that nothing can be set below it"),
    ("flows.3.cc", "x",
     "flows.3.cc: there is no flows.3; the file has 1, counted from 0, and * stands for all"),
    ("link.bottleneck", "3",
     "link.bottleneck: must be a table of rate, trace, wifi, signal, phy_rate, frame_errors, lte, snr, cqi, \
         delay, queue, loss, reverse, rates, jitter, jitter_distribution, jitter_reorder, reorder, reorder_gap, \
         reorder_by, duplicate, outages; here it is a whole number"),
    ("sweep.x", "3",
     "sweep.x: no such axis; an axis is a dotted key that begins with name, duration, warmup, seed, emulator, \
         profile, compile, wifi, link, lte, host, mesh, flows, or any name for a list of cases such as { \
         label = \"a\", \"flows.0.cc\" = \"reno\" }"),
    ("link.bottleneck.trace", "nowhere.down",
     "link.bottleneck.trace: cannot read nowhere.down: No such file or directory (os error 2)"),
    (".", "3",
     ".: a key is a row of names with a dot between them, such as link.bottleneck.rate"),
];

#[test]
fn mistakes_in_an_override_name_the_key() {
    for (key, value, expected) in OVERRIDES {
        assert_eq!(sentence(BASE, &[(key, value)]), *expected);
    }
}
