"""The quantities that claims and tables may name: the register's metrics, and what is derived from several columns."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from unbloat.claims import series
from unbloat.claims.expressions import ClaimError, Selectors
from unbloat.results.bottleneck import NO_LINKS, Bottlenecks
from unbloat.results.metrics import FLOW_METRICS, FOLDS, METRICS, Metric, number
from unbloat.results.record import Record
from unbloat.results.rows import Flow, Node
from unbloat.scenarios.checks import did_you_mean
from unbloat.system.legible import markdown_table
from unbloat.system.paths import ALGORITHMS


@dataclass(frozen=True)
class Derived:
    """A quantity that claims compute from records; the register has no such metric."""

    unit: str
    definition: str
    measure: Callable[..., float]
    """Called with the run, the flows chosen and `numbers` by their names."""
    numbers: tuple[str, ...]
    """Selectors that are numbers and choose no flows, such as `seconds`."""
    needed: tuple[str, ...]
    """Numbers without which there is nothing to measure."""
    most: float | None
    """No value is above this; none is below 0."""
    is_over_time: bool
    """It needs a series of the flows."""

    def take(self, record: Record, selectors: Selectors) -> float:
        """Measure it in a run."""
        flows = _flows(record, {key: value for key, value in selectors.items() if not self._takes(key)}, self.numbers)
        given = [name for name in self.numbers if name in self.needed or name in selectors]
        return float(self.measure(record, flows, **{name: _number(selectors, name) for name in given}))

    def _takes(self, selector: str) -> bool:
        """Return whether a selector is a number; those of other quantities count, as settings give them to all."""
        return bool(self.numbers) and any(selector in each.numbers for each in DERIVED.values())


DERIVED: dict[str, Derived] = {}
"""Quantities that are calculated from several columns, or from time series."""


def _derived(
    unit: str, definition: str, most: float | None = None, *, over_time: bool = False
) -> Callable[[Callable[..., float]], None]:
    """Enter a function as the quantity of its name; parameters after the run and the flows are numbers."""

    def enter(measure: Callable[..., float]) -> None:
        numbers = list(inspect.signature(measure).parameters.values())[2:]
        needed = tuple(each.name for each in numbers if each.default is each.empty)
        name = measure.__name__.removeprefix("_")
        DERIVED[name] = Derived(
            unit, definition, measure, tuple(each.name for each in numbers), needed, most, over_time
        )

    return enter


OF_FLOWS = ("name", "cc", "mesh", "node", "hops")
"""Columns of flows that selectors are compared with."""


def _flows(record: Record, selectors: Selectors, numbers: Sequence[str] = ()) -> list[Flow]:
    """Return the flows that `flow=` (from 1, as in papers), `name=`, `cc=`, `mesh=`, `node=` and `hops=` select."""
    flows = record.run["flows"]
    for key, value in selectors.items():
        if key == "flow":
            flows = [flow for flow in flows if flow["flow"] + 1 == value]
        elif key in OF_FLOWS:
            flows = [flow for flow in flows if flow.get(key) == value]
        else:
            raise ClaimError(f"unknown selector `{key}`; valid: {', '.join(['flow', *OF_FLOWS, *numbers])}")
    if not flows:
        raise ClaimError(f"no flow of the run has {_in_words(selectors)}")
    return flows


def _nodes(record: Record, selectors: Selectors) -> list[Node]:
    """Return the nodes of meshes that `mesh=`, `node=` and `hops=` select."""
    if unknown := selectors.keys() - {"mesh", "node", "hops"}:
        raise ClaimError(f"unknown selector `{unknown.pop()}`; valid: mesh, node, hops")
    every = record.run.get("nodes", [])
    nodes = [node for node in every if all(node.get(key) == value for key, value in selectors.items())]
    if not nodes:
        raise ClaimError(
            f"nodes of meshes: none matches {_in_words(selectors)}" if selectors else "this run has no mesh"
        )
    return nodes


def _in_words(selectors: Selectors) -> str:
    return ", ".join(f"{key}={value}" for key, value in selectors.items())


def _number(selectors: Selectors, key: str) -> float:
    value = selectors.get(key)
    if not isinstance(value, int | float):
        raise ClaimError(f"`{key}=` is missing, a number" if value is None else f"`{key}={value}` must be a number")
    return float(value)


def taken(
    quantity: Metric | Derived, record: Record, selectors: Selectors, bottlenecks: Bottlenecks = NO_LINKS
) -> float:
    """Take a quantity of a run: of the flows or nodes selected, of the bottleneck, or of the run; NaN if it has none.

    An unfinished flow takes longer than any other.
    """
    if isinstance(quantity, Derived):
        return quantity.take(record, selectors)
    if quantity.of == "node":
        return float(sum(number(node, quantity.name) or 0 for node in _nodes(record, selectors)))
    flows = _flows(record, selectors) if quantity.fold else []
    value = bottlenecks.take(record.run, quantity, flows)
    if value is None:
        return math.inf if quantity.fold and quantity.fold is FOLDS["last"] else math.nan
    return float(value)


# ---------------------------------------------------------------- Derived from the columns of flows and nodes


@_derived("Mbit/s", "Goodput in the mean over the flows.")
def _goodput_mean(_: Record, flows: Sequence[Flow]) -> float:
    value = FOLDS["mean"].of(flows, "goodput_mbps")
    return math.nan if value is None else value


@_derived("s", "Time until a flow's last byte is acknowledged, in the mean over the flows; infinite if one never ends.")
def _completion_mean(_: Record, flows: Sequence[Flow]) -> float:
    return fmean(math.inf if flow["completion_s"] is None else flow["completion_s"] for flow in flows)


@_derived("Mbit/s", "Payload of all flows, which start together, over the time until the last of them ends.")
def _system_throughput(record: Record, flows: Sequence[Flow]) -> float:
    times = [record.run["duration_s"] if flow["completion_s"] is None else flow["completion_s"] for flow in flows]
    return sum(flow["goodput_mbps"] * time for flow, time in zip(flows, times, strict=True)) / max(times)


@_derived("%", "Throughput over that of all flows; with `after` and `before` (s), of the goodputs in that time.", 100)
def _share(record: Record, flows: Sequence[Flow], after: float = 0, before: float = math.inf) -> float:
    def rate_of(flows: Sequence[Flow]) -> float | None:
        if (after, before) == (0, math.inf):
            return FOLDS["sum"].of(flows, "throughput_mbps")
        return _mean_rate(record, flows, after, before)

    part, whole = rate_of(flows), rate_of(record.run["flows"])
    return 100 * part / whole if part is not None and whole else math.nan


@_derived("", "Jain's index of the flows' mean round-trip times.", 1)
def _rtt_fairness(_: Record, flows: Sequence[Flow]) -> float:
    times = [flow["rtt_ms_mean"] for flow in flows]
    known = np.array([math.nan if each is None else each for each in times])
    squares = float(np.sum(known**2))
    return float(np.sum(known)) ** 2 / (len(known) * squares) if squares else 1.0


@_derived(
    "uJ/B",
    "What the radios of a mesh used for each byte delivered, listening included, without that of the border router, "
    "which has mains.",
)
def _energy_per_byte(record: Record, flows: Sequence[Flow]) -> float:
    energy = 1e3 * sum(node["energy_mj"] for node in _nodes(record, {}) if node["parent"] is not None)
    delivered = sum(flow["goodput_mbps"] for flow in flows) * 1e6 / 8 * _seconds(record)
    return energy / delivered if delivered else math.inf


def _seconds(record: Record) -> float:
    return record.run["duration_s"] - record.run.get("warmup_s", 0)


@_derived("segments/s", "What a flow of a mesh sends for the first time, in the mean over the flows.")
def _sent_rate(record: Record, flows: Sequence[Flow]) -> float:
    return fmean(_new_segments(record, flow) for flow in flows)


@_derived(
    "segments/s",
    "What it would send by the square-root law, sqrt(3/2p) segments in a wait and a round trip, in the mean over the "
    "flows that have lost something; p are losses found over segments sent.",
)
def _law_rate(record: Record, flows: Sequence[Flow]) -> float:
    laws = [law for law, _ in _of_those_with_losses(record, flows)]
    return fmean(laws) if laws else math.nan


@_derived("%", "How far `law_rate` is from `sent_rate`, in the mean over the flows that have lost something.")
def _model_error(record: Record, flows: Sequence[Flow]) -> float:
    both = _of_those_with_losses(record, flows)
    return fmean(100 * abs(law / sent - 1) if sent else math.inf for law, sent in both) if both else math.nan


def _new_segments(record: Record, flow: Flow) -> float:
    """Return what a flow sends for the first time, segments a second."""
    return (flow["sent_packets"] - flow["retransmitted_packets"]) / _seconds(record)


def _of_those_with_losses(record: Record, flows: Sequence[Flow]) -> list[tuple[float, float]]:
    """Return what the law says and what was sent, for each of the flows that have lost something."""
    both = [(_by_the_law(flow), _new_segments(record, flow)) for flow in flows]
    return [(law, sent) for law, sent in both if law is not None]


def _by_the_law(flow: Flow) -> float | None:
    """Return what a flow would send by the square-root law, segments a second; None if it has lost nothing.

    It sends sqrt(3/2p) segments in the time of its wait and of a round trip, p being the losses found for each segment
    sent.
    """
    losses, rtt = flow.get("loss_events"), flow["rtt_ms_mean"]
    if not losses or not rtt:
        return None
    turn_s = ((flow.get("wait_ms_mean") or 0) + rtt) / 1e3
    return math.sqrt(1.5 * flow["sent_packets"] / losses) / turn_s


@_derived("lines", "Lines of the control's own file, without empty lines and comments.")
def _code_lines(_: Record, flows: Sequence[Flow]) -> float:
    return lines_of(flows[0]["cc"])


_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def lines_of(control: str) -> int:
    """Count the lines of a built-in congestion control's own file, without empty lines and comments."""
    text = (ALGORITHMS / "congestion" / f"{control}.bpf.c").read_text(encoding="utf-8")
    return sum(bool(line.strip()) for line in _COMMENTS.sub("", text).splitlines())


