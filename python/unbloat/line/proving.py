"""The proof of a cure on the user's own line: what a turn measures, and what about it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from unbloat.line.choose import Ranked
from unbloat.line.client import measure
from unbloat.line.measurement import PhaseName
from unbloat.line.prove import Budget, Proof, Turn, prove
from unbloat.line.summary import summary

if TYPE_CHECKING:
    from unbloat.line.switchback import Side

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
    watch: Callable[[Proof], object] | None = None,
) -> Proof:
    """Measure by turns with and without a cure, until the change of the loaded round-trip time is clear.

    A turn loads both directions at once: a cure for one may cost the other.

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
    watch : callable, optional
        Receives the proof after each turn.

    """
    from unbloat.line.switchback import Quantity

    phase: PhaseName = "both"
    quantities = (
        Quantity("RTT under load", "ms", "less"),
        Quantity("upload", "Mbit/s", "more"),
        Quantity("download", "Mbit/s", "more"),
    )

    def turn(_: Side, left: Budget) -> Turn:
        share = int(min(left.bytes, budget * TURN_SHARE))
        found = measure(server, budget=share, seconds=min(TURN_S, left.seconds), phases=(phase,))
        loads = summary(found).loads
        up, down = loads.get((phase, "up")), loads.get((phase, "down"))
        values = {
            "RTT under load": up.loaded_rtt_ms if up else None,
            "upload": up.rate_mbps if up else None,
            "download": down.rate_mbps if down else None,
        }
        return Turn(values, found.about.sent_bytes + found.about.received_bytes)

    return prove(turn, switch, quantities, Budget(seconds=seconds, bytes=budget), watch=watch)
