"""Mechanisms at devices of the running kernel: receivers' window controllers, and classifiers of a host's packets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat import _core
from unbloat._core import InputError
from unbloat.system.core_types import UnloadedAtDevice, WindowTarget
from unbloat.system.paths import ALGORITHMS, kind_of_file, mechanism_names

if TYPE_CHECKING:
    from unbloat.report.table import Column
    from unbloat.system.systemd import Kind

AT_DEVICES: dict[str, Kind] = {"window": "window", "classify": "classifier"}
"""The folders of mechanisms that act at a device, with their kinds."""
MOST_FLOWS = 20
"""Connections of a device that the screen shows."""
BAND_NAMES = ("first", "second", "third")
"""The queues of a device in the order in which they are served."""

Columns = Sequence[tuple[str, str, str]]
"""Heading, unit and key; `kB` stands for bytes."""
QUEUES: Columns = [
    ("queue", "", "band"),
    ("packets", "", "packets"),
    ("bytes", "kB", "bytes"),
    ("dropped", "packets", "dropped"),
    ("delay mean", "ms", "delay_ms_mean"),
    ("max", "ms", "delay_ms_max"),
]
FLOWS: dict[Kind, Columns] = {
    "classifier": [
        ("from", "", "from"),
        ("to", "", "to"),
        ("send buffer", "kB", "wmem_queued_bytes"),
        ("of", "kB", "sndbuf_bytes"),
        ("full", "%", "occupancy_percent"),
        ("queue", "", "band"),
        ("idle", "s", "idle_s"),
    ],
    "window": [
        ("from", "", "from"),
        ("to", "", "to"),
        ("RTT", "ms", "rtt_ms"),
        ("base RTT", "ms", "base_rtt_ms"),
        ("queue", "kB", "queue_bytes"),
        ("window", "kB", "window_bytes"),
        ("offered", "kB", "offered_bytes"),
        ("idle", "s", "idle_s"),
    ],
}


def kind_of(name: str) -> Kind | None:
    """Return what a built-in, or a file of the user's, does at a device; None if it may be a congestion control."""
    file = Path(name)
    if file.suffix == ".c" and file.is_file():
        return AT_DEVICES.get(kind_of_file(file))
    return next((kind for folder, kind in AT_DEVICES.items() if name in mechanism_names(folder)), None)


def load(
    kind: Kind,
    source: str,
    parameters: list[tuple[str, str]],
    device: str | None,
    rate: str | None,
    target: WindowTarget,
    given: dict[str, list[str]],
) -> dict[str, Any]:
    """Load a mechanism onto a device; `given` is the compiler's. Return what the device then has."""
    if kind == "window":
        if device is None:
            raise InputError(f"{source} is a window controller: name its device, such as --dev wlan0")
        lowers = _core.kernel_load_window(ALGORITHMS, source, parameters, device, target, **given)
        return by_name(lowers, "device", "source", "target")
    if device is None:
        raise InputError(f"{source} sorts the packets that leave a device: name it, such as --dev eth0")
    if wrong := next((name for name, value in target.items() if value), None):
        raise InputError(f"--{wrong} is for window controllers; {source} sorts all packets that leave {device}")
    sorts = _core.kernel_load_classifier(ALGORITHMS, source, parameters, device, rate=rate, **given)
    shown = by_name(sorts, "device", "source", "rate_bps", "sorts_nothing")
    return {**shown, "before": sorts["before"] and sorts["before"]["kind"]}


