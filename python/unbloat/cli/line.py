"""`unbloat line`: measure your own line, fit a scenario to it, rank cures, load the best, and prove that it helps."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import OUTPUT, WHAT, JsonOption
from unbloat.cli.terminal import WIPE, say, say_json, tell

if TYPE_CHECKING:
    from unbloat.line.answer import Answer
    from unbloat.line.client import Now
    from unbloat.line.network import Network
    from unbloat.line.prove import Proof

LINE_EXAMPLES = """\
unbloat line --server far.example
unbloat line --server far.example --for call,game --budget 50mb -o my-line
unbloat line --again my-line --for page
unbloat line --fit capture.pcapng
sudo unbloat line --server far.example --apply --prove
unbloat line --watch"""

CURE = "What is changed"
"""The heading of the options that change this computer."""


ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="HOST[:PORT]",
        help="Far end to measure against: a computer that runs `unbloat serve`, or any server that speaks "
        "draft-ietf-ippm-responsiveness. Default port: 4043, then 443.",
        rich_help_panel=WHAT,
    ),
]
AgainOption = Annotated[
    Path | None,
    typer.Option(
        "--again",
        metavar="FOLDER",
        help="Judge what an earlier -o saved, without measuring.",
        rich_help_panel=WHAT,
    ),
]
CaptureOption = Annotated[
    Path | None,
    typer.Option(
        "--fit",
        metavar="CAPTURE",
        help="Fit what a packet capture of this computer shows (pcap or pcapng), without measuring.",
        rich_help_panel=WHAT,
    ),
]
WatchOption = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Only list the connections and programs that fill the queue now; needs no server.",
        rich_help_panel=WHAT,
    ),
]
BudgetOption = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="SIZE",
        help="Bytes to use at most, both directions together; a proof may use as many again.",
        rich_help_panel=WHAT,
    ),
]
DurationOption = Annotated[
    str,
    typer.Option(
        "--duration",
        metavar="TIME",
        help="Time to measure at most; a proof may take three times as long.",
        rich_help_panel=WHAT,
    ),
]
FarControlOption = Annotated[
    str | None,
    typer.Option(
        "--far-cc",
        metavar="NAME",
        help="Congestion control of downloads that the far end is asked for, among those that its operator allows "
        "(`unbloat serve --cc`).",
        rich_help_panel=WHAT,
    ),
]
ApplicationsOption = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="APP,...",
        help="Applications for which cures are ranked: call, page, game, backup. Empty: rank none.",
        rich_help_panel=WHAT,
    ),
]
NoFitOption = Annotated[
    bool, typer.Option("--no-fit", help="Only measure: fit no line, rank no cures.", rich_help_panel=WHAT)
]
ApplyOption = Annotated[
    bool,
    typer.Option(
        "--apply", help="Load the best cure of this computer until the next boot (root).", rich_help_panel=CURE
    ),
]
PersistOption = Annotated[
    bool, typer.Option("--persist", help="With --apply: load the cure at every boot.", rich_help_panel=CURE)
]
OnlyHereOption = Annotated[
    bool,
    typer.Option(
        "--only-here",
        help="With --persist: only while the default route leads through the gateway of now, such as at home.",
        rich_help_panel=CURE,
    ),
]
ProveOption = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="Measure the best cure by turns with and without it, and undo it afterwards (root). With --apply the "
        "cure stays if it is better.",
        rich_help_panel=CURE,
    ),
]
UndoOption = Annotated[
    bool, typer.Option("--undo", help="Only undo what --apply loaded, everywhere (root).", rich_help_panel=CURE)
]
ProofPageOption = Annotated[
    Path | None,
    typer.Option("--page", metavar="FILE", help="Write the proof as one HTML page.", rich_help_panel=OUTPUT),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Save results, samples and the fitted line here. Default: only the fitted line, in this folder.",
        rich_help_panel=OUTPUT,
    ),
]


def line_command(
    server: ServerOption = None,
    again: AgainOption = None,
    capture: CaptureOption = None,
    watch: WatchOption = False,
    budget: BudgetOption = "100mb",
    duration: DurationOption = "60s",
    far_cc: FarControlOption = None,
    wanted: ApplicationsOption = "call,page",
    no_fit: NoFitOption = False,
    apply: ApplyOption = False,
    persist: PersistOption = False,
    only_here: OnlyHereOption = False,
    prove: ProveOption = False,
    undo: UndoOption = False,
    page: ProofPageOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Measure your own line: rates, delays under load, the queue, and what would help.

    The command measures the empty line, a download, an upload, and both at once. It fits a scenario to them and
    simulates the cures that this computer can load. Ctrl-C ends the measurement and keeps what was measured. Traffic
    goes to the named server only. Without --apply and --prove the command needs no root and changes nothing.
    """
    from unbloat.line.applications import apps_named
    from unbloat.line.client import budget_of, seconds_of
    from unbloat.line.network import found as network_of_now

    allowed, seconds = budget_of(budget, "--budget"), seconds_of(duration, "--duration")
    chosen = [server, again, capture, watch, undo]
    if len([value for value in chosen if value]) != 1:
        raise InputError("line: give one of --server HOST, --again FOLDER, --fit CAPTURE, --watch and --undo")
    if far_cc and not server:
        raise InputError("line: --far-cc needs --server")
    can_cure = bool(server and wanted) and not no_fit
    refuse_contradictions(can_cure=can_cure, apply=apply, persist=persist, only_here=only_here, prove=prove, page=page)
    if watch:
        from unbloat.cli.watch import watch_command

        watch_command(json=json)
        return
    if undo:
        from unbloat.line.apply import undo as undo_kept

        tell(f"{' and '.join(cure.name for cure in undo_kept())} is undone")
        return
    if wanted:
        apps_named(wanted)
    network = network_of_now() if only_here else None
    if apply or prove:
        from unbloat.line.apply import refuse_early

        refuse_early(keep=apply, persist=persist, network=network)
    found = _answered(
        server, again, capture, None if no_fit else wanted, allowed, seconds, far_cc, save, is_shown=not json
    )
    if not json and not no_fit:
        say(f"\n{found.judged_text()}")
    if apply or prove:
        found = _cured(
            found,
            str(server),
            allowed,
            seconds,
            far_cc,
            keep=apply,
            persist=persist,
            network=network,
            prove=prove,
            page=page,
        )
    if json:
        say_json(found.json())
    elif found.proof_report:
        say(found.proof_report.text())


