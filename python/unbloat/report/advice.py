"""The answer of results: for each setting and metric the best, by how much, the worst, and what the best costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unbloat.report.names import short_name
from unbloat.report.report import Facts, Fold, Heading, Part, Table
from unbloat.report.table import Column, show
from unbloat.report.verdicts import Experiment, Side, Verdict, cost_of, experiments_of, shares_of
from unbloat.results.metrics import METRICS
from unbloat.results.record import where_ran
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import NEAR, Estimate, difference
from unbloat.system.legible import count_of, with_interval

OPEN = 30
"""Rows of a table that a page does not fold."""
NAMED = 4
"""More labels than this are counted."""
COSTS = 2
"""The largest number of costs to report of the best."""
TIMES = 2.0
"""The ratio from which on a table says "times", and not per cent."""
SINGLE = "?"
"""The mark of a lead between single runs, which leave it open, as in comparisons."""


def advice_of(results: RunSet) -> list[Part]:
    """Derive the answer from all sound runs."""
    experiments = [each for each in experiments_of(results) if each.points]
    parts: list[Part] = []
    for each in experiments:
        parts += [Heading(title_of(each, experiments))] if len(experiments) > 1 else []
        parts += _compared(each) if each.axes else [Facts(list(_alone(each)))]
    return [*parts, _certainty(results, [verdict for each in experiments for verdict in each.verdicts])]


def title_of(experiment: Experiment, among: Sequence[Experiment] = ()) -> str:
    """Name an experiment; by its axes where others have the same name."""
    run = experiment.points[0].sound[0].run
    others = [each.points[0].sound[0].run for each in among]
    name = str(run["scenario"])
    if len({where_ran(each) for each in others}) > 1:
        name += f", {where_ran(run)}"
    if sum((each["scenario"], where_ran(each)) == (run["scenario"], where_ran(run)) for each in others) > 1:
        axes = list(experiment.points[0].axes)
        name += f", over {' and '.join(axes)}" if axes else ", without a sweep"
    return name


# ---------------------------------------------------------------- Several grid points


def _compared(experiment: Experiment) -> Iterator[Part]:
    """Yield a row for each setting and measure; if one is ahead, rows without a lead are folded."""
    verdicts = experiment.verdicts
    if not verdicts:
        yield "No two grid points differ in one setting only, so nothing can be held against each other."
        return
    reported = [each for each in verdicts if not each.is_alike]
    alike = [each for each in verdicts if each.is_alike]
    rows = reported or alike
    yield _table(experiment, rows[:OPEN], "The worst cases first")
    if rest := [*rows[OPEN:], *(alike if reported else ())]:
        title = "Alike within the tolerance" if len(reported) <= OPEN else "Further cases"
        yield Fold(f"{title} ({count_of(len(rest), 'row')})", [_table(experiment, rest)])


def _table(experiment: Experiment, verdicts: Sequence[Verdict], title: str = "") -> Table:
    axis, *others = map(short_name, experiment.axes)
    settings = [Column(other, "", [each.setting[n] for each in verdicts]) for n, other in enumerate(others)]
    return Table(
        [
            *settings,
            Column("metric", "", [f"{each.measure.title} ({each.measure.unit})" for each in verdicts]),
            Column(f"best {axis}", "", [_best(each) for each in verdicts]),
            Column("lead over the next", "", [_lead(each) for each in verdicts]),
            Column(f"worst {axis}", "", [_worst(each) for each in verdicts]),
            Column("what the best costs", "", [_cost(each, experiment.verdicts) for each in verdicts]),
        ],
        title,
    )


def _best(verdict: Verdict) -> str:
    if verdict.partly or not verdict.best:
        return "open" if verdict.best else "none"
    first = verdict.best[0]
    if verdict.is_alike:
        ends = sorted({first.mean, verdict.best[-1].mean})
        return f"all: {' to '.join(dict.fromkeys(map(show, ends)))}"
    return f"{_listed([side.label for side in verdict.best])}: {_value(first)}"


def _lead(verdict: Verdict) -> str:
    """Write how far the next is behind, or what leaves that open."""
    if verdict.partly:
        return "; ".join(f"{label}: a value in {n} of {total} runs" for label, (n, total) in verdict.partly.items())
    if verdict.undecided:
        return "undecided: " + "; ".join(f"{side.label} {_behind(verdict, side)}" for side in verdict.undecided)
    if verdict.behind:
        return f"{verdict.behind[0].label}: {_behind(verdict, verdict.behind[0])}"
    return "alike" if verdict.is_alike else ""


def _worst(verdict: Verdict) -> str:
    if verdict.without:
        return f"{_listed(verdict.without)}: no value in any run"
    if verdict.partly or not verdict.behind:
        return ""
    last = verdict.behind[-1]
    by = f", behind by {_behind(verdict, last)}" if len(verdict.behind) > 1 else ""
    return f"{last.label}: {_value(last)}{by}"


def _behind(verdict: Verdict, side: Side) -> str:
    """Write how far a side is behind the best: the amount with its interval, and how many times or per cent that is."""
    by, best = side.behind, verdict.best[0]
    if by is None:
        return "-"
    low, high = sorted((abs(best.mean), abs(side.mean)))
    ratio = ""
    if verdict.measure.unit not in ("%", METRICS["rating"].unit) and low and by.is_clear is not False:
        percent = f"{show(100 * abs(by.mean) / abs(side.mean))} %"
        ratio = f" ({f'{show(high / low)} times' if high / low >= TIMES else percent})"
    return f"{with_interval(abs(by.mean), by.half_width)}{ratio}{f' {SINGLE}' if by.half_width is None else ''}"


def _cost(verdict: Verdict, among: Sequence[Verdict]) -> str:
    """Write in what else the best is behind: its value there, and the best one."""
    if not verdict.is_decided or verdict.undecided:
        return ""
    label = verdict.best[0].label
    reported = []
    for each in cost_of(verdict, among)[:COSTS]:
        own, best = next(side for side in each.behind if side.label == label), each.best[0]
        reported.append(f"{each.measure.title} {_value(own)}, with {best.label} {_value(best)} {each.measure.unit}")
    return (f"{label}: " if reported and len(verdict.best) > 1 else "") + "; ".join(reported)


def _listed(labels: Sequence[str]) -> str:
    more = [f"{len(labels) - NAMED} more"] if len(labels) > NAMED else []
    return ", ".join([*labels[:NAMED], *more])


def _value(side: Side) -> str:
    return with_interval(side.value.mean, side.value.half_width)


# ---------------------------------------------------------------- One grid point


def _alone(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Tell the values of the only grid point, and which congestion control has more where several compete."""
    (point,) = experiment.points
    shares = shares_of(point, experiment.bottlenecks)
    for each in [*experiment.measures, *shares.values()]:
        found, total = each.estimate(point), len(point.sound)
        known = f" ({found.n} of {total} runs)" if found.n < total else ""
        yield each.title[:1].upper() + each.title[1:], _amount(found, each.unit) + known
    means = {cc: share.estimate(point).mean or 0.0 for cc, share in shares.items()}
    if not means:
        return
    first, following, *_ = sorted(means, key=lambda cc: -means[cc])
    if by := difference(shares[following].by_seed(point), shares[first].by_seed(point)):
        is_open = "undecided: " if by.is_clear is False else ""
        said = f"{is_open}{with_interval(abs(by.mean), by.half_width)} Mbit/s"
        are_alike = NEAR["goodput"].are_alike(means[first], means[following], 0.0)
        yield f"{first} more than {following}", "alike" if are_alike else said


