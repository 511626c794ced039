"""A progress line, shown to whoever waits longer than two seconds."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from unbloat import _core
from unbloat.report.live import Display, View
from unbloat.scenarios.controls import own_names
from unbloat.system.core_types import Step
from unbloat.system.legible import clock, in_words

if TYPE_CHECKING:
    import rich.progress

    from unbloat.guest.guest import Guest


log = logging.getLogger(__name__)

PATIENCE_S = 2.0
BETWEEN_S = 0.1
WIDEST, NARROWEST = 24, 8
"""Characters of the bar; it makes room for the words beside it."""
WIPE = "\r\x1b[K"


class Progress:
    """Counts the seconds of all runs and draws them on a terminal's stderr or in a notebook."""

    def __init__(self, durations_s: Sequence[float], shown: bool | None = None, *, on: str = "simulator") -> None:
        """Expect runs of these lengths on a backend; `shown` overrides the question whether stderr is a terminal."""
        self._on = on
        self._durations = list(durations_s)
        self._shares = [0.0] * len(self._durations)
        self._is_notebook = is_notebook()
        self._shown = (sys.stderr.isatty() or self._is_notebook) if shown is None else shown
        self._start = time.monotonic()
        self._next = self._start + PATIENCE_S
        self._bar: Bar | Line | None = None

    def update(self, run: int, share: float) -> None:
        """Note that a run is this far; 1 is finished."""
        self._shares[run] = share
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + BETWEEN_S
            self._bar = self._bar or (Line() if self._is_notebook else Bar())
            self._bar.draw(self.share, self.words(now - self._start))

    @property
    def share(self) -> float:
        """The share of all work that is done."""
        return self._done_s() / max(self._total_s(), 1e-9)

    def _total_s(self) -> float:
        return sum(self._durations)

    def _runs(self) -> int:
        return len(self._durations)

    def _done_s(self) -> float:
        return sum(share * duration for share, duration in zip(self._shares, self._durations, strict=True))

    def words(self, elapsed_s: float) -> str:
        """Format the share done, the finished runs, the pace, the time left."""
        share = self.share
        finished = sum(share == 1 for share in self._shares)
        runs = f"{finished}/{self._runs()} runs, " if self._runs() > 1 else ""
        left = elapsed_s * (1 - share) / share if share else float("inf")
        pace = self._pace(self._done_s(), self._total_s(), elapsed_s)
        return f"{share:4.0%}  {runs}{pace}{clock(left)} left"

    def _pace(self, done_s: float, total_s: float, elapsed_s: float) -> str:
        """Format the pace: simulated against real time; real runs have none worth showing."""
        pace = done_s / max(elapsed_s, 1e-9)
        match self._on:
            case "simulator":
                return f"{in_words(pace)} simulated s/s, "
            case "vm":
                return f"guest {done_s:.1f} s of {total_s:.1f} s, {in_words(pace)} guest s/s, "
            case _:
                return ""

    def close(self) -> None:
        """Wipe the line."""
        if self._bar:
            self._bar.close()
            self._bar = None


class StagedProgress(Progress):
    """One line for runs that come in stages, of which each is known only when it begins."""

    def __init__(self, shown: bool | None = None, *, on: str = "simulator") -> None:
        """Expect nothing yet."""
        super().__init__([], shown, on=on)
        self._expected: Sequence[float] = []

    def expect(self, durations_s: Sequence[float]) -> None:
        """Expect runs of these lengths besides those that have begun."""
        self._expected = [*self._durations, *durations_s]

    def skip(self, durations_s: Sequence[float]) -> None:
        """Expect these runs no more, because the store has them."""
        left = list(self._expected)
        for duration_s in durations_s:
            if duration_s in left:
                left.remove(duration_s)
        self._expected = left

    def stage(self, durations_s: Sequence[float]) -> Stage:
        """Begin a stage with runs of these lengths."""
        first = len(self._durations)
        self._durations += durations_s
        self._shares += [0.0] * len(durations_s)
        return Stage(self, first)

    def _total_s(self) -> float:
        return max(sum(self._expected), sum(self._durations))

    def _runs(self) -> int:
        return max(len(self._expected), len(self._durations))


class Stage:
    """The runs of one stage, counted from 0."""

    def __init__(self, whole: StagedProgress, first: int) -> None:
        """Count from the `first` run of the whole."""
        self._whole = whole
        self._first = first

    def update(self, run: int, share: float) -> None:
        """Note that a run is this far; 1 is finished."""
        self._whole.update(self._first + run, share)

    def finish(self, run: int, _packets: int) -> None:
        """Note that a run has ended."""
        self.update(run, 1)

    def close(self) -> None:
        """Wipe the line; the next stage draws it again."""
        self._whole.close()


