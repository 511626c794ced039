"""The simulator in the loop: a measured phase repeated on any line, with the connections that the client opened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unbloat.line.candidates import difference
from unbloat.line.evidence import Evidence, View, view
from unbloat.line.measurement import Direction, PhaseName
from unbloat.line.model import LOAD, PROBE_BYTES, Line, Side, simulate_phase

REPLICAS = 6
"""Repeated simulations that show how much chance there is in a phase."""


class Repeats:
    """Repeats the phases of one measurement; a replica is a repeat with another seed."""

    def __init__(self, evidence: Evidence, seed: int) -> None:
        self._evidence = evidence
        self._seed = seed

    def once(self, line: Line, phase: PhaseName, replica: int = 0) -> dict[Direction, View]:
        """Simulate a phase as it was measured; another replica has another seed and slightly other starts."""
        import numpy as np

        evidence = self._evidence
        draw = np.random.default_rng([self._seed, replica])
        late = {
            each: [start + (draw.uniform(0, 0.03) if replica else 0.0) for start in starts]
            for each, starts in evidence.plan.starts[phase].items()
        }
        early_s = round(max(0.0, -min((start for each in late.values() for start in each), default=0.0)) + 0.0005, 3)
        late = {each: [start + early_s for start in starts] for each, starts in late.items()}
        lengths: dict[str, Any] = {f"{phase}_s": evidence.plan.seconds(phase) + early_s}
        starts, probe_s = {phase: late}, evidence.probe_s[phase]
        plan = replace(evidence.plan, starts=starts, probe_s=probe_s, **lengths)
        longest = max(
            (
                float(np.nanmax(evidence.views[phase, each].added, initial=0.0))
                for each in LOAD[phase]
                if (phase, each) in evidence.views
            ),
            default=0.0,
        )
        wait_s = min(8.0, 1.5 * longest / 1e3 + evidence.base_rtt_ms / 1e3 + 0.2)
        begin_s = evidence.starts_s[phase] - early_s
        tables = simulate_phase(line, plan, phase, begin_s, wait_s=wait_s, seed=self._seed + 1 + replica)
        tables["phases"]["start_s"] = [evidence.starts_s[phase]]
        bases = {
            each: line.base_rtt_s * 500 + PROBE_BYTES * 8e3 / (side.line_bps or side.rate_bps)
            for each, side in (("up", line.up), ("down", line.down))
        }
        found = {
            each: view(tables, phase, each, bases[each], sum(bases.values()), is_alone=True) for each in LOAD[phase]
        }
        for each, seen in found.items():
            if seen and (phase, each) in evidence.views:
                seen.jitter_ms = evidence.views[phase, each].jitter_ms
        return {each: seen for each, seen in found.items() if seen}

    def many(self, line: Line, phase: PhaseName, direction: Direction) -> list[View]:
        """Simulate a phase with several seeds; return the views of a direction that carry data."""
        found = (self.once(line, phase, 100 + number).get(direction) for number in range(REPLICAS))
        return [each for each in found if each]

    def median_score(self, line: Line, phase: PhaseName, measured: View, side: Side) -> float:
        """Return the median score of replicas of a side; infinite if none carries data."""
        import numpy as np

        replicas = self.many(line.replaced(measured.direction, **vars(side)), phase, measured.direction)
        found = [difference(measured, each, side, self._evidence.idle_spread_ms)[0] for each in replicas]
        return float(np.median(found)) if found else math.inf

    def usual(self, replicas: Sequence[View], side: Side) -> float:
        """Return the median score of replicas against each other."""
        import numpy as np

        scores = [
            difference(one, other, side, self._evidence.idle_spread_ms)[0]
            for place, one in enumerate(replicas)
            for other in replicas[place + 1 :]
        ]
        return float(np.median(scores)) if scores else 0.0