# ---------------------------------------------------------------- Derived from windows over time

# `low` and `high` bound a fall (new over old window); a window stands still for `seconds`.


def _tracks(record: Record, flows: Sequence[Flow], columns: Sequence[str], what: str) -> list[series.Track]:
    """Return the series of those flows that have some."""
    if record.series is None:
        raise ClaimError(f"this scenario's {what} were not recorded; name it under `series` in [runs]")
    every = series.tracks(record.series, columns)
    found = [every[flow["flow"]] for flow in flows if flow["flow"] in every]
    if not found:
        raise ClaimError(f"the flows chosen have no {what} over time")
    return found


def _windows(record: Record, flows: Sequence[Flow]) -> list[series.Track]:
    return _tracks(record, flows, series.WINDOW, "windows")


@_derived(
    "times", "Falls of the window to between `low` and `high` of itself from one sample to the next.", over_time=True
)
def _window_steps(record: Record, flows: Sequence[Flow], low: float, high: float) -> float:
    return len(series.falls(_windows(record, flows)[0], low, high))


@_derived("times", "Such falls after which the window rises before the next.", over_time=True)
def _window_regrowths(record: Record, flows: Sequence[Flow], low: float, high: float) -> float:
    return series.regrowths(_windows(record, flows)[0], low, high)