class Bar:
    """A line of a terminal with a bar and words beside it, drawn again and again in the same place."""

    def __init__(self) -> None:
        """Start without drawing."""
        from rich.console import Console  # Takes longer to load than most runs last.
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self._column = BarColumn()
        words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="crop"))
        console = Console(stderr=True)
        self._lines: rich.progress.Progress = Progress(
            self._column,
            words,
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._width = console.width
        self._task = self._lines.add_task("", total=1.0)
        self._lines.start()

    def draw(self, share: float, words: str) -> None:
        """Draw it anew."""
        self._column.bar_width = max(NARROWEST, min(WIDEST, self._width - len(words) - 2))
        self._lines.update(self._task, completed=share, description=words, refresh=True)

    def close(self) -> None:
        """Wipe it."""
        self._lines.stop()


class Line:
    """A line of words in a notebook, whose standard error understands no control code but a return."""

    def __init__(self) -> None:
        """Start without drawing."""
        self._width = 0

    def draw(self, _share: float, words: str) -> None:
        """Write it anew over the one before."""
        print(f"\r{words:{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = max(self._width, len(words))

    def close(self) -> None:
        """Wipe it."""
        print(f"\r{'':{self._width}}\r", end="", file=sys.stderr, flush=True)


class SweepProgress(Progress):
    """Shows how many runs and packets there are a second, because a sweep's runs differ in length."""

    def __init__(self, durations_s: Sequence[float], shown: bool | None = None, *, on: str = "simulator") -> None:
        """Expect runs of these lengths."""
        super().__init__(durations_s, shown, on=on)
        self.finished = 0
        self._packets = 0

    def finish(self, run: int, packets: int) -> None:
        """Count a run that has ended, with its data packets; a failed run has none."""
        self.finished += 1
        self._packets += packets
        self.update(run, 1)

    def rate(self, elapsed_s: float | None = None) -> str:
        """Format the speed, up to now if no time is given."""
        elapsed_s = max(time.monotonic() - self._start if elapsed_s is None else elapsed_s, 1e-9)
        packets = f", {in_words(self._packets / elapsed_s)} packets/s" if self._packets else ""
        return f"{in_words(self.finished / elapsed_s)} runs/s{packets}"

    def elapsed(self) -> str:
        """Format the time taken up to now."""
        return clock(time.monotonic() - self._start)

    def _pace(self, done_s: float, total_s: float, elapsed_s: float) -> str:
        return f"{self.rate(elapsed_s)}, "


class Waiting:
    """Shows what has to be waited for before runs begin: on a terminal with the time so far, otherwise in the log."""

    def __init__(self, shown: bool | None = None) -> None:
        """Start; `shown` overrides the question whether stderr is a terminal."""
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._what = self._line = ""
        self._since = 0.0

    def __call__(self, what: str) -> None:
        """Name the present stage. Callers repeat the call while it lasts."""
        now = time.monotonic()
        if what != self._what:
            self.close()
            self._what, self._since = what, now
            if not self._shown:
                log.info(what)
        line = f"unbloat: {what}: {clock(now - self._since)}"
        if self._shown and line != self._line:
            self._line = line
            print(f"{WIPE}{line}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave what was said."""
        if self._what and self._shown:
            print(file=sys.stderr, flush=True)
        self._what = ""


def prepared(kernel: str | None) -> Guest:
    """Return a guest with a kernel, and say meanwhile what has to be waited for."""
    from unbloat.guest import guest

    with closing(Waiting()) as say:
        return guest.prepare(kernel, say)


# ---------------------------------------------------------------- Notebooks


def is_notebook() -> bool:
    """Return whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")


WATCHED_S = 30.0
"""A simulation that is longer than this is shown faster than in real time: in as long as this."""


def pace_of(point: _core.GridPoint, on: str) -> float:
    """Return how many seconds of a run may pass in one of real time."""
    return max(1.0, point.duration_s / WATCHED_S) if on == "simulator" else 1.0


class Watching:
    """Shows one run after the other on stderr, as `Progress` tells how far they are."""

    def __init__(self, points: Sequence[_core.GridPoint], on: str) -> None:
        """Expect the runs of these grid points, one at a time."""
        self._points = points
        self._on = on
        self._run: int | None = None
        self._display: Display[Step] | None = None

    def step(self, run: int, step: Step) -> None:
        """Show what a run has come to."""
        if run != self._run:
            self.close()
            self._run, self._display = run, self._show(run)
        if self._display:
            self._display.show(step)

    def _show(self, run: int) -> Display[Step]:
        point = self._points[run]
        where = "simulated" if self._on == "simulator" else "real time, this kernel's TCP"
        number = f"run {run + 1} of {len(self._points)}" if len(self._points) > 1 else ""
        axes = " ".join(f"{axis}={label}" for axis, label in point.axes)
        title = " · ".join(filter(None, (point.name, number, axes, where)))
        view = View(title, flow_names(point), point.duration_s, pace_of(point, self._on))
        return Display(sys.stderr, view, tells_pace=self._on == "simulator")

    def update(self, run: int, share: float) -> None:
        """Note that a run is this far; 1 is finished."""
        if share == 1 and run == self._run:
            self.close()

    def close(self) -> None:
        """Leave the last picture on the screen."""
        if self._display:
            self._display.close()
            self._display = None


def flow_names(point: _core.GridPoint) -> list[str]:
    """Name the flows of a grid point as pictures do: by group or congestion control, by number if several share it."""
    groups = zip(point.group_names, own_names(point), point.controls, strict=True)
    names = [name or own or written for name, own, (_, written) in groups]
    flows = [name for name, count in zip(names, point.groups, strict=True) for _ in range(count)]
    counts = Counter(flows)
    return [f"{name} #{number}" if counts[name] > 1 else name for number, name in enumerate(flows)]
