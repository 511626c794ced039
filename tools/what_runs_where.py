#!/usr/bin/env python3
"""Writes the tables of docs/reference/what-runs-where.md: asks the code that refuses a scenario, row by row.

tools/what_runs_where.py        write the tables
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from unbloat import _core
from unbloat._core import InputError
from unbloat.api.scenario import refuse_contradictions, scenario
from unbloat.report.report import write_parts
from unbloat.runs.experiment import Manner
from unbloat.scenarios.checks import Backend
from unbloat.system.legible import markdown_table
from unbloat.system.paths import ALGORITHMS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/what-runs-where.md"
OWN = ROOT / "algorithms/congestion/reno.bpf.c"
"""A file for the row of the user's own, which is compiled."""
MANY = 10
"""A row names so many variants at most."""

Settings = Mapping[str, object]

LINE = """
duration = "10s"

[link.line]
rate  = "10mbit"
delay = "10ms"
queue = { limit = "100p" }

[link.line.reverse]
queue = { limit = "100p" }

[[flows]]
cc = "cubic"
"""
"""The scenario whose keys the rows set."""
HOST: Settings = {"host.pc": {}, "flows.0.host": "pc"}
PRIO: Settings = {**HOST, "link.line.queue": {"kind": "prio", "bands": 3}}
WIFI: Settings = {"wifi.home.standard": "802.11n", "link.line.wifi": "home", "link.line.signal": "-60dbm"}
LTE: Settings = {"lte.city.bandwidth": "20mhz", "link.line.lte": "city", "link.line.snr": "20db"}
TRACE: Settings = {"link.line.trace": str(ROOT / "scenarios/traces/lte-small.down")}
RATES: Settings = {"link.line.rates": [{"at": "2s", "rate": "5mbit"}]}
OUTAGE: Settings = {"link.line.outages": [{"at": "2s", "for": "1s"}]}
MESH: Settings = {
    "mesh.hall.border_router": "gateway",
    "mesh.hall.nodes": {"gateway": {"x": 0}, "roof": {"x": 20}},
    "flows.0.mesh": "hall",
    "flows.0.packet": "104b",
}


@dataclass(frozen=True)
class Row:
    """A feature with its variants; those with equal answers share a line."""

    feature: str
    variants: Mapping[str, Settings]
    why: str = ""
    """Why something refuses variants, if it refuses one."""
    since: str = ""
    """The oldest Linux that has it, if Linux 6.1 does not."""


def named(names: list[str], key: str, others: Settings | None = None) -> dict[str, Settings]:
    """Make a variant of each name that a key may have."""
    return {f"`{name}`": {**(others or {}), key: name} for name in names}


def one(key: str, value: object, others: Settings | None = None) -> dict[str, Settings]:
    """Make the only variant of a row."""
    return {"": {**(others or {}), key: value}}


def choices(section: str, key: str) -> list[str]:
    """List the names that a key takes, as the schema has them."""
    kinds = [each["kind"] for each in _core.scenario_keys() if (each["section"], each["name"]) == (section, key)]
    return [name for kind in kinds if isinstance(kind, dict) for name in kind["choice"]]


def each_queue(names: list[str], others: Settings) -> dict[str, Settings]:
    """Make a variant of each queue discipline."""
    limits = {"droptail": "100p", "drophead": "100p", "red": "150kb", "kernel:red": "150kb"}
    queues = {name: {"kind": name, **({"limit": limits[name]} if name in limits else {})} for name in names}
    return {f"`{name}`": {**others, "link.line.queue": queue} for name, queue in queues.items()}


def tables() -> dict[str, list[Row]]:
    """List every row, by table."""
    return {
        "Mechanisms": mechanisms(),
        "Links": links(),
        "Queues of links": [
            Row("discipline", each_queue(choices("queue", "kind"), {}), "the discipline is code of a kernel"),
            Row("`ecn_threshold`", one("link.line.queue.ecn_threshold", "20p")),
        ],
        "Hosts": hosts(),
        "Flows": flows(),
        "Applications": [
            Row("`app`", {f"`{name}`": {"flows.0.app": app(name)} for name in choices("messenger", "kind")}),
            Row("`when_full`", named(choices("messenger", "when_full"), "flows.0.app.when_full", MESSENGER)),
            Row(
                "datagrams of less than 36 bytes",
                one("flows.0.app", {"kind": "udp", "rate": "1mbit", "packet": "35b"}),
                "a real datagram carries its time of sending",
            ),
        ],
        "TCP profiles": profiles(),
    }


