"""How often a cell of a paper's scenarios is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unbloat.papers.quantities import MeasuredRun


@dataclass(frozen=True)
class RepeatRule:
    """How often a cell is run, and when fewer runs are enough."""

    most: int
    few: int | None = None
    """So often where these come to nearly the same, whatever the verdicts; as often as the others if None."""
    near: float = 0.0
    """Nearly the same: in each of its figures the runs are no farther apart than this share of the largest."""

    def stages(self) -> Iterator[range]:
        """Yield the seeds of one stage after the other; a cell for which `are_enough` is true takes no further stage.

        The first has two seeds: a cell where they agree to the last digit draws nothing, and further seeds would only
        repeat it.
        """
        ends = sorted({min(end, self.most) for end in (2, self.few or 2, self.most)})
        return (range(start + 1, end + 1) for start, end in zip([0, *ends], ends, strict=False))

    def are_enough(self, runs: Sequence[MeasuredRun]) -> bool:
        """Return whether a cell needs no more than these runs, of which each has another seed."""
        return len({_outcome(run) for run in runs}) == 1 or (len(runs) == self.few and self.are_near(runs))

    def after_two(self, runs: Sequence[MeasuredRun]) -> int:
        """Guess how often a cell is run in all from its first two runs."""
        if self.are_enough(runs):
            return 2
        return self.few if self.few is not None and self.are_near(runs) else self.most

    def are_near(self, runs: Sequence[MeasuredRun]) -> bool:
        """Return whether a cell's runs come to nearly the same."""
        return all(map(self._near, zip(*map(_figures, runs), strict=True)))

    def _near(self, values: Sequence[float | None]) -> bool:
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return not known
        return max(known) - min(known) <= self.near * max(known)


def _outcome(run: MeasuredRun) -> str:
    return repr({key: value for key, value in run.record.items() if key != "seed"})


FLOW_FIGURES = ("throughput_mbps", "goodput_mbps", "loss_percent", "cwnd_packets_mean", "rtt_ms_mean", "completion_s")
LINK_FIGURES = ("utilisation_percent", "queue_delay_ms_mean")


def _figures(run: MeasuredRun) -> list[float | None]:
    """List the numbers of a run that claims and tables are made of."""
    flows, link = run.record["flows"], run.record["links"][0]
    return [flow[name] for flow in flows for name in FLOW_FIGURES] + [link[name] for name in LINK_FIGURES]
