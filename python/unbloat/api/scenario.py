"""Scenarios: made from a file, a text or a few numbers, looked at, checked, run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat._core import GridPoint, InputError
from unbloat.api.results import Results
from unbloat.results.axes import Only
from unbloat.runs.experiment import Experiment, Manner, check, execute
from unbloat.scenarios.checks import On, backend_named, whole
from unbloat.scenarios.chosen import Control, Time, chosen_source, several
from unbloat.scenarios.controls import axes_of, refuse_the_kernels_own
from unbloat.scenarios.source import Source
from unbloat.system.legible import count_of
from unbloat.system.paths import ALGORITHMS
from unbloat.system.renamed import accepting_old_names

if TYPE_CHECKING:
    import pandas as pd

    from unbloat.claims.expectations import Expectation

MOST_REPEATS = 100_000
"""The largest `repeat` accepted: a larger number is probably a typing error."""
DURATION, BUFFER, CONTROL = "30s", "1bdp", "cubic"
"""Defaults of a scenario that is made from a few numbers."""


@dataclass(frozen=True, repr=False)
class Scenario:
    """A scenario with the keys that are set anew; `ub.scenario` makes one.

    Examples
    --------
    >>> s = ub.scenario("home-dsl", {"link.bottleneck.rate": "2mbit"})
    >>> s.run(cc=["cubic", "vegas"]).flows[["cc", "goodput_mbps", "rtt_ms_mean"]]

    """

    _source: Source

    @property
    def text(self) -> str:
        """The scenario as its file has it, without what is set anew."""
        return self._source.content

    @property
    def name(self) -> str:
        """The scenario's `name` key."""
        return self._points[0].name

    @property
    def axes(self) -> dict[str, list[str]]:
        """The axes of its grid, each with its labels; empty without a sweep."""
        labels: dict[str, dict[str, None]] = {}
        for point in axes_of(self._points):
            for axis, label in point.items():
                labels.setdefault(axis, {})[label] = None
        return {axis: list(found) for axis, found in labels.items()}

    @cached_property
    def _points(self) -> list[GridPoint]:
        return self._source.points()

    def keys(self, section: str | None = None) -> pd.DataFrame:
        """List the keys that a scenario may set, as `unbloat keys` does.

        Parameters
        ----------
        section : str, optional
            Only these: a section such as "queue", or a key such as "link.bottleneck.rate".

        Returns
        -------
        pandas.DataFrame
            One row per key: `section`, `key`, `takes` (the kind of its values and their range), `without` (its default,
            or what holds without it), `meaning`.

        Raises
        ------
        InputError
            If there is no such section and no such key.

        Examples
        --------
        >>> ub.scenario("home-dsl").keys("queue")

        """
        from unbloat.scenarios.keys import table

        return table(section)

    def set(self, keys: Mapping[str, object]) -> Scenario:
        """Return the scenario with keys set anew, as `--set` does.

        Parameters
        ----------
        keys : dict
            Such as `{"link.bottleneck.rate": "10mbit"}`. A key `sweep.KEY` with a list adds an axis.

        Returns
        -------
        Scenario

        Examples
        --------
        >>> ub.scenario("home-dsl").set({"sweep.link.bottleneck.loss": ["0%", "1%"]}).axes
        {'link.bottleneck.loss': ['0%', '1%']}

        """
        return Scenario(chosen_source(self._source, keys))

    def check(self, *, on: On = "simulator") -> list[str]:
        """Check every grid point of the scenario without running it, as `unbloat check` does.

        Parameters
        ----------
        on : {"simulator", "sim", "kernel", "vm"}
            Where it is to run.

        Returns
        -------
        list of str
            Settings that are allowed but probably not meant, a sentence each.

        Raises
        ------
        InputError
            If the scenario is wrong, or asks for something that `on` does not have. Every mistake of the scenario is in
            it, with line and key.

        Examples
        --------
        >>> ub.scenario("home-dsl").check(on="vm")
        []

        """
        backend = backend_named(on)
        with self._source.placing_errors():
            for point in self._points:
                check(point, backend)
                if backend == "simulator":
                    refuse_the_kernels_own(point)
                else:
                    point.objects(ALGORITHMS)
            expectations_in(self._source)
        return list(dict.fromkeys(doubt for point in self._points for doubt in point.doubts))

    @accepting_old_names
    def run(
        self,
        set: Mapping[str, object] | None = None,
        *,
        cc: Control | Sequence[Control] | None = None,
        window_controller: Control | Sequence[Control] | None = None,
        rtt: Time | Sequence[Time] | None = None,
        duration: Time | None = None,
        include: str | Path | Sequence[str | Path] | None = None,
        define: str | Sequence[str] | None = None,
        seed: int | None = None,
        repeat: int | None = None,
        only: Only | None = None,
        on: On = "simulator",
        kernel: str | None = None,
        jobs: int | None = None,
        cache: bool | None = None,
        dask: str | None = None,
        live: bool = False,
        progress: bool | None = None,
        series: bool | str = False,
        pcap: str | Path | None = None,
        pcap_links: bool = False,
    ) -> Results:
        """Run every grid point of the scenario, once or several times.

        With `repeat`, the seed of each repeat is a hash of its grid point's settings. A run therefore does not depend
        on the rest of the grid. The hash leaves out congestion controls, so that all of them meet the same random
        losses.

        Parameters
        ----------
        set : dict, optional
            Keys to set: `{"link.bottleneck.rate": "10mbit", "flows.*.cc": "vegas"}`. A key `sweep.KEY` with a list
            adds an axis.
        cc : str or path or sequence of these, optional
            Congestion control of every flow: a name from `unbloat list`, or a `.bpf.c` file. Several, in a list or
            separated by commas, make an axis.
        window_controller : str or path or sequence of these, optional
            Window controller of every flow, named like `cc`.
        rtt : str or float or sequence of these, optional
            Round-trip time of the empty path, such as "40ms" or 0.04; several make an axis.
        duration : str or float, optional
            Duration of each run, such as "30s" or 30.
        include, define : str or sequence of str, optional
            Folders of headers and macros for your own `.bpf.c` files, like a compiler's -I and -D.
        seed : int, optional
            Seed of the run's random draws. With `repeat`, another value gives a second, independent sample.
        repeat : int, optional
            Runs of each grid point, each with another seed. Default: one run with the scenario's own seed.
        only : dict or callable, optional
            Labels by axes, such as `{"cc": "cubic", "rate": ["1mbit", "2mbit"]}`, or a function that gets the axes of a
            grid point and returns whether to run it.
        on : {"simulator", "sim", "kernel", "vm"}
            "simulator", or "sim" for short. "kernel": the TCP of the running kernel over emulated links, in real time,
            as root. "vm": the TCP of a stock kernel in a guest, in virtual time.
        kernel : str, optional
            The guest's kernel: a release or its beginning ("6.1"), or the path of an image. Default: Linux 6.12,
            which the simulator models, if the distribution has it.
        jobs : int, optional
            Largest number of processes. Default: one for each core; one on the kernel, where runs disturb each other.
        cache : bool, optional
            True: also reuse finished runs on the kernel, if code and kernel release are the same. False: reuse no run
            and store none. Default: reuse runs of the simulator, of guests, and of an interrupted grid on the kernel.
        dask : str, optional
            Address of the scheduler of a Dask cluster for the repeats. "local" starts one with `jobs` processes on
            this machine.
        live : bool
            Show queues, windows and goodputs on stderr, one run at a time. Simulations run in real time, or faster if
            they are longer than 30 seconds. Finished runs run again.
        progress : bool, optional
            Show a progress bar. Default: on a terminal and in a notebook.
        series : bool or str
            Record time series with a step such as "10ms". True: a step of about a thousandth of the run.
        pcap : path, optional
            Write the packets at the senders to this file. Several runs write one file each.
        pcap_links : bool
            Also write the packets at the far ends of links.

        Returns
        -------
        Results
            The runs, in the order of the grid. With `repeat`, runs that failed are in `failures`, and `stats` has each
            metric of each grid point: mean, deviation and 95 % confidence interval.

        Raises
        ------
        InputError
            If the scenario or a congestion control is wrong; the sentence has file, line and key.
        RunError
            If a run fails. With `repeat`, only if the input is to blame for every single run.

        Warns
        -----
        IdenticalRepeats
            If the repeats of a grid point are all the same, because hardly anything in the scenario is random.

        Examples
        --------
        >>> r = ub.scenario("home-dsl").run(cc=["cubic", "vegas"])
        >>> r.flows[["cc", "goodput_mbps", "rtt_ms_mean"]]
        >>> r = ub.scenario("office-100m", {"link.bottleneck.loss": "0.1%"}).run(cc=["cubic", "bbr"], repeat=10)
        >>> r.compare(between="cc")

        """
        repeats = None if repeat is None else checked_repeats(repeat)
        manner = Manner(backend_named(on), kernel, cache, progress, jobs, live=live)
        refuse_contradictions(manner, repeats, dask, pcap, series)
        compiled = {"compile.include": include, "compile.define": define}
        keys = {key: list(map(str, several(values))) for key, values in compiled.items() if values is not None}
        chosen = chosen_source(self._source, {**(set or {}), **keys}, cc, seed, rtt, duration, window_controller)
        with chosen.placing_errors():
            expected = expectations_in(chosen)
            if expected and not dask:
                from unbloat.claims.expectations import need_series

                series = series or need_series(expected)
            if repeats is None:
                return Results.of(execute(chosen, manner, only, series, pcap, pcap_links), expected)
            from unbloat.runs.sweep import run_through

            found = run_through(Experiment(chosen, manner, only, repeats), dask, series)
            return Results.of(found, expected).warn()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle keeps: grid points are read again."""
        return {"_source": self._source}

    def __repr__(self) -> str:
        point = self._points[0]
        parts = [
            count_of(len(self._points), "grid point"),
            f"{point.duration_s:g} s",
            count_of(sum(point.groups), "flow"),
        ]
        return f"<unbloat.Scenario {self.name!r}: {', '.join(parts)}>"

    def __str__(self) -> str:
        return self.text


def expectations_in(source: Source) -> list[Expectation]:
    """List what a scenario expects; raises `InputError` for a statement that is wrong."""
    texts = [source.content, *(key for key, _ in source.overrides)]
    if not any("expect" in text for text in texts):
        return []  # Reading a scenario once more would take longer than many a run.
    points = source.points()
    if not any(point.expectations for point in points):
        return []
    from unbloat.claims.expectations import expectations_of  # NumPy takes a while to load.

    return expectations_of(points, axes_of(points))


def checked_repeats(repeat: object) -> int:
    """Return a number of repeats; raises `InputError` for anything else."""
    if not 1 <= (repeats := whole("repeat", repeat)) <= MOST_REPEATS:
        raise InputError(f"repeat {repeats}: a grid point is run at least once, and at most {MOST_REPEATS:,} times")
    return repeats


def refuse_contradictions(manner: Manner, repeats: int | None, dask: str | None, pcap: object, series: object) -> None:
    """Raise `InputError` for arguments of `run` that do not go together."""
    if dask and manner.on != "simulator":
        raise InputError(f"dask: a cluster runs simulations; runs with on = {manner.on} are for this machine alone")
    if dask and repeats is None:
        raise InputError("dask: a cluster does repeats; say how many with repeat, such as repeat = 10")
    if dask and series:
        raise InputError("series: runs on a cluster record none; leave dask or series out")
    if repeats is not None and manner.live:
        raise InputError("live: shows each grid point once; leave repeat out")
    if repeats is not None and pcap:
        raise InputError("pcap: holds the packets of each grid point's one run; leave repeat out")


@accepting_old_names
def scenario(
    source: str | Path | Mapping[str, Any] | None = None,
    set: Mapping[str, object] | None = None,
    *,
    rate: str | float | Sequence[str | float] | None = None,
    rtt: Time | Sequence[Time] | None = None,
    buffer: str | float | Sequence[str | float] | None = None,
    queue: str | Sequence[str] | None = None,
    cc: Control | Sequence[Control] | None = None,
    window_controller: Control | Sequence[Control] | None = None,
    duration: Time | None = None,
    seed: int | None = None,
) -> Scenario:
    """Read a scenario, or make the smallest one: one flow over one link.

    Parameters
    ----------
    source : path or str or dict, optional
        A scenario's file, the name of a shipped scenario, a scenario's text, or a dictionary as in the last example.
        Numbers have the units of the results' columns: seconds, bit/s, bytes, percent. Without `source`, `rate` and
        `rtt` make the scenario.
    set : dict, optional
        Keys to set: `{"link.bottleneck.rate": "10mbit", "flows.*.cc": "vegas"}`. A key `sweep.KEY` with a list
        adds an axis.
    rate, rtt : str or float, or sequence of these
        The link's rate, such as "20mbit", and the round-trip time of the empty path, such as "40ms".
    buffer : str or float, or sequence of these
        The limit of the queue, such as "2bdp", "100p" or "64kb"; by default "1bdp".
    queue : str or sequence of str
        The queue discipline, such as "fq_codel"; by default "droptail".
    cc, window_controller, duration, seed
        As in `Scenario.run`. Where `rate` and `rtt` make the scenario, the defaults are "cubic" and "30s".

    Returns
    -------
    Scenario

    Raises
    ------
    InputError
        If the scenario is wrong; the sentence has file, line and key.

    Examples
    --------
    >>> ub.scenario("home-dsl")
    <unbloat.Scenario 'home DSL': 1 grid point, 60 s, 2 flows>
    >>> ub.scenario(rate="20mbit", rtt="40ms", buffer="2bdp", cc="cubic")
    <unbloat.Scenario '20mbit, 40ms': 1 grid point, 30 s, 1 flow>
    >>> link = {"rate": "10mbit", "delay": "10ms", "queue": {"limit": "1bdp"}}
    >>> ub.scenario({"duration": 10, "link": {"bottleneck": link}, "flows": [{"cc": "cubic"}]}).run().flows

    """
    own = {"rate": rate, "buffer": buffer, "queue": queue}
    if source is None:
        made, axes = smallest(own, rtt)
        keys = {**axes, **(set or {})}
        chosen = chosen_source(made, keys, cc, seed, rtt, duration, window_controller)
    else:
        if given := [name for name, value in own.items() if value is not None]:
            key = {"rate": "rate", "buffer": "queue.limit", "queue": "queue.kind"}[given[0]]
            raise InputError(f"{given[0]}: makes a new scenario; in an existing one set link.NAME.{key}")
        chosen = chosen_source(source, set, cc, seed, rtt, duration, window_controller)
    found = Scenario(chosen)
    _ = found._points  # Mistakes are reported now, not at the first use.
    return found


def smallest(given: Mapping[str, Any], rtt: Any) -> tuple[dict[str, Any], dict[str, object]]:
    """Return a scenario of one flow over one link, and the axes of what has several values."""
    if missing := [name for name, value in (("rate", given["rate"]), ("rtt", rtt)) if value is None]:
        raise InputError(
            f"scenario: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: name a scenario, such "
            'as "home-dsl", or give rate and rtt, such as rate="20mbit", rtt="40ms"'
        )
    keys = {
        "rate": "link.bottleneck.rate",
        "buffer": "link.bottleneck.queue.limit",
        "queue": "link.bottleneck.queue.kind",
    }
    values = {name: several(value) if value is not None else [] for name, value in given.items()}
    first = {name: each[0] for name, each in values.items() if each}
    queue = {"kind": first.get("queue", "droptail"), "limit": first.get("buffer", BUFFER)}
    said = ", ".join(
        str(each[0]) if len(each) == 1 else f"{len(each)} {name}s"
        for name, each in (("rate", values["rate"]), ("rtt", several(rtt)))
    )
    made = {
        "name": said,
        "duration": DURATION,
        "link": {"bottleneck": {"rate": first["rate"], "delay": "10ms", "queue": queue}},
        "flows": [{"cc": CONTROL}],
    }
    return made, {f"sweep.{keys[name]}": each for name, each in values.items() if len(each) > 1}