def mechanisms() -> list[Row]:
    """List the rows of congestion controls, window controllers and classifiers."""
    controls, windows, classifiers = (
        [each["name"] for each in kind(ALGORITHMS)]
        for kind in (_core.mechanisms, _core.window_controllers, _core.classifiers)
    )
    full = {**PRIO, "host.pc.small_queues": False}
    uncounted = "such a queue takes packets off the accounts of their sockets, so the kernel counts none in the host"
    return [
        Row("congestion control", named(controls, "flows.0.cc"), "no kernel knows what the other nodes send"),
        Row('your own, `cc = "./mine.bpf.c"`', one("flows.0.cc", str(OWN))),
        Row('a kernel\'s own, `cc = "kernel:cubic"`', one("flows.0.cc", "kernel:cubic"), "it is code of a kernel"),
        Row("window controller", named(windows, "flows.0.window_controller", BDP)),
        Row("classifier of a host, with small queues", named(classifiers, "host.pc.classifier", PRIO)),
        Row("classifier, `small_queues = false`", named(classifiers, "host.pc.classifier", full), uncounted),
        Row(
            "`no_overtake` of `sorpc`, `small_queues = false`",
            one("host.pc.classifier_params", {"no_overtake": True}, {**full, "host.pc.classifier": "sorpc"}),
            uncounted,
        ),
    ]


def links() -> list[Row]:
    """List the rows of links and what happens on them."""
    loss: Settings = {"`1%`": "1%", "`gemodel`": {"kind": "gemodel", "p": "1%", "r": "30%"}}
    core = {"rate": "1gbit", "delay": "5ms", "queue": {"limit": "1mb"}}
    return [
        Row("constant `rate`", {"": {}}),
        Row("changing rate", {"`rates`": RATES, "`outages`": OUTAGE, "`trace`": TRACE}),
        Row("`outages` with `lose = true`", one("link.line.outages", [{"at": "2s", "for": "1s", "lose": True}])),
        Row("radio", {"`wifi`": WIFI, "`lte`": LTE, "`mesh`": MESH}),
        Row("`loss`", {label: {"link.line.loss": value} for label, value in loss.items()}),
        Row("impairment", {f"`{key}`": {f"link.line.{key}": value} for key, value in IMPAIRMENTS.items()}),
        Row("several links in a row", one("link.core", core)),
        Row("`access`: rate, delay, queue", one("flows.0.access", ACCESS)),
        Row(
            "`access.small_queues`",
            one("flows.0.access", {"rate": "20mbit", "small_queues": True}),
            "a kernel's TCP knows of its own device, not of the emulated access link",
        ),
        Row('`emulator = "netem"`', one("emulator", "netem"), "netem is code of a kernel"),
    ]


def hosts() -> list[Row]:
    """List the rows of hosts with a queue of their own."""
    simulated = [name for name in choices("queue", "kind") if not name.startswith("kernel:")]
    full = {**HOST, "host.pc.small_queues": False}
    air = "the host's queue would have to know when the air is free"
    disciplines = "the kernel's own disciplines serve the queue; unbloat sets up only these"
    return [
        Row("host with its own queue", {"": HOST}),
        Row("discipline of its link", each_queue(simulated, HOST), disciplines),
        Row("`ecn_threshold` of its link", one("link.line.queue.ecn_threshold", "20p", HOST), disciplines),
        Row(
            "`small_queues = false` before",
            {label: {**full, "link.line.queue": limit} for label, limit in UNBOUNDED.items()},
            "only a queue that counts packets can take them off the accounts of their sockets",
        ),
        Row(
            "changing rate of its link",
            {"`rates`": {**HOST, **RATES}, "`outages`": {**HOST, **OUTAGE}, "`trace`": {**HOST, **TRACE}},
            "the host's queue sends at one rate",
        ),
        Row("its link in a radio cell", {"`wifi`": {**HOST, **WIFI}, "`lte`": {**HOST, **LTE}}, air),
        Row("`gso`", one("host.pc.gso", True, HOST)),
        Row(
            "`ring`, `byte_queue_limits`",
            one("host.pc.ring", 8, HOST),
            "the emulated device takes a packet when the link has room for it",
        ),
        Row("`pacing_shift`", one("host.pc.pacing_shift", 8, HOST), "the driver of a device sets it"),
        Row("`tcp_wmem`: `max`, `notsent_lowat`", one("host.pc.tcp_wmem", WMEM, HOST)),
        Row(
            '`tcp_wmem`: `tuning = "twice_cwnd"`',
            one("host.pc.tcp_wmem.tuning", "twice_cwnd", HOST),
            "a kernel grows a send buffer as Linux does",
        ),
        Row(
            "flows of one host that differ in",
            {f"`{key}`": beside(key, value) for key, value in DIFFERENT.items()},
            "the flows share the host's settings and devices",
        ),
    ]


