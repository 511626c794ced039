"""How often a cell of a paper's scenarios is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unbloat.papers.quantities import MeasuredRun

SURE = 0.999
"""Confidence of the intervals by which repeats end early.

To look after every stage and to stop at the first interval of 95 % that leaves the bound out would stop on luck: each
look is one more chance for that. Haybittle and Peto's rule for trials that are looked at while they run asks for
99.9 % at each look before the last; the last may then keep its 95 %.
"""


@dataclass(frozen=True)
class RepeatRule:
    """How often a cell is run, and when fewer runs are enough."""

    most: int
    few: int | None = None
    """So many at first; up to `most` where a verdict hangs on more. As often as that in any case if None."""

    def at_first(self) -> Iterator[range]:
        """Yield the seeds of one stage after the other; a cell that draws nothing takes no further stage.

        The first has two seeds: a cell where they agree to the last digit draws nothing, and further seeds would only
        repeat it.
        """
        last = self.few or self.most
        return (seeds for seeds in (range(1, min(2, last) + 1), range(3, last + 1)) if seeds)

    def looks(self) -> Iterator[int]:
        """Yield how many repeats the cells that go on have after each further stage: twice as many, at last `most`."""
        made = self.few or self.most
        while made < self.most:
            # A stage shorter than the one before it would be a look for little.
            made = 2 * made if 4 * made <= self.most else self.most
            yield made


def do_differ(runs: Sequence[MeasuredRun]) -> bool:
    """Return whether runs of one cell with different seeds come to something different."""
    return len({_outcome(run) for run in runs}) > 1


def _outcome(run: MeasuredRun) -> str:
    return repr({key: value for key, value in run.record.items() if key != "seed"})
