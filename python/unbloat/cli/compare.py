"""`unbloat compare A B [C]`, for sets of results and for packet traces."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import OUTPUT, RESULTS, WHAT, JsonOption, MetricsOption, metrics_listed, split_pair
from unbloat.cli.terminal import say, say_json
from unbloat.system.files import write_text

PART = "comparison"
"""The part of a page that `--page` writes."""
SAME, DIFFERENT = 0, 1
EXAMPLES = """\
unbloat compare results/ other-results/
unbloat compare sweep/ --between cc=cubic,vegas
unbloat compare before.json after.json --check --tolerance goodput=5%
unbloat compare --packets a.pcapng b.pcapng --fields seq,ack"""

FirstArgument = Annotated[Path, typer.Argument(metavar="A", help=RESULTS, show_default=False)]
SecondArgument = Annotated[
    Path | None, typer.Argument(metavar="[B]", help="Results to compare with A (default: with --between, A itself).")
]
ThirdArgument = Annotated[
    Path | None, typer.Argument(metavar="[C]", help="Results to compare with B, in the same table.")
]
BetweenOption = Annotated[
    str | None,
    typer.Option(
        "--between",
        metavar="AXIS=LABEL_A,LABEL_B",
        help="Compare A's cells with one label of an axis with B's (or its own) with another: cc=cubic,vegas.",
        rich_help_panel=WHAT,
    ),
]
ToleranceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="METRIC=LIMIT",
        help="How far a metric may lie apart: a share such as goodput=5%, or a factor such as losses=1.5x.",
        rich_help_panel=WHAT,
    ),
]
SpreadOption = Annotated[
    Path | None,
    typer.Option(
        "--spread",
        metavar="RESULTS",
        help="More runs of A's or B's cells, with negligible changes (such as 1 us more delay): differences within "
        "their range are explained.",
        rich_help_panel=WHAT,
    ),
]
ReasonsOption = Annotated[
    Path | None,
    typer.Option(
        "--reasons",
        metavar="FILE",
        help="Reasons to put beside what lies outside the tolerances (TOML).",
        rich_help_panel=WHAT,
    ),
]
PacketsOption = Annotated[
    bool,
    typer.Option(
        "--packets", help="A and B are packet traces: the first packet in which they differ.", rich_help_panel=WHAT
    ),
]
FieldsOption = Annotated[
    str | None,
    typer.Option(
        "--fields",
        metavar="FIELD,...",
        help="With --packets: what is compared, of seq, ack, sack, window, flags (default: all).",
        rich_help_panel=WHAT,
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check",
        help="End with status 1 if anything is outside the tolerances without a reason, unsound, or in one set "
        "only; for sweeps, if more differences exceed their intervals than chance explains.",
        rich_help_panel=OUTPUT,
    ),
]
PageOption = Annotated[
    Path | None,
    typer.Option("--page", metavar="FILE", help="Write the table into a Markdown page.", rich_help_panel=OUTPUT),
]


@dataclass(frozen=True)
class ForResults:
    """Names of the options that apply to results only, not to packet traces."""

    between: str | None
    spread: Path | None
    reasons: Path | None
    page: Path | None
    tolerance: Sequence[str]
    metrics: Sequence[str]

    def words(self) -> list[str]:
        """List the options that were set, as they are typed."""
        single = {"--between": self.between, "--spread": self.spread, "--reasons": self.reasons, "--page": self.page}
        given = [(option, str(value)) for option, value in single.items() if value]
        given += [("--tolerance", text) for text in self.tolerance]
        given += [("--metrics", ",".join(self.metrics))] if self.metrics else []
        return [word for pair in given for word in pair]


def command(
    a: FirstArgument,
    b: SecondArgument = None,
    c: ThirdArgument = None,
    between: BetweenOption = None,
    tolerance: ToleranceOption = None,
    spread: SpreadOption = None,
    reasons: ReasonsOption = None,
    metrics: MetricsOption = None,
    packets: PacketsOption = False,
    fields: FieldsOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    page: PageOption = None,
) -> int:
    """Compare two or three sets of results, or two packet traces."""
    paths = [path for path in (a, b, c) if path]
    given = ForResults(between, spread, reasons, page, tolerance or [], metrics_listed(metrics))
    if packets:
        for option in given.words()[:1]:
            raise InputError(f"compare {option} is for results, and --packets for packet traces: leave one out")
        return compare_packets(paths, fields, as_json)
    if fields is not None:
        raise InputError("compare --fields says what --packets compares: give both, and two packet traces")
    is_within = compare_results(paths, given, as_json)
    return DIFFERENT if check and not is_within else SAME


def compare_results(paths: Sequence[Path], given: ForResults, as_json: bool) -> bool:
    """Compare sets of results; return whether everything is within the tolerances."""
    from unbloat.api.comparison import compare

    tolerances = dict(split_pair(text, "compare --tolerance", "METRIC=LIMIT", "goodput=5%") for text in given.tolerance)
    compared = compare(
        *paths,
        between=given.between,
        tolerance=tolerances or None,
        spread=given.spread,
        reasons=given.reasons,
        metrics=given.metrics,
    )
    report = compared.report()
    say_json(report.data) if as_json else say(report.text())
    if given.page:
        typed = shlex.join(["unbloat", "compare", *map(str, paths), *given.words()])
        write_page(given.page, f"    {typed}\n\n{report.markdown()}")
    return compared.is_within


def compare_packets(paths: Sequence[Path], fields: str | None, as_json: bool) -> int:
    """Compare two packet traces; return the exit status."""
    from unbloat.lab.compare import FIELDS, compare_files, parse_fields
    from unbloat.lab.report import dict_of, text_of

    if len(paths) != 2:
        raise InputError("compare --packets takes two packet traces, A and B")
    found = compare_files(paths[0], paths[1], FIELDS if fields is None else parse_fields(fields))
    say_json(dict_of(found)) if as_json else say(text_of(found))
    return SAME if found.is_same else DIFFERENT


def write_page(page: Path, text: str) -> None:
    """Write the table into the marked part of a page, or into a new page."""
    from unbloat.report.pages import write_parts

    if not page.exists():
        write_text(page, f"# Compared\n\n<!-- begin {PART} -->\n<!-- end {PART} -->\n")
    write_parts(page, {PART: text})