def flows() -> list[Row]:
    """List the rows of groups of flows."""
    return [
        Row("short flows: `arrivals`, `size`", {"": ARRIVALS}),
        Row("`reverse = true`", one("flows.0.reverse", True)),
        Row("", {f"`{key}`": {f"flows.0.{key}": value} for key, value in PLAIN.items()}),
        Row("`tcp_rmem`", one("flows.0.tcp_rmem", {"max": "1mib"})),
        Row("`receive_window` of 1152 bytes or more", one("flows.0.receive_window", "1152b", SMALL)),
        Row(
            "`receive_window` of less",
            one("flows.0.receive_window", "1151b", SMALL),
            "a kernel's receiver has no smaller buffer",
        ),
        Row("`clock.offset`: a kernel draws its own", one("flows.0.clock", {"offset": "10ms"})),
        Row("`clock.drift`", one("flows.0.clock", {"drift": "100ppm"}), "both ends read the same clock"),
    ]


def profiles() -> list[Row]:
    """List the rows of how TCP behaves."""
    flags = [each["name"] for each in _core.scenario_keys() if each["section"] == "profile" and each["kind"] == "flag"]
    off = ["gate", "ecn", "pacing"]
    shown = [name for name in flags if name not in {*off, "tcp_usec_ts", "rate_halving"}]
    why = "a kernel's TCP always behaves as profile `linux` there"
    return [
        Row("`profile`", named(choices("profile", "base"), "profile"), why),
        Row("switched off", {f"`{name}`": {"profile": {name: False}} for name in shown}, why),
        Row("switched on", {f"`{name}`": {"profile": {name: True}} for name in off}, why),
        Row("`ack_every`", one("profile", {"ack_every": 8}), why),
        Row("`rate_halving = true`", one("profile", {"rate_halving": True, "prr": False, "rack": False}), why),
        Row("`tcp_usec_ts = true`", one("profile", {"tcp_usec_ts": True}), since="6.7"),
    ]


BDP: Settings = {"flows.0.window_controller_params": {"rtac": {"bdp": 68}}}
IMPAIRMENTS: Settings = {
    "jitter": "5ms",
    "reorder": "1%",
    "duplicate": "1%",
    "policer": {"rate": "5mbit", "burst": "64kb"},
    "delays": [{"at": "2s", "delay": "40ms"}],
    "handover": {"every": "3s", "outage": "80ms", "rate": "5mbit..10mbit", "delay": "10ms..20ms"},
    "slot": {"wait": "5ms"},
    "script": [{"packets": 100, "do": "lose"}],
}
ACCESS = {"rate": "20mbit", "delay": "1ms", "queue": {"kind": "fq_codel"}}
WMEM = {"max": "1mib", "notsent_lowat": "16kb"}
DIFFERENT: Settings = {
    "cc": "reno",
    "profile": {"tlp": False},
    "tcp_rmem": {"max": "1mib"},
    "window_controller": "drwa",
}
MESSENGER: Settings = {"flows.0.app": {"kind": "messenger"}}
ARRIVALS: Settings = {"flows.0.arrivals": {"rate": "1/s"}, "flows.0.size": {"kind": "pareto", "mean": "50kb"}}
SMALL: Settings = {"flows.0.packet": "500b"}
PLAIN: Settings = {
    "start": "0s..1s",
    "read_rate": "1mbit",
    "write_rate": "1mbit",
    "tos": 16,
    "ecn": True,
    "pacing": True,
    "delayed_ack": False,
    "initial_window": 4,
    "rto_min": "1s",
}
UNBOUNDED: Mapping[str, Settings] = {
    "`droptail` in packets": {"limit": "100p"},
    "`droptail` in bytes": {"limit": "150kb"},
    "`prio`": {"kind": "prio"},
    "`pfifo_fast`": {"kind": "pfifo_fast"},
    "`codel`": {"kind": "codel"},
    "`fq_codel`": {"kind": "fq_codel"},
    "`cake`": {"kind": "cake"},
}