@_derived("%", "Share of the time in which the window stands still for `seconds` or more.", 100, over_time=True)
def _window_held(record: Record, flows: Sequence[Flow], seconds: float) -> float:
    window = _windows(record, flows)[0]
    time, rests = window[0], series.rests(window, seconds)
    return 100 * float(sum(time[end] - time[start] for start, end in rests) / (time[-1] - time[0]))


@_derived("times", "Rests of `seconds` or more that end in a rise.", over_time=True)
def _window_resumptions(record: Record, flows: Sequence[Flow], seconds: float) -> float:
    window = _windows(record, flows)[0]
    size, ends = window[1], [end for _, end in series.rests(window, seconds)]
    return sum(bool(end + 1 < len(size) and size[end + 1] > size[end]) for end in ends)


@_derived("packets", "Largest window after slow start.", over_time=True)
def _window_peak(record: Record, flows: Sequence[Flow]) -> float:
    return float(series.after_slow_start(_windows(record, flows)[0])[1].max())


@_derived("s", "When the window first holds `packets` after slow start.", over_time=True)
def _window_reaches(record: Record, flows: Sequence[Flow], packets: float) -> float:
    time, size, _ = series.after_slow_start(_windows(record, flows)[0])
    there = np.flatnonzero(size >= packets)
    return float(time[there[0]]) if len(there) else math.inf


