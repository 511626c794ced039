"""What results answer: for each setting the best, by how much, the worst, and what the best costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unbloat.report.figures.looks import short_name
from unbloat.report.measures import FEW, Measure
from unbloat.report.parts import Facts, Fold, Heading, Part, Table
from unbloat.report.table import Column, show
from unbloat.report.verdicts import Experiment, Side, Verdict, cost_of, experiments_of
from unbloat.results.metrics import METRICS, NO_CONTROL
from unbloat.results.nearness import NEAR
from unbloat.results.record import where_ran
from unbloat.results.repeats import Repeats
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Difference, Estimate, difference, estimate
from unbloat.system.numbers import count_of, with_interval

OPEN = 30
"""Rows of a table that a page does not fold."""
TOLD = 6
"""Settings that have a sentence of their own."""
NAMED = 3
"""More labels than this are counted."""
COSTS = 2
"""Not more of what the best costs is told."""
TIMES = 2.0
"""From here on a value is so many times another, and not so many per cent more."""
SAYING_LITTLE = ("on", "off", "true", "false", "yes", "no")
"""Labels that mean nothing without their axis."""
SINGLE = "?"
"""Stands behind a lead between single runs, which leave it open, as in comparisons."""


@dataclass(frozen=True)
class Advice:
    """What stands under the heading of the answer, and what the runs leave open."""

    parts: list[Part]
    undecided: list[str]
    unfinished: list[str]
    """Means that are over some of a cell's runs only, so that nobody is ahead by them."""


def advice_of(results: RunSet) -> Advice:
    """Derive the answer from all sound runs."""
    if not any(cell.sound for cell in results.cells):
        return Advice([f"There is none: {certainty(results, 0)}"], [], [])
    experiments = [each for each in experiments_of(results) if each.cells]
    parts: list[Part] = []
    for each in experiments:
        parts += [Heading(title_of(each, experiments))] if len(experiments) > 1 else []
        parts += _between(each) if each.axes else _alone(each)
    verdicts = [(each, verdict) for each in experiments for verdict in each.verdicts]
    undecided = [_undecided(*each) for each in verdicts if each[1].undecided and not each[1].partly]
    unfinished = [line for each in experiments for line in _unfinished(each)]
    return Advice([*parts, certainty(results, len(undecided))], undecided, unfinished)


def title_of(experiment: Experiment, among: Sequence[Experiment] = ()) -> str:
    """Name an experiment; by its axes where others have the same name."""
    run = experiment.cells[0].sound[0].run
    others = [each.cells[0].sound[0].run for each in among]
    name = str(run["scenario"])
    if len({where_ran(each) for each in others}) > 1:
        name += f", {where_ran(run)}"
    if sum((each["scenario"], where_ran(each)) == (run["scenario"], where_ran(run)) for each in others) > 1:
        axes = list(experiment.cells[0].axes)
        name += f", over {' and '.join(axes)}" if axes else ", without a sweep"
    return name


# ---------------------------------------------------------------- Several cells


def _between(experiment: Experiment) -> Iterator[Part]:
    verdicts = experiment.verdicts
    if not verdicts:
        yield "No two cells differ in one setting only, so nothing can be held against each other."
        return
    yield from _sentences(experiment)
    shown = [each for each in verdicts if each.is_decided or each.undecided or each.partly]
    if first := shown[:OPEN]:
        yield Table(_columns(experiment, first), "The best, and at what cost; the worst cases first")
    if rest := shown[OPEN:]:
        yield Fold(f"{count_of(len(rest), 'further row')}", [Table(_columns(experiment, rest))])
    if alike := list(_alike(experiment)):
        yield Fold("Alike within the tolerance", [Facts(alike)])


def _sentences(experiment: Experiment) -> Iterator[Part]:
    """Yield a sentence for each setting: the case in which a choice matters most."""
    firsts: dict[tuple[str, ...], Verdict] = {}
    for verdict in experiment.verdicts:
        firsts.setdefault(verdict.setting, verdict)
    told = [(_where(experiment, each.setting), _sentence(experiment, each)) for each in firsts.values()]
    if len(told) == 1:
        yield _capital(told[0][1])
        return
    yield Facts(told[:TOLD])
    if len(told) > TOLD:
        yield f"The table has {count_of(len(told) - TOLD, 'further setting')}."


def _sentence(experiment: Experiment, verdict: Verdict) -> str:
    """Say of the first verdict of a setting who is best and who is worst."""
    if not verdict.is_decided:
        is_open = any(each.undecided or each.partly for each in experiment.verdicts if each.setting == verdict.setting)
        return "the runs leave open which is best." if is_open else "all are alike."
    names, value = _names(experiment, verdict.best), _value(verdict.measure, verdict.best[0])
    doubt = f" ({_names(experiment, verdict.undecided)} may be as good)" if verdict.undecided else ""
    return f"{verdict.measure.title} is {value} with {names}{doubt}, {_others(experiment, verdict)}."


