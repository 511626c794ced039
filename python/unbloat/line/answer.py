"""What `unbloat line` answers: the measured numbers, the fitted line, the cures, and the proof of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat.line.measurement import Measurement
from unbloat.line.places import PLACES, advice
from unbloat.line.summary import LOADS, Summary, summary
from unbloat.report.table import Column, render

if TYPE_CHECKING:
    from unbloat.line.choose import Choice, Ranked
    from unbloat.line.fitted import Fit
    from unbloat.line.prove import Proof
    from unbloat.report.report import Report

SHOWN = 8
"""Cures that a table lists; `--json` has all."""


@dataclass(frozen=True)
class Answer:
    """All that is known about a line; what was not asked for is None."""

    measurement: Measurement
    summary: Summary
    fit: Fit | None = None
    scenario: Path | None = None
    """The file with the fitted line."""
    choice: Choice | None = None
    proof: Proof | None = None
    proof_report: Report | None = None
    """The proof in words."""

    @property
    def best_here(self) -> Ranked | None:
        """The best cure that this computer can load and that is worth it."""
        cures = self.choice.cures if self.choice else ()
        return next((each for each in cures if each.where == "host" and each.is_worth_it and not each.missing), None)

    @property
    def place_advice(self) -> list[str]:
        """Sentences on what helps where packets wait, if that is the first hop, such as Wi-Fi."""
        about = self.measurement.about
        return advice(self.fit.where, about.device, is_radio=about.is_wireless) if self.fit else []

    def json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        about, loads = self.measurement.about, self.summary.loads

        def load(phase: Any, way: Any) -> dict[str, Any] | None:
            return asdict(loads[phase, way]) if (phase, way) in loads else None

        found: dict[str, Any] = {
            "server": about.server,
            "idle_rtt_ms": self.summary.idle_rtt_ms,
            "idle_mos": self.summary.idle_mos,
            "up": load("up", "up"),
            "down": load("down", "down"),
            "both": {way: load("both", way) for way in ("up", "down")},
            "bytes": about.sent_bytes + about.received_bytes,
            "seconds": about.seconds,
            "sound": about.is_complete,
            "notes": list(about.notes),
        }
        if self.fit:
            found["queue"] = {"where": self.fit.where, "kind": self.fit.kind, **self.fit.kinds}
            found["queue"]["advice"] = self.place_advice
            found["scenario"] = str(self.scenario) if self.scenario else None
            found["fit"] = {
                **{key: list(span) for key, span in self.fit.ranges.items()},
                "residual_percent": self.fit.residual_percent,
                "fits": self.fit.fits,
                "why_not": list(self.fit.why_not),
                "notes": list(self.fit.notes),
            }
        if self.choice:
            found["verdict"] = self.choice.verdict
            found["advice"] = self.choice.sentence
        found["cures"] = self.choice.json() if self.choice else []
        if self.proof:
            found["proof"] = self.proof.to_dict()
        return found

    def measured_text(self) -> str:
        """Return the measured numbers, for a person."""
        return f"{_head(self.measurement)}\n\n{_measured(self.summary)}"

    def judged_text(self) -> str:
        """Return the fitted line and the ranking of cures, for a person; empty without both."""
        parts = [_fitted(self.fit, self.scenario, self.place_advice)] if self.fit else []
        return "\n\n".join([*parts, *([_ranking(self.choice)] if self.choice else [])])


def answer(
    measurement: Measurement,
    *,
    write_fit: Callable[[str], Path] | None = None,
    wanted: str = "",
    progress: Callable[[float, str], None] | None = None,
    known: Callable[[Answer], object] = lambda _: None,
) -> Answer:
    """Judge a measurement.

    Parameters
    ----------
    measurement : Measurement
        The samples.
    write_fit : callable, optional
        Writes the fitted scenario and returns its path; without it nothing is fitted.
    wanted : str
        Applications for which cures are ranked, such as `"call,page"`; none are ranked without.
    progress : callable, optional
        Gets the share of the work that is done, and words about it.
    known : callable
        Gets the answer after each step, so that an interrupt leaves what the steps before it found.

    """
    found = Answer(measurement, summary(measurement))
    known(found)
    if write_fit is None or not found.summary.loads:
        return found
    from unbloat.line.fit import fit
    from unbloat.line.fitted import write_scenario

    if progress:
        progress(0.0, "fits a line")
    fitted = fit(measurement)
    path = write_fit(write_scenario(fitted))
    found = Answer(measurement, found.summary, fitted, path)
    known(found)
    if not wanted or not fitted.fits:
        return found
    choice = choice_for(path, fitted, measurement, wanted, progress)
    return Answer(measurement, found.summary, fitted, path, choice)


def choice_for(
    path: Path,
    fitted: Fit,
    measurement: Measurement,
    wanted: str,
    progress: Callable[[float, str], None] | None = None,
) -> Choice:
    """Rank cures of a fitted line, whose scenario a file has, for applications such as `"call,page"`."""
    from unbloat.line.choose import choose
    from unbloat.line.computer import this_computer

    computer = this_computer(measurement.about.device or None)
    return choose(
        path, fitted.ranges, wanted, computer, queue=fitted.where, is_explained=fitted.fits, progress=progress
    )


def _head(measurement: Measurement) -> str:
    about = measurement.about
    device = f" over {about.device}" if about.device else ""
    address = f" ({about.address})" if about.address else ""
    used = (about.sent_bytes + about.received_bytes) / 1e6
    return f"{about.server}{address}{device}: {used:.1f} MB in {about.seconds:.0f} s"


def _measured(found: Summary) -> str:
    shown = [each for each in LOADS if each in found.loads]
    names = ["idle", *(phase if phase == way else f"{phase}: {way}" for phase, way in shown)]
    loads = [found.loads[each] for each in shown]

    def cells(name: str, idle: float | None = None, digits: int = 1) -> list[object]:
        values = [idle, *(getattr(load, name) for load in loads)]
        return [None if value is None else round(value, digits) for value in values]

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
    return render(columns)


KINDS = {
    "fifo": "one queue for all",
    "fair": "a queue for each connection",
    "aqm": "a queue that is kept short (AQM)",
    "policer": "a policer, which drops instead of queueing",
    "varying": "a rate that varies",
    "unknown": "unknown",
}


def _fitted(found: Fit, path: Path | None, advice: Sequence[str]) -> str:
    lines = [f"Packets wait {PLACES[found.where]}. Up: {KINDS[found.kinds['up']]}; down: {KINDS[found.kinds['down']]}."]
    lines += [f"* {sentence}." for sentence in advice]
    differs = f"differs from the measurement by {found.residual_percent:.1f} %"
    if path:
        lines.append(
            f"The fitted line is in {path}; it {differs}."
            if found.fits
            else f"{path} has the nearest line, which does not explain the measurement: it {differs}."
        )
    if not found.fits:
        lines.append("No line explains the measurement, so no cure is simulated:")
    lines += [f"* {sentence}." for sentence in (*found.why_not, *found.notes)]
    return "\n".join(lines)


def _ranking(choice: Choice) -> str:
    ranked = [each for each in choice.cures if each.draws or each.where is None][:SHOWN]
    apps = list(dict.fromkeys(app for each in ranked for app in each.effects))

    def effect(name: str) -> Column:
        unit = next(each.effects[name].unit for each in ranked if name in each.effects)
        cells = [each.effects[name].cured if name in each.effects else None for each in ranked]
        return Column(name, unit, [None if cell is None else round(cell, 2) for cell in cells])

    columns = [
        Column("cure", "", [each.name for each in ranked]),
        *map(effect, apps),
        Column("cost", "%", [round(each.cost_percent, 1) if each.draws else None for each in ranked]),
        Column("sure", "", [round(each.sure, 2) if each.draws else None for each in ranked]),
    ]
    best = choice.best
    command = [f"Load it: {best.command}", f"Undo it: {best.undo}"] if best.command else []
    return "\n".join([choice.sentence, "", render(columns), *(["", *command] if command else [])])
