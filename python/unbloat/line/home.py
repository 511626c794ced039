"""The home around a line in the simulator: this computer, a neighbour, a router, the loads, and draws from ranges."""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from unbloat import _core
from unbloat._core import InputError
from unbloat.line.applications import PAUSE_S, App, Flow
from unbloat.line.cures import DEVICE, HOST, LINE, ROUTER
from unbloat.line.model import PACKET_BYTES
from unbloat.scenarios.source import kind_of

UPLOADS, DOWNLOADS = "uploads", "downloads"
THEIR_UPLOADS, THEIR_DOWNLOADS = "neighbour's uploads", "neighbour's downloads"
"""Roles of bulk transfers, and names of their flow groups."""

LOADS: dict[str, tuple[str, ...]] = {
    "up": (UPLOADS,),
    "down": (DOWNLOADS,),
    "others": (UPLOADS, DOWNLOADS, THEIR_UPLOADS, THEIR_DOWNLOADS),
}
"""The bulk transfers of each load."""
Way = Literal["up", "down"]
WAYS: tuple[Way, ...] = ("up", "down")
LINK: Mapping[Way, str] = {"up": f"link.{LINE}.", "down": f"link.{LINE}.reverse."}
"""The beginnings of the keys of each direction of the line."""
NEIGHBOUR, THEIR_DEVICE = "neighbour", "their_device"
"""The other computer of a home, and its link to the router."""
BESIDE: Flow = {"host": NEIGHBOUR, "path": [THEIR_DEVICE, ROUTER, LINE]}
"""The keys of flows of the other computer; an application may have them too."""
UNKNOWN_BPS = 20e6
"""The rate that counts for the length of a run where the line follows a recording."""
OWN = WAYS
"""The loads that count."""
CONNECTIONS = (4, 1, 2)
"""The numbers of bulk connections in either direction, which draws take by turns.

Backups, synchronisation and downloads open so few. A measurement opens up to 16, because a meter must fill the line
even where each connection alone is slow. A proof does the same, so it shows what a cure does against more of them.
"""
FAR = "cubic"
"""The congestion control of servers and of other computers."""
LEAST_S, MOST_S = 12.0, 90.0
"""The measured part of a run lasts so long at least and at most, unless the line is very fast."""
MOST_PACKETS = 120_000
"""Packets of a run in both directions, about; a faster line is simulated for a shorter time."""
SHORTEST_S = 4.0
"""The measured part of a run on the fastest lines."""
PAGE_BITS = 41 * 30e3 * 8
"""The size of a web page, as the application has it."""
PAGES = 6
"""Pages that are to load in a run, about."""
MANAGED = ("codel", "fq_codel", "pie", "fq_pie", "cake", "red")
"""Disciplines that keep their queue below the limit."""


