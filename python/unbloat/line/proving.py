"""The proof of a cure on the user's own line: what a turn measures, and what about it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from unbloat.line.choose import Ranked
from unbloat.line.client import measure
from unbloat.line.cures import Reaches
from unbloat.line.measurement import Direction
from unbloat.line.prove import Budget, Proof, Turn, prove
from unbloat.line.summary import summary

if TYPE_CHECKING:
    from unbloat.line.switchback import Side

PHASES: dict[Reaches, Literal["up", "down", "both"]] = {"uploads": "up", "downloads": "down", "everybody": "both"}
"""The load of a turn, by what the cure changes."""
GOAL = "RTT under load"
RATES: dict[Direction, str] = {"up": "upload", "down": "download"}
"""Names of the quantities that turns measure."""
TURN_S = 6.0
"""The longest load of a turn."""
TURN_SHARE = 1 / 12
"""The largest share of the bytes for one turn."""


def proved(
    switch: Callable[[Side], object],
    cure: Ranked,
    server: str,
    *,
    budget: int,
    seconds: float,
    far_cc: str | None = None,
    watch: Callable[[Proof], object] | None = None,
) -> Proof:
    """Measure by turns with and without a cure, until the change of the loaded round-trip time is clear.

    A turn loads the direction that the cure changes, or both: a cure for both may help one and cost the other.

    Parameters
    ----------
    switch : callable
        Gives the computer the state `before` or `after`.
    cure : Ranked
        The cure that is proved.
    server : str
        The far end.
    budget : int
        Bytes that all turns may use together.
    seconds : float
        Time that the proof may take.
    far_cc : str, optional
        The congestion control of downloads that the far end is asked for.
    watch : callable, optional
        Receives the proof after each turn.

    """
    from unbloat.line.switchback import Quantity

    phase = PHASES[cure.reaches]
    loaded: tuple[Direction, ...] = ("up", "down") if phase == "both" else (phase,)
    rates = [Quantity(RATES[way], "Mbit/s", "more") for way in loaded]

    def turn(_: Side, left: Budget) -> Turn:
        share = int(min(left.bytes, budget * TURN_SHARE))
        found = measure(server, budget=share, seconds=min(TURN_S, left.seconds), phases=(phase,), far_cc=far_cc)
        loads = {way: summary(found).loads.get((phase, way)) for way in loaded}
        values = {RATES[way]: load.rate_mbps if load else None for way, load in loads.items()}
        first = loads[loaded[0]]
        values[GOAL] = first.loaded_rtt_ms if first else None
        return Turn(values, found.about.sent_bytes + found.about.received_bytes)

    quantities = (Quantity(GOAL, "ms", "less"), *rates)
    return prove(turn, switch, quantities, Budget(seconds=seconds, bytes=budget), watch=watch)
