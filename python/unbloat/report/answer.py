"""What results answer, in three sentences: who has what goodput and queueing delay, who is ahead, how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from unbloat.report.table import show, with_interval
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import MANY, METRICS, folded
from unbloat.results.record import SEED, flows_by_group
from unbloat.results.repeats import Repeats
from unbloat.results.results import Results
from unbloat.results.statistics import Difference, Estimate, difference, estimate
from unbloat.scenario.checks import count_of


@dataclass(frozen=True)
class Felt:
    """What a person waits for, or hears."""

    column: str
    said: str
    """How a value of it is told."""
    ahead: str
    """What is said of the first."""
    is_less_better: bool = True


FELT = (
    Felt("rating", "a call is rated {}", "calls are rated best", is_less_better=False),
    Felt("page_load_s_mean", "a page loads in {}", "pages load soonest"),
    Felt("stalled_percent", "films stand still for {} of the time", "films stand still least"),
    Felt("response_ms_mean", "a response takes {}", "responses come soonest"),
)
COMPLETION = "completion"
MOST_FELT = 3
"""Not more of these are told."""
MOST = 4
"""More sides than this are not told one by one."""
CONTROL = "cc"

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """The sentences, and what the runs leave undecided."""

    sentences: list[str]
    undecided: list[str]
    unfinished: list[str]
    """Means that are over some of a cell's runs only, so that nobody is ahead by them."""


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
    said: str
    """How a value of it is told."""
    is_felt: bool = False
    """Whether it is of an application."""

    def by_seed(self, cell: Repeats) -> dict[int, float | None]:
        """Return the values of a cell's sound runs by their seeds."""
        return {record.run["seed"]: self.take(record.run) for record in cell.sound}

    def estimate(self, cell: Repeats) -> Estimate:
        """Estimate the mean over a cell's sound runs."""
        return estimate(self.by_seed(cell).values())

    def told(self, cells: Sequence[Repeats], is_range: bool = False) -> str:
        """Write its value in a cell, or its range in several; runs that have none are counted."""
        found = [self.estimate(cell) for cell in cells]
        missing = sum(len(cell.sound) - each.n for cell, each in zip(cells, found, strict=True))
        total = sum(len(cell.sound) for cell in cells)
        counted = f" ({total - missing} of {total} runs)" if missing else ""
        if missing == total:
            return f"no value{counted}"
        value = _range([each.mean for each in found], self.unit) if is_range else _of(found[0], self.unit)
        return value + counted


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
    def is_tie(self) -> bool:
        """Return whether both have the same digits."""
        return show(float(self.of)) == show(float(self.of + self.by.mean))

    @property
    def is_open(self) -> bool:
        """Return whether the interval of the lead holds 0, so that the other one may be ahead."""
        return self.by.is_clear is False


