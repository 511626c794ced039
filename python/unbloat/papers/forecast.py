"""How long a paper's runs take, told before they begin."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from statistics import fmean
from typing import Any

from unbloat._core import Cell
from unbloat.papers.batches import Batch, Simulate, batches_of, place_of, without_repeat
from unbloat.papers.kernel import Plan
from unbloat.papers.paper import Paper
from unbloat.papers.quantities import MeasuredRun
from unbloat.runs.experiment import Experiment, Manner
from unbloat.runs.progress import Waiting, clock, count
from unbloat.scenario.source import source_of
from unbloat.system import processors

# ---------------------------------------------------------------- Simulated: guessed from what the links can carry

PACKETS_PER_S = 3e6
"""What one core simulates, with a margin for slower machines and other work (docs/speed.md has 5 to 11 million)."""
RUN_S = 0.1
"""What a run takes besides: its process, its congestion controls, its records."""


def counted(batches: Iterable[tuple[Batch, int]], jobs: int | None, cache: bool | None = None) -> str:
    """Say how many runs there are and how long those take at most that are not kept; each batch has its repeats."""
    runs, new = 0, list[Cell]()
    manner = Manner("simulator", None, cache, False, jobs)
    for batch, seeds in batches:
        source = source_of(batch.file, batch.repeated(range(1, seeds + 1)))
        experiment = Experiment(source, manner, lambda axes, batch=batch: batch.wants(without_repeat(axes)))
        new += experiment.lacking(batch.series or False)
        runs += len(experiment.runs)
    seconds = (sum(map(most_packets, new)) / PACKETS_PER_S + len(new) * RUN_S) / manner.processes()
    packets = count(sum(map(most_packets, new)))
    if not new:
        return f"all {runs} runs are kept"
    if len(new) < runs:
        return f"{len(new)} of {runs} runs are new, with {packets} packets at most: {clock(seconds)}"
    return f"{runs} runs of {packets} packets at most: {clock(seconds)}"


def most_packets(cell: Cell) -> float:
    """Return how many data packets the slowest link can carry in a run; 0 if all links replay traces."""
    return (cell.slowest_rate_bps or 0) * cell.duration_s / (8 * cell.smallest_packet_bytes)


# ---------------------------------------------------------------- Simulated with all repeats: from some of the runs

SAMPLES = 2
"""Cells of each scenario that are run first."""


def sampled(papers: Sequence[Paper], simulate: Simulate, jobs: int | None) -> str:
    """Run some cells of each scenario once, and say how long all of them take at least and at most.

    Nothing is run for the forecast alone: these are first repeats, and are kept like the others.
    """
    repeats, processes = papers[0].repeats, jobs or processors.count()
    count, packets = 0, 0.0
    before, made = _processor_s(), 0.0
    with closing(Waiting()) as say:
        for batch in (batch for paper in papers for batch in batches_of(paper)):
            say("running some cells of every scenario once")
            every = [dict(cell.axes) for cell in source_of(batch.file, batch.overrides).cells()]
            cells = [axes for axes in every if batch.wants(axes)]
            sent = [_packets(run.record) for run in _run_some(batch, cells, simulate)]
            count += len(cells)
            packets += len(cells) * fmean(sent)
            made += sum(sent)
    used = _processor_s() - before
    # Where the runs come from those that are kept, they say nothing about the machine.
    pace = made / used if used and made / used < FASTEST else PACKETS_PER_S
    few = repeats.few or repeats.most
    times = f"{few} to {repeats.most} times each where they draw anything"
    hours = [packets * often / pace / 3600 for often in (few, repeats.most)]
    walls = [clock(3600 * each / processes) for each in hours]
    return (
        f"{count} cells, {times}: {hours[0]:.1f} to {hours[1]:.1f} processor hours, "
        f"{walls[0]} to {walls[1]} on {processes} idle processors"
    )


FASTEST = 20e6
"""No core simulates so many packets in a second."""


def _run_some(batch: Batch, cells: Sequence[Mapping[str, str]], simulate: Simulate) -> Sequence[MeasuredRun]:
    """Run cells from all over a grid."""
    number = min(SAMPLES, len(cells))
    places = {place_of(cells[(2 * each + 1) * len(cells) // (2 * number)]) for each in range(number)}
    return simulate(batch, (1,), lambda axes: place_of(axes) in places)


def _packets(record: Mapping[str, Any]) -> float:
    return float(sum(flow["sent_packets"] for flow in record["flows"]))


def _processor_s() -> float:
    """Return the processor time of this process and of its children that have ended, s."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usage)


# ---------------------------------------------------------------- On a kernel

MEASURED = ((0.0, 0.0), (2e6, 0.16), (20e6, 1.34), (100e6, 3.86))
"""Rates in bit/s, and processor seconds for a second of the guest: `benches/guest-speed` on the development machine.
Beyond the last the guest's processor is always busy, and that does not cost more."""


def guest_processor_s(cell: Cell) -> float:
    """Guess how long a processor takes for a cell; where its link follows a recording, as for a slow one."""
    return cell.duration_s * per_guest_second(cell.slowest_rate_bps or MEASURED[1][0])


def per_guest_second(rate: float) -> float:
    """Guess the processor time of a guest's second at a rate in bit/s."""
    for (slower, less), (faster, more) in pairwise(MEASURED):
        if rate <= faster:
            return less + (more - less) * (rate - slower) / (faster - slower)
    return MEASURED[-1][1]


def of_plan(paper: Paper, plan: Plan, on: str, jobs: int | None) -> str:
    """Say how many runs a kernel does of a paper, and how long that takes if none is kept."""
    needed = plan.needed(plan.of(paper))
    cells = [cell for selection in needed for cell in selection.cells(paper)]
    if on == "kernel":
        seconds = sum(selection.real_seconds(paper, jobs) for selection in needed)
        how = f"on the kernel, in real time: {clock(seconds)} if all are new"
    else:
        guest_s, processor_s = (sum(map(each, cells)) for each in (lambda cell: cell.duration_s, guest_processor_s))
        how = f"in guests, {clock(guest_s)} of their time: some {clock(processor_s)} of a processor's if all are new"
    return f"{len(cells)} runs {how}"
