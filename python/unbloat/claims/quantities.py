"""The quantities that claims and tables may name: what each takes of a run, and its unit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from unbloat.claims import rates, windows
from unbloat.claims.expressions import ClaimError, Selector
from unbloat.results.metrics import (
    FLOW_METRICS,
    FOLDS,
    LINK_METRICS,
    MEAN,
    METRICS,
    NODE_METRICS,
    RUN_METRICS,
    Metric,
    number,
)
from unbloat.results.record import Record
from unbloat.results.rows import Flow, Node
from unbloat.system.legible import markdown_table
from unbloat.system.paths import ALGORITHMS


@dataclass(frozen=True)
class Quantity:
    """A measurement that claims and tables may name."""

    unit: str
    take: Callable[[Record, dict[str, Selector]], float]
    definition: str
    most: float = math.inf
    """No value is above this; none is below 0."""


OF_FLOWS = ("cc", "mesh", "node", "hops")
"""Columns of flows that selectors are compared with."""

RATE_SELECTORS = ("above", "below", "seconds", "after", "before")
"""Numbers for measurements of rates, not about flows."""


def _flows(record: Record, selectors: dict[str, Selector], numbers: Sequence[str] = ()) -> list[Flow]:
    """Return the flows that `flow=` (from 1, as in papers), `cc=`, `mesh=`, `node=` and `hops=` select.

    `numbers` are not about flows.
    """
    flows = record.run["flows"]
    for key, value in selectors.items():
        if key == "flow":
            flows = [flow for flow in flows if flow["flow"] + 1 == value]
        elif key in OF_FLOWS:
            flows = [flow for flow in flows if flow.get(key) == value]
        elif key not in numbers:
            raise ClaimError(f"no selector `{key}` here; there are {', '.join(['flow', *OF_FLOWS, *numbers])}")
    if not flows:
        chosen = ", ".join(f"{key}={value}" for key, value in selectors.items())
        raise ClaimError(f"no flow of the run has {chosen}")
    return flows


def _known(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _of_flows(metric: Metric) -> Callable[[Record, dict[str, Selector]], float]:
    def take(record: Record, selectors: dict[str, Selector]) -> float:
        assert metric.fold
        value = metric.fold.of(_flows(record, selectors), metric.name)
        # What is unfinished takes longer than anything.
        return math.inf if value is None and metric.fold is FOLDS["last"] else _known(value)

    return take


def _of_nodes(metric: Metric) -> Callable[[Record, dict[str, Selector]], float]:
    return lambda record, selectors: float(sum(number(node, metric.name) or 0 for node in _nodes(record, selectors)))


def _of_register(metric: Metric) -> Quantity:
    """Return a metric as claims take it: flows are folded, nodes summed, and of the links the first counts."""
    takes: dict[str, Callable[[Record, dict[str, Selector]], float]] = {
        "link": lambda record, _: _known(number(record.run["links"][0], metric.name)),
        "run": lambda record, _: _known(number(record.run, metric.name)),
    }
    take = _of_flows(metric) if metric.fold else takes.get(metric.of) or _of_nodes(metric)
    return Quantity(metric.unit, take, metric.definition, math.inf if metric.most is None else metric.most)


def _goodput_mean(record: Record, selectors: dict[str, Selector]) -> float:
    return _known(MEAN.of(_flows(record, selectors), "goodput_mbps"))


def _system_throughput(record: Record, selectors: dict[str, Selector]) -> float:
    """Return the data of all flows, which start together, over the time until the last of them ends."""
    flows = _flows(record, selectors)
    times = [record.run["duration_s"] if flow["completion_s"] is None else flow["completion_s"] for flow in flows]
    delivered = sum(flow["goodput_mbps"] * time for flow, time in zip(flows, times, strict=True))
    return float(delivered / max(times))


def _rtt_fairness(record: Record, _: dict[str, Selector]) -> float:
    return windows.jain(np.array([_known(flow["rtt_ms_mean"]) for flow in record.run["flows"]]))


_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def lines_of(control: str) -> int:
    """Count the lines of a built-in control's own file, without empty lines and comments."""
    text = (ALGORITHMS / "congestion" / f"{control}.bpf.c").read_text(encoding="utf-8")
    return sum(bool(line.strip()) for line in _COMMENTS.sub("", text).splitlines())


