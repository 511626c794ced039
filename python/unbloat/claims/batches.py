"""Runs of grid points that claims are about: every one as often as its draws need, with seeds 1, 2 and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from unbloat._core import GridPoint
from unbloat.claims.measurements import Measurements, do_differ
from unbloat.results.grid_points import Repeats, points_of
from unbloat.results.record import Outcome
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.experiment import Experiment, Manner, execute
from unbloat.runs.progress import StagedProgress
from unbloat.runs.sweep import run_through
from unbloat.scenarios.source import What, source_of


@dataclass(frozen=True)
class RepeatRule:
    """The number of runs of a grid point, and of those that may be enough."""

    most: int
    few: int | None = None
    """Runs at first, up to `most` where a verdict needs more; None makes `most` in any case."""

    def at_first(self) -> Iterator[range]:
        """Yield the seeds of one stage after the other; a grid point that draws nothing takes no further stage.

        The first has two seeds: a grid point where they agree to the last digit draws nothing, and further seeds would
        only repeat it.
        """
        last = self.few or self.most
        return (seeds for seeds in (range(1, min(2, last) + 1), range(3, last + 1)) if seeds)

    def looks(self) -> Iterator[int]:
        """Yield how many repeats the remaining grid points have after each stage: twice as many, up to `most`."""
        made = self.few or self.most
        while made < self.most:
            # A stage shorter than the one before it would be a look for little.
            made = 2 * made if 4 * made <= self.most else self.most
            yield made


REPEAT = "repeat"
"""The axis of a grid point's repeats."""


@dataclass(frozen=True)
class Batch:
    """Grid points of one scenario that are run alike."""

    name: str
    """The name under which results are asked for."""
    source: What
    """The scenario, by its file or its text."""
    labels: tuple[str, ...] = ()
    """Labels that a grid point must have; without any, every grid point runs."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    series: str = ""
    """The step of the recorded series, such as `10ms`; empty records none."""
    places: frozenset[Place] | None = None
    """The grid points to run; None runs all."""
    perturbations: Sequence[Mapping[str, object]] = ()
    """Overrides besides the seed, for one repeat after the other."""

    def repeated(self, seeds: Sequence[int]) -> dict[str, object]:
        """Return the overrides that run every grid point with these seeds, the n-th with the n-th perturbation."""
        changes = self.perturbations or [{}]
        repeats = [{"label": str(seed), "seed": seed, **changes[(seed - 1) % len(changes)]} for seed in seeds]
        return {**self.overrides, f"sweep.{REPEAT}": repeats}

    def points(self) -> list[GridPoint]:
        """Read its grid points."""
        return [point for point in source_of(self.source, self.overrides).points() if self.wants(dict(point.axes))]

    def wants(self, axes: Axes) -> bool:
        """Return whether a grid point is among them."""
        return set(self.labels) <= set(axes.values()) and (self.places is None or place_of(axes) in self.places)


Axes = Mapping[str, str]
Place = tuple[tuple[str, str], ...]


def place_of(axes: Axes) -> Place:
    """Name a grid point by its labels, in no order."""
    return tuple(sorted(axes.items()))


Simulate = Callable[[Batch, Sequence[int], Callable[[Axes], bool]], Sequence[Outcome]]
"""Runs those grid points of a batch that the function picks, with each of the seeds."""


def without_repeat(axes: Axes) -> dict[str, str]:
    """Return a grid point's labels without that of its repeat."""
    return {name: label for name, label in axes.items() if name != REPEAT}


def measure(batches: Sequence[Batch], repeats: RepeatRule, simulate: Simulate) -> dict[str, Measurements]:
    """Run the batches with seeds 1, 2 and so on; return the measurements of each under its name."""
    return {batch.name: Measurements(batch.name, _points(batch, repeats, simulate)) for batch in batches}


def _points(batch: Batch, repeats: RepeatRule, simulate: Simulate) -> list[Repeats]:
    runs: list[Outcome] = []
    points: list[Repeats] = []
    settled: set[Place] = set()

    def goes_on(axes: Axes) -> bool:
        return batch.wants(axes) and place_of(axes) not in settled

    for seeds in repeats.at_first():
        runs += simulate(batch, seeds, goes_on)
        points = points_of(runs)
        settled |= {place_of(point.axes) for point in points if not do_differ(point.records)}
        if len(settled) == len(points):
            break
    return points


def simulator(
    *,
    on: str = "simulator",
    kernel: str | None = None,
    cache: bool | None,
    jobs: int | None,
    checkpoint: Checkpoint | None = None,
    stages: StagedProgress | None = None,
    goes_on: bool = False,
) -> Simulate:
    """Return the function that runs the grid points of a batch; the arguments are those of `Scenario.run`.

    With `stages` one line shows how far all batches are, in place of one for each. With `goes_on` a run that fails is
    among the outcomes; otherwise its error ends the others.
    """

    def simulate(batch: Batch, seeds: Sequence[int], only: Callable[[Axes], bool]) -> list[Outcome]:
        source = source_of(batch.source, batch.repeated(seeds))
        manner = Manner(on, kernel, cache, None, jobs, checkpoint, stages=stages)
        step = batch.series or False

        def wanted(axes: Axes) -> bool:
            return only(without_repeat(axes))

        with source.placing_errors():
            results = (
                run_through(Experiment(source, manner, wanted), series=step)
                if goes_on
                else execute(source, manner, wanted, step)
            )
        series = dict(list(results.series().groupby("run"))) if batch.series and results.by_number else {}
        finished = [
            replace(record, axes=without_repeat(record.axes), series=series.get(number))
            for number, record in results.by_number.items()
        ]
        failed = [replace(failure, axes=without_repeat(failure.axes)) for failure in results.failures]
        return [*finished, *failed]

    return simulate
