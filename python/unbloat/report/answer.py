"""What results answer, in three sentences: who has what goodput and queueing delay, who is ahead, how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unbloat.report.table import show, with_interval
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import folded
from unbloat.results.record import SEED, flows_by_group
from unbloat.results.repeats import Repeats
from unbloat.results.results import Results
from unbloat.results.statistics import Difference, Estimate, difference, estimate

MOST = 4
"""More sides than this are not told one by one."""
CONTROL = "cc"

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """The sentences, and what the runs leave undecided."""

    sentences: list[str]
    undecided: list[str]


@dataclass(frozen=True)
class Measure:
    """A measure by which sides are compared."""

    name: str
    unit: str
    take: Callable[[Run], float | None]
    best: Callable[..., str]
    """`max` or `min`."""
    ahead: str
    """What is said of the first."""
    more: str
    """How the first differs from the others."""

    def by_seed(self, cell: Repeats) -> dict[int, float | None]:
        """Return the values of a cell's sound runs by their seeds."""
        return {record.run["seed"]: self.take(record.run) for record in cell.sound}

    def estimate(self, cell: Repeats) -> Estimate:
        """Estimate the mean over a cell's sound runs."""
        return estimate(self.by_seed(cell).values())


@dataclass(frozen=True)
class Lead:
    """Who is ahead by a measure in one setting, and how far the next is behind."""

    measure: Measure
    setting: str
    """Empty where there is one only."""
    first: str
    next: str
    by: Difference
    of: float
    """The mean of the next."""

    @property
    def is_open(self) -> bool:
        """Return whether the interval of the lead holds 0, so that the other one may be ahead."""
        return self.by.is_clear is False


def answer_of(results: Results) -> Answer:
    """Derive the answer from all sound runs."""
    if not any(cell.sound for cell in results.cells):
        return Answer([f"There is none: {certainty(results, [])}"], [])
    question = Question(results)
    leads = [lead for measure in question.measures for lead in question.leads(measure)]
    told = _between(question, leads) if question.axis else _within(question)
    undecided = [lead for lead in leads if lead.is_open]
    sentences = [*told, certainty(results, undecided)]
    return Answer(sentences, [_undecided(lead) for lead in undecided])