def _code_lines(record: Record, selectors: dict[str, Selector]) -> float:
    return float(lines_of(_flows(record, selectors)[0]["cc"]))


# What the nodes of a mesh and their flows do.


def _nodes(record: Record, selectors: dict[str, Selector]) -> list[Node]:
    """Return the nodes that `mesh=`, `node=` and `hops=` select."""
    if unknown := selectors.keys() - {"mesh", "node", "hops"}:
        raise ClaimError(f"no selector `{unknown.pop()}` here; there are mesh, node, hops")
    nodes = [
        node for node in record.run.get("nodes", []) if all(node.get(key) == value for key, value in selectors.items())
    ]
    if not nodes:
        chosen = ", ".join(f"{key}={value}" for key, value in selectors.items())
        raise ClaimError(f"no node of a mesh has {chosen}" if chosen else "there is no mesh")
    return nodes


def _seconds(record: Record) -> float:
    return float(record.run["duration_s"] - record.run.get("warmup_s", 0))


def _energy_per_byte(record: Record, _: dict[str, Selector]) -> float:
    """Return the energy that the radios of all nodes have used per byte delivered, microjoules.

    A border router, which has no parent, is left out: it has mains.
    """
    energy = 1e3 * sum(node["energy_mj"] for node in _nodes(record, {}) if node["parent"] is not None)
    delivered = sum(flow["goodput_mbps"] for flow in record.run["flows"]) * 1e6 / 8 * _seconds(record)
    return float(energy / delivered) if delivered else math.inf


def _new_segments(record: Record, flow: Flow) -> float:
    """Return what a flow sends for the first time, segments a second."""
    return float((flow["sent_packets"] - flow["retransmitted_packets"]) / _seconds(record))


def _by_the_law(flow: Flow) -> float:
    """Return what a flow would send by the square-root law, segments a second; NaN if it has lost nothing.

    It sends sqrt(3/2p) segments in the time of its wait and of a round trip, p being the losses found for each segment
    sent.
    """
    if not flow["loss_events"] or not flow["rtt_ms_mean"]:
        return math.nan
    turn_s = ((flow.get("wait_ms_mean") or 0) + flow["rtt_ms_mean"]) / 1e3
    return float(math.sqrt(1.5 * flow["sent_packets"] / flow["loss_events"]) / turn_s)


def _of_those_with_losses(record: Record, selectors: dict[str, Selector]) -> list[tuple[float, float]]:
    """Return what the law says and what was sent, for each of the flows that have lost something."""
    both = [(_by_the_law(flow), _new_segments(record, flow)) for flow in _flows(record, selectors)]
    return [(law, sent) for law, sent in both if not math.isnan(law)]


def _law(record: Record, selectors: dict[str, Selector]) -> float:
    laws = [law for law, _ in _of_those_with_losses(record, selectors)]
    return fmean(laws) if laws else math.nan


def _sent(record: Record, selectors: dict[str, Selector]) -> float:
    return fmean(_new_segments(record, flow) for flow in _flows(record, selectors))


def _model_error(record: Record, selectors: dict[str, Selector]) -> float:
    """Return how far the square-root law is from what was sent, as the mean over the flows that have lost something."""
    both = _of_those_with_losses(record, selectors)
    return fmean(100 * abs(law / sent - 1) if sent else math.inf for law, sent in both) if both else math.nan


def _number(selectors: dict[str, Selector], key: str) -> float:
    value = selectors.get(key)
    if not isinstance(value, int | float):
        raise ClaimError(f"`{key}=` is missing, a number" if value is None else f"`{key}={value}` must be a number")
    return float(value)


# What a window does over time. `low` and `high` bound a fall (new over old window); it stands still for `seconds`.


def _all_windows(record: Record) -> dict[int, windows.Window]:
    if record.series is None:
        raise ClaimError("this scenario's windows were not recorded; name it under `series` in [runs]")
    return windows.of(record.series)