def _amount(value: Estimate, unit: str) -> str:
    return "no value" if value.mean is None else f"{with_interval(value.mean, value.half_width)} {unit}".strip()


# ---------------------------------------------------------------- How sure it is


def _certainty(results: RunSet, verdicts: Sequence[Verdict]) -> str:
    """Describe how much the runs say."""
    failed = len(results.failures)
    total = len(results.records) + failed
    sound = sum(record.is_sound for record in results.records)
    undecided = sum(bool(each.undecided) and not each.partly for each in verdicts)
    counts = [len(point.sound) for point in results.points if point.sound]
    parts = [] if sound else ["No run is sound"]
    if max(counts, default=0) > 1:
        ends = " to ".join(map(str, sorted({min(counts), max(counts)})))
        parts.append(f"± is the 95 % confidence interval of a mean over {ends} runs")
    elif sound:
        is_open = f", so leads are open ({SINGLE})" if verdicts else ""
        parts.append(f"Every grid point ran once{is_open}: --repeat 5 says how far another run lies off")
    if undecided:
        parts.append(f"undecided, because the interval of the lead holds 0: {undecided} of {len(verdicts)} rows")
    for words, number in (("unsound and not counted", total - failed - sound), ("failed", failed)):
        parts += [f"{words}: {number} of {total} runs"] if number else []
    parts += ["all runs are sound"] if sound == total else []
    return f"{'; '.join(parts)}."
