"""`--rtt` and `rtt=`: a path's round-trip time, as delays of the link that all flows share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unbloat._core import InputError
from unbloat.scenarios.checks import time_ns
from unbloat.scenarios.source import What, source_of


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
    cell = source_of(scenario, overrides).cells()[0]
    if len(cell.link_names) != 1:
        names = ", ".join(cell.link_names)
        raise InputError(f"rtt: {cell.name} has the links {names}: set the delay of each with --set link.NAME.delay")
    (link,) = cell.link_names
    delays = {*cell.access_delays_ns}
    if len(delays) > 1:
        raise InputError(
            f"rtt: the flows of {cell.name} have round-trip times of their own, as their access links differ: "
            f"set the delay of the link, link.{link}.delay"
        )
    return link, delays.pop()


def _delay(time: str, access_ns: int) -> str:
    """Format the link's one-way delay as a scenario's value."""
    delay_ns = time_ns(time, "rtt") / 2 - access_ns
    if delay_ns < 0:
        raise InputError(f"rtt: {time} is too short: the senders' own links take {2 * access_ns / 1e6:g}ms of it")
    return f"{delay_ns / 1000:.10g}us"