def answer_of(results: Results) -> Answer:
    """Derive the answer from all sound runs."""
    if not any(cell.sound for cell in results.cells):
        return Answer([f"There is none: {certainty(results, [])}"], [], [])
    question = Question(results)
    leads = [lead for measure in question.measures for lead in question.leads(measure)]
    told = _between(question, leads) if question.axis else _within(question)
    undecided = [lead for lead in leads if lead.is_open and not lead.is_tie]
    sentences = [*told, certainty(results, undecided)]
    return Answer(sentences, [_undecided(lead) for lead in undecided], list(question.unfinished()))


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
        """By what the sides are compared: first what people wait for, last how long packets do."""
        return [*self._felt(), *self._rates(), self._delay()]

    def _felt(self) -> Iterator[Measure]:
        """Yield what applications and flows with an end are for, as far as the first run has it."""
        runs = [record.run for cell in self.cells for record in cell.sound]
        flows = runs[0]["flows"]
        measures = [each for each in FELT if any(flow.get(each.column) is not None for flow in flows)]
        for each in measures[:MOST_FELT]:
            metric, best = METRICS[each.column], min if each.is_less_better else max
            name = metric.key.replace("_", " ")
            more = "less" if each.is_less_better else "more"
            yield Measure(
                name, metric.unit, partial(_folded, each.column), best, each.ahead, more, each.said, is_felt=True
            )
        if not measures and len(flows) <= MANY:
            yield from self._completions(runs)

    def _completions(self, runs: Sequence[Run]) -> Iterator[Measure]:
        """Yield the time that flows with an end take; those are the flows of which a run has seen the end."""
        ended = {n for run in runs for n, flow in enumerate(run["flows"]) if flow.get("completion_s") is not None}
        if ended:
            who = _called([flow for n, flow in enumerate(runs[0]["flows"]) if n in ended])
            said = f"{who} {'takes' if len(ended) == 1 else 'take'} {{}}"
            take = partial(_last_of, ended)
            yield Measure(COMPLETION, "s", take, min, "the completion time is least", "less", said)

    def _rates(self) -> Iterator[Measure]:
        """Yield the goodput of the flows that the axis is about, or of all where it adds up; else what is used."""
        if self.group is not None or self.bottlenecks.is_shared:
            said = f"{_flows(self)} {{}} of goodput"
            yield Measure("goodput", "Mbit/s", self._goodput, max, "goodput is highest", "more", said)
        else:
            link = self.bottlenecks.name or "the link"
            said = f"{{}} of {link} is used"
            yield Measure(f"utilisation of {link}", "%", self.used, max, f"most of {link} is used", "more", said)

    def _delay(self) -> Measure:
        """Return queueing delay at the bottleneck; in a mesh, where packets wait in nodes, round-trip times tell."""
        if self.cells[0].sound[0].run.get("nodes"):
            take = partial(_folded, "rtt_ms_mean")
            return Measure("mean RTT", "ms", take, min, "the mean RTT is lowest", "less", "{} of mean RTT")
        at = f" at {name}" if (name := self.bottlenecks.name) else ""
        name = f"mean queueing delay{at}"
        return Measure(name, "ms", self._wait, min, f"queueing delay{at} is lowest", "less", f"{{}} of {name}")

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

    def _wait(self, run: Run) -> float | None:
        value: float | None = self.bottlenecks.link(run)["queue_delay_ms_mean"]
        return value

    def used(self, run: Run) -> float | None:
        """Return how much of the bottleneck is used."""
        value: float | None = self.bottlenecks.link(run).get("utilisation_percent")
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
            found = {side: measure.estimate(cell) for side, cell in cells.items()}
            if any(0 < each.n < len(cells[side].sound) for side, each in found.items()):
                continue  # Means over those runs that have a value: the best of each cell.
            means = {side: each.mean for side, each in found.items()}
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

    def unfinished(self) -> Iterator[str]:
        """Yield which cells have runs without a value of a measure."""
        for measure in self.measures:
            for cell in self.cells:
                known, total = measure.estimate(cell).n, len(cell.sound)
                if known < total:
                    where = f" ({', '.join(cell.axes.values())})" if cell.axes else ""
                    has = "has" if known == 1 else "have"
                    yield f"{measure.name}{where}: {known} of {count_of(total, 'run')} {has} a value"


def _labels(cells: Sequence[Repeats], axis: str | None) -> list[str]:
    return list(dict.fromkeys(cell.axes[axis] for cell in cells if axis in cell.axes))


def _folded(column: str, run: Run) -> float | None:
    return folded(run["flows"])[column]


def _last_of(flows: Collection[int], run: Run) -> float | None:
    """Return when the last of these flows has ended; none if one has not."""
    return folded([flow for n, flow in enumerate(run["flows"]) if n in flows])["completion_s"]


# ---------------------------------------------------------------- Numbers


def amount(mean: float | None, half_width: float | None, unit: str) -> str:
    """Write a mean with its interval, both to the same decimal place."""
    if mean is None:
        return "no value"
    return f"{with_interval(float(mean), half_width)} {unit}".strip()


def _of(value: Estimate, unit: str) -> str:
    return amount(value.mean, value.half_width, unit)


def _range(values: Sequence[float | None], unit: str) -> str:
    known = [float(value) for value in values if value is not None]
    if not known:
        return "no value"
    low, high = show(min(known)), show(max(known))
    return f"{low} {unit}".strip() if low == high else f"{low} to {high} {unit}".strip()