def _others(experiment: Experiment, verdict: Verdict) -> str:
    """Tell the values of those behind, the worst by its name."""
    if verdict.without:
        return f"and without a value with {_joined([_side(experiment, label) for label in verdict.without])}"
    nearest, worst = verdict.behind[0], verdict.behind[-1]
    name = _side(experiment, worst.label)
    if nearest is worst:
        return f"and {_value(verdict.measure, worst)} with {name}"
    ends = dict.fromkeys(show(each.mean) for each in (nearest, worst))
    told = f"{' to '.join(ends)} {verdict.measure.unit}".strip()
    return f"and {told} with the other {len(verdict.behind)}, worst with {name}"


def _columns(experiment: Experiment, verdicts: Sequence[Verdict]) -> list[Column]:
    _, *others = experiment.axes
    columns = [Column(short_name(axis), "", [each.setting[n] for each in verdicts]) for n, axis in enumerate(others)]
    return [
        *columns,
        Column("what", "", [_capital(each.measure.title) for each in verdicts]),
        Column(f"best {short_name(experiment.axes[0])}", "", [_best(experiment, each) for each in verdicts]),
        Column("better than the next by", "", [_lead(experiment, each) for each in verdicts]),
        Column("worst", "", [_worst(experiment, each) for each in verdicts]),
        Column("what the best costs", "", [_cost(experiment, each) for each in verdicts]),
    ]


def _best(experiment: Experiment, verdict: Verdict) -> str:
    if verdict.partly:
        return "open: some runs have no value"
    told = f"{_names(experiment, verdict.best)}: {_value(verdict.measure, verdict.best[0])}"
    if not verdict.undecided:
        return told
    maybe = (f"{_side(experiment, each.label)}: {_value(verdict.measure, each)}" for each in verdict.undecided)
    return "undecided: " + "; ".join([told, *maybe])


def _lead(experiment: Experiment, verdict: Verdict) -> str:
    if verdict.undecided and not verdict.partly:
        return "undecided"
    if verdict.partly or not verdict.behind:
        return ""
    next_one = verdict.behind[0]
    return f"{_side(experiment, next_one.label)}: {_difference(verdict, next_one)}"


def _worst(experiment: Experiment, verdict: Verdict) -> str:
    if verdict.partly:
        return ""
    if verdict.without:
        return f"{_joined([_side(experiment, label) for label in verdict.without])}: no value in any run"
    if not verdict.behind:
        return ""
    last = verdict.behind[-1]
    by = f", behind by {_difference(verdict, last)}" if len(verdict.behind) > 1 else ""
    return f"{_side(experiment, last.label)}: {_value(verdict.measure, last)}{by}"


def _difference(verdict: Verdict, side: Side) -> str:
    """Write how far a side is behind the best: the amount with its interval, and how many times or per cent that is."""
    by, best = side.behind, verdict.best[0]
    if by is None:
        return "-"
    low, high = sorted((abs(best.mean), abs(side.mean)))
    factor = high / low if low else 0.0
    ratio = ""
    if verdict.measure.unit not in ("%", METRICS["rating"].unit) and factor:
        percent = show(100 * abs(by.mean) / abs(side.mean))
        ratio = f", {show(factor)} times" if factor >= TIMES else f", {percent} %"
    return f"{_amount(by, verdict.measure.unit)}{ratio}{f' {SINGLE}' if by.half_width is None else ''}"


def _amount(by: Difference, unit: str) -> str:
    return amount(abs(by.mean), by.half_width, unit)


def _cost(experiment: Experiment, verdict: Verdict) -> str:
    """Write in what else the best is behind: its value there, and the best one."""
    if verdict.partly or verdict.undecided:
        return ""
    first = verdict.best[0]
    told = []
    for each in cost_of(verdict, experiment.verdicts)[:COSTS]:
        own = next(side for side in each.behind if side.label == first.label)
        told.append(
            f"{each.measure.title} {_value(each.measure, own)}, "
            f"{_value(each.measure, each.best[0])} with {_side(experiment, each.best[0].label)}"
        )
    head = f"{_side(experiment, first.label)}: " if told and len(verdict.best) > 1 else ""
    return head + "; ".join(told)


