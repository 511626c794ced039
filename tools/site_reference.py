"""The reference pages that are made from the code, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click
from typer.main import get_command
from unbloat import _core
from unbloat.cli.app import app
from unbloat.results.metrics import markdown as results_tables
from unbloat.system.core_types import Mechanism
from unbloat.system.legible import markdown_table
from unbloat.system.paths import ALGORITHMS

Key = dict[str, Any]

HELP_WIDTH = 100

KINDS = {
    "app": "an application's name, or a table with it as its `kind`",
    "drift": 'a drift: `"100ppm"`, `"-20ppm"`',
    "flag": "`true` or `false`",
    "frequency": 'a number a second: `"10/s"`',
    "integer": "a whole number",
    "limit": 'a size, packets, or the bandwidth-delay product: `"500kb"`, `"300p"`, `"1bdp"`',
    "loss": 'a percentage or a model: `"1%"`, `{ p = "1%", r = "30%" }`',
    "names": 'a list of names: `["home", "core"]`',
    "number": "a number",
    "offset": 'a time, also below zero: `"10ms"`, `"-10ms"`',
    "profile": "`linux`, `sack`, `newreno`, `ns2-linux`, `lln`, or a table of switches",
    "numbers": 'a whole number, or a range: `10`, `"10..20"`',
    "rate": 'a rate: `"2mbit"`',
    "rate_range": 'a rate, or a range to draw from: `"2mbit"`, `"10mbit..20mbit"`',
    "ratio": 'a ratio: `"18db"`, `"-1.5db"`',
    "share": 'a percentage: `"1%"`',
    "size": 'a size: `"500kb"`',
    "signal": 'a signal strength: `"-51dbm"`',
    "sizes": 'a size, or a table of kind `pareto`, `lognormal`, `exponential`: `"500kb"`',
    "start": 'a time, or a range to draw from: `"10ms"`, `"0s..1s"`',
    "table": "a table",
    "tables": "a list of tables",
    "text": "a string",
    "time": 'a time: `"10ms"`',
}
"""What a key of each kind is written as."""

SECTIONS = {
    "": ("The experiment", "At the top of the file."),
    "wifi": ("`[wifi]`", "One table for each Wi-Fi cell."),
    "wifi.NAME": ("`[wifi.NAME]`", "A Wi-Fi cell: an access point and its stations, which share one channel."),
    "link": ("`[link]`", "One table for each link."),
    "link.NAME": ("`[link.NAME]`", "A link's forward direction, from senders to receivers."),
    "link.NAME.reverse": ("`[link.NAME.reverse]`", "Its reverse direction."),
    "rates": ("`rates`", "Each entry of `rates`, in either direction of a link."),
    "delays": ("`delays`", "Each entry of `delays`, in either direction of a link."),
    "outages": ("`outages`", "Each entry of `outages`, in either direction of a link."),
    "policer": ("`policer`", "In either direction of a link."),
    "handover": ("`handover`", "In either direction of a link."),
    "slot": ("`slot`", "In either direction of a link."),
    "script": ("`script`", "Each entry of `script`, in either direction of a link."),
    "down": ("`down`", "Each entry of `down` of a node of a mesh."),
    "loss": ("`loss` as a table", "In place of a percentage, in either direction of a link."),
    "lte": ("`[lte]`", "One table for each LTE cell."),
    "lte.NAME": ("`[lte.NAME]`", "A cell, which links to its users name."),
    "mesh": ("`[mesh]`", "One table for each mesh."),
    "mesh.NAME": ("`[mesh.NAME]`", "A mesh of IEEE 802.15.4 radios, from whose nodes flows come."),
    "mesh.NAME.nodes": ("`[mesh.NAME.nodes]`", "One table for each node."),
    "mesh.NAME.nodes.NAME": ("`[mesh.NAME.nodes.NAME]`", "A node: where it stands or whom it hears, and its parent."),
    "queue": ("`queue` of kind `droptail`", "The default kind, in either direction of a link and in `flows.access`."),
    "host": ("`[host]`", "One table for each host that has a queue of its own."),
    "host.NAME": ("`[host.NAME]`", "A host, whose queue is that of the first link of its flows."),
    "tcp_wmem": ("`host.NAME.tcp_wmem`", ""),
    "flows": ("`[[flows]]`", "Each group of flows."),
    "arrivals": ("`flows.arrivals`", ""),
    "pareto": ("`flows.size` of kind `pareto`", ""),
    "lognormal": ("`flows.size` of kind `lognormal`", ""),
    "exponential": ("`flows.size` of kind `exponential`", ""),
    "access": ("`flows.access`", ""),
    "tcp_rmem": ("`flows.tcp_rmem`", ""),
    "clock": ("`flows.clock`", ""),
    "writes": ("`writes`", "Each entry of `writes` of an `app` of kind `writer`."),
    "profile": ("`profile` as a table", "In place of a profile's name, at the top of the file or in a group of flows."),
}


RULES = {
    "": "quantities",
    "compile": "congestion-control",
    "wifi.NAME": "wi-fi",
    "link.NAME": "links-and-paths",
    "rates": "jitter-reordering-duplicates-outages-changes-of-the-rate",
    "delays": "jitter-reordering-duplicates-outages-changes-of-the-rate",
    "slot": "jitter-reordering-duplicates-outages-changes-of-the-rate",
    "handover": "handovers",
    "script": "scripts",
    "outages": "jitter-reordering-duplicates-outages-changes-of-the-rate",
    "policer": "policers",
    "loss": "losses",
    "lte.NAME": "lte",
    "mesh.NAME": "mesh-of-sensors",
    "queue": "queue-disciplines",
    "host.NAME": "hosts",
    "flows": "starts-short-flows-and-sizes",
    "access": "access-links",
    "tcp_rmem": "receivers-and-window-controllers",
    "clock": "clocks",
    "profile": "profile",
    "messenger": "applications",
}
"""The part of the page of rules about the keys of a section."""

APPS = ("messenger", "game", "upload", "writer", "web", "video", "voice", "ping", "udp")


def scenario_keys() -> str:
    """Describe every key of a scenario, a table for each section, from the schema of the core."""
    keys: list[Key] = _core.scenario_keys()
    parts = [
        "# Scenario keys",
        "Every key that a scenario file may hold, made from the schema by which the file is read. "
        "[Write a scenario](../how-to/scenario.md) has recipes, [Rules of scenarios](scenario-semantics.md) says "
        "what keys mean together. `--set KEY=VALUE` sets any of them on the command line, where `KEY` is the path with "
        "dots, such as `link.bottleneck.rate` or `flows.0.cc`.",
    ]
    for section, own in groupby(keys, key=lambda key: key["section"]):
        what = "flows.app" if section in APPS else "queue"
        title, about = SECTIONS.get(section) or (f"`{what}` of kind `{section}`", "")
        parts += [
            f"## {title}",
            *([about] if about else []),
            *([f"[The rules](scenario-semantics.md#{RULES[section]}) behind these keys."] if section in RULES else []),
            markdown_table(("key", "value", "default", "meaning"), map(row, own)),
        ]
    return "\n\n".join(parts) + "\n"


def row(key: Key) -> tuple[str, str, str, str]:
    """Give a key's row of the table."""
    kind, absence = key["kind"], key["absence"]
    value = " or ".join(f"`{choice}`" for choice in kind["choice"]) if isinstance(kind, dict) else KINDS[kind]
    if key["range"]:
        value += f", {key['range'].replace('..', ' to ')}"
    default = absence if isinstance(absence, str) else absence.get("means") or f"`{absence['default']}`"
    return f"`{key['name']}`", value, default, key["meaning"]


