"""Cures on this computer: tried by turns, applied until they are undone, and undone whatever happens meanwhile.

Another process holds a cure while it is tried, and restores the state from before when this one ends. Where systemd
runs, it is in a scope of its own, and so survives the control group of this one. If both are killed, the next trial
does that, or `unbloat clean`. An applied cure stays until `undo` or the next boot, or persists.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from unbloat._core import InputError, RunError
from unbloat.line import folder, held
from unbloat.line.commands import PATIENCE_S, Commands, Cure
from unbloat.line.held import Kept
from unbloat.line.network import Network
from unbloat.system import systemd

if TYPE_CHECKING:
    from unbloat.line.switchback import Side


class Trial:
    """A cure that is tried: `switch` gives the computer the state before or after, leaving the context that before.

    Raises
    ------
    InputError
        The cure would replace what could not be restored.
    RunError
        This process lacks the rights, or another one is trying a cure.

    """

    def __init__(self, cure: Cure) -> None:
        folder.require_rights()
        self.cure = Commands.of(cure)
        package = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join(filter(None, [package, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
        # In a session of its own it outlives the terminal. -P: nothing is imported from the folder it happens to be in.
        self._process = subprocess.Popen(
            [*systemd.own_scope(), sys.executable, "-P", "-m", "unbloat.line.holder", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
        self._number = 0
        try:
            self._ask("hold", cure=asdict(self.cure))
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def switch(self, side: Side) -> None:
        """Load the cure or undo it; raises `RunError` if that fails, and the state is then the one before."""
        self._ask("switch", is_on=side == "after")

    def keep(self, *, persist: bool = False, network: Network | None = None) -> str | None:
        """Load the cure until `undo` or the next boot, and end the trial.

        Parameters
        ----------
        persist
            Also load it at every boot.
        network
            With `persist`: only while the default route leads through this network.

        Returns
        -------
        str or None
            A sentence about the unit of systemd that was written for it, unless its own command wrote one.

        Raises
        ------
        InputError
            Another cure is applied already, or root should not run this unbloat at boot.
        RunError
            The cure cannot be loaded.

        """
        unit: str | None = self._ask("keep", persists=persist, network=asdict(network) if network else None)["unit"]
        self._end()
        return unit

    def close(self) -> None:
        """Undo the cure and end the trial; raises `RunError` if something of it stays."""
        if self._process.returncode is None:
            try:
                self._ask("switch", is_on=False)
            finally:
                self._end()

    def _ask(self, do: str, **arguments: object) -> dict[str, Any]:
        """Send a request and wait for its answer; earlier ones may be those of interrupted requests."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._number += 1
        try:
            request = {"number": self._number, "do": do, **arguments}
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = {"number": 0}
            while answer["number"] < self._number:
                answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            self._end()
            held.recover(PATIENCE_S)
            raise RunError(f"the process that held {self.cure.name} has ended; {self.cure.name} is undone") from None
        if answer["error"]:
            raise (InputError if answer["is_input"] else RunError)(answer["error"])
        return answer

    def _end(self) -> None:
        """Wait until the other process has restored what there is to restore."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def refuse_early(*, keep: bool, persist: bool, network: Network | None) -> None:
    """Raise what a trial, or keeping its cure, would raise after a measurement, which takes a minute.

    Raises
    ------
    InputError
        Another cure is applied already, or root should not run this unbloat at boot.
    RunError
        This process lacks the rights.

    """
    folder.require_rights()
    if persist:
        systemd.prepare("")
    if keep:
        held.refuse_another(persist, network)


def apply(cure: Cure, *, persist: bool = False, network: Network | None = None) -> str | None:
    """Load a cure until `undo` or the next boot, or for longer with `persist`; see `Trial.keep`."""
    with Trial(cure) as trial:
        return trial.keep(persist=persist, network=network)


def kept() -> list[Kept]:
    """Return the cure that `apply` loaded, or that persists since an earlier boot, and those for other networks."""
    return held.kept()


def undo() -> list[Commands]:
    """Undo the cure that `apply` loaded, forget those that persist, and return all of them.

    Raises
    ------
    InputError
        No cure is applied.
    RunError
        This process lacks the rights, or something of the cure stays.

    """
    return held.undo_kept()


def undo_loading(mechanism: str, device: str | None) -> list[Commands]:
    """Undo and forget the cures that load a mechanism, which somebody has unloaded, at this device or anywhere."""
    from unbloat.line.computer import OURS

    def is_meant(cure: Commands) -> bool:
        loaded = cure.mechanism and cure.mechanism.removeprefix(OURS)
        return loaded == mechanism.removeprefix(OURS) and device in (None, cure.device)

    return held.undo_kept(is_meant) if any(is_meant(each.cure) for each in held.kept()) else []


def sweep() -> list[str]:
    """Undo what killed processes left on trial, and describe it; raises `RunError` if something of it stays."""
    name = held.recover()
    return [f"the cure {name} of a killed proof"] if name else []