@_derived(
    "s", "When the largest of the flows' windows first falls, by 5 % or more, once all flows are there.", over_time=True
)
def _window_turning(record: Record, flows: Sequence[Flow]) -> float:
    return series.turning(_windows(record, flows))


# ---------------------------------------------------------------- Derived from rates over time

# The flows chosen count together, and so do all others.


def _rate_of(record: Record, flows: Sequence[Flow]) -> series.Track:
    return series.sum_of(_tracks(record, flows, series.RATE, "rates"))


def _others(record: Record, chosen: Sequence[Flow]) -> series.Track:
    others = [flow for flow in record.run["flows"] if flow not in chosen]
    if not others:
        raise ClaimError("the selectors choose every flow of the run; the quantity needs at least one other flow")
    return _rate_of(record, others)


def _mean_rate(record: Record, flows: Sequence[Flow], after: float, before: float) -> float:
    return series.mean_rate(_rate_of(record, flows), (after, before))


@_derived("Mbit/s", "Mean goodput from `after` to `before` (s).", over_time=True)
def _rate(record: Record, flows: Sequence[Flow], after: float, before: float) -> float:
    return _mean_rate(record, flows, after, before)


@_derived(
    "s",
    "Time from the flows' first packet until their goodput over the next `seconds` is above `above`, in Mb/s. It also "
    "measures the time until a late flow has its share.",
    over_time=True,
)
def _fill_time(record: Record, flows: Sequence[Flow], above: float, seconds: float) -> float:
    return series.fill_time(_rate_of(record, flows), above, seconds)


@_derived(
    "s",
    "Time from the other flows' first packet until the goodput is below `below`, in Mb/s, while the others are there. "
    "It is empty if the goodput was below that before.",
    over_time=True,
)
def _yield_time(record: Record, flows: Sequence[Flow], below: float, seconds: float) -> float:
    return series.yield_time(_rate_of(record, flows), _others(record, flows), below, seconds)


@_derived(
    "s",
    "Time from the other flows' last acknowledgement until the goodput is above `above` again, in Mb/s.",
    over_time=True,
)
def _refill_time(record: Record, flows: Sequence[Flow], above: float, seconds: float) -> float:
    return series.refill_time(_rate_of(record, flows), _others(record, flows), above, seconds)


# ---------------------------------------------------------------- By name

QUANTITIES: dict[str, Metric | Derived] = {metric.key: metric for metric in METRICS.values()} | DERIVED


def quantity_named(name: str) -> Metric | Derived:
    """Return a quantity by its name; raises `ClaimError` that lists what there is."""
    if name not in QUANTITIES:
        offers = did_you_mean(name, QUANTITIES) or f"; valid: {', '.join(QUANTITIES)}"
        raise ClaimError(f"unknown quantity `{name}`{offers}")
    return QUANTITIES[name]


def is_over_time(name: str, selectors: Selectors) -> bool:
    """Return whether a measurement needs a series of the flows: what it measures, or its selectors, are about time."""
    quantity = quantity_named(name)
    return isinstance(quantity, Derived) and (quantity.is_over_time or bool({"after", "before"} & selectors.keys()))


def unit_named(name: str) -> str:
    """Return the unit of a quantity as sentences show it: empty for counts without one and for indices."""
    unit = quantity_named(name).unit
    return "" if unit == "index" else unit


def markdown() -> str:
    """Write the table of measurements: each with its unit, what it is in a sentence, and how flows make one number."""
    folds = {metric.key: metric.fold.words for metric in FLOW_METRICS if metric.fold}
    rows = [
        [f"`{name}`", each.unit, f"{each.definition.removesuffix('.').partition('. ')[0]}.", folds.get(name, "")]
        for name, each in QUANTITIES.items()
    ]
    return markdown_table(["measurement", "unit", "what it is", "over several flows"], rows)
