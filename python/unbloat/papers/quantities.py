"""The quantities that claims and tables may name: what each takes of a run, and its unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from unbloat.papers import rates, windows
from unbloat.papers.code_lines import lines_of
from unbloat.papers.expressions import ClaimError, Selector

RunRecord = Mapping[str, Any]
Windows = dict[int, windows.Window]
Rates = dict[int, rates.Rate]


@dataclass(frozen=True)
class MeasuredRun:
    """One finished run: its place in the grid, its seed, what it left behind."""

    axes: Mapping[str, str]
    """The label of every axis of the sweep."""
    seed: int
    record: RunRecord
    """As `unbloat run --json` prints it."""
    windows: Windows | None = None
    """Per flow, from 0: rows of time (s), congestion window and retransmitted packets, where they were asked for."""
    rates: Rates | None = None
    """Per flow, from 0: rows of time (s), goodput (Mb/s) and packets in flight, likewise."""

    @property
    def is_sound(self) -> bool:
        """Return whether the run is to be believed."""
        return bool(self.record.get("sound", True))


@dataclass(frozen=True)
class Quantity:
    """A measurement that claims and tables may name."""

    unit: str
    take: Callable[[MeasuredRun, dict[str, Selector]], float]
    most: float = math.inf
    """No value is above this; none is below 0."""


OF_FLOWS = ("cc", "mesh", "node", "hops")
"""Columns of flows that selectors are compared with."""

RATE_SELECTORS = ("above", "below", "seconds", "after", "before")
"""Numbers for measurements of rates, not about flows."""


def _flows(run: MeasuredRun, selectors: dict[str, Selector], numbers: Sequence[str] = ()) -> list[RunRecord]:
    """Return the flows that `flow=` (from 1, as in papers), `cc=`, `mesh=`, `node=` and `hops=` select.

    `numbers` are not about flows.
    """
    flows: list[RunRecord] = list(run.record["flows"])
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


def _sum(column: str) -> Callable[[MeasuredRun, dict[str, Selector]], float]:
    return lambda run, selectors: float(sum(flow[column] for flow in _flows(run, selectors)))


def _mean(column: str) -> Callable[[MeasuredRun, dict[str, Selector]], float]:
    return lambda run, selectors: fmean(_known(flow.get(column)) for flow in _flows(run, selectors))


def _extreme(column: str, of: Callable[[list[float]], float]) -> Callable[[MeasuredRun, dict[str, Selector]], float]:
    return lambda run, selectors: of([_known(flow.get(column)) for flow in _flows(run, selectors)])


def _link(column: str) -> Callable[[MeasuredRun, dict[str, Selector]], float]:
    return lambda run, _: _known(run.record["links"][0][column])


def _known(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _loss(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    flows = _flows(run, selectors)
    sent = sum(flow["sent_packets"] for flow in flows)
    return 100 * sum(flow["lost_packets"] for flow in flows) / sent if sent else math.nan


def _system_throughput(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    """Return the data of all flows, which start together, over the time until the last of them ends."""
    flows = _flows(run, selectors)
    times = [run.record["duration_s"] if flow["completion_s"] is None else flow["completion_s"] for flow in flows]
    delivered = sum(flow["goodput_mbps"] * time for flow, time in zip(flows, times, strict=True))
    return float(delivered / max(times))


def _completion(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    """Return the last flow's completion time; infinite if the run ended before the flow did."""
    times = [flow["completion_s"] for flow in _flows(run, selectors)]
    return math.inf if None in times else float(max(times))


def _jain(run: MeasuredRun, _: dict[str, Selector]) -> float:
    return _known(run.record["jain_index"])


def _rtt_fairness(run: MeasuredRun, _: dict[str, Selector]) -> float:
    return windows.jain(np.array([_known(flow["rtt_ms_mean"]) for flow in run.record["flows"]]))