class Question:
    """Which sides the results hold against each other, in which settings, and by what."""

    def __init__(self, results: Results) -> None:
        """Derive it from the results."""
        self.results = results
        self.cells = [cell for cell in results.cells if cell.sound]
        self.bottlenecks = Bottlenecks.of(results.records)
        varied = [axis for axis in results.axes if axis != SEED and len(_labels(self.cells, axis)) > 1]
        controls = [axis for axis in varied if axis.rpartition(".")[2] == CONTROL]
        self.axis: str | None = next(iter([*controls, *varied]), None)
        """The axis whose labels are the sides; None where the flows of each run are."""
        self.others = [axis for axis in varied if axis != self.axis]

    @cached_property
    def sides(self) -> list[str]:
        """The labels that are held against each other."""
        return _labels(self.cells, self.axis) if self.axis else []

    @cached_property
    def settings(self) -> list[dict[str, Repeats]]:
        """The cells of each setting, by their sides; settings with one side only compare nothing."""
        found: dict[tuple[str, ...], dict[str, Repeats]] = {}
        for cell in self.cells:
            key = tuple(cell.axes.get(axis, "") for axis in self.others)
            found.setdefault(key, {})[cell.axes.get(self.axis or "", "")] = cell
        return list(found.values())

    @cached_property
    def measures(self) -> list[Measure]:
        """Queueing delay at the bottleneck; goodput of the flows that the axis is about, or of all.

        In a mesh packets wait in the nodes, so there it is the round-trip times that tell.
        """
        if self.cells[0].sound[0].run.get("nodes"):
            delay = Measure("mean RTT", "ms", _rtt, min, "The mean RTT is lowest", "less")
        else:
            at = f" at {name}" if (name := self.bottlenecks.name) else ""
            delay = Measure(f"mean queueing delay{at}", "ms", self._delay, min, f"Queueing delay{at} is lowest", "less")
        return [delay, Measure("goodput", "Mbit/s", self._goodput, max, "goodput is highest", "more")]

    @cached_property
    def group(self) -> int | None:
        """The group of flows that the axis is about; None where that is all."""
        parts = (self.axis or "").split(".")
        groups = self.cells[0].sound[0].run.get("groups") or []
        is_one = len(parts) > 2 and parts[0] == "flows" and parts[1].isdigit() and len(list(filter(None, groups))) > 1
        return int(parts[1]) if is_one else None

    def flows(self, run: Run) -> list[dict[str, Any]]:
        """Return the flows of a run whose goodput is asked for."""
        if self.group is None:
            flows: list[dict[str, Any]] = run["flows"]
            return flows
        return flows_by_group(run)[self.group]

    def _delay(self, run: Run) -> float | None:
        value: float | None = self.bottlenecks.link(run)["queue_delay_ms_mean"]
        return value

    def _goodput(self, run: Run) -> float | None:
        return folded(self.flows(run))["goodput_mbps"]

    def name(self, side: str) -> str:
        """Name a side."""
        last = (self.axis or "").rpartition(".")[2]
        return side if last in (CONTROL, "case") else f"{last} {side}"

    def leads(self, measure: Measure) -> Iterator[Lead]:
        """Return for each setting who is ahead, and how far."""
        for cells in self.settings:
            means = {side: measure.estimate(cell).mean for side, cell in cells.items()}
            known = {side: mean for side, mean in means.items() if mean is not None and math.isfinite(mean)}
            if len(known) < 2:
                continue
            first = measure.best(known, key=known.__getitem__)
            rest = {side: mean for side, mean in known.items() if side != first}
            following = measure.best(rest, key=rest.__getitem__)
            by = difference(measure.by_seed(cells[following]), measure.by_seed(cells[first]))
            assert by is not None
            setting = ", ".join(cells[first].axes[axis] for axis in self.others)
            yield Lead(measure, setting, self.name(first), self.name(following), by, rest[following])


def _labels(cells: Sequence[Repeats], axis: str | None) -> list[str]:
    return list(dict.fromkeys(cell.axes[axis] for cell in cells if axis in cell.axes))


def _rtt(run: Run) -> float | None:
    return folded(run["flows"])["rtt_ms_mean"]


# ---------------------------------------------------------------- Numbers


def amount(mean: float | None, half_width: float | None, unit: str) -> str:
    """Write a mean with its interval, both to the same decimal place."""
    if mean is None:
        return "no value"
    # An interval of a ten-thousandth of its mean comes from the ticks of clocks: readers need not see it.
    reach = half_width if half_width and half_width >= 1e-4 * abs(mean) else None
    return f"{with_interval(float(mean), reach)} {unit}".strip()


def _of(value: Estimate, unit: str) -> str:
    return amount(value.mean, value.half_width, unit)


def _range(values: Sequence[float | None], unit: str) -> str:
    known = [float(value) for value in values if value is not None]
    if not known:
        return "no value"
    low, high = show(min(known)), show(max(known))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


# ---------------------------------------------------------------- Sentences


def _between(question: Question, leads: Sequence[Lead]) -> list[str]:
    """Describe several sides."""
    several = len(question.settings) > 1
    sides = [(side, [cells[side] for cells in question.settings if side in cells]) for side in question.sides]
    delay, goodput = question.measures
    sides.sort(key=lambda each: _mean_of(delay, each[1]))
    told = []
    for side, cells in sides if len(sides) <= MOST else [sides[0], sides[-1]]:
        values = {
            measure: _range([measure.estimate(cell).mean for cell in cells], measure.unit)
            if several
            else _of(measure.estimate(cells[0]), measure.unit)
            for measure in question.measures
        }
        told.append((question.name(side), values[goodput], values[delay]))
    first, *others = told
    over = ""
    if several:
        axes = " and ".join(axis.rpartition(".")[2] for axis in question.others)
        over = f"over {len(question.settings)} settings of {axes}, "
    head = f"{over}{_flows(question)} {first[1]} of goodput with {first[0]}, at {first[2]} of {delay.name}"
    tail = [f"with {name} {goodput} at {delay}" for name, goodput, delay in others]
    between = f"; at the other end of {len(sides)}, " if len(sides) > MOST else "; "
    return [_capital(f"{between.join([head, *tail])}."), *([_ahead(question, leads)] if leads else [])]