@dataclass(frozen=True)
class Home:
    """A line with everything around it, as it is today."""

    link: Mapping[str, Any]
    """The table of the link `line`."""
    others: tuple[Flow, ...]
    """Known traffic of others."""
    cc: str
    """The congestion control of uploads."""
    radios: Mapping[str, Any] = field(default_factory=dict)
    """The tables `wifi` of the line's scenario, if it is a radio."""

    def table(self, way: Way) -> Mapping[str, Any]:
        """Return the table of a direction."""
        found: Mapping[str, Any] = self.link if way == "up" else self.link["reverse"]
        return found

    def rate_bps(self, way: Way) -> float | None:
        """Return the lowest rate of a direction, of its policer too; None if it follows a recording."""
        table = self.table(way)
        parts = [table, *table.get("rates", ()), *([table["policer"]] if "policer" in table else [])]
        return min(base_of(part["rate"], "bps") for part in parts) if "rate" in table else None

    def waits_s(self) -> float:
        """Return about how long a packet waits in the line's full buffers, there and back with the propagation."""
        rtt_s = 2 * base_of(self.link["delay"], "s")
        waits = [rtt_s]
        for way in WAYS:
            queue = self.table(way)["queue"]
            rate = self.rate_bps(way) or UNKNOWN_BPS
            limit = queue.get("limit")
            if limit is None or queue.get("kind") in MANAGED:
                waits.append(0.1)
                continue
            unit, value = _quantity(limit)
            bits = {"bytes": 8, "packets": 12000, "bdp": rate * rtt_s}.get(unit, 8) * value
            waits.append(bits / rate)
        return sum(waits)

    def times_s(self, has_pages: bool) -> tuple[float, float]:
        """Return the warm-up and the measured time of a run, in whole seconds."""
        rates = [self.rate_bps(way) or UNKNOWN_BPS for way in WAYS]
        waits = self.waits_s()
        pages = PAGES * (PAGE_BITS / rates[1] + PAUSE_S) if has_pages else 0.0
        measured = min(MOST_S, max(LEAST_S, 12 * waits, pages))
        fits = MOST_PACKETS * 12000 / sum(rates)
        warmup = min(20.0, max(3.0, 3 * waits))
        return math.ceil(warmup), math.ceil(max(min(measured, fits), SHORTEST_S))

    def scenario(
        self, load: str, apps: Sequence[App], drawn: Draw, times_s: tuple[float, float] | None = None
    ) -> dict[str, Any]:
        """Return a scenario of the home under a load, with some applications; the draw's keys are not in it.

        The warm-up and the measured time are those of `times_s` if somebody gives others.
        """
        warmup, measured = times_s or self.times_s(any(app.name == "page" for app in apps))
        link = _varied(self.link, warmup + measured, drawn.place)
        link["reverse"] = _varied(link["reverse"], warmup + measured, drawn.place)
        wire = "1gbit" if max(self.rate_bps(way) or 0.0 for way in WAYS) <= 300e6 else "10gbit"
        is_beside = any(flow.get("host") == NEIGHBOUR for app in apps for flow in app.flows)
        has_neighbour = THEIR_UPLOADS in LOADS[load] or bool(self.others) or is_beside
        open_link = {
            "rate": wire,
            "delay": "0ms",
            "queue": {"limit": "1000p"},
            "reverse": {"rate": wire, "queue": {"limit": "1000p"}},
        }
        return {
            "name": LINE,
            "duration": f"{warmup + measured:g}s",
            "warmup": f"{warmup:g}s",
            **({"wifi": self.radios} if self.radios else {}),
            "host": {HOST: {}, **({NEIGHBOUR: {}} if has_neighbour else {})},
            "link": {
                DEVICE: open_link,
                **({THEIR_DEVICE: open_link} if has_neighbour else {}),
                ROUTER: open_link,
                LINE: link,
            },
            "flows": self.flows(load, apps, drawn.uploads, drawn.downloads),
        }

    def flows(self, load: str, apps: Sequence[App], uploads: int, downloads: int) -> list[Flow]:
        """Return the flow groups of a load: bulk transfers, applications, and known traffic of others."""
        mine = {"host": HOST, "path": [DEVICE, ROUTER, LINE]}
        started = {"start": "0s..1s"}
        bulk: dict[str, Flow] = {
            UPLOADS: {**mine, **started, "cc": self.cc, "count": uploads},
            DOWNLOADS: {**mine, **started, "cc": FAR, "count": downloads, "reverse": True},
            THEIR_UPLOADS: {**BESIDE, **started, "cc": FAR},
            THEIR_DOWNLOADS: {**BESIDE, **started, "cc": FAR, "reverse": True},
        }
        return [
            *({"name": role, **bulk[role]} for role in LOADS[load]),
            *({"name": app.name, **mine, **flow} for app in apps for flow in app.flows),
            *({"name": f"others {place}", **flow, **BESIDE} for place, flow in enumerate(self.others)),
        ]


