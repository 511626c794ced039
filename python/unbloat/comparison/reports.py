"""Comparisons laid out: differences with their intervals, what lies outside tolerances, three sets in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from unbloat.comparison.difference import MetricDifference, PointDifference, SweepComparison
from unbloat.comparison.tolerance import Compared, ComparedPoint, Comparison, Criterion, KnownReason, tolerances
from unbloat.report.report import Listing, Part, Table
from unbloat.report.results_tables import POINT_COLUMNS, USER_PERCEIVED_COLUMNS, written
from unbloat.report.table import Column, show
from unbloat.results.grid_points import PointKey, ResultSet
from unbloat.results.metrics import AHEAD, ALL, METRICS
from unbloat.results.statistics import CONFIDENCE, Estimate, estimate
from unbloat.system.legible import count_of

MARKS = {True: "*", False: "", None: "?"}
"""Marks behind a difference: it exceeds its interval, it does not, single runs leave that open."""
FIXED = "="
"""Marks a difference between repeats that are all alike."""
OF_EACH_FLOW = ("goodput_mbps", "completion_s")
"""Metrics that are shown of flows one by one, where they have names or an end."""
MAIN = ("goodput", "queue_delay")
"""Criteria that are counted once more by themselves."""
FAR = "x"
"""Marks what is outside the tolerances."""


def _named(sides: Sequence[ResultSet]) -> str:
    """Say which set is A, B and so on."""
    return ", ".join(f"{letter} is {side}" for letter, side in zip("ABC", sides, strict=False))


def _columns_of_points(places: Sequence[PointKey]) -> list[Column]:
    """Return a column for each axis, and one for the scenario where there are several."""
    axes = dict.fromkeys(axis for place in places for axis in place.order)
    columns = [Column(axis.rpartition(".")[2], "", [place.axes.get(axis, "") for place in places]) for axis in axes]
    if places and (not axes or len({place.scenario for place in places}) > 1):
        columns.insert(0, Column("scenario", "", [place.scenario for place in places]))
    return columns


# ---------------------------------------------------------------- Intervals


def by_intervals(comparison: SweepComparison) -> list[Part]:
    """Lay the differences of two sweeps out, with their intervals."""
    rows = [(point, metric) for point in comparison.points for metric in _shown(point, comparison)]
    heading = (
        f"{_named(comparison.sides)}. Means ± half of the 95 % confidence interval; "
        f"* behind a difference: it exceeds its interval, ? a single run leaves that open. {_how(comparison)}"
    )
    parts: list[Part] = [heading, Table(_columns_of_differences(comparison, rows))]
    for side, number in zip("AB", comparison.unsound, strict=True):
        if number:
            parts.append(f"Unsound, and left out: {count_of(number, 'run')} of {side}.")
    for side, places in zip("AB", comparison.only, strict=True):
        if places:
            parts.append(Listing(f"Only in {side}", [f"({place})" for place in places]))
    if any(metric.is_fixed for _, metric in rows):
        parts.append(
            f"{FIXED} marks a difference between repeats that are all alike: almost nothing in the "
            "scenario is random, so the difference is exact and needs no statistics."
        )
    return [*parts, _count_of_differences(comparison)]


def _how(comparison: SweepComparison) -> str:
    differences = (metric.difference for point in comparison.points for metric in point.metrics)
    pairs = {difference.is_paired for difference in differences if difference}
    if pairs == {True}:
        return "The intervals are those of pairs: both sides have the same seeds."
    if pairs == {False}:
        return "The intervals are Welch's: the sides have other seeds."
    return "The intervals are those of pairs where both sides have the same seeds, otherwise Welch's."


def _shown(point: PointDifference, comparison: SweepComparison) -> Iterator[MetricDifference]:
    """Yield the metrics that are wanted, by default those which a table of repeats shows, whose means differ."""
    wanted = comparison.shown
    metrics = {(metric.of, metric.name): metric for metric in point.metrics}
    if not (wanted or comparison.bottlenecks.is_shared):
        metrics.pop((ALL, "jain_index"), None)  # It is of goodputs at different times.
    names = [metric.name for metric in wanted] or list(dict.fromkeys([*USER_PERCEIVED_COLUMNS, *POINT_COLUMNS]))
    links = (point.link, *comparison.bottlenecks.others)
    places = [(of, name) for name in names for of in (links if METRICS[name].of == "link" else (ALL,))]
    of_flows = [name for name in names if METRICS[name].of == "flow" and (wanted or name in OF_EACH_FLOW)]
    places += [(flow, name) for flow in point.flows for name in of_flows]
    for place in places:
        metric = metrics.get(place)
        if metric and metric.difference and metric.difference.mean:
            yield metric


def _columns_of_differences(
    comparison: SweepComparison, rows: Sequence[tuple[PointDifference, MetricDifference]]
) -> list[Column]:
    columns = _columns_of_points([point.place for point, _ in rows])
    flows = [point.flows.get(metric.of, "") for point, metric in rows]
    if any(flows):
        columns.append(Column("flow", "", [flow or "all" for flow in flows]))
    metrics = [metric for _, metric in rows]
    return [
        *columns,
        Column("metric", "", [_heading_of(metric, comparison) for metric in metrics]),
        Column("A", "", [written(metric.a) for metric in metrics], True),
        Column("B", "", [written(metric.b) for metric in metrics], True),
        Column("B - A", "", [_difference(metric) for metric in metrics], True),
        Column("change", "%", [_percent(metric) for metric in metrics], True),
    ]


def _heading_of(metric: MetricDifference, comparison: SweepComparison) -> str:
    known, bottlenecks = METRICS[metric.name], comparison.bottlenecks
    head = f"{known.title}, {metric.of}" if metric.of in bottlenecks.others else bottlenecks.heading(known)
    return f"{head} {known.unit}".strip()


def _difference(metric: MetricDifference) -> str:
    mark = FIXED if metric.is_fixed else MARKS[metric.exceeds]
    return f"{written(metric.difference, has_interval=not metric.is_fixed)} {mark:1}"


def _percent(metric: MetricDifference) -> str:
    return "-" if metric.change_percent is None else f"{metric.change_percent:+.1f}"


def _count_of_differences(comparison: SweepComparison) -> str:
    counts = comparison.counts()
    judged = counts["exceed"] + counts["within"]
    by_chance = f" (about {judged * (1 - CONFIDENCE):.0f} would by chance if nothing differed)" if judged else ""
    fixed = f", {counts['fixed']} have no interval" if counts["fixed"] else ""
    return (
        f"{count_of(len(comparison.points), 'grid point')}, {counts['metrics']} metrics in all (--json has every one): "
        f"{counts['exceed']} exceed their intervals{by_chance}, {counts['within']} do not, "
        f"{counts['open']} stay open{fixed}."
    )


# ---------------------------------------------------------------- Tolerances


def within_tolerances(comparison: Comparison) -> list[Part]:
    """Lay two sets out: both values of each criterion, how far they lie apart, and why."""
    numbers = _numbered(comparison.points)
    columns = _columns_of_points([point.place for point in comparison.points])
    for number, criterion in enumerate(comparison.criteria):
        compared = [point.compared[number] for point in comparison.points]
        ratio = "B / A" if criterion.is_count else "%"
        columns += [
            Column(criterion.head, f"A {criterion.unit}", [_value(criterion, each.a) for each in compared], True),
            Column("", "B", [_value(criterion, each.b) for each in compared], True),
            Column("", ratio, [_change(each) for each in compared], True),
        ]
    columns.append(Column("", "", [_note(point, numbers) for point in comparison.points]))
    heading = (
        f"{_named(comparison.sides)}. {FAR} marks what lies outside the tolerances: "
        f"{tolerances(comparison.criteria)}; B against A."
    )
    return [heading, Table(columns), *_remarks(comparison, comparison.points), _count_of_verdicts(comparison)]


def three_sets(first: Comparison, second: Comparison) -> list[Part]:
    """Lay three sets out in one table: B compared with A, and C with B where C has the grid point."""
    third = {point.place: point for point in second.points}
    rows = [(point, third.get(point.place)) for point in first.points]
    # The second comparison calls B what is C here, and A what is B: the first tells of that one's unsound runs.
    renamed = [
        replace(point, unsound=tuple(f"C{why[1:]}" for why in point.unsound if why[0] == "B"))
        for point in second.points
    ]
    every = [*first.points, *renamed]
    numbers = _numbered(every)
    columns = _columns_of_points([point.place for point in first.points])
    for number, criterion in enumerate(first.criteria):
        of_a = [_value(criterion, point.compared[number].a) for point, _ in rows]
        columns += [
            Column(criterion.head, f"A {criterion.unit}", of_a, True),
            Column("", "B", [_marked(point.compared[number]) for point, _ in rows], True),
            Column("", "C", [_marked(point.compared[number]) if point else "" for _, point in rows], True),
        ]
    notes = [", ".join(filter(None, (_note(point, numbers) for point in row if point))) for row in rows]
    columns.append(Column("", "", notes))
    heading = (
        f"{_named([*first.sides, second.sides[1]])}. {FAR} behind a value: outside the tolerances, held against the "
        f"value to its left. The tolerances: {tolerances(first.criteria)}."
    )
    idle = [reason for reason in first.idle_reasons if reason in second.idle_reasons]
    remarks = _remarks(replace(first, idle_reasons=idle), every)
    counts = [f"B against A: {_count_of_verdicts(first)}", f"C against B: {_count_of_verdicts(second)}"]
    return [heading, Table(columns), *remarks, *counts]


def _value(criterion: Criterion, value: Estimate) -> str:
    """Write a mean, and what the repeats range over where they differ."""
    if value.mean is None or value.least is None or value.greatest is None:
        return "-"
    write: Callable[[float], str] = "{:.0f}".format if criterion.is_count else show
    low, mean, high = (write(float(each)) for each in (value.least, value.mean, value.greatest))
    return mean if low == high else f"{mean} ({low}..{high})"


def _marked(compared: Compared) -> str:
    return _value(compared.criterion, compared.b) + ("" if compared.is_near else f" {FAR}")


def _change(compared: Compared) -> str:
    """Write B over A, as a ratio or in per cent."""
    a, b = compared.a.mean, compared.b.mean
    mark = " " if compared.is_near else FAR
    if a is None or b is None:
        return f"- {mark}"
    if not a and b:
        return f"∞ {mark}"
    ratio = b / a if a != b else 1.0
    return f"{ratio:.2f} {mark}" if compared.criterion.is_count else f"{100 * (ratio - 1):+.1f} {mark}"


def _numbered(points: Sequence[ComparedPoint]) -> dict[KnownReason, int]:
    """Assign numbers to the reasons that are needed, in the order of the table."""
    reasons = [each.reason for point in points for each in point.outside if point.verdict == "outside"]
    return {reason: number for number, reason in enumerate(dict.fromkeys(filter(None, reasons)), 1)}


def _note(point: ComparedPoint, numbers: Mapping[KnownReason, int]) -> str:
    """Return the footnotes of a row: the numbers of the reasons, or a remark that it has no reason."""
    if point.verdict == "unsound":
        return "unsound"
    return ", ".join(sorted({_why(each, numbers) for each in point.outside}))


def _why(compared: Compared, numbers: Mapping[KnownReason, int]) -> str:
    if spread := compared.spread:
        low, high = (_value(compared.criterion, estimate([end])) for end in (spread.least, spread.greatest))
        return f"{compared.criterion.head} {low}..{high} {spread.words}"
    return f"[{numbers[compared.reason]}]" if compared.reason else "no reason"


def _remarks(comparison: Comparison, points: Sequence[ComparedPoint]) -> Iterator[Part]:
    """Yield the reasons and the grid points that need a look."""
    yield from (f"[{number}] {reason.text}" for reason, number in _numbered(points).items())
    unexplained = [
        f"({point.place}) {', '.join(each.criterion.head for each in point.outside if not each.is_explained)}"
        for point in points
        if point.verdict == "outside" and not point.is_explained
    ]
    lists = {
        "Unsound, and not judged": [f"({point.place}) {why}" for point in points for why in point.unsound],
        "Outside the tolerances without a reason": unexplained,
        "Reasons that no grid point needs": [reason.text for reason in comparison.idle_reasons],
        "Only in A": [f"({place})" for place in comparison.only[0]],
        "Only in B": [f"({place})" for place in comparison.only[1]],
    }
    yield from (Listing(head, lines) for head, lines in lists.items() if lines)
    if any(point.is_ahead for point in points):
        yield AHEAD


def _count_of_verdicts(comparison: Comparison) -> str:
    counts = comparison.counts()
    parts = {
        "within the spread of one side": "outside, within the spread",
        "without a reason": "outside without a reason",
    }
    outside = ", ".join(f"{counts[name]} {words}" for words, name in parts.items() if counts[name])
    outside = f"{counts['outside']} outside" + (f" ({outside})" if outside else "")
    sound = [point for point in comparison.points if not point.unsound]
    main = sum(all(each.criterion.name not in MAIN for each in point.outside) for point in sound)
    return (
        f"{count_of(len(comparison.points), 'grid point')}: {counts['within']} within the tolerances, {outside}, "
        f"{counts['unsound']} unsound; {main} of {len(sound)} with goodput and queueing delay within theirs."
    )