# ---------------------------------------------------------------- Sentences


def _between(question: Question, leads: Sequence[Lead]) -> list[str]:
    """Describe several sides."""
    several = len(question.settings) > 1
    sides = [(side, [cells[side] for cells in question.settings if side in cells]) for side in question.sides]
    measures = question.measures
    sides.sort(key=lambda each: _mean_of(measures[-1], each[1]))
    shown = sides if len(sides) <= MOST else [sides[0], sides[-1]]
    told = [(question.name(side), [measure.told(cells, several) for measure in measures]) for side, cells in shown]
    (first, values), *others = told
    over = ""
    if several:
        axes = " and ".join(axis.rpartition(".")[2] for axis in question.others)
        over = f"over {len(question.settings)} settings of {axes}, "
    *said, delay = (measure.said.format(value) for measure, value in zip(measures, values, strict=True))
    head = f"{over}{', '.join(said)} with {first}, at {delay}"
    tail = [f"with {name} {', '.join(each[:-1])} at {each[-1]}" for name, each in others]
    between = f"; at the other end of {len(sides)}, " if len(sides) > MOST else "; "
    return [_capital(f"{between.join([head, *tail])}."), *([_ahead(question, leads)] if leads else [])]


def _mean_of(measure: Measure, cells: Sequence[Repeats]) -> float:
    known = [mean for cell in cells if (mean := measure.estimate(cell).mean) is not None]
    return sum(known) / len(known) if known else math.inf


def _called(flows: Sequence[Mapping[str, Any]]) -> str:
    """Name flows, by their names or else their numbers."""
    names = dict.fromkeys(f"“{flow['name']}”" if flow.get("name") else str(flow["flow"]) for flow in flows)
    return f"flow{'' if len(names) == 1 else 's'} {', '.join(names)}"


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
    if lead.is_tie:
        return f"with {lead.first} and with {lead.next} alike"
    gap = abs(lead.by.mean)
    share = f" ({show(100 * gap / abs(lead.of))} %)" if lead.of and measure.unit != "%" else ""
    doubt = ", which the runs leave undecided" if lead.is_open else ""
    by = f"{amount(gap, lead.by.half_width, measure.unit)}{share} {measure.more}"
    return f"with {lead.first}: {by} than with {lead.next}, the next{doubt}"


def _in_several(measure: Measure, leads: Sequence[Lead]) -> str:
    """Count who is ahead in how many settings; nobody is where the first two have the same digits."""
    wins: dict[str, list[Lead]] = {}
    for lead in leads:
        if not lead.is_tie:
            wins.setdefault(lead.first, []).append(lead)
    ranked = sorted(wins.items(), key=lambda each: -len(each[1]))
    gaps = [_range([abs(lead.by.mean) for lead in own], measure.unit) for _, own in ranked]
    told = [f"with {name} in {len(own)} ({gap})" for (name, own), gap in zip(ranked[1:MOST], gaps[1:], strict=False)]
    if ranked:
        name, own = ranked[0]
        head = f"with {name} in {len(own)} of {len(leads)} settings ({gaps[0]} {measure.more} than the next)"
        told.insert(0, head)
    if ties := sum(lead.is_tie for lead in leads):
        told.append(f"with several alike in {ties}{'' if ranked else f' of {len(leads)} settings'}")
    more = f" and with {_count_others(len(ranked) - MOST)} in the rest" if len(ranked) > MOST else ""
    return ", ".join(told) + more


def _count_others(number: int) -> str:
    return "one other" if number == 1 else f"{number} others"


