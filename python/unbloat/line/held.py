"""A cure while it is tried or applied, and the journal from which whoever comes next undoes it.

The journal is written before the computer is changed.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from unbloat._core import InputError, RunError
from unbloat.line import folder as folders
from unbloat.line import persisted, state
from unbloat.line.commands import PATIENCE_S, Commands, run
from unbloat.line.folder import Folder
from unbloat.line.network import Network
from unbloat.line.persisted import Persisted
from unbloat.line.state import State
from unbloat.system import systemd

Lasts = Literal["until a boot", "always", "in its network"]
"""How long an applied cure stays: it persists unless a boot ends it."""


@dataclass(frozen=True)
class Journal:
    """A change of this computer, and the state from before."""

    cure: Commands
    before: State
    after: State | None = None
    """The state with the cure; none until its command has come to its end."""
    is_on: bool = False
    """Whether the cure, or a part of it, may be there."""
    lasts: Lasts = "until a boot"

    def write(self, file: Path) -> None:
        """Write it whole, in place of what was there."""
        entries = {name: part.to_json() if part else None for name, part in self._states().items()}
        text = json.dumps({**asdict(self), **entries})
        draft = file.with_suffix(".new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)

    def _states(self) -> dict[str, State | None]:
        return {"before": self.before, "after": self.after}

    @classmethod
    def read(cls, file: Path) -> Journal | None:
        """Read a journal; none if there is none. Raises `RunError` if another version of unbloat wrote it."""
        if not file.exists():
            return None
        try:
            content: dict[str, Any] = json.loads(file.read_text())
            states = {name: State.from_json(content[name]) if content[name] else None for name in ("before", "after")}
            return cls(**{**content, **states, "cure": Commands(**content["cure"])})
        except (ValueError, KeyError, TypeError):
            raise RunError(
                f"{file}: another version of unbloat has begun this and must end it; or undo its cure by hand, and "
                "remove the file"
            ) from None


# ---------------------------------------------------------------- Trying and keeping


class Held:
    """A cure that can be switched on and off; closing it restores the state from before."""

    def __init__(self, cure: Commands) -> None:
        """Write the journal; nothing else changes yet.

        Raises
        ------
        InputError
            The cure would replace what could not be restored.
        RunError
            This process lacks the rights, another one tries a cure, or what a killed one left cannot be undone.

        """
        self._folder = Folder()
        try:
            _recover(self._folder)
            state.refuse_what_cannot_return(cure.command)
            self._journal = Journal(cure, state.read(cure.command))
            self._journal.write(self._folder.trial)
        except BaseException:
            self._folder.close()
            raise

    def switch(self, is_on: bool, command: str | None = None) -> None:
        """Load the cure, or undo it, unless that is so already; raises `RunError` if that fails, and undoes all."""
        if is_on == self._journal.is_on:
            return
        if not is_on:
            self._journal = _undone(self._journal, self._folder)
            return
        self._journal = replace(self._journal, is_on=True, after=None)
        self._journal.write(self._folder.trial)
        try:
            run(command or self._journal.cure.command, self._folder.lock)
        except RunError:
            self.switch(False)
            raise
        self._journal = replace(self._journal, after=state.read(self._journal.cure.command))
        self._journal.write(self._folder.trial)

    def keep(self, persists: bool, network: Network | None = None) -> str | None:
        """Load the cure until `undo_kept` or the next boot, or for longer; return the unit's sentence, if there is one.

        Parameters
        ----------
        persists
            Also load it after a boot.
        network
            With `persists`: only while the default route leads through this network.

        Raises
        ------
        InputError
            Another cure is applied already, or root should not run this unbloat at boot.
        RunError
            The cure cannot be loaded.

        """
        refuse_another(persists, network)
        cure = self._journal.cure
        has_unit = persists and not network and cure.mechanism is None
        if has_unit or network:
            systemd.prepare("")
        self.switch(False)
        self.switch(True, f"{cure.command} --persist" if persists and not network and cure.mechanism else None)
        sentence = persisted.write_follower() if network else persisted.write_unit(cure) if has_unit else None
        self._keep("in its network" if network else "always" if persists else "until a boot")
        if persists:
            persisted.write([*persisted.read(), Persisted(cure, network)])
        if network:
            persisted.follow()
        return sentence

    def keep_in_network(self) -> None:
        """Load the cure until the default route leads through another network, or until `undo_kept`."""
        self.switch(True)
        self._keep("in its network")

    def _keep(self, lasts: Lasts) -> None:
        """Make the journal that of the kept cure, and unlock the folder."""
        self._journal = replace(self._journal, lasts=lasts)
        self._journal.write(self._folder.trial)
        self._folder.trial.replace(self._folder.kept)
        self._folder.close()

    def close(self) -> None:
        """Undo the cure if it is there; raises `RunError` if something of it stays."""
        try:
            self.switch(False)
            self._folder.trial.unlink(missing_ok=True)
        finally:
            self._folder.close()


def _undone(journal: Journal, folder: Folder) -> Journal:
    """Restore the state from before; the journal stays as it was if something cannot be restored."""
    failed: list[str] = []

    def undo() -> None:
        try:
            # Sockets may use it; units, and this journal, are somebody else's business.
            run(journal.cure.undo_with("--drain", "--keep-unit"), folder.lock)
        except RunError as error:
            # It may have been undone before, or never been there.
            failed.append(str(error))

    left = state.put_back(journal.before, journal.after, journal.cure.command, undo)
    if left:
        raise RunError(
            f"{journal.cure.name} is not undone: {', '.join(left)}{'; ' + failed[0] if failed else ''}; "
            "`sudo unbloat clean` tries it again"
        )
    journal = replace(journal, is_on=False, after=None)
    journal.write(folder.trial)
    return journal


def _recover(folder: Folder) -> str | None:
    """Undo what a killed process left; return its cure's name."""
    journal = Journal.read(folder.trial)
    if journal is None:
        return None
    if journal.is_on:
        _undone(journal, folder)
    folder.trial.unlink(missing_ok=True)
    return journal.cure.name if journal.is_on else None