def app(name: str) -> object:
    """Write an application, with what it requires."""
    required = {"udp": {"rate": "1mbit"}, "writer": {"writes": [{"at": "1s", "size": "30kb"}]}}
    return {"kind": name, **required[name]} if name in required else name


def beside(key: str, value: object) -> Settings:
    """Put a second flow on the host, which differs in one key."""
    return {**HOST, "flows": [{"cc": "cubic", "host": "pc"}, {"cc": "cubic", "host": "pc", key: value}]}


# ---------------------------------------------------------------- Asking


COMMANDS: Mapping[str, tuple[Callable[[Manner], object], str]] = {
    "`--live`": (lambda manner: replace(manner, live=True), "a look into a guest would take time from its run"),
    "`--dask`": (
        lambda manner: refuse_contradictions(manner, 1, "local", None, series=False),
        "a cluster runs simulations only",
    ),
}
"""Options of `run` and `sweep`: what asks whether they go with a backend, and why they may not."""


def refuses(on: Backend, settings: Settings) -> bool:
    """Ask whether a backend refuses a scenario, without running it."""
    found = scenario(LINE, settings)
    return is_refused(lambda: found.check(on=on))


def is_refused(ask: Callable[[], object]) -> bool:
    """Ask whether something is refused as wrong input."""
    try:
        ask()
    except InputError:
        return True
    return False


def lines(row: Row) -> Iterator[tuple[str, ...]]:
    """Give a row's lines of the table: one for each set of answers, the commonest first.

    Guest and kernel differ only in the version of Linux, so that one of them is asked.
    """
    found: dict[tuple[bool, bool], list[str]] = {}
    for label, settings in row.variants.items():
        found.setdefault((refuses("simulator", settings), refuses("vm", settings)), []).append(label)
    for number, (refused, labels) in enumerate(sorted(found.items(), key=lambda item: (any(item[0]), -len(item[1])))):
        shown = ", ".join(label for label in labels if label.startswith("`"))
        if len(labels) > MANY:
            shown = "all but those below" if len(found) > 1 and number == 0 else "all"
        yes = f"Linux {row.since}" if row.since else "yes"
        in_simulator, on_kernel = ("no" if refused[0] else "yes"), ("no" if refused[1] else yes)
        feature = ": ".join(filter(None, (row.feature, shown)))
        yield feature, in_simulator, on_kernel, on_kernel, row.why if any(refused) else ""


def command_lines() -> Iterator[tuple[str, ...]]:
    """Give the lines of the options of commands."""
    for feature, (ask, why) in COMMANDS.items():
        manners = (partial(Manner, on, None, None, None, None) for on in ("simulator", "vm", "kernel"))
        refused = [is_refused(lambda manner=manner, ask=ask: ask(manner())) for manner in manners]  # type: ignore[misc]
        yield feature, *("no" if each else "yes" for each in refused), why


def matrix() -> str:
    """Make every table."""
    parts = {title: [line for row in rows for line in lines(row)] for title, rows in tables().items()}
    parts["Options of `run` and `sweep`"] = list(command_lines())
    heads = ("feature", "simulator", "guest", "kernel", "why not")
    return "\n\n".join(f"## {title}\n\n{markdown_table(heads, found)}" for title, found in parts.items()) + "\n"


if __name__ == "__main__":
    write_parts(PAGE, {"matrix": matrix()})