def _mean_of(measure: Measure, cells: Sequence[Repeats]) -> float:
    known = [mean for cell in cells if (mean := measure.estimate(cell).mean) is not None]
    return sum(known) / len(known) if known else math.inf


def _flows(question: Question) -> str:
    """Name the flows whose goodput is told; those of others are not in it."""
    flows = question.flows(question.cells[0].sound[0].run)
    names = list(dict.fromkeys(flow["name"] for flow in flows if flow.get("name")))
    if names and question.group is not None:
        called = ", ".join(f"“{name}”" for name in names)
        return f"the flow {called} has" if len(flows) == 1 else f"the flows {called} together have"
    if len(flows) == 1:
        return "the flow has" if question.group is None else f"flow {flows[0]['flow']} has"
    some = f"the {len(flows)} flows" if question.group is None else f"flows {flows[0]['flow']} to {flows[-1]['flow']}"
    return f"{some} together have"


def _ahead(question: Question, leads: Sequence[Lead]) -> str:
    """Describe who is ahead by each measure."""
    told = []
    for measure in question.measures:
        own = [lead for lead in leads if lead.measure == measure]
        if own:
            told.append(f"{measure.ahead} {_in_one(measure, own[0]) if len(own) == 1 else _in_several(measure, own)}")
    return _capital(f"{'; '.join(told)}.")


def _in_one(measure: Measure, lead: Lead) -> str:
    gap = abs(lead.by.mean)
    if gap == 0:
        return f"with {lead.first} and with {lead.next} alike"
    share = f" ({show(100 * gap / abs(lead.of))} %)" if lead.of else ""
    doubt = ", which the runs leave undecided" if lead.is_open else ""
    by = f"{amount(gap, lead.by.half_width, measure.unit)}{share} {measure.more}"
    return f"with {lead.first}: {by} than with {lead.next}, the next{doubt}"


def _in_several(measure: Measure, leads: Sequence[Lead]) -> str:
    """Count who is ahead in how many settings."""
    wins: dict[str, list[Lead]] = {}
    for lead in leads:
        wins.setdefault(lead.first, []).append(lead)
    ranked = sorted(wins.items(), key=lambda each: -len(each[1]))
    gaps = [_range([abs(lead.by.mean) for lead in own], measure.unit) for _, own in ranked]
    first = (
        f"with {ranked[0][0]} in {len(ranked[0][1])} of {len(leads)} settings ({gaps[0]} {measure.more} than the next)"
    )
    others = zip(ranked[1:MOST], gaps[1:], strict=False)
    told = [first, *(f"with {name} in {len(own)} ({gap})" for (name, own), gap in others)]
    more = f" and with {_count_others(len(ranked) - MOST)} in the rest" if len(ranked) > MOST else ""
    return ", ".join(told) + more


def _count_others(number: int) -> str:
    return "one other" if number == 1 else f"{number} others"