def recover(wait_s: float = 0.0) -> str | None:
    """Undo the cure that a killed process left on trial; return its name, or none if there is none.

    Raises
    ------
    RunError
        Another process is trying a cure, or something of the cure stays.

    """
    if not (folders.here() / "trial.json").exists():
        return None
    with closing(Folder(wait_s)) as folder:
        return _recover(folder)


def refuse_another(persists: bool, network: Network | None) -> None:
    """Raise `InputError` if another cure would be there as well, now or in the same network."""
    if journal := Journal.read(folders.here() / "kept.json"):
        raise InputError(f"{journal.cure.name} is applied already: unbloat line --undo")
    for each in persisted.read():
        if each.network is None or (persists and network in (None, each.network)):
            where = f" in {each.network}" if each.network else ""
            raise InputError(f"{each.cure.name} is applied already{where}: unbloat line --undo")


@dataclass(frozen=True)
class Kept:
    """A cure that is applied, or that waits for its network."""

    cure: Commands
    lasts: Lasts
    network: Network | None = None
    """The network in which it is loaded; None for any."""
    is_here: bool = True
    """Whether it is loaded now, as far as is known without looking."""


def kept() -> list[Kept]:
    """Return the cure that is applied, or was before the last boot and persists, and those that wait."""
    journal = Journal.read(folders.here() / "kept.json")
    found = [
        Kept(each.cure, *(("in its network", each.network, False) if each.network else ("always",)))
        for each in persisted.read()
    ]
    if journal is None:
        return found
    same = next((each for each in found if each.cure == journal.cure), Kept(journal.cure, journal.lasts))
    return [replace(same, is_here=True), *(each for each in found if each is not same)]


def undo_kept(is_meant: Callable[[Commands], bool] = lambda _: True) -> list[Commands]:
    """Undo the cure that is applied, forget those that persist, with their unit, and return all of these.

    Raises
    ------
    InputError
        No cure is applied.
    RunError
        This process lacks the rights, another one is trying a cure, or something of the cure stays.

    """
    cures = [each.cure for each in kept() if is_meant(each.cure)]
    if not cures:
        raise InputError("no cure is applied: unbloat line --apply loads one")
    with closing(Folder(persisted.PATIENCE_S)) as folder:
        _recover(folder)
        journal = Journal.read(folder.kept)
        rest = [each for each in persisted.read() if not is_meant(each.cure)]
        if journal is None:
            _undo_since_boot(folder, rest)
        elif is_meant(journal.cure):
            _undone(journal, folder)
            folder.trial.unlink()
            _forget_units(journal)
            persisted.write(rest)
            folder.kept.unlink()
        else:
            persisted.write(rest)
    if not rest:
        persisted.stop_following()
    return cures


def _undo_since_boot(folder: Folder, rest: Sequence[Persisted]) -> None:
    """Undo a cure that was loaded at boot: only its own command knows the state from before."""
    cures = [each.cure for each in persisted.read() if each not in rest and each.network is None]
    persisted.write(rest)
    try:
        for cure in cures:
            run(cure.undo_with("--drain"), folder.lock)
    except RunError as error:
        raise RunError(f"{error}; nothing loads {cures[0].name} at the next boot any more") from None


def settle(network: Network | None) -> None:
    """Load the cure that persists for a network, and undo that of another; whoever follows the network calls this.

    Raises
    ------
    RunError
        Another process is trying a cure, the cure cannot be loaded, or something of the other one stays.

    """
    wanted = next((each.cure for each in persisted.read() if network and each.network == network), None)
    with closing(Folder(PATIENCE_S)) as folder:
        journal = Journal.read(folder.kept)
        if journal and (journal.lasts != "in its network" or (journal.cure == wanted and _is_whole(journal))):
            return
        if journal:
            _undone(journal, folder)
            folder.trial.unlink()
            folder.kept.unlink()
    if wanted:
        Held(wanted).keep_in_network()


def _is_whole(journal: Journal) -> bool:
    """Return whether a cure's device is still the one that got it: one that comes back is another."""
    device = journal.cure.device
    if device is None:
        return True
    with suppress(OSError):
        return journal.before.values.get(("device", device)) == socket.if_nametoindex(device)
    return False


def _forget_units(journal: Journal) -> None:
    """Remove the units of mechanisms that came with a cure that persists."""
    if journal.lasts != "always" or journal.after is None:
        return
    for kind, name, *source in journal.after.differs_from(journal.before):
        if kind == "control":
            systemd.remove_control(name)
        elif kind in ("window", "classifier"):
            systemd.remove_at_device("window" if kind == "window" else "classifier", name, source[0])