def by_name(record: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Lay a record of the core out for JSON: its parameters by name, and of the rest all, or these keys."""
    return {**{key: record[key] for key in keys or record}, "parameters": dict(record["parameters"] or [])}


def load_sentence(kind: Kind, loaded: dict[str, Any]) -> str:
    """Describe what the device has now."""
    if kind == "window":
        whose = f"{loaded['device']}{of_whom(loaded['target'])}"
        # Their defaults suit one path only.
        return "\n".join([f"{loaded['source']} lowers the windows that leave through {whose}", *settings(loaded)])
    comes_back = f"; {loaded['before']} comes back when it goes" if loaded["before"] else ""
    return f"{loaded['source']} sorts the packets that leave {loaded['device']}{at_rate(loaded)}{comes_back}"


def warning(loaded: dict[str, Any]) -> str | None:
    """Describe why loading it does nothing, if that is so."""
    if not loaded.get("sorts_nothing"):
        return None
    device = loaded["device"]
    return (
        f"warning: {device} sends every packet at once (it had noqueue), so packets never wait here: unload it, and "
        "set --rate a little below the line's"
    )


def options(parameters: list[tuple[str, str]], rate: str | None, target: WindowTarget) -> list[str]:
    """Write parameters, rate and target as the command has them."""
    words = [word for name, value in parameters for word in ("--param", f"{name}={value}")]
    words += ["--rate", rate] if rate is not None else []
    words += ["--port", str(target["port"])] if target["port"] else []
    words += ["--dest", target["dest"]] if target["dest"] else []
    return [*words, *(["--router"] if target["router"] else [])]


def settings(mechanism: Mapping[str, Any]) -> list[str]:
    """Write the parameters in force as one line, if there are any."""
    line = ", ".join(f"{name} = {value}" for name, value in mechanism["parameters"].items())
    return [line] if line else []


def of_whom(target: Mapping[str, Any]) -> str:
    """Describe whose windows are lowered, as the end of a sentence."""
    words = [
        f"to port {target['port']}" if target["port"] else "",
        f"to {target['dest']}" if target["dest"] else "",
        f"of {target['cgroup']}" if target["cgroup"] else "",
        "also of connections that are forwarded" if target["router"] else "",
    ]
    return "".join(f", {word}" for word in words if word)


def at_rate(classifier: Mapping[str, Any]) -> str:
    """Describe how fast the device sends, as the end of a sentence."""
    return f", at {classifier['rate_bps'] / 1e6:g} Mbit/s" if classifier["rate_bps"] is not None else ""


def unload(kind: Kind, source: str, device: str | None) -> list[UnloadedAtDevice] | None:
    """Remove a mechanism from a device, or from all; return None if the name means something else."""
    is_meant = kind_of(source) == "classifier" if kind == "classifier" else device is not None
    if not is_meant and all(status["source"] != source for status in statuses(kind)):
        return None
    remove = _core.kernel_unload_classifier if kind == "classifier" else _core.kernel_unload_window
    return remove(source, device=device)


def statuses(kind: Kind) -> list[dict[str, Any]]:
    """List the devices that have a mechanism, with their connections."""
    found: Sequence[Mapping[str, Any]]
    found = _core.kernel_classifier_status() if kind == "classifier" else _core.kernel_window_status()
    return [by_name(status) for status in found]


def screen(kind: Kind, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Draw each device's mechanism, a classifier's queues, and the connections that were active last."""
    from unbloat.report.table import render

    for status in found:
        which = at_rate(status) if kind == "classifier" else of_whom(status)
        yield "\n".join([f"{status['device']}: {status['source']}{which}", *settings(status)])
        if kind == "classifier":
            yield render(columns(QUEUES, status["bands"]))
        if flows := status["flows"][:MOST_FLOWS]:
            yield render(columns(FLOWS[kind], flows))
        elif kind == "window":
            yield f"no connection of {status['device']} yet"
        if more := len(status["flows"]) - len(flows):
            yield f"and {more} more (--json lists all)"


def columns(wanted: Columns, rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Take columns of a table from rows."""
    from unbloat.report.table import Column

    def shown(row: Mapping[str, Any], unit: str, key: str) -> Any:
        value = row[key]
        if key == "band":
            return BAND_NAMES[value] if value < len(BAND_NAMES) else str(value)
        return value / 1000 if unit == "kB" and value is not None else value

    return [Column(heading, unit, [shown(row, unit, key) for row in rows]) for heading, unit, key in wanted]