def _within(question: Question) -> list[str]:
    """Describe the flows of one cell."""
    cell = question.cells[0]
    controls = list(dict.fromkeys(flow["cc"] for flow in cell.sound[0].run["flows"]))
    shares = {cc: _goodput_of(cc, cell) for cc in controls}
    by_delay, by_goodput = question.measures
    delay, name = _of(by_delay.estimate(cell), by_delay.unit), question.bottlenecks.name
    if len(controls) == 1:
        together = _of(by_goodput.estimate(cell), by_goodput.unit)
        used = _of(estimate(question.bottlenecks.link(record.run)["utilisation_percent"] for record in cell.sound), "%")
        head = f"{_count(cell, controls[0])} {together} of goodput and {delay} of {by_delay.name}"
        return [_capital(f"{head}; {used} of {name or 'the link'} is used."), _tail(question, cell)]
    first, *others = controls
    head = f"{_count(cell, first)} {_of(estimate(shares[first].values()), by_goodput.unit)} of goodput"
    tail = [f"{_count(cell, cc)} {_of(estimate(shares[cc].values()), by_goodput.unit)}" for cc in others]
    sentence = _capital(f"{'; '.join([head, *tail])}; packets wait {delay} in the queue that they share, on average.")
    ranked = sorted(controls, key=lambda cc: -(estimate(shares[cc].values()).mean or 0))
    by = difference(shares[ranked[1]], shares[ranked[0]])
    doubt = ", which the runs leave undecided" if by and by.is_clear is False else ""
    gap = amount(abs(by.mean), by.half_width, by_goodput.unit) if by else "nothing"
    return [sentence, f"{ranked[0]} has {gap} more than {ranked[1]}{doubt}."]


def _goodput_of(cc: str, cell: Repeats) -> dict[int, float | None]:
    """Sum the goodput of a congestion control's flows, by seed."""
    return {
        record.run["seed"]: folded([flow for flow in record.run["flows"] if flow["cc"] == cc])["goodput_mbps"]
        for record in cell.sound
    }


def _count(cell: Repeats, cc: str) -> str:
    flows = sum(flow["cc"] == cc for flow in cell.sound[0].run["flows"])
    return f"{cc} has" if flows == 1 else f"the {flows} flows of {cc} have"


def _tail(question: Question, cell: Repeats) -> str:
    """Describe the slow packets of a cell, and the lost ones."""
    runs = [record.run for record in cell.sound]
    waits = _of(estimate(question.bottlenecks.link(run).get("queue_delay_ms_p95") for run in runs), "ms")
    together = [folded(run["flows"]) for run in runs]
    loss = _of(estimate(each["loss_percent"] for each in together), "%")
    return f"95 % of the packets wait {waits} or less in the queue, and {loss} of them are lost."


def certainty(results: Results, undecided: Sequence[Lead]) -> str:
    """Describe how much the runs say."""
    total = len(results.records) + len(results.failures)
    sound = sum(record.is_sound for record in results.records)
    most = max((len(cell.sound) for cell in results.cells), default=0)
    parts = []
    if most > 1:
        parts.append(f"± is the 95 % confidence interval of a mean over {_counts(results)} runs")
    elif sound:
        parts.append("Every cell ran once, which does not say how far another run would lie from it")
    if undecided:
        parts.append(f"{_are(len(undecided), 'comparison')} undecided, because the interval of the lead holds 0")
    if unsound := len(results.records) - sound:
        parts.append(f"{unsound} of {total} runs {'is' if unsound == 1 else 'are'} unsound and not counted")
    if failed := len(results.failures):
        parts.append(f"{failed} of {total} runs failed")
    if sound == total:
        parts.append("the run is sound" if total == 1 else f"all {total} runs are sound")
    return _capital(f"{'; '.join(parts)}.")


def _counts(results: Results) -> str:
    counts = [len(cell.sound) for cell in results.cells]
    return str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _are(number: int, thing: str) -> str:
    return f"1 {thing} is" if number == 1 else f"{number} {thing}s are"


def _undecided(lead: Lead) -> str:
    where = f" ({lead.setting})" if lead.setting else ""
    reach = amount(abs(lead.by.mean), lead.by.half_width, lead.measure.unit)
    return f"{lead.measure.name}{where}: {lead.first} leads {lead.next} by {reach}"


def _capital(sentence: str) -> str:
    """Begin a sentence with a capital, unless it begins with a name."""
    first = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if first in WORDS else sentence


WORDS = {"over", "flow", "flows", "the", "goodput", "all", "1"}
"""With what sentences begin that do not begin with a name."""