def _window(record: Record, selectors: dict[str, Selector]) -> windows.Window:
    return _all_windows(record)[int(selectors.get("flow", 1)) - 1]


def _window_steps(record: Record, selectors: dict[str, Selector]) -> float:
    return float(len(windows.falls(_window(record, selectors), _number(selectors, "low"), _number(selectors, "high"))))


def _window_regrowths(record: Record, selectors: dict[str, Selector]) -> float:
    return float(windows.regrowths(_window(record, selectors), _number(selectors, "low"), _number(selectors, "high")))


def _window_held(record: Record, selectors: dict[str, Selector]) -> float:
    window = _window(record, selectors)
    time, rests = window[0], windows.rests(window, _number(selectors, "seconds"))
    return 100 * float(sum(time[end] - time[start] for start, end in rests) / (time[-1] - time[0]))


def _window_resumptions(record: Record, selectors: dict[str, Selector]) -> float:
    window = _window(record, selectors)
    size, ends = window[1], [end for _, end in windows.rests(window, _number(selectors, "seconds"))]
    return float(sum(end + 1 < len(size) and size[end + 1] > size[end] for end in ends))


def _window_peak(record: Record, selectors: dict[str, Selector]) -> float:
    return float(windows.after_slow_start(_window(record, selectors))[1].max())


def _window_reaches(record: Record, selectors: dict[str, Selector]) -> float:
    """Return when the window, after slow start, first holds so many packets; infinite if it never does."""
    time, size, _ = windows.after_slow_start(_window(record, selectors))
    there = np.flatnonzero(size >= _number(selectors, "packets"))
    return float(time[there[0]]) if len(there) else math.inf


def _window_turning(record: Record, _: dict[str, Selector]) -> float:
    return windows.turning(list(_all_windows(record).values()))


# What rates do over time: those of the flows chosen, together, and those of all others.


def _rate_of(record: Record, flows: Sequence[Flow]) -> rates.Rate:
    if record.series is None:
        raise ClaimError("this scenario's rates were not recorded; name it under `series` in [runs]")
    every = rates.of(record.series)
    return rates.sum_of([every[flow["flow"]] for flow in flows])


def _others(record: Record, chosen: Sequence[Flow]) -> rates.Rate:
    others = [flow for flow in record.run["flows"] if flow not in chosen]
    if not others:
        raise ClaimError("every flow of the run is chosen, so that there are no others to give way to")
    return _rate_of(record, others)


def _rate(record: Record, selectors: dict[str, Selector]) -> float:
    span = _number(selectors, "after"), _number(selectors, "before")
    return rates.mean(_rate_of(record, _flows(record, selectors, RATE_SELECTORS)), span)


def _share(record: Record, selectors: dict[str, Selector]) -> float:
    """Return the share of the selected flows in all flows' throughput, or in their goodput over a time span."""
    if {"after", "before"} & selectors.keys():
        all_flows = {key: value for key, value in selectors.items() if key in RATE_SELECTORS}
        part, whole = _rate(record, selectors), _rate(record, all_flows)
    else:
        throughput = _of_flows(METRICS["throughput_mbps"])
        part, whole = throughput(record, selectors), throughput(record, {})
    return 100 * part / whole if whole else math.nan


def _fill_time(record: Record, selectors: dict[str, Selector]) -> float:
    flows = _flows(record, selectors, RATE_SELECTORS)
    return rates.fill_time(_rate_of(record, flows), _number(selectors, "above"), _number(selectors, "seconds"))


def _yield_time(record: Record, selectors: dict[str, Selector]) -> float:
    flows = _flows(record, selectors, RATE_SELECTORS)
    below, seconds = _number(selectors, "below"), _number(selectors, "seconds")
    return rates.yield_time(_rate_of(record, flows), _others(record, flows), below, seconds)


def _refill_time(record: Record, selectors: dict[str, Selector]) -> float:
    flows = _flows(record, selectors, RATE_SELECTORS)
    above, seconds = _number(selectors, "above"), _number(selectors, "seconds")
    return rates.refill_time(_rate_of(record, flows), _others(record, flows), above, seconds)


