"""A user's own line: measured, fitted, and the cures for it ranked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unbloat.api.results import Results
from unbloat.line.answer import Answer, answer
from unbloat.line.client import BUDGET, SECONDS, Now, budget_of, measure, seconds_of
from unbloat.line.measurement import PHASES, SAMPLES, Measurement, read_measurement
from unbloat.line.results import results_of
from unbloat.system.files import write_text

if TYPE_CHECKING:
    from unbloat.line.choose import Choice
    from unbloat.line.fitted import Fit
    from unbloat.line.summary import Summary

FITTED = "line.toml"
"""The fitted line in the folder of a measurement."""


class Line:
    """A measured line; `choose` ranks cures for it.

    Attributes
    ----------
    measurement : Measurement
        All samples, as data frames: `probes`, `transfers`, `requests`, `hops`, `host`, `phases`.
    summary : Summary
        Rates, delays, losses, responsiveness and how a call would sound, for each direction under load.

    Examples
    --------
    >>> import unbloat as ub
    >>> mine = ub.Line.read("my-line")                     # or ub.line("far.example")
    >>> mine.results.flows[["phase", "name", "goodput_mbps", "rtt_ms_p50"]]
    >>> mine.fit.line, mine.fit.ranges
    >>> mine.save("again")

    """

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement
        self.summary: Summary = answer(measurement).summary
        self._fit: Fit | None = None

    @classmethod
    def read(cls, path: str | Path) -> Line:
        """Read the samples that `save`, or `unbloat line -o`, wrote.

        Raises
        ------
        InputError
            The folder or file cannot be read, or has no measurement.

        """
        path = Path(path)
        return cls(read_measurement(path / SAMPLES if path.is_dir() else path))

    @classmethod
    def of_capture(cls, path: str | Path) -> Line:
        """Read what a packet capture of this computer shows: rates, round-trip times and retransmissions.

        Raises
        ------
        InputError
            The file is not a capture, or none of its connections carried enough.

        """
        from unbloat.line.capture import measurement_of_capture

        return cls(measurement_of_capture(Path(path)))

    def __repr__(self) -> str:
        about = self.measurement.about
        return f"<unbloat.Line to {about.server!r}: {', '.join(self.measurement.phases['phase'])}>"

    @property
    def results(self) -> Results:
        """The measurement as results like any other: a run for each phase."""
        return Results.of(results_of(self.measurement))

    @property
    def fit(self) -> Fit:
        """The line that explains the measurement best, with ranges, and whether it does explain it."""
        from unbloat.line.fit import fit

        self._fit = self._fit or fit(self.measurement)
        return self._fit

    @property
    def scenario(self) -> str:
        """The fitted line as the text of a scenario file."""
        from unbloat.line.fitted import write_scenario

        return write_scenario(self.fit)

    def choose(self, apps: str = "call,page", progress: Callable[[float, str], None] | None = None) -> Choice:
        """Rank the cures that this computer can load, by simulations of the fitted line.

        Parameters
        ----------
        apps : str
            Applications to help: call, page, game, backup.
        progress : callable, optional
            Gets the share of the work that is done, and words about it.

        Raises
        ------
        InputError
            An application is unknown.

        """
        from unbloat.line.answer import choice_for

        with TemporaryDirectory() as folder:
            path = Path(folder) / FITTED
            write_text(path, self.scenario)
            return choice_for(path, self.fit, self.measurement, apps, progress)

    def save(self, folder: str | Path) -> None:
        """Write results and samples to a folder, which `read` and `unbloat.read` read."""
        folder = Path(folder)
        self.results.save(folder)
        self.measurement.save(folder / SAMPLES)

    def judged(
        self,
        path: Path | None,
        apps: str = "",
        progress: Callable[[float, str], None] | None = None,
        known: Callable[[Answer], object] = lambda _: None,
    ) -> Answer:
        """Return all that is known: with a path a fitted line, which is written there, and with `apps` cures.

        Each step hands what is known after it to `known`, for the case of an interrupt.
        """
        if path is None:
            return answer(self.measurement)
        to = path

        def write(text: str) -> Path:
            write_text(to, text)
            return to

        return answer(self.measurement, write_fit=write, wanted=apps, progress=progress, known=known)


def line(
    server: str,
    *,
    budget: str | int = BUDGET,
    duration: str | float = SECONDS,
    phases: tuple[Any, ...] = PHASES,
    far_cc: str | None = None,
    observe: Callable[[Now], object] = lambda _: None,
) -> Line:
    """Measure your own line against a far end.

    Parameters
    ----------
    server : str
        A computer that runs `unbloat serve`, or a server that speaks draft-ietf-ippm-responsiveness: `HOST` or
        `HOST:PORT`.
    budget : str or int
        Bytes to use at most, both directions together, such as `"20mb"`.
    duration : str or float
        Time to take at most, such as `"30s"`; a number is in seconds.
    phases : tuple of str
        Loads to measure: idle, down, up, both.
    far_cc : str, optional
        The congestion control of downloads that the far end is asked for, among those that its operator allows
        (`unbloat serve --cc`).
    observe : callable
        Receives the state of the measurement several times a second.

    Returns
    -------
    Line
        What was measured; Ctrl-C ends the measurement and keeps it.

    Raises
    ------
    InputError
        A parameter is wrong.
    RunError
        The server cannot be reached, does not serve measurements, or does not offer that congestion control.

    """
    allowed, seconds = budget_of(str(budget), "budget"), seconds_of(str(duration), "duration")
    return Line(measure(server, budget=allowed, seconds=seconds, phases=phases, far_cc=far_cc, observe=observe))