def _alike(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield for each setting the measures by which nobody is ahead."""
    found: dict[tuple[str, ...], list[str]] = {}
    for verdict in experiment.verdicts:
        if not (verdict.is_decided or verdict.undecided or verdict.partly):
            means = [side.mean for side in verdict.best]
            ends = dict.fromkeys(show(end) for end in (min(means), max(means)))
            said = f"{verdict.measure.title} {' to '.join(ends)} {verdict.measure.unit}".strip()
            found.setdefault(verdict.setting, []).append(said)
    for setting, measures in found.items():
        yield _where(experiment, setting) or "All", "; ".join(measures)


# ---------------------------------------------------------------- One cell


def _alone(experiment: Experiment) -> Iterator[Part]:
    """Tell the values of the only cell, and which control has more where several compete."""
    (cell,) = experiment.cells
    facts = [(_capital(each.title), amount_of(each.estimate(cell), each.unit)) for each in experiment.measures]
    controls = dict.fromkeys(flow["cc"] for run in cell.runs for flow in run["flows"] if flow["cc"] != NO_CONTROL)
    if 1 < len(controls) <= FEW and experiment.bottlenecks.adds_up(cell.scenario):
        facts += _shares({cc: _by_seed(cell, cc) for cc in controls})
    yield Facts(facts)


def _by_seed(cell: Repeats, cc: str) -> dict[int, float | None]:
    return {run["seed"]: sum(flow["goodput_mbps"] for flow in run["flows"] if flow["cc"] == cc) for run in cell.runs}


def _shares(goodputs: Mapping[str, Mapping[int, float | None]]) -> Iterator[tuple[str, str]]:
    """Tell the goodput of the flows of each control, and how far the first two are apart."""
    means = {cc: estimate(values.values()) for cc, values in goodputs.items()}
    for cc, each in means.items():
        yield f"Goodput of all flows with {cc}", amount_of(each, "Mbit/s")
    first, following, *_ = sorted(means, key=lambda cc: -(means[cc].mean or 0.0))
    by = difference(goodputs[following], goodputs[first])
    if by is None:
        return
    a, b = (means[cc].mean or 0.0 for cc in (first, following))
    is_open = "undecided: " if by.is_clear is False else ""
    said = "alike" if NEAR["goodput"].are_alike(a, b, 0.0) else f"{is_open}{_amount(by, 'Mbit/s')}"
    yield f"{first} more than {following}", said


# ---------------------------------------------------------------- Words


def _side(experiment: Experiment, label: str) -> str:
    """Name a side: a label that says nothing alone has its axis before it."""
    return (
        label if not label[:1].isdigit() and label not in SAYING_LITTLE else f"{short_name(experiment.axes[0])} {label}"
    )


def _names(experiment: Experiment, sides: Sequence[Side]) -> str:
    return _joined([_side(experiment, each.label) for each in sides])


def _joined(names: Sequence[str]) -> str:
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _where(experiment: Experiment, setting: Sequence[str]) -> str:
    _, *others = experiment.axes
    return ", ".join(f"{short_name(axis)} {label}" for axis, label in zip(others, setting, strict=True))


def _value(measure: Measure, side: Side) -> str:
    return amount_of(side.value, measure.unit)


def amount_of(value: Estimate, unit: str) -> str:
    """Write an estimate with its unit."""
    return amount(value.mean, value.half_width, unit)


def amount(mean: float | None, half_width: float | None, unit: str) -> str:
    """Write a mean with its interval, both to the same decimal place."""
    return "no value" if mean is None else f"{with_interval(mean, half_width)} {unit}".strip()


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


# ---------------------------------------------------------------- What is open


def _undecided(experiment: Experiment, verdict: Verdict) -> str:
    where = f" ({place})" if (place := _where(experiment, verdict.setting)) else ""
    first = _side(experiment, verdict.best[0].label)
    told = (
        f"{_side(experiment, side.label)} by {_amount(side.behind, verdict.measure.unit)}"
        for side in verdict.undecided
        if side.behind
    )
    return f"{verdict.measure.title}{where}: {first} leads {', '.join(told)}"


def _unfinished(experiment: Experiment) -> Iterator[str]:
    """Yield which cells have runs without a value of a measure."""
    for measure in experiment.measures:
        for cell in experiment.cells:
            known, total = measure.estimate(cell).n, len(cell.sound)
            if known < total:
                where = f" ({', '.join(cell.axes.values())})" if cell.axes else ""
                has = "has" if known == 1 else "have"
                yield f"{measure.title}{where}: {known} of {count_of(total, 'run')} {has} a value"


def certainty(results: RunSet, undecided: int) -> str:
    """Describe how much the runs say."""
    total = len(results.records) + len(results.failures)
    sound = sum(record.is_sound for record in results.records)
    counts = [len(cell.sound) for cell in results.cells]
    parts = []
    if max(counts, default=0) > 1:
        number = str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        parts.append(f"± is the 95 % confidence interval of a mean over {number} runs")
    elif sound and len(results.cells) > 1:
        parts.append(f"Every cell ran once, so each lead has a {SINGLE}: --repeat 5 says how far another run lies off")
    elif sound:
        parts.append("It ran once, which does not say how far another run would lie from it")
    if undecided:
        are = "1 comparison is" if undecided == 1 else f"{undecided} comparisons are"
        parts.append(f"{are} undecided, because the interval of the lead holds 0")
    if unsound := len(results.records) - sound:
        parts.append(f"{unsound} of {total} runs {'is' if unsound == 1 else 'are'} unsound and not counted")
    if failed := len(results.failures):
        parts.append(f"{failed} of {total} runs failed")
    if sound == total:
        parts.append("the run is sound" if total == 1 else f"all {total} runs are sound")
    return _capital(f"{'; '.join(parts)}.")