REGISTERED = {
    metric.key: _of_register(metric) for metric in (*FLOW_METRICS, *LINK_METRICS, *RUN_METRICS, *NODE_METRICS)
}
"""The metrics of the register by their short names."""
DERIVED = {
    "goodput_mean": Quantity("Mbit/s", _goodput_mean, "Goodput in the mean over the flows."),
    "system_throughput": Quantity(
        "Mbit/s",
        _system_throughput,
        "Payload of all flows, which start together, over the time until the last of them ends.",
    ),
    "share": Quantity(
        "%",
        _share,
        "Throughput over that of all flows; with `after` and `before` (s), of the goodputs in that time.",
        most=100,
    ),
    "rtt_fairness": Quantity("", _rtt_fairness, "Jain's index of the flows' mean round-trip times.", most=1),
    "energy_per_byte": Quantity(
        "uJ/B",
        _energy_per_byte,
        "What the radios of a mesh used for each byte delivered, listening included, without that of the border "
        "router, which has mains.",
    ),
    "sent_rate": Quantity(
        "segments/s",
        _sent,
        "What a flow of a mesh sends for the first time, in the mean over the flows.",
    ),
    "law_rate": Quantity(
        "segments/s",
        _law,
        "What it would send by the square-root law, sqrt(3/2p) segments in a wait and a round trip, in the mean "
        "over the flows that have lost something; p are losses found over segments sent.",
    ),
    "model_error": Quantity(
        "%",
        _model_error,
        "How far `law_rate` is from `sent_rate`, in the mean over the flows that have lost something.",
    ),
    "code_lines": Quantity("lines", _code_lines, "Lines of the control's own file, without empty lines and comments."),
    "window_steps": Quantity(
        "times",
        _window_steps,
        "Falls of the window to between `low` and `high` of itself from one sample to the next.",
    ),
    "window_regrowths": Quantity(
        "times",
        _window_regrowths,
        "Such falls after which the window rises before the next.",
    ),
    "window_held": Quantity(
        "%",
        _window_held,
        "Share of the time in which the window stands still for `seconds` or more.",
        most=100,
    ),
    "window_resumptions": Quantity("times", _window_resumptions, "Rests of `seconds` or more that end in a rise."),
    "window_peak": Quantity("packets", _window_peak, "Largest window after slow start."),
    "window_reaches": Quantity("s", _window_reaches, "When the window first holds `packets` after slow start."),
    "window_turning": Quantity(
        "s",
        _window_turning,
        "When the largest of the flows' windows first falls, by 5 % or more, once all flows are there.",
    ),
    "rate": Quantity("Mbit/s", _rate, "Mean goodput from `after` to `before` (s)."),
    "fill_time": Quantity(
        "s",
        _fill_time,
        "From the flows' first packet until their goodput over the next `seconds` is `above` so many Mb/s. It also "
        "measures the time until a late flow has its share.",
    ),
    "yield_time": Quantity(
        "s",
        _yield_time,
        "From the other flows' first packet until the goodput is `below` so many Mb/s, while the others are "
        "there; none if it was before.",
    ),
    "refill_time": Quantity(
        "s",
        _refill_time,
        "From the other flows' last acknowledgement until the goodput is `above` so many Mb/s again.",
    ),
}
"""Quantities that claims calculate from several columns, or from time series."""
QUANTITIES = REGISTERED | DERIVED


def quantity_named(name: str) -> Quantity:
    """Return a quantity by its name; raises `ClaimError` that lists what there is."""
    if name not in QUANTITIES:
        raise ClaimError(f"no quantity `{name}`; there are {', '.join(QUANTITIES)}")
    return QUANTITIES[name]


def markdown() -> str:
    """Write the table of measurements: each with its unit, what it is in a sentence, and how flows make one number."""
    folds = {metric.key: metric.fold.words for metric in FLOW_METRICS if metric.fold}
    rows = [
        [f"`{name}`", each.unit, f"{each.definition.removesuffix('.').partition('. ')[0]}.", folds.get(name, "")]
        for name, each in QUANTITIES.items()
    ]
    return markdown_table(["measurement", "unit", "what it is", "over several flows"], rows)