def refuse_contradictions(
    *, can_cure: bool, apply: bool, persist: bool, only_here: bool, prove: bool, page: Path | None
) -> None:
    """Refuse options of a cure that lack the option they belong to; raises `InputError`."""
    if (apply or prove) and not can_cure:
        raise InputError("line: --apply and --prove need --server, a fit, and applications with --for")
    if persist and not apply:
        raise InputError("line: --persist needs --apply")
    if only_here and not persist:
        raise InputError("line: --only-here needs --persist")
    if page and not prove:
        raise InputError("line: --page needs --prove; `unbloat report FOLDER` writes a page of a measurement")


def _answered(
    server: str | None,
    again: Path | None,
    capture: Path | None,
    wanted: str | None,
    budget: int,
    seconds: float,
    far_cc: str | None,
    save: Path | None,
    *,
    is_shown: bool,
) -> Answer:
    """Measure or read, save, and judge; None for `wanted` fits nothing."""
    from unbloat.api.line import FITTED, Line, line

    if again:
        found = Line.read(again)
    elif capture:
        found = Line.of_capture(capture)
    else:
        with closing(LiveLine(sys.stderr.isatty())) as view:
            found = line(str(server), budget=budget, duration=seconds, far_cc=far_cc, observe=view.show)
    if save:
        found.save(save)
    if capture and is_shown:
        from unbloat.line.capture import capture_table, read_capture

        say(f"{capture_table(read_capture(capture))}\n")
    if is_shown:  # Before the fit, so that Ctrl-C leaves what was measured.
        say(found.judged(None).measured_text())
        for note in found.measurement.about.notes:
            tell(f"note: {note}")
    fitted = None if wanted is None else save / FITTED if save else _free(Path(FITTED))
    known: list[Answer] = []
    try:
        with closing(LiveLine(sys.stderr.isatty())) as view:
            return found.judged(fitted, wanted or "", view.work, known.append)
    except KeyboardInterrupt as end:
        end.add_note(_left(known[-1:], is_shown=is_shown))
        raise