def _within(question: Question) -> list[str]:
    """Describe the flows of one cell."""
    cell, (*main, by_delay) = question.cells[0], question.measures
    delay = by_delay.said.format(by_delay.told([cell]))
    flows = cell.sound[0].run["flows"]
    used, link = estimate(map(question.used, cell.runs)), question.bottlenecks.name or "the link"
    used_words = f"{_of(used, '%')} of {link} is used"
    is_plain = [measure.name for measure in main] == ["goodput"]
    if (named := _names(flows)) and not any(measure.is_felt for measure in main):
        told = [f"{each} has {_of(_goodput_of([n], cell), 'Mbit/s')}" for n, each in enumerate(named)]
        ends = [measure.said.format(measure.told([cell])) for measure in main if measure.name == COMPLETION]
        return [
            _capital(f"{', '.join(told)} of goodput, at {delay}; {', '.join([*ends, used_words])}."),
            *_tail(question),
        ]
    if not is_plain:
        told = [measure.said.format(measure.told([cell])) for measure in main]
        return [_capital(f"{', '.join(told)}, at {delay}."), *_tail(question)]
    controls = list(dict.fromkeys(flow["cc"] for flow in flows))
    if len(controls) == 1:
        head = f"{_count(cell, controls[0])} {main[0].told([cell])} of goodput and {delay}"
        return [_capital(f"{head}; {used_words}."), *_tail(question)]
    return _shares(cell, controls, by_delay.told([cell]))


def _names(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of a few flows, if each has its own."""
    names = [f"“{flow['name']}”" for flow in flows if flow.get("name")]
    return names if 1 < len(flows) == len(set(names)) <= MOST else []


def _shares(cell: Repeats, controls: Sequence[str], delay: str) -> list[str]:
    """Describe what the flows of each congestion control have."""
    unit = "Mbit/s"
    members = {cc: [n for n, flow in enumerate(cell.runs[0]["flows"]) if flow["cc"] == cc] for cc in controls}
    shares = {cc: _by_seed(flows, cell) for cc, flows in members.items()}
    first, *others = controls
    head = f"{_count(cell, first)} {_of(estimate(shares[first].values()), unit)} of goodput"
    tail = [f"{_count(cell, cc)} {_of(estimate(shares[cc].values()), unit)}" for cc in others]
    sentence = _capital(f"{'; '.join([head, *tail])}; packets wait {delay} in the queue that they share, on average.")
    ranked = sorted(controls, key=lambda cc: -(estimate(shares[cc].values()).mean or 0))
    by = difference(shares[ranked[1]], shares[ranked[0]])
    doubt = ", which the runs leave undecided" if by and by.is_clear is False else ""
    gap = amount(abs(by.mean), by.half_width, unit) if by else "nothing"
    return [sentence, f"{ranked[0]} has {gap} more than {ranked[1]}{doubt}."]


def _goodput_of(flows: Sequence[int], cell: Repeats) -> Estimate:
    return estimate(_by_seed(flows, cell).values())


def _by_seed(flows: Sequence[int], cell: Repeats) -> dict[int, float | None]:
    """Sum the goodput of flows, given by their places, by seed."""
    return {
        run["seed"]: folded([run["flows"][n] for n in flows if n < len(run["flows"])])["goodput_mbps"]
        for run in cell.runs
    }


def _count(cell: Repeats, cc: str) -> str:
    flows = sum(flow["cc"] == cc for flow in cell.sound[0].run["flows"])
    return f"{cc} has" if flows == 1 else f"the {flows} flows of {cc} have"


def _tail(question: Question) -> list[str]:
    """Describe the slow packets of a cell, and the lost ones."""
    cell = question.cells[0]
    loss = _of(estimate(folded(run["flows"])["loss_percent"] for run in cell.runs), "%")
    if cell.runs[0].get("nodes"):
        return [f"{loss} of the packets are lost."]
    waits = _of(estimate(question.bottlenecks.link(run).get("queue_delay_ms_p95") for run in cell.runs), "ms")
    where = question.bottlenecks.name
    there = f"at {where}" if where else "in the queue"
    return [f"95 % of the packets wait {waits} or less {there}, and {loss} of {'all' if where else 'them'} are lost."]


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


WORDS = {
    "over",
    "flow",
    "flows",
    "the",
    "goodput",
    "all",
    "1",
    "a",
    "films",
    "most",
    "queueing",
    "calls",
    "pages",
    "responses",
}
"""With what sentences begin that do not begin with a name."""
