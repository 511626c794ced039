//! Keys that contradict each other.

use super::{BASE, Case, check, sentence};

#[rustfmt::skip]
const CONTRADICTIONS: &[Case] = &[
    ("10s", "60s",
     "base.toml:3: warmup: 60s must be shorter than the duration, 60s"),
    ("10s", "70s",
     "base.toml:3: warmup: 70s must be shorter than the duration, 60s"),
    ("\"linux\"", "{ sack = false, rack = true }",
     "base.toml:5: profile.rack: needs SACK; set sack = true, or leave this switch out"),
    ("\"linux\"", "{ timestamps = false, tcp_usec_ts = true }",
     "base.toml:5: profile.tcp_usec_ts: needs timestamps; set timestamps = true, or leave this switch out"),
    ("500kb", "100b",
     "base.toml:10: link.bottleneck.queue.limit: 100b has no room for one packet of 1500b; write at least that"),
    ("500kb", "0p",
     "base.toml:10: link.bottleneck.queue.limit: \"0p\" has no room for a packet; write at least \"1p\" or \"1b\""),
    ("\"500kb\" }", "\"500kb\", ecn_threshold = \"600kb\" }",
     "base.toml:10: link.bottleneck.queue.ecn_threshold: 600kb is never reached, because the limit is 500kb"),
    ("count = 2", "start = \"60s\"",
     "base.toml:15: flows.0.start: the last flow would start at or after the end of the run, 60s"),
    ("count = 2", "count = 2\nstagger = \"60s\"",
     "base.toml:16: flows.0.stagger: the last flow would start at or after the end of the run, 60s"),
    ("count = 2", "start = \"20s\"\nstop = \"20s\"",
     "base.toml:16: flows.0.stop: must be after the start of the last flow, which start set"),
    ("count = 2", "count = 3\nstagger = \"5s\"\nstop = \"10s\"",
     "base.toml:17: flows.0.stop: must be after the start of the last flow, which start and stagger set"),
    ("count = 2", "receive_window = \"1kb\"",
     "base.toml:15: flows.0.receive_window: 1kb has no room for one packet of 1500b"),
    ("count = 2", "receive_window = \"70kb\"\ntcp_rmem = {}",
     "base.toml:16: flows.0.tcp_rmem: cannot be set together with receive_window, which fixes the buffer's size; write \
         one of the two"),
    ("count = 2", "tcp_rmem = { default = \"7mib\" }",
     "base.toml:15: flows.0.tcp_rmem.default: 7340032b must not exceed max, 6291456b"),
    ("count = 2", "tcp_rmem = { default = \"4kib\" }",
     "base.toml:15: flows.0.tcp_rmem.default: 4096b has no room for two packets of 1500b, which take 4608b"),
    ("count = 2", "read_rate = \"1mbit\"\nprofile = \"newreno\"",
     "base.toml:15: flows.0.read_rate: needs quick_ack = true; without it the receiver advertises one constant window"),
    ("count = 2", "window_controller = \"rtac\"\nprofile = { timestamps = false }",
     "base.toml:15: flows.0.window_controller: rtac measures round-trip times by timestamps, which this profile lacks; set \
         timestamps = true, or write static"),
    ("count = 2", "size = \"207gb\"\npacket = \"100b\"",
     "base.toml:15: flows.0.size: 207gb is too much for one flow; with packets of 100b the largest size is \
         206158430112b"),
    ("count = 2", "receive_window = \"70kb\"\nprofile = { window_scaling = false }",
     "base.toml:15: flows.0.receive_window: 70kb needs window_scaling = true; without it a receiver advertises at \
         most 65535b"),
    ("rate = \"20mbit\"", "rate = \"20mbit\"\ntrace = \"x\"",
     "base.toml:9: link.bottleneck.trace: cannot be set together with rate; a link has one of the two"),
    ("rate = \"20mbit\"", "trace = \"missing.down\"",
     "base.toml:8: link.bottleneck.trace: cannot read missing.down: No such file or directory (os error 2)"),
    ("loss = \"0%\"", "reverse = { queue = { limit = \"79b\" } }",
     "base.toml:11: link.bottleneck.reverse.queue.limit: 79b has no room for one packet of 80b; write at least that"),
    ("10s", "10s\"\nemulator = \"nete",
     "base.toml:4: emulator: must be one of unbloat, netem, not \"nete\" (did you mean netem?)"),
    ("droptail\", limit = \"500kb\"", "kernel:codel\", flows = 3",
     "base.toml:10: link.bottleneck.queue.flows: unknown key; valid keys: kind, limit, target, interval, \
         ce_threshold, ecn"),
    ("droptail\", limit = \"500kb\"", "codel\", flows = 3",
     "base.toml:10: link.bottleneck.queue.flows: unknown key; valid keys: kind, limit, target, interval, \
         ce_threshold, ecn"),
    ("droptail\", limit = \"500kb\"", "red\", limit = \"50kb\", min = \"20kb\"",
     "base.toml:10: link.bottleneck.queue.kind: RED needs min below max and max up to limit; here they are 20000, \
         60000 and 50000 bytes"),
    ("droptail\", limit = \"500kb\"", "red\", limit = \"500kb\", burst = 2",
     "base.toml:10: link.bottleneck.queue.kind: burst = 2 is too small for min; it must be at least 42"),
    ("droptail\", limit = \"500kb\"", "red\", limit = \"3kb\"",
     "base.toml:10: link.bottleneck.queue.kind: RED's average exceeds min = 250 bytes with burst = 1 and avpkt = \
         1000 bytes; raise min, max or limit, or lower burst"),
    ("droptail", "kernel:fq_codel",
     "base.toml:10: link.bottleneck.queue.limit: 500kb has the wrong unit; valid: 1p to 4294967295p"),
    ("droptail\", limit = \"500kb\"", "kernel:red\"",
     "base.toml:10: link.bottleneck.queue.limit: is missing; write a size such as \"500kb\", packets such as \
         \"300p\", or \"1bdp\": room for waiting packets"),
];

#[test]
fn contradictions_name_both_sides() {
    check(CONTRADICTIONS);
}

#[test]
fn what_the_kernel_s_own_links_cannot_do() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces/lte-small.down");
    let backward = [("link.bottleneck.reverse.trace", trace), ("link.bottleneck.reverse.queue.kind", "kernel:pie")];
    assert_eq!(
        sentence(BASE, &backward),
        "link.bottleneck.reverse.trace: is not supported by the kernel's shaper; kernel:pie needs a rate"
    );
    let marking = [("emulator", "netem"), ("link.bottleneck.queue.ecn_threshold", "10p")];
    let expected = "link.bottleneck.queue.ecn_threshold: is not supported by the kernel's FIFOs, which do not mark; \
                        leave it out, or write emulator = \"unbloat\"";
    assert_eq!(sentence(&BASE.replace("500kb", "30p"), &marking), expected);
    let own = [("emulator", "netem"), ("link.bottleneck.queue", "{ kind = \"codel\" }")];
    let expected = "link.bottleneck.queue.kind: codel needs emulator = \"unbloat\"; with \"netem\" write kernel:codel";
    assert_eq!(sentence(BASE, &own), expected);
    let ours_alone = [("emulator", "netem"), ("link.bottleneck.queue.kind", "drophead")];
    let expected = "link.bottleneck.queue.kind: drophead needs emulator = \"unbloat\"; \"netem\" does not have it";
    assert_eq!(sentence(BASE, &ours_alone), expected);
}
