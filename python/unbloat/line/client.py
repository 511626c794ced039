"""Measures a line against a far end, within a budget."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from unbloat import _core
from unbloat._core import InputError
from unbloat.line.measurement import COLUMNS, PHASES, About, Measurement, PhaseName, measurement_of
from unbloat.line.places import is_tunnel, is_wireless

BUDGET = 100_000_000
"""Bytes that a measurement uses at most, unless the user says otherwise."""
SECONDS = 60.0
"""Seconds that a measurement takes at most, unless the user says otherwise."""


@dataclass(frozen=True)
class Now:
    """A running measurement, for a live view."""

    phase: PhaseName
    elapsed_s: float
    down_mbps: float
    up_mbps: float
    rtt_ms: float | None
    """The latest round-trip time; None before the first answer."""
    bytes: int
    """Bytes used so far, both directions together."""


@dataclass(frozen=True)
class Clocks:
    """Three clocks of this computer at one time, in seconds."""

    of_day: float
    awake: float
    """A clock that stops while the computer sleeps, and that nobody sets: measurements use it."""
    since_boot: float

    @classmethod
    def now(cls) -> Clocks:
        """Read them."""
        return cls(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def notes(self, later: Clocks) -> list[str]:
        """Say whether the clock jumped, or the computer slept, until a later time."""
        slept_s = (later.since_boot - self.since_boot) - (later.awake - self.awake)
        jump_s = (later.of_day - self.of_day) - (later.since_boot - self.since_boot)
        found = []
        if slept_s >= LEAST_JUMP_S:
            found.append(f"this computer slept for {slept_s:.0f} s during the measurement: measure again")
        if abs(jump_s) >= LEAST_JUMP_S:
            found.append(f"this computer's clock jumped by {jump_s:+.0f} s, which the measured times do not follow")
        return found


LEAST_JUMP_S = 1.0
"""The shortest jump of a clock that is worth a sentence."""


def measure(
    server: str,
    *,
    budget: int = BUDGET,
    seconds: float = SECONDS,
    phases: Sequence[PhaseName] = PHASES,
    far_cc: str | None = None,
    observe: Callable[[Now], object] = lambda _: None,
) -> Measurement:
    """Measure a line against a far end; Ctrl-C ends the measurement and keeps what it measured.

    The far end is asked for the congestion control `far_cc` of its downloads.

    Raises
    ------
    InputError
        The server's name is not one.
    RunError
        The server cannot be reached, does not serve measurements, or does not offer that congestion control.

    """

    def seen(phase: str, *numbers: float | None) -> None:
        observe(Now(phase, *numbers))  # type: ignore[arg-type]

    before = Clocks.now()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    text, is_interrupted = _core.measure_line(
        server, budget=budget, seconds=seconds, phases=phases, far_cc=far_cc, observe=seen
    )
    found = json.loads(text)
    notes = [*found["notes"], *(["the measurement was interrupted"] if is_interrupted else [])]
    notes += before.notes(Clocks.now())
    device = found["device"] or ""
    if is_tunnel(device):
        notes.append(f"{device} is a tunnel, such as a VPN's, and this is the line through it")
    about = About(
        server=server,
        address=found["address"],
        started=started,
        device=device,
        is_wireless=is_wireless(device),
        cc=found["cc"],
        far_cc=far_cc or "",
        sent_bytes=found["sent_bytes"],
        received_bytes=found["received_bytes"],
        seconds=found["seconds"],
        is_complete=found["is_complete"],
        notes=tuple(notes),
    )
    columns = {
        table: {column: [row[column] for row in rows] for column in COLUMNS[table]}
        for table, rows in found["tables"].items()
    }
    return measurement_of(about, columns)


LEAST_BUDGET = 1_000_000
LEAST_S, MOST_S = 10.0, 600.0


def budget_of(text: str, name: str) -> int:
    """Read a number of bytes; `name` is what an error calls it."""
    match _core.quantity(text):
        case ("bytes", number) if number >= LEAST_BUDGET:
            return int(number)
        case ("bytes", _):
            raise InputError(f"{name} {text} is too small: a measurement needs at least 1mb")
    if text.isdecimal() and int(text) >= LEAST_BUDGET:
        return int(text)
    raise InputError(f'{name} {text} is not a size such as "20mb" or "1gb"')


def seconds_of(text: str, name: str) -> float:
    """Read a time in seconds; `name` is what an error calls it."""
    match _core.quantity(text):
        case ("s", seconds):
            pass
        case _:
            try:
                seconds = float(text)
            except ValueError:
                raise InputError(f'{name} {text} is not a time such as "60s"') from None
    if LEAST_S <= seconds <= MOST_S:
        return seconds
    raise InputError(f"{name} {text} is not between 10s and 600s")
