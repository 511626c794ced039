"""A paper with all its repeats: how long that takes, told before it begins."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing

from unbloat.paper_runs import Batch, batches_of
from unbloat.progress import Waiting
from unbloat.published import Paper, PaperError
from unbloat.runner import run
from unbloat.source import source_of

SAMPLES = 2
"""Cells of each scenario that are timed."""


def with_all_repeats(paper: Paper) -> Paper:
    """Give the paper with as many repeats as it had itself; raises `PaperError` if it never has more."""
    if paper.full <= paper.seeds:
        raise PaperError(f"{paper.name} has no more repeats than it always makes, {paper.seeds}: leave --full out")
    return dataclasses.replace(paper, seeds=paper.full)


def forecast(papers: Sequence[Paper], jobs: int | None) -> str:
    """Time some cells of each scenario in each reading, and say how long all of them take if every one is repeated."""
    repeats = papers[0].seeds
    processes = jobs or len(os.sched_getaffinity(0))
    count, seconds = 0, 0.0
    with closing(Waiting()) as say:
        for batch in (batch for paper in papers for batch in batches_of(paper)):
            say("timing some runs of every scenario")
            cells = [dict(cell.axes) for cell in source_of(batch.file, batch.overrides).cells()]
            count += len(cells)
            seconds += len(cells) * _time(batch, _spread(cells))
    minutes = repeats * seconds / processes / 60
    words = f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.1f} hours"
    return f"{count} cells, {repeats} times each where they draw anything, {processes} at a time: {words} at most"


def _spread(axes: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Pick cells from all over a grid."""
    count = min(SAMPLES, len(axes))
    return [axes[(2 * number + 1) * len(axes) // (2 * count)] for number in range(count)]


def _time(batch: Batch, cells: Sequence[Mapping[str, str]]) -> float:
    """Give the mean wall time of a run, in seconds, over these cells."""
    start = time.monotonic()
    run(batch.file, batch.overrides, only=lambda axes: dict(axes) in cells, cache=False, progress=False, jobs=1)
    return (time.monotonic() - start) / len(cells)
