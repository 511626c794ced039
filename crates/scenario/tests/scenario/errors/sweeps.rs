//! Mistakes in the axes of a sweep and their ranges.

use super::{Case, check};

#[rustfmt::skip]
const SWEEP: &[Case] = &[
    ("count = 2", "[sweep]\n\"flows.0.cc\" = []",
     "base.toml:16: sweep.flows.0.cc: is empty; an axis needs at least one value"),
    ("count = 2", "[sweep]\nflow.0.cc = [\"a\"]",
     "base.toml:16: sweep.flow: unknown axis (did you mean flows?); write a list of cases such as { label = \"a\", \
         \"flows.0.cc\" = \"reno\" }, or a dotted key that begins with name, duration, warmup, seed, emulator, \
         profile, compile, wifi, link, lte, host, mesh, flows, expect"),
    ("count = 2", "[sweep]\n\"flow.0.cc\" = [\"a\"]",
     "base.toml:16: sweep.flow.0.cc: unknown axis (did you mean flows?); write a list of cases such as { label = \
         \"a\", \"flows.0.cc\" = \"reno\" }, or a dotted key that begins with name, duration, warmup, seed, \
         emulator, profile, compile, wifi, link, lte, host, mesh, flows, expect"),
    ("count = 2", "[sweep]\n\"flows.0.cc\" = \"a\"",
     "base.toml:16: sweep.flows.0.cc: must be a list of values or a range such as { from = \"1mbit\", to = \
         \"9mbit\", step = \"2mbit\" }, not a string"),
    ("count = 2", "[sweep]\n\"flows.1.cc\" = [\"a\"]",
     "base.toml:16: flows.1.cc: unknown flows.1; the file has 1, counted from 0, and * means all"),
    ("count = 2", "[sweep]\ncase = [{ a = 1 }]",
     "base.toml:16: sweep.case: each case needs a label, a string that names it in the results"),
    ("count = 2", "[sweep]\ncase = [{ label = \"a\" }, { label = \"a\" }]",
     "base.toml:16: sweep.case: the label \"a\" is used twice"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate.x\" = [\"a\"]",
     "base.toml:16: link.bottleneck.rate.x: rate is a string here and has no keys"),
    ("count = 2", "[sweep]\n\"link..rate\" = [\"a\"]",
     "base.toml:16: link..rate: is not a key; write names with dots between them, such as link.bottleneck.rate"),
    ("count = 2", "[sweep]\n\"link.bottleneck.que.limit\" = [\"5kb\", \"6kb\"]",
     "base.toml:16: link.bottleneck.que: unknown key; valid keys: LINK_KEYS"),
    ("count = 2", "[sweep]\nseed = [1, \"b\"]",
     "base.toml:16: seed: must be a whole number, not \"b\""),
];

#[test]
fn mistakes_in_a_sweep_stand_at_its_line() {
    check(SWEEP);
}

#[rustfmt::skip]
const RANGES: &[Case] = &[
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1mbit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.to: is missing; a range has from, to, and one of step (added), factor \
         (multiplied) and count (values, spaced evenly or with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1mbit\", to = \"9mbit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.step: is missing; a range has from, to, and one of step (added), \
         factor (multiplied) and count (values, spaced evenly or with scale = \"log\")"),
    ("count = 2", "[sweep.\"link.bottleneck.rate\"]\nfrom = \"1mbit\"\nto = \"9ms\"\nstep = \"1mbit\"",
     "base.toml:17: sweep.link.bottleneck.rate.to: must be a rate as from is, not a time"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1mbt\", to = \"9mbit\", step = \"1mbit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.from: must be a whole number, or a quantity with its unit such as \
         \"2mbit\", \"10ms\", \"500kb\", \"300p\" or \"1%\", not \"1mbt\""),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 9, to = 1, step = 1 }",
     "base.toml:16: sweep.flows.0.count.to: must not be less than from"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, step = 0 }",
     "base.toml:16: sweep.flows.0.count.step: must be more than 0"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, step = 1, count = 3 }",
     "base.toml:16: sweep.flows.0.count.count: cannot be set together with step; a range has from, to, and one of \
         step (added), factor (multiplied) and count (values, spaced evenly or with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, by = 1 }",
     "base.toml:16: sweep.flows.0.count.by: unknown key; a range has from, to, and one of step (added), factor \
         (multiplied) and count (values, spaced evenly or with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, factor = 1.5 }",
     "base.toml:16: sweep.flows.0.count.factor: must be a whole number above 1, not 1.5"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 0, to = 9, factor = 2 }",
     "base.toml:16: sweep.flows.0.count.from: must be more than 0 with factor"),
    ("count = 2", "[sweep]\n\"link.bottleneck.loss\" = { from = \"0%\", to = \"1%\", count = 3, scale = \"log\" }",
     "base.toml:16: sweep.link.bottleneck.loss.from: must be more than 0 on a logarithmic scale"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, count = 3, scale = \"lg\" }",
     "base.toml:16: sweep.flows.0.count.scale: must be \"linear\" or \"log\", not \"lg\""),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 9, step = 3, scale = \"log\" }",
     "base.toml:16: sweep.flows.0.count.scale: works with count only; a range has from, to, and one of step (added), \
         factor (multiplied) and count (values, spaced evenly or with scale = \"log\")"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 3, count = 5 }",
     "base.toml:16: sweep.flows.0.count.count: is too large: only 3 values differ between from and to"),
    ("count = 2", "[sweep]\n\"flows.0.count\" = { from = 1, to = 3, count = 1 }",
     "base.toml:16: sweep.flows.0.count.count: must be a whole number from 2 to 100000, not 1"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1bit\", to = \"1gbit\", step = \"1bit\" }",
     "base.toml:16: sweep.link.bottleneck.rate.to: makes more than 100000 values; write a larger step"),
    ("count = 2", "[sweep]\n\"link.bottleneck.rate\" = { from = \"1ms\", to = \"1ms\", step = \"1ms\" }",
     "base.toml:16: link.bottleneck.rate: \"1ms\" is not a rate; units: bit, kbit, mbit, gbit, tbit (kibit and so on \
         for 1024), and bps to tbps for bytes a second"),
    ("count = 2", "[sweep]\nsped = { from = 1, to = 3, step = 1 }",
     "base.toml:16: sweep.sped: unknown axis (did you mean seed?); write a list of cases such as { label = \"a\", \
         \"flows.0.cc\" = \"reno\" }, or a dotted key that begins with name, duration, warmup, seed, emulator, \
         profile, compile, wifi, link, lte, host, mesh, flows, expect"),
];

#[test]
fn mistakes_in_a_range_stand_at_its_line() {
    check(RANGES);
}