def home_of(line: str | Path | Mapping[str, Any], others: Sequence[Flow], cc: str) -> Home:
    """Read a line's scenario; its flow groups do not count. Raises `InputError` if it has no link `line`."""
    folder = Path(line).absolute().parent if isinstance(line, str | Path) else Path.cwd()
    where = str(line) if isinstance(line, str | Path) else "line"
    try:
        content = dict(line) if isinstance(line, Mapping) else tomllib.loads(Path(line).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{where}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    link = content.get("link", {}).get(LINE)
    if not isinstance(link, Mapping):
        raise InputError(f"{where}: has no link called {LINE}")
    for name, table in (("", link), (".reverse", link.get("reverse", {}))):
        for key in ("queue",) if name else ("delay", "queue"):
            if key not in table:
                raise InputError(f"{where}: link.{LINE}{name} lacks {key}, which its cures are simulated with")
    return Home(_placed(link, folder), tuple(others), cc, content.get("wifi", {}))


def _placed(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Make the paths of recordings in a link's table absolute."""
    placed = dict(table)
    if "trace" in placed:
        placed["trace"] = str(folder / placed["trace"])
    if "reverse" in placed:
        placed["reverse"] = _placed(placed["reverse"], folder)
    return placed


def _quantity(value: object) -> tuple[str, float]:
    """Return a value of a scenario as its base unit and the number of these."""
    if isinstance(value, int | float):
        return "", float(value)
    found = _core.quantity(str(value))
    if found is None:
        raise InputError(f"{value}: must be a quantity, such as 10mbit, 20ms or 256kb")
    return found


def base_of(value: object, unit: str) -> float:
    """Return a value in its base unit."""
    found, amount = _quantity(value)
    if found not in ("", unit):
        raise InputError(f"{value}: must be in {unit}")
    return amount


# ---------------------------------------------------------------- Draws

Ranges = Mapping[str, Sequence[object]]
"""The least and the most of each fitted key, such as `link.line.rate`; numbers are in base units.

The most is None without a bound. Texts without a unit are alternatives.
"""
OPEN = 4.0
"""The most of a range without a bound, as a multiple of its least."""
WRITTEN = {"bps": "bit", "bytes": "b", "packets": "p", "bdp": "bdp", "s": "s", "percent": "%", "value": ""}
"""The unit that a scenario writes for a base unit."""
WHOLE = ("bps", "bytes", "packets")
"""Base units of whole numbers."""
WHOLE_KINDS = ("rate", "limit", "size", "integer", "")
"""Kinds of keys with whole numbers; keys of newer releases have none."""
WIDE = 1.5
"""The logarithm of a value is uniform if the most is above the least by this factor."""


@dataclass(frozen=True)
class Draw:
    """A line out of the fitted ranges, and a number of bulk connections, for both homes of a pair."""

    keys: Mapping[str, object]
    uploads: int
    downloads: int
    seed: int
    place: float = 0.0
    """Where a rate that varies begins, as a share of the time for which it is known."""


def draw(home: Home, ranges: Ranges, number: int) -> Draw:
    """Return a draw by its number; number 0 is the fitted line itself."""
    chance = random.Random(f"choose/{number}")
    placed = {name: ends for key, ends in ranges.items() if (name := _key_of(home, key))}
    drawn = {key: _between(key, ends, chance) for key, ends in placed.items()} if number else {}
    keys = {key: _in_packets(home, key, value) for key, value in drawn.items()}
    place = chance.random() if number else 0.0
    uploads, downloads = (
        CONNECTIONS[turn % len(CONNECTIONS)] for turn in (number, number + number // len(CONNECTIONS))
    )
    return Draw(keys, uploads, downloads, number + 1, place)


def _key_of(home: Home, key: str) -> str | None:
    """Return the key that a range is for: a policer's rate is that of its line; a rate that varies has none."""
    for way, head in LINK.items():
        table = home.table(way)
        if key == f"{head}rate":
            return None if "rates" in table else f"{head}policer.rate" if "policer" in table else key
    return key


def _in_packets(home: Home, key: str, value: object) -> object:
    """Return the limit of a queue in full packets if the line's queue counts packets; other values as they are."""
    for way, head in LINK.items():
        queue = home.table(way).get("queue")
        own = queue.get("limit") if isinstance(queue, Mapping) else None
        if key == f"{head}queue.limit" and own is not None and _quantity(own)[0] == "packets":
            unit, size = _quantity(value)
            return f"{max(1, round(size / PACKET_BYTES))}p" if unit in ("", "bytes") else value
    return value


def _varied(table: Mapping[str, Any], until_s: float, place: float) -> dict[str, Any]:
    """Repeat the known changes of a rate until the end of a run, from a place in them on."""
    if not table.get("rates"):
        return dict(table)
    steps = [(0.0, table["rate"]), *((base_of(each["at"], "s"), each["rate"]) for each in table["rates"])]
    period_s = steps[-1][0] * len(steps) / (len(steps) - 1)  # The last rate lasts as long as the others on average.
    start_s = place * period_s
    rounds = range(math.ceil(until_s / period_s) + 1)
    moved = [(round(turn * period_s + at - start_s, 6), rate) for turn in rounds for at, rate in steps]
    first = [rate for at, rate in moved if at <= 0][-1]
    changes = [{"at": at, "rate": rate} for at, rate in moved if 0 < at < until_s]
    return {**table, "rate": first, "rates": changes}


def _times(value: object, factor: float) -> object:
    """Multiply a value of a scenario."""
    unit, amount = _quantity(value)
    return amount * factor if not unit else f"{round(amount * factor)}{WRITTEN[unit]}"


def _between(key: str, ends: Sequence[object], chance: random.Random) -> object:
    """Draw a value of a range."""
    if len(ends) != 2:
        raise InputError(f"{key}: a range has two ends, not {len(ends)}")
    if ends[1] is None:
        ends = (ends[0], _times(ends[0], OPEN))
    found = [("", float(end)) if isinstance(end, int | float) else _core.quantity(str(end)) for end in ends]
    (unit, least), (other, most) = (each or ("alternative", 0.0) for each in found)
    if unit != other or least > most:
        raise InputError(f"{key}: {ends[0]} to {ends[1]} is not a range")
    if unit == "alternative":
        return chance.choice(list(ends))
    if least > 0 and most > WIDE * least:
        value = math.exp(chance.uniform(math.log(least), math.log(most)))
    else:
        value = chance.uniform(least, most)
    if not unit:
        return round(value, None if kind_of(key) in WHOLE_KINDS else 9)
    if unit not in WRITTEN:
        raise InputError(f"{key}: cannot draw between {ends[0]} and {ends[1]}")
    return f"{max(1, round(value))}{WRITTEN[unit]}" if unit in WHOLE else f"{value:.9f}{WRITTEN[unit]}"