def controls() -> str:
    """Describe the congestion controls that come along, each as its file does, with its parameters."""
    about = (
        "The controls that come with unbloat, made from the files in `algorithms/congestion/`. Each file opens with "
        "the text below. `params` in a flow group sets parameters, and so does `unbloat load --param`."
    )
    return mechanisms("Congestion controls", about, _core.mechanisms(ALGORITHMS))


def window_controllers() -> str:
    """Describe the window controllers, with their parameters."""
    about = (
        "A window controller lowers the windows that a receiver announces. `window_controller` in a flow group names "
        "one, and `window_controller_params` sets its parameters. Made from the files in `algorithms/window/`, each of "
        "which opens with the text below."
    )
    return mechanisms("Window controllers", about, _core.window_controllers(ALGORITHMS))


def classifiers() -> str:
    """Describe the classifiers of a host's packets likewise."""
    about = (
        "What sorts the packets of a host into queues of which the first is served first: `classifier` in "
        "`[host.NAME]` names one, `classifier_params` sets its parameters, and `unbloat load NAME --dev DEVICE` puts "
        "it into the running kernel. Made from the files in `algorithms/classify/`, each of which opens with the text "
        "below."
    )
    return mechanisms("Classifiers", about, _core.classifiers(ALGORITHMS))


def mechanisms(title: str, about: str, described: Sequence[Mechanism]) -> str:
    """Describe mechanisms of one kind, with their parameters."""
    parts = [f"# {title}", about]
    for control in described:
        parts += [f"## {control['name']}", f"```{{ .text .described }}\n{control['prose'].strip()}\n```"]
        rows = [
            (f"`{each['name']}`", f"`{each['default']}`", bounds(each), each["about"]) for each in control["parameters"]
        ]
        if rows:
            parts.append(markdown_table(("parameter", "default", "range", "meaning"), rows))
    return "\n\n".join(parts) + "\n"


def bounds(parameter: Key) -> str:
    """Give the values that a parameter may have."""
    least, most = parameter["lowest"], parameter["highest"]
    return "`true` or `false`" if least == "false" else f"{least} to {most}"


def metrics() -> str:
    """Describe every table of results with its columns, from the register that feeds them all."""
    about = (
        "Every table of results with its columns, made from the register that they take their words from. A metric's "
        "*column* stands in data frames, Parquet files and JSON; its *short name* in claims and tolerances. All "
        "metrics count after the warm-up. [Results](results.md) explains what surprises."
    )
    return f"# Metrics\n\n{about}\n\n{results_tables()}\n"


def command_line() -> str:
    """Describe every command by its help."""
    commands = get_command(app)
    top = click.Context(commands, info_name="unbloat", terminal_width=HELP_WIDTH)
    assert isinstance(commands, click.Group)
    parts = [
        "# Command line",
        "Every command with the help that `unbloat COMMAND --help` prints. The exit status is 0 if all went well, 1 if "
        "a run failed or a check found something, 2 if the input is wrong, 130 after Ctrl-C. Results go to standard "
        "output, messages and progress to standard error.",
        help_of(commands, top),
    ]
    for name in commands.list_commands(top):
        command = commands.get_command(top, name)
        assert command
        parts += [f"## {name}", help_of(command, click.Context(command, info_name=name, parent=top))]
    return "\n\n".join(parts) + "\n"


def help_of(command: click.Command, context: click.Context) -> str:
    """Give a command's help, as a block."""
    return f"```text\n{click.unstyle(command.get_help(context)).strip()}\n```"