def _left(known: Sequence[Answer], *, is_shown: bool) -> str:
    """Print what an interrupt leaves, unless it is shown already; return what is missing, in words."""
    for answer in known:
        if not is_shown:
            say_json(answer.json())
        elif answer.fit:
            say(f"\n{answer.judged_text()}")
    return "no cure is ranked" if any(answer.fit for answer in known) else "no line is fitted"


def _free(path: Path) -> Path:
    """Return a path that does not exist yet: line.toml, line-2.toml, and so on."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


def _cured(
    found: Answer,
    server: str,
    budget: int,
    seconds: float,
    far_cc: str | None,
    *,
    keep: bool,
    persist: bool,
    network: Network | None,
    prove: bool,
    page: Path | None,
) -> Answer:
    """Load the best cure of this computer, and prove it."""
    from dataclasses import replace

    from unbloat.line.apply import Trial
    from unbloat.line.proof_page import page_of, report_of
    from unbloat.line.proving import proved

    best = found.best_here
    if best is None:
        tell("nothing is loaded: no cure of this computer is worth it")
        return found
    proof = None
    with Trial(best) as trial:
        if prove:
            with closing(LiveLine(sys.stderr.isatty())) as view:
                proof = proved(
                    trial.switch, best, server, budget=budget, seconds=3 * seconds, far_cc=far_cc, watch=view.turn
                )
        stays = keep and (proof is None or proof.verdict == "better")
        unit = trial.keep(persist=persist, network=network) if stays else None
    outcome = f"{best.name} is loaded; `sudo unbloat line --undo` undoes it." if stays else f"{best.name} is undone."
    tell(outcome.removesuffix(".") + (f"; {unit}" if unit else ""))
    if proof is None:
        return found
    if page:
        page_of(proof, best, server, outcome).write(page)
        tell(f"wrote {page}")
    return replace(found, proof=proof, proof_report=report_of(proof, best, outcome))


@dataclass
class LiveLine:
    """A line of the terminal that shows the progress; without a terminal, each step gets a line."""

    is_terminal: bool
    step: str = ""

    def show(self, now: Now) -> None:
        """Show a moment of a measurement."""
        rtt = "" if now.rtt_ms is None else f"  RTT {now.rtt_ms:.1f} ms"
        rates = f"down {now.down_mbps:.1f}  up {now.up_mbps:.1f} Mbit/s"
        self._tell(f"measures: {now.phase}", f"{now.elapsed_s:5.1f} s  {rates}{rtt}  {now.bytes / 1e6:.1f} MB")

    def work(self, share: float, words: str) -> None:
        """Show how much of the simulations is done."""
        if words:
            self._tell(words, f"{100 * share:.0f} %")

    def turn(self, proof: Proof) -> None:
        """Show the latest turn of a proof."""
        last, goal = proof.turns[-1], proof.changes[0]
        value = last.turn.values.get(goal.quantity.name)
        words = "no value" if value is None else f"{value:.1f} {goal.quantity.unit}"
        self._tell(f"turn {len(proof.turns)}, {last.side}: {words}", goal.verdict)

    def _tell(self, step: str, now: str) -> None:
        if self.is_terminal:
            sys.stderr.write(f"{WIPE}{step}  {now}")
            sys.stderr.flush()
        elif step != self.step:
            tell(step)
        self.step = step

    def close(self) -> None:
        """Leave an empty line."""
        if self.is_terminal:
            sys.stderr.write(WIPE)
