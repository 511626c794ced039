"""`unbloat line`: measure your own line, fit a scenario to it, and find what helps."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import OUTPUT, WHAT, JsonOption
from unbloat.cli.terminal import WIPE, say, say_json, tell

if TYPE_CHECKING:
    from unbloat.line.client import Now
    from unbloat.line.measurement import Measurement
    from unbloat.line.summary import Loaded, Summary

LINE_EXAMPLES = """\
unbloat line --server far.example
unbloat line --server far.example --budget 20mb --duration 30s -o line.json
unbloat line --again line.json --json"""


def line_command(
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="HOST[:PORT]",
            help="Far end to measure against: a computer that runs `unbloat serve`, or any server that speaks "
            "draft-ietf-ippm-responsiveness. Default port: 4043, then 443.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option(
            "--again",
            metavar="FILE",
            help="Judge the samples that an earlier -o saved, without measuring.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget", metavar="SIZE", help="Bytes to use at most, both directions together.", rich_help_panel=WHAT
        ),
    ] = "100mb",
    duration: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="Time to take at most.", rich_help_panel=WHAT)
    ] = "60s",
    save: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Save all samples to this file.", rich_help_panel=OUTPUT),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure your own line: rates, delays under load, and where the queue is.

    The command measures the empty line, a download, an upload, and both at once. It needs no root and changes nothing.
    Ctrl-C ends it with what was measured. Traffic goes to the named server only.
    """
    from unbloat.line.measurement import read_measurement
    from unbloat.line.summary import summary

    bytes_allowed, seconds = budget_of(budget), seconds_of(duration)
    if (server is None) is (again is None):
        raise InputError("line: give one of --server HOST, to measure, and --again FILE, to judge what was measured")
    measurement = read_measurement(again) if again else _measured(str(server), bytes_allowed, seconds)
    if save:
        measurement.save(save)
    found = summary(measurement)
    if json:
        say_json(as_json(measurement, found))
        return
    say(table_of(measurement, found))
    for note in measurement.about.notes:
        tell(f"note: {note}")


def _measured(server: str, budget: int, seconds: float) -> Measurement:
    """Measure, and show on the terminal how far the measurement has come."""
    from unbloat.line.client import measure

    view = LiveLine(sys.stderr.isatty())
    try:
        return measure(server, budget=budget, seconds=seconds, observe=view.show)
    finally:
        view.end()


def budget_of(text: str) -> int:
    """Read `--budget`."""
    least = 1_000_000
    match _core.quantity(text):
        case ("bytes", number) if number >= least:
            return int(number)
        case ("bytes", _):
            raise InputError(f"--budget {text} is too small: a measurement needs at least 1mb")
    raise InputError(f'--budget {text} is not a size such as "20mb" or "1gb"')


def seconds_of(text: str) -> float:
    """Read `--duration`."""
    least, most = 10.0, 600.0
    match _core.quantity(text):
        case ("s", seconds) if least <= seconds <= most:
            return seconds
        case ("s", _):
            raise InputError(f"--duration {text} is not between 10s and 600s")
    raise InputError(f'--duration {text} is not a time such as "60s"')


@dataclass
class LiveLine:
    """What a terminal shows meanwhile: a line that is written again and again."""

    is_terminal: bool
    phase: str = ""

    def show(self, now: Now) -> None:
        """Show a moment; without a terminal, the beginning of each phase."""
        if self.is_terminal:
            rtt = "" if now.rtt_ms is None else f"  RTT {now.rtt_ms:.1f} ms"
            rates = f"down {now.down_mbps:.1f}  up {now.up_mbps:.1f} Mbit/s"
            text = f"{now.elapsed_s:5.1f} s  {now.phase:5} {rates}{rtt}  {now.bytes / 1e6:.1f} MB"
            sys.stderr.write(f"{WIPE}{text}")
            sys.stderr.flush()
        elif now.phase != self.phase:
            tell(f"measures: {now.phase}")
        self.phase = now.phase

    def end(self) -> None:
        """Leave an empty line."""
        if self.is_terminal:
            sys.stderr.write(WIPE)


def as_json(measurement: Measurement, found: Summary) -> dict[str, Any]:
    """Return what `--json` prints."""

    def load(one: Loaded | None) -> dict[str, Any] | None:
        return None if one is None else vars(one)

    loads = found.loads
    return {
        "server": measurement.about.server,
        "idle_rtt_ms": found.idle_rtt_ms,
        "idle_mos": found.idle_mos,
        "up": load(loads.get(("up", "up"))),
        "down": load(loads.get(("down", "down"))),
        "both": {way: load(loads.get(("both", way))) for way in ("up", "down")},
        "bytes": measurement.about.sent_bytes + measurement.about.received_bytes,
        "seconds": measurement.about.seconds,
        "sound": measurement.about.is_complete,
        "notes": list(measurement.about.notes),
    }


def table_of(measurement: Measurement, found: Summary) -> str:
    """Return what a person reads."""
    from unbloat.report.table import Column, render

    names = ["idle", *(phase if phase == way else f"{phase}: {way}" for phase, way in found.loads)]
    loads = list(found.loads.values())

    def cells(name: str, idle: float | None = None, digits: int = 1) -> list[object]:
        return [
            None if value is None else round(value, digits)
            for value in (idle, *(getattr(load, name) for load in loads))
        ]

    columns = [
        Column("line", "", names),
        Column("rate", "Mbit/s", cells("rate_mbps", digits=2)),
        Column("RTT", "ms", cells("loaded_rtt_ms", found.idle_rtt_ms)),
        Column("added", "ms", cells("added_ms")),
        Column("jitter", "ms", cells("jitter_ms")),
        Column("RPM", "", cells("rpm", digits=0)),
        Column("confidence", "", ["", *(load.confidence for load in loads)]),
        Column("loss", "%", cells("loss_percent", digits=2)),
        Column("call", "MOS", cells("mos", found.idle_mos)),
    ]
    about = measurement.about
    device = f" over {about.device}" if about.device else ""
    used = (about.sent_bytes + about.received_bytes) / 1e6
    head = f"{about.server} ({about.address}){device}: {used:.1f} MB in {about.seconds:.0f} s"
    return f"{head}\n\n{render(columns)}"
