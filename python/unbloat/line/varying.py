"""Candidates whose rate varies: it follows groups of packets of a slow line, or the goodput of a busy one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from unbloat.line.candidates import (
    PACKETS,
    Candidate,
    corrected_room,
    difference,
    has_room,
    on_course,
    penalty,
)
from unbloat.line.course import mean_bps
from unbloat.line.evidence import Evidence, View
from unbloat.line.measurement import PhaseName
from unbloat.line.model import HEADERS, PACKET_BYTES, Line, Side
from unbloat.line.repeats import Repeats
from unbloat.line.unsteady import parts_of

ROUNDS = 6
"""Corrections of a rate that follows the goodput."""


def along_packets(
    evidence: Evidence,
    repeats: Repeats,
    line: Line,
    phase: PhaseName,
    measured: View,
    tried: Mapping[str, Candidate],
) -> tuple[Side, float]:
    """Return the side that explains a phase best with a rate that follows groups of packets, and its median score.

    `tried` are the candidates with a constant rate. Load both ways shows the rate at other times, too. Waits that
    differ from phase to phase tell a buffer of packets better than scores do, as these depend on chance.
    """
    views = ((name, evidence.views.get((name, measured.direction))) for name in (phase, "both"))
    courses = {name: seen.course for name, seen in views if seen and seen.course.is_known}
    changes = [each for name, course in courses.items() for each in course.changes(evidence.starts_s[name])]
    rates = tuple((max(0.001, round(at, 3)), rate) for at, rate in changes)
    mean = mean_bps(list(courses.values()))
    others = [name for name in tried if name not in PACKETS and has_room(tried[name].side)]
    counts_packets = measured.retransmitted > 0 and measured.ahead.counts_bytes(mean) is False
    left_out = others if counts_packets and any(name in tried for name in PACKETS) else []
    sides = {
        name: on_course(each.side, mean, rates, measured)
        for name, each in tried.items()
        if each.side.discipline != "policer" and name not in left_out
    }
    scores = {name: repeats.median_score(line, phase, measured, side) for name, side in sides.items()}
    best = min(sides, key=lambda name: scores[name] + penalty(name, measured))
    return sides[best], scores[best]


def along_goodput(
    evidence: Evidence, repeats: Repeats, line: Line, phase: PhaseName, measured: View, side: Side
) -> Candidate:
    """Return a candidate whose rate follows the goodput."""
    import numpy as np

    direction = measured.direction
    count = parts_of(measured)
    start_s = evidence.starts_s[phase]
    at = start_s + np.linspace(0, measured.load_s, count, endpoint=False)
    at[0] = max(at[0], 0.001)
    paces, ceilings = measured.parts(count)
    is_known = np.isfinite(paces) | np.isfinite(ceilings)
    if not is_known.any():
        return Candidate(side)  # Nothing shows how the rate varies.
    usual = float(np.nanmedian(ceilings)) if np.isfinite(ceilings).any() else math.nan
    rates = np.where(np.isfinite(paces), paces * HEADERS, side.rate_bps * usual / ceilings)
    best = Candidate(side)
    for turn in range(ROUNDS):
        rates = np.clip(rates, 0.1 * side.rate_bps, 10 * side.rate_bps)
        rates = np.interp(at, at[is_known], rates[is_known])
        changes = tuple((round(float(time), 3), float(rate)) for time, rate in zip(at, rates, strict=True))
        tried = replace(side, rate_bps=float(np.mean(rates)), rates=changes)
        seen = repeats.once(line.replaced(direction, **vars(tried)), phase, turn).get(direction)
        score, residual = difference(measured, seen, tried, evidence.idle_spread_ms)
        if score < best.score:
            best = Candidate(tried, score, residual, seen)
        if seen is None:
            break
        found = [one / other for one, other in zip(measured.parts(count), seen.parts(count), strict=True)]
        steps = np.where(np.isfinite(found[0]), found[0], 1 / found[1])
        rates = rates * np.clip(np.nan_to_num(steps, nan=1.0), 0.7, 1.4) ** 0.7
        room = corrected_room(side.buffer_bytes, side.rate_bps, measured, seen)
        side = replace(side, rate_bps=float(np.mean(rates)), buffer_bytes=max(2.0 * PACKET_BYTES, room), rates=())
    return best
