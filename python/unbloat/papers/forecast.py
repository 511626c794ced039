"""Forecasts of how long a paper's runs take, told before they begin."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from statistics import fmean

from unbloat._core import GridPoint
from unbloat.claims.batches import Batch, Simulate, place_of, without_repeat
from unbloat.papers.batches import batches_of
from unbloat.papers.kernel import Plan
from unbloat.papers.paper import Paper
from unbloat.results.record import Record
from unbloat.runs import costs
from unbloat.runs.experiment import Experiment, Manner
from unbloat.runs.progress import Waiting
from unbloat.scenarios.source import source_of
from unbloat.system import machine
from unbloat.system.legible import clock, in_words
from unbloat.system.paths import cache_folder

# ---------------------------------------------------------------- Simulated: guessed from what the links can carry

PACKETS_PER_S = 3e6
"""Packets that one core simulates a second, with a margin for slower machines (docs/speed.md)."""
RUN_S = 0.1
"""Time that a run takes besides: its process, its congestion controls, its records."""


@dataclass(frozen=True)
class Forecast:
    """A sentence about runs before they begin, and the durations of the new ones."""

    words: str
    durations_s: list[float]


def counted(batches: Iterable[tuple[Batch, int]], jobs: int | None, cache: bool | None = None) -> Forecast:
    """Say how many runs there are and how long those take at most that are not kept; each batch has its repeats."""
    runs, new = 0, list[GridPoint]()
    manner = Manner("simulator", None, cache, False, jobs)
    for batch, seeds in batches:
        lacking, wanted = lacking_of(batch, seeds, manner)
        new += lacking
        runs += wanted
    seconds = (sum(map(most_packets, new)) / PACKETS_PER_S + len(new) * RUN_S) / manner.processes()
    packets = in_words(sum(map(most_packets, new)))
    words = f"{runs} runs of {packets} packets at most: {clock(seconds)}"
    if not new:
        words = f"all {runs} runs are cached"
    elif len(new) < runs:
        words = f"{len(new)} of {runs} runs are new, with {packets} packets at most: {clock(seconds)}"
    return Forecast(words, [point.duration_s for point in new])


def lacking_of(batch: Batch, seeds: int, manner: Manner) -> tuple[list[GridPoint], int]:
    """List the grid points of a batch's runs, with a number of seeds, that are not cached, and count all its runs."""
    source = source_of(batch.source, batch.repeated(range(1, seeds + 1)))
    experiment = Experiment(source, manner, lambda axes: batch.wants(without_repeat(axes)))
    return experiment.lacking(batch.series or False), len(experiment.runs)


def most_packets(point: GridPoint) -> float:
    """Return how many data packets the slowest link can carry in a run; 0 if all links replay traces."""
    return (point.slowest_rate_bps or 0) * point.duration_s / (8 * point.smallest_packet_bytes)


# ---------------------------------------------------------------- Simulated with all repeats: from some of the runs

SAMPLES = 2
"""Grid points of each scenario that are run first."""


def sampled(papers: Sequence[Paper], simulate: Simulate, jobs: int | None, cache: bool | None = None) -> Forecast:
    """Run some grid points of each scenario once, and estimate how long all that are not cached take.

    Nothing is run for the forecast alone: these are first repeats, and are cached like the others.
    """
    repeats, processes = papers[0].repeats, jobs or machine.processors()
    numbers = (repeats.few or repeats.most, repeats.most)
    manner = Manner("simulator", None, cache, False, jobs)
    batches = [batch for paper in papers for batch in batches_of(paper)]
    timed = Timed()
    with closing(Waiting()) as say:
        sent = []
        for batch in batches:
            say("running some grid points of every scenario once")
            sent.append(timed.mean_packets(batch, simulate, manner))
    pace = timed.pace()
    left, lacking, runs = [0.0, 0.0], 0, 0
    durations = list[float]()
    for batch, packets in zip(batches, sent, strict=True):
        few, _ = lacking_of(batch, numbers[0], manner)
        most, wanted = lacking_of(batch, numbers[1], manner)
        left = [left[0] + packets * len(few), left[1] + packets * len(most)]
        durations += [point.duration_s for point in few]
        lacking, runs = lacking + len(most), runs + wanted
    hours = [packets / pace / 3600 for packets in left]
    walls = [clock(3600 * each / processes) for each in hours]
    kept = f", {runs - lacking} of at most {runs} runs kept" if lacking < runs else ""
    words = (
        f"{runs // repeats.most} grid points, {numbers[0]} to {numbers[1]} times each where they draw anything{kept}: "
        f"{hours[0]:.1f} to {hours[1]:.1f} processor hours, {walls[0]} to {walls[1]} on {processes} idle processors"
    )
    return Forecast(words, durations)


class Timed:
    """Runs samples, and learns from those that were not kept how fast this machine simulates."""

    def __init__(self) -> None:
        """Start without a sample."""
        self._packets = self._seconds = 0.0

    def mean_packets(self, batch: Batch, simulate: Simulate, manner: Manner) -> float:
        """Run some grid points from all over a batch's grid, and return what they send in the mean, packets."""
        every = [dict(point.axes) for point in source_of(batch.source, batch.overrides).points()]
        points = [axes for axes in every if batch.wants(axes)]
        number = min(SAMPLES, len(points))
        places = frozenset(place_of(points[(2 * each + 1) * len(points) // (2 * number)]) for each in range(number))
        new, _ = lacking_of(replace(batch, places=places), 1, manner)
        before = _processor_s()
        runs = simulate(batch, (1,), lambda axes: place_of(axes) in places)
        sent = [_packets(run) for run in runs if isinstance(run, Record)]
        if len(new) == len(places):  # A run that is kept says nothing about the machine.
            self._packets += sum(sent)
            self._seconds += _processor_s() - before
        return fmean(sent)

    def pace(self) -> float:
        """Return how many packets a processor simulates in a second, here or when samples were last run."""
        file = cache_folder() / "packets-per-second"
        with suppress(OSError, ValueError):
            if not self._seconds:
                return max(float(file.read_text(encoding="utf-8")), 1.0)
            file.write_text(f"{self._packets / self._seconds:.0f}\n", encoding="utf-8")
        return self._packets / self._seconds if self._seconds else PACKETS_PER_S


def _packets(record: Record) -> float:
    return sum(flow["sent_packets"] for flow in record.run["flows"])


def _processor_s() -> float:
    """Return the processor time of this process and of its children that have ended, s."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


# ---------------------------------------------------------------- On a kernel


def of_plan(paper: Paper, plan: Plan, on: str, jobs: int | None) -> str:
    """Say how many runs a kernel does of a paper, and how long that takes if none is cached."""
    needed = plan.needed(plan.of(paper))
    points = [point for selection in needed for point in selection.points(paper)]
    if on == "kernel":
        seconds = sum(selection.real_seconds(paper, jobs) for selection in needed)
        how = f"on the kernel, in real time: {clock(seconds)} if all are new"
    else:
        how = costs.in_guests(points)
    return f"{len(points)} runs {how}"
