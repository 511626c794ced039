"""The arguments of `Scenario.run` as a scenario with keys set anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from unbloat._core import InputError
from unbloat.scenarios.checks import names_in, time_ns, whole
from unbloat.scenarios.controls import axis_over, known_control
from unbloat.scenarios.source import Source, What, as_toml, refuse_forgotten_unit, source_of
from unbloat.system.renamed import of_today

Control = str | Path
"""A congestion control: its name, or its file."""
Time = str | float
"""A time: a text with its unit, or a number of seconds."""


def chosen_source(
    source: What,
    overrides: Mapping[str, object] | None,
    cc: Control | Sequence[Control] | None = None,
    seed: int | None = None,
    rtt: Time | Sequence[Time] | None = None,
    duration: Time | None = None,
    window_controller: Control | Sequence[Control] | None = None,
) -> Source:
    """Join the arguments of `run` that say what to run."""
    refuse_lists(overrides or {})
    added: dict[str, object] = {}
    if seed is not None:
        added["seed"] = whole("seed", seed)
    if duration is not None:
        added["duration"] = as_toml(duration, "duration")
    for key, given in (("cc", cc), ("window_controller", window_controller)):
        names = [] if given is None else [_written(key, each) for each in several(given)]
        if len(names) == 1:
            added[f"flows.*.{key}"] = names[0]
        elif given is not None:
            added[axis_over(key, source_of(source, {**(overrides or {}), **added}).points()[0])] = names
    if rtt is not None:
        times = [_rtt(time) for time in several(rtt)]
        added |= cases(source, {**(overrides or {}), **added}, times)
    return source_of(source, {**(overrides or {}), **added})


def several(given: Any) -> list[Any]:
    """List what may be one value, a list, or a text with commas; the name of a file may have some too."""
    if isinstance(given, str) and not Path(given).is_file():
        return names_in(given)
    return [given] if isinstance(given, str | Path | int | float) else list(given)


def _rtt(time: Time) -> str:
    if not isinstance(time, str):
        refuse_forgotten_unit(Decimal(str(time)), "rtt", "s")
    return as_toml(time, "duration")


def _written(key: str, name: Control) -> str:
    if isinstance(name, Path):
        return str(name.absolute())
    return known_control(name) if key == "cc" else name


def refuse_lists(overrides: Mapping[str, object]) -> None:
    """Raise `InputError` for a key of flows that gets a list in place of an axis."""
    for key, value in overrides.items():
        last = of_today(key.rpartition(".")[2])
        is_several = isinstance(value, Iterable) and not isinstance(value, str | Path | Mapping)
        if key.startswith("flows.") and last in ("cc", "window_controller") and is_several:
            raise InputError(
                f"{key}: must be one name; to compare several, pass {last}=[...], or set sweep.{key} to the list"
            )


def cases(scenario: What, overrides: Mapping[str, object], times: Sequence[str]) -> dict[str, object]:
    """Return the keys that give every flow's empty path each of these round-trip times.

    The shared link gets half of it in each direction, less what the senders' own links add. Raises `InputError` for
    a network without one such link, and for a time that is too short.
    """
    link, access_ns = _shared_link(scenario, overrides)
    keys = (f"link.{link}.delay", f"link.{link}.reverse.delay")
    delays = [_delay(time, access_ns) for time in times]
    if len(times) == 1:
        return dict.fromkeys(keys, delays[0])
    listed = [{"label": time, **dict.fromkeys(keys, delay)} for time, delay in zip(times, delays, strict=True)]
    return {"sweep.rtt": listed}


def _shared_link(scenario: What, overrides: Mapping[str, object]) -> tuple[str, int]:
    """Find the one link of the scenario; return its name and the one-way delay of the senders' own links."""
    point = source_of(scenario, overrides).points()[0]
    if len(point.link_names) != 1:
        names = ", ".join(point.link_names)
        raise InputError(f"rtt: {point.name} has the links {names}: set the delay of each with --set link.NAME.delay")
    (link,) = point.link_names
    delays = {*point.access_delays_ns}
    if len(delays) > 1:
        raise InputError(
            f"rtt: the flows of {point.name} have round-trip times of their own, as their access links differ: "
            f"set the delay of the link, link.{link}.delay"
        )
    return link, delays.pop()


def _delay(time: str, access_ns: int) -> str:
    """Format the link's one-way delay as a scenario's value."""
    delay_ns = time_ns(time, "rtt") / 2 - access_ns
    if delay_ns < 0:
        raise InputError(f"rtt: {time} is too short: the senders' own links take {2 * access_ns / 1e6:g}ms of it")
    return f"{delay_ns / 1000:.10g}us"
