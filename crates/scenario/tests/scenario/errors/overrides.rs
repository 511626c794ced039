//! Mistakes in overrides, such as `--set KEY=VALUE`.

use super::{BASE, Case, filled_in, sentence};

#[rustfmt::skip]
const OVERRIDES: &[Case] = &[
    ("link.bottleneck.rate", "10mbt",
     "link.bottleneck.rate: \"10mbt\" is not a rate (did you mean mbit?); units: bit, kbit, mbit, gbit, tbit (kibit \
         and so on for 1024), and bps to tbps for bytes a second"),
    ("link.bottleneck.rat", "1",
     "link.bottleneck.rat: unknown key (did you mean rate?); valid keys: LINK_KEYS"),
    ("link.botleneck.rate", "1mbit",
     "link.botleneck.rate: unknown link botleneck (did you mean bottleneck?); a new link needs link.botleneck.delay \
         and link.botleneck.queue"),
    ("a", "1",
     "a: unknown key; valid keys: name, duration, warmup, seed, emulator, profile, compile, wifi, link, lte, host, \
         mesh, flows, expect, sweep"),
    ("link.bottleneck.loss.p", "1%",
     "link.bottleneck.loss.p: loss is a string here and has no keys"),
    ("flows.3.cc", "x",
     "flows.3.cc: unknown flows.3; the file has 1, counted from 0, and * means all"),
    ("link.bottleneck", "3",
     "link.bottleneck: must be a table of LINK_KEYS, not a whole number"),
    ("sweep.x", "3",
     "sweep.x: unknown axis; write a list of cases such as { label = \"a\", \"flows.0.cc\" = \"reno\" }, or a dotted \
         key that begins with name, duration, warmup, seed, emulator, profile, compile, wifi, link, lte, host, mesh, \
         flows, expect"),
    ("link.bottleneck.trace", "nowhere.down",
     "link.bottleneck.trace: cannot read nowhere.down: No such file or directory (os error 2)"),
    (".", "3",
     ".: is not a key; write names with dots between them, such as link.bottleneck.rate"),
];

#[test]
fn mistakes_in_an_override_name_the_key() {
    for (key, value, expected) in OVERRIDES {
        assert_eq!(sentence(BASE, &[(key, value)]), filled_in(expected));
    }
}
