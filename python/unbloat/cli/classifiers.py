"""Classifiers of a host's packets in the running kernel: what `unbloat load`, `unload` and `status` do with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.windows import MOST_FLOWS, thousands

BAND_NAMES = ("first", "second", "third")
"""The queues of a device in the order in which they are served."""


def is_classifier(name: str) -> bool:
    """Return whether a built-in of this name classifies packets, or whether the file of this name says that it does."""
    from pathlib import Path

    from unbloat.system.paths import ALGORITHMS

    file = Path(name)
    if file.suffix == ".c" and file.is_file():
        return "CLASSIFIER(" in file.read_text(errors="replace")
    return f"{name}.bpf.c" in (path.name for path in (ALGORITHMS / "classify").iterdir())


def load(
    classifier: str,
    parameters: list[tuple[str, str]],
    device: str | None,
    rate: str | None,
    target: dict[str, Any],
    given: dict[str, list[str]],
) -> dict[str, Any]:
    """Load a classifier and its queues onto a device; `given` is the compiler's. Return what the device then has."""
    from unbloat.system.paths import ALGORITHMS

    if device is None:
        raise InputError(f"{classifier} sorts the packets that leave a device: say which, such as --dev eth0")
    if wrong := next((name for name, value in target.items() if value), None):
        raise InputError(f"--{wrong} is for receivers; {classifier} sorts all packets that leave {device}")
    loaded: dict[str, Any] = json.loads(
        _core.kernel_load_classifier(ALGORITHMS, classifier, parameters, device, rate=rate, **given)
    )
    shown = {key: loaded[key] for key in ("device", "source", "rate_bps", "sorts_nothing")}
    return {**shown, "parameters": dict(loaded["parameters"]), "before": (loaded["before"] or {}).get("kind")}


def load_sentence(loaded: dict[str, Any]) -> str:
    """Describe what the device has now."""
    comes_back = f"; {loaded['before']} comes back when it goes" if loaded["before"] else ""
    return f"{loaded['source']} sorts the packets that leave {loaded['device']}{at_rate(loaded)}{comes_back}"


def warning(loaded: dict[str, Any]) -> str | None:
    """Describe why loading it does nothing, if that is so."""
    if not loaded["sorts_nothing"]:
        return None
    device = loaded["device"]
    return (
        f"warning: {device} takes every packet at once (it had noqueue), so that none waits here to be sorted: unload "
        "it, and give a --rate a little below that of the line"
    )


def options(parameters: list[tuple[str, str]], rate: str | None) -> list[str]:
    """Write parameters and rate as the command has them."""
    words = [word for name, value in parameters for word in ("--param", f"{name}={value}")]
    return [*words, *(["--rate", rate] if rate is not None else [])]


def at_rate(loaded: dict[str, Any]) -> str:
    """Describe how fast the device sends, as the end of a sentence."""
    return f", at {loaded['rate_bps'] / 1e6:g} Mbit/s" if loaded["rate_bps"] is not None else ""


def unload(source: str, device: str | None) -> list[dict[str, Any]] | None:
    """Remove a classifier from a device, or from all; return None if the name means something else."""
    if not (is_classifier(source) or any(status["source"] == source for status in statuses())):
        return None
    unloaded: list[dict[str, Any]] = json.loads(_core.kernel_unload_classifier(source, device=device))
    return unloaded


def statuses() -> list[dict[str, Any]]:
    """List the devices that have a classifier, with their connections."""
    found = json.loads(_core.kernel_classifier_status())
    return [{**status, "parameters": dict(status["parameters"])} for status in found]


def screen(classifiers: list[dict[str, Any]]) -> Iterator[str]:
    """Draw each device's classifier, its queues, and the connections that were active last."""
    from unbloat.report.table import Column, render

    for classifier in classifiers:
        settings = ", ".join(f"{name} = {value}" for name, value in classifier["parameters"].items())
        first = f"{classifier['device']}: {classifier['source']}{at_rate(classifier)}"
        yield "\n".join([first, *([settings] if settings else [])])
        bands = classifier["bands"]
        yield render(
            [
                Column("queue", "", [band_name(band["band"]) for band in bands]),
                Column("packets", "", [band["packets"] for band in bands]),
                Column("bytes", "kB", [thousands(band["bytes"]) for band in bands]),
                Column("dropped", "packets", [band["dropped"] for band in bands]),
                Column("delay mean", "ms", [band["delay_ms_mean"] for band in bands]),
                Column("max", "ms", [band["delay_ms_max"] for band in bands]),
            ]
        )
        flows = classifier["flows"][:MOST_FLOWS]
        if not flows:
            continue
        yield render(
            [
                Column("from", "", [flow["from"] for flow in flows]),
                Column("to", "", [flow["to"] for flow in flows]),
                Column("send buffer", "kB", [thousands(flow["wmem_queued_bytes"]) for flow in flows]),
                Column("of", "kB", [thousands(flow["sndbuf_bytes"]) for flow in flows]),
                Column("full", "%", [flow["occupancy_percent"] for flow in flows]),
                Column("queue", "", [band_name(flow["band"]) for flow in flows]),
                Column("idle", "s", [flow["idle_s"] for flow in flows]),
            ]
        )
        if more := len(classifier["flows"]) - len(flows):
            yield f"and {more} more (--json has all)"


def band_name(band: int) -> str:
    """Name a queue by when it is served."""
    return BAND_NAMES[band] if band < len(BAND_NAMES) else str(band)