def _code_lines(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    return float(lines_of(_flows(run, selectors)[0]["cc"]))


# What the nodes of a mesh and their flows do.


def _nodes(run: MeasuredRun, selectors: dict[str, Selector]) -> list[RunRecord]:
    """Return the nodes that `mesh=`, `node=` and `hops=` select."""
    if unknown := selectors.keys() - {"mesh", "node", "hops"}:
        raise ClaimError(f"no selector `{unknown.pop()}` here; there are mesh, node, hops")
    nodes = [
        node for node in run.record.get("nodes", []) if all(node[key] == value for key, value in selectors.items())
    ]
    if not nodes:
        chosen = ", ".join(f"{key}={value}" for key, value in selectors.items())
        raise ClaimError(f"no node of a mesh has {chosen}" if chosen else "there is no mesh")
    return nodes


def _overflows(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    return float(sum(node["overflows"] for node in _nodes(run, selectors)))


def _seconds(run: MeasuredRun) -> float:
    return float(run.record["duration_s"] - run.record.get("warmup_s", 0))


def _energy_per_byte(run: MeasuredRun, _: dict[str, Selector]) -> float:
    """Return the energy that the radios of all nodes have used per byte delivered, microjoules.

    A border router, which has no parent, is left out: it has mains.
    """
    energy = 1e3 * sum(node["energy_mj"] for node in _nodes(run, {}) if node["parent"] is not None)
    delivered = sum(flow["goodput_mbps"] for flow in run.record["flows"]) * 1e6 / 8 * _seconds(run)
    return float(energy / delivered) if delivered else math.inf


def _new_segments(run: MeasuredRun, flow: RunRecord) -> float:
    """Return what a flow sends for the first time, segments a second."""
    return float((flow["sent_packets"] - flow["retransmitted_packets"]) / _seconds(run))


def _by_the_law(flow: RunRecord) -> float:
    """Return what a flow would send by the square-root law, segments a second; NaN if it has lost nothing.

    It sends sqrt(3/2p) segments in the time of its wait and of a round trip, p being the losses found for each segment
    sent.
    """
    if not flow["loss_events"] or not flow["rtt_ms_mean"]:
        return math.nan
    turn_s = ((flow.get("wait_ms_mean") or 0) + flow["rtt_ms_mean"]) / 1e3
    return float(math.sqrt(1.5 * flow["sent_packets"] / flow["loss_events"]) / turn_s)


def _of_those_with_losses(run: MeasuredRun, selectors: dict[str, Selector]) -> list[tuple[float, float]]:
    """Return what the law says and what was sent, for each of the flows that have lost something."""
    both = [(_by_the_law(flow), _new_segments(run, flow)) for flow in _flows(run, selectors)]
    return [(law, sent) for law, sent in both if not math.isnan(law)]


def _law(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    laws = [law for law, _ in _of_those_with_losses(run, selectors)]
    return fmean(laws) if laws else math.nan


def _sent(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    return fmean(_new_segments(run, flow) for flow in _flows(run, selectors))


def _model_error(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    """Return how far the square-root law is from what was sent, as the mean over the flows that have lost something."""
    both = _of_those_with_losses(run, selectors)
    return fmean(100 * abs(law / sent - 1) if sent else math.inf for law, sent in both) if both else math.nan


def _number(selectors: dict[str, Selector], key: str) -> float:
    value = selectors.get(key)
    if not isinstance(value, int | float):
        raise ClaimError(f"`{key}=` is missing, a number" if value is None else f"`{key}={value}` must be a number")
    return float(value)


# What a window does over time. `low` and `high` bound a fall (new over old window); it stands still for `seconds`.


def _all_windows(run: MeasuredRun) -> Windows:
    if run.windows is None:
        raise ClaimError("this scenario's windows were not recorded; name it under `series` in [runs]")
    return run.windows


def _window(run: MeasuredRun, selectors: dict[str, Selector]) -> windows.Window:
    return _all_windows(run)[int(selectors.get("flow", 1)) - 1]


def _window_steps(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    return float(len(windows.falls(_window(run, selectors), _number(selectors, "low"), _number(selectors, "high"))))


def _window_regrowths(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    return float(windows.regrowths(_window(run, selectors), _number(selectors, "low"), _number(selectors, "high")))


def _window_held(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    window = _window(run, selectors)
    time, rests = window[0], windows.rests(window, _number(selectors, "seconds"))
    return 100 * float(sum(time[end] - time[start] for start, end in rests) / (time[-1] - time[0]))


def _window_resumptions(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    window = _window(run, selectors)
    size, ends = window[1], [end for _, end in windows.rests(window, _number(selectors, "seconds"))]
    return float(sum(end + 1 < len(size) and size[end + 1] > size[end] for end in ends))


def _window_peak(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    return float(windows.after_slow_start(_window(run, selectors))[1].max())


def _window_reaches(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    """Return when the window, after slow start, first holds so many packets; infinite if it never does."""
    time, size, _ = windows.after_slow_start(_window(run, selectors))
    there = np.flatnonzero(size >= _number(selectors, "packets"))
    return float(time[there[0]]) if len(there) else math.inf


def _window_turning(run: MeasuredRun, _: dict[str, Selector]) -> float:
    return windows.turning(list(_all_windows(run).values()))


# What rates do over time: those of the flows chosen, together, and those of all others.


def _rate_of(run: MeasuredRun, flows: Sequence[RunRecord]) -> rates.Rate:
    if run.rates is None:
        raise ClaimError("this scenario's rates were not recorded; name it under `series` in [runs]")
    return rates.sum_of([run.rates[flow["flow"]] for flow in flows])


def _others(run: MeasuredRun, chosen: Sequence[RunRecord]) -> rates.Rate:
    others = [flow for flow in run.record["flows"] if flow not in chosen]
    if not others:
        raise ClaimError("every flow of the run is chosen, so that there are no others to give way to")
    return _rate_of(run, others)


def _rate(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    span = _number(selectors, "after"), _number(selectors, "before")
    return rates.mean(_rate_of(run, _flows(run, selectors, RATE_SELECTORS)), span)


def _share(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    """Return the share of the selected flows in all flows' throughput, or in their goodput over a time span."""
    if {"after", "before"} & selectors.keys():
        all_flows = {key: value for key, value in selectors.items() if key in RATE_SELECTORS}
        part, whole = _rate(run, selectors), _rate(run, all_flows)
    else:
        part, whole = _sum("throughput_mbps")(run, selectors), _sum("throughput_mbps")(run, {})
    return 100 * part / whole if whole else math.nan


def _fill_time(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    flows = _flows(run, selectors, RATE_SELECTORS)
    return rates.fill_time(_rate_of(run, flows), _number(selectors, "above"), _number(selectors, "seconds"))


def _yield_time(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    flows = _flows(run, selectors, RATE_SELECTORS)
    below, seconds = _number(selectors, "below"), _number(selectors, "seconds")
    return rates.yield_time(_rate_of(run, flows), _others(run, flows), below, seconds)


def _refill_time(run: MeasuredRun, selectors: dict[str, Selector]) -> float:
    flows = _flows(run, selectors, RATE_SELECTORS)
    above, seconds = _number(selectors, "above"), _number(selectors, "seconds")
    return rates.refill_time(_rate_of(run, flows), _others(run, flows), above, seconds)


QUANTITIES: dict[str, Quantity] = {
    "throughput": Quantity("Mb/s", _sum("throughput_mbps")),
    "goodput": Quantity("Mb/s", _sum("goodput_mbps")),
    "goodput_mean": Quantity("Mb/s", _mean("goodput_mbps")),
    "system_throughput": Quantity("Mb/s", _system_throughput),
    "share": Quantity("%", _share, most=100),
    "loss": Quantity("%", _loss, most=100),
    "retransmissions": Quantity("packets", _sum("retransmitted_packets")),
    "completion": Quantity("s", _completion),
    "rtt": Quantity("ms", _mean("rtt_ms_mean")),
    "rtt_min": Quantity("ms", _extreme("rtt_ms_min", min)),
    "rtt_p95": Quantity("ms", _mean("rtt_ms_p95")),
    "rtt_max": Quantity("ms", _extreme("rtt_ms_max", max)),
    "receiver_rtt": Quantity("ms", _mean("receiver_rtt_ms_mean")),
    "cwnd": Quantity("packets", _mean("cwnd_packets_mean")),
    "delay": Quantity("ms", _mean("delay_ms_mean")),
    "rating": Quantity("R", _mean("rating")),
    "response": Quantity("ms", _mean("response_ms_mean")),
    "response_max": Quantity("ms", _extreme("response_ms_max", max)),
    "page_load": Quantity("s", _mean("page_load_s_mean")),
    "page_load_max": Quantity("s", _extreme("page_load_s_max", max)),
    "startup": Quantity("s", _mean("startup_s")),
    "stalled": Quantity("%", _mean("stalled_percent"), most=100),
    "sndbuf": Quantity("%", _mean("sndbuf_percent_mean")),
    "sndbuf_p10": Quantity("%", _mean("sndbuf_percent_p10")),
    "sndbuf_p25": Quantity("%", _mean("sndbuf_percent_p25")),
    "sndbuf_p50": Quantity("%", _mean("sndbuf_percent_p50")),
    "sndbuf_p75": Quantity("%", _mean("sndbuf_percent_p75")),
    "sndbuf_p90": Quantity("%", _mean("sndbuf_percent_p90")),
    "sndbuf_half_full": Quantity("%", _mean("sndbuf_half_full_percent"), most=100),
    "sndbuf_half_full_after": Quantity("s", _mean("sndbuf_half_full_after_s")),
    "buffered_windows": Quantity("windows", _mean("buffered_windows_mean")),
    "buffered_windows_p10": Quantity("windows", _mean("buffered_windows_p10")),
    "buffered_windows_p25": Quantity("windows", _mean("buffered_windows_p25")),
    "buffered_windows_p50": Quantity("windows", _mean("buffered_windows_p50")),
    "buffered_windows_p75": Quantity("windows", _mean("buffered_windows_p75")),
    "buffered_windows_p90": Quantity("windows", _mean("buffered_windows_p90")),
    "queue_delay": Quantity("ms", _link("queue_delay_ms_mean")),
    "queue_delay_max": Quantity("ms", _link("queue_delay_ms_max")),
    "queue_bytes": Quantity("B", _link("queue_bytes_mean")),
    "buffer": Quantity("%", _link("queue_percent_mean"), most=100),
    "utilisation": Quantity("%", _link("utilisation_percent"), most=100),
    "drops": Quantity("packets", _link("drops")),
    "jain": Quantity("index", _jain, most=1),
    "rtt_fairness": Quantity("index", _rtt_fairness, most=1),
    "wait": Quantity("ms", lambda run, chosen: fmean(flow.get("wait_ms_mean") or 0 for flow in _flows(run, chosen))),
    "overflows": Quantity("packets", _overflows),
    "energy_per_byte": Quantity("uJ/B", _energy_per_byte),
    "sent_rate": Quantity("segments/s", _sent),
    "law_rate": Quantity("segments/s", _law),
    "model_error": Quantity("%", _model_error),
    "code_lines": Quantity("lines", _code_lines),
    "window_steps": Quantity("times", _window_steps),
    "window_regrowths": Quantity("times", _window_regrowths),
    "window_held": Quantity("%", _window_held, most=100),
    "window_resumptions": Quantity("times", _window_resumptions),
    "window_peak": Quantity("packets", _window_peak),
    "window_reaches": Quantity("s", _window_reaches),
    "window_turning": Quantity("s", _window_turning),
    "rate": Quantity("Mb/s", _rate),
    "fill_time": Quantity("s", _fill_time),
    "yield_time": Quantity("s", _yield_time),
    "refill_time": Quantity("s", _refill_time),
}


def quantity_named(name: str) -> Quantity:
    """Return a quantity by its name; raises `ClaimError` that lists what there is."""
    if name not in QUANTITIES:
        raise ClaimError(f"no quantity `{name}`; there are {', '.join(QUANTITIES)}")
    return QUANTITIES[name]
