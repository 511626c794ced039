"""Window controllers of receivers in the running kernel: what `unbloat load`, `unload` and `status` do with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unbloat import _core
from unbloat._core import InputError

MOST_FLOWS = 20
"""Connections of a device that the screen shows."""


def is_window(name: str) -> bool:
    """Return whether a built-in of this name lowers windows."""
    from unbloat.system.paths import ALGORITHMS

    return f"{name}.bpf.c" in (path.name for path in (ALGORITHMS / "window").iterdir())


def load(
    receiver: str,
    parameters: list[tuple[str, str]],
    device: str | None,
    target: dict[str, Any],
    given: dict[str, list[str]],
) -> dict[str, Any]:
    """Load a window controller onto a device; `given` is the compiler's. Return what the device then has."""
    from unbloat.system.paths import ALGORITHMS

    if device is None:
        raise InputError(f"{receiver} lowers the windows of a receiver: say at which device, such as --dev wlan0")
    answer = _core.kernel_load_window(ALGORITHMS, receiver, parameters, device, json.dumps(target), **given)
    loaded: dict[str, Any] = json.loads(answer)
    shown = {key: loaded[key] for key in ("device", "source", "target")}
    return {**shown, "parameters": dict(loaded["parameters"])}


def load_sentence(loaded: dict[str, Any]) -> str:
    """Describe what the device has now, and by which parameters it goes, as their defaults suit one path only."""
    whose = f"{loaded['device']}{of_whom(loaded['target'])}"
    return "\n".join([f"{loaded['source']} lowers the windows that leave through {whose}", *settings(loaded)])


def settings(receiver: dict[str, Any]) -> list[str]:
    """Write the parameters in force as one line, if there are any."""
    line = ", ".join(f"{name} = {value}" for name, value in receiver["parameters"].items())
    return [line] if line else []


def options(parameters: list[tuple[str, str]], target: dict[str, Any]) -> list[str]:
    """Write parameters and target as the command has them."""
    words = [word for name, value in parameters for word in ("--param", f"{name}={value}")]
    words += [word for name in ("port", "dest") if target[name] for word in (f"--{name}", str(target[name]))]
    return [*words, *(["--router"] if target["router"] else [])]


def of_whom(target: dict[str, Any]) -> str:
    """Describe whose windows are lowered, as the end of a sentence."""
    words = [
        f"to port {target['port']}" if target["port"] else "",
        f"to {target['dest']}" if target["dest"] else "",
        f"of {target['cgroup']}" if target["cgroup"] else "",
        "also of connections that are forwarded" if target["router"] else "",
    ]
    return "".join(f", {word}" for word in words if word)


def unload(source: str, device: str | None) -> list[dict[str, Any]] | None:
    """Remove a window controller from a device, or from all; return None if the name means a congestion control."""
    if device is None and not any(status["source"] == source for status in statuses()):
        return None
    unloaded: list[dict[str, Any]] = json.loads(_core.kernel_unload_window(source, device=device))
    return unloaded


def statuses() -> list[dict[str, Any]]:
    """List the devices that have a window controller, with their connections."""
    return [{**status, "parameters": dict(status["parameters"])} for status in json.loads(_core.kernel_window_status())]


def screen(receivers: list[dict[str, Any]]) -> Iterator[str]:
    """Draw each device's controller and the connections that were active last."""
    from unbloat.report.table import Column, render

    for receiver in receivers:
        yield "\n".join([f"{receiver['device']}: {receiver['source']}{of_whom(receiver)}", *settings(receiver)])
        flows = receiver["flows"][:MOST_FLOWS]
        if not flows:
            yield f"no connection of {receiver['device']} yet"
            continue
        yield render(
            [
                Column("from", "", [flow["from"] for flow in flows]),
                Column("to", "", [flow["to"] for flow in flows]),
                Column("RTT", "ms", [flow["rtt_ms"] for flow in flows]),
                Column("base RTT", "ms", [flow["base_rtt_ms"] for flow in flows]),
                Column("queue", "kB", [thousands(flow["queue_bytes"]) for flow in flows]),
                Column("window", "kB", [thousands(flow["window_bytes"]) for flow in flows]),
                Column("offered", "kB", [thousands(flow["offered_bytes"]) for flow in flows]),
                Column("idle", "s", [flow["idle_s"] for flow in flows]),
            ]
        )
        if more := len(receiver["flows"]) - len(flows):
            yield f"and {more} more (--json has all)"


def thousands(number: int | None) -> float | None:
    """Convert bytes to kB."""
    return None if number is None else number / 1000
