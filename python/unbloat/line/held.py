"""A cure while it is tried or applied, and the journal from which whoever comes next undoes it.

The journal is written before the computer is changed. It is in `/run`, as what a cure changes is in the kernel: neither
outlives a reboot. The process at work has the journal's folder locked; a journal without a lock is a dead process's.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from unbloat._core import InputError, RunError
from unbloat.line import state
from unbloat.line.state import State
from unbloat.system import systemd

RUN = Path("/run/unbloat-line")
PATIENCE_S = 60.0
"""The longest that a cure's command may take, or somebody else's."""
POLL_S = 0.05


class Cure(Protocol):
    """A cure, as `cures.py` lists it."""

    @property
    def name(self) -> str:
        """The cure in a word."""

    @property
    def command(self) -> str:
        """The shell command that loads it."""

    @property
    def undo(self) -> str:
        """The shell command that undoes it."""


@dataclass(frozen=True)
class Commands:
    """A cure's name, the command that loads it, and the one that undoes it."""

    name: str
    command: str
    undo: str

    @classmethod
    def of(cls, cure: Cure) -> Commands:
        """Take from a cure what a journal needs."""
        return cls(cure.name, cure.command, cure.undo)


@dataclass(frozen=True)
class Journal:
    """A change of this computer, and the state from before."""

    cure: Commands
    before: State
    after: State | None = None
    """The state with the cure; none until its command has come to its end."""
    is_on: bool = False
    """Whether the cure, or a part of it, may be there."""
    persists: bool = False
    """Whether it is loaded again at every boot."""

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


def require_rights() -> None:
    """Raise `RunError` unless this process is root's."""
    if os.geteuid() != 0:
        raise RunError("loading a cure, and undoing it, needs root's rights: run it with sudo")


class Folder:
    """The folder of this network namespace's journals, locked until it is closed."""

    def __init__(self, wait_s: float = 0.0) -> None:
        """Lock it; raises `RunError` if another process has it for longer than `wait_s`."""
        require_rights()
        self.path = _path()
        end = time.monotonic() + wait_s
        while (lock := self._locked()) is None:
            if time.monotonic() >= end:
                raise RunError("another unbloat is trying a cure on this computer: wait until it has ended")
            time.sleep(POLL_S)
        self.lock = lock
        self.trial, self.kept = self.path / "trial.json", self.path / "kept.json"

    def _locked(self) -> int | None:
        self.path.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have removed it.
            if os.path.samestat(os.fstat(lock), self.path.stat()):
                return lock
        os.close(lock)
        return None

    def close(self) -> None:
        """Unlock it; without a journal it goes."""
        for folder in (self.path, RUN):
            with suppress(OSError):
                folder.rmdir()
        os.close(self.lock)


def _path() -> Path:
    return RUN / str(Path("/proc/self/ns/net").stat().st_ino)


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

    def keep(self, persists: bool) -> str | None:
        """Load the cure until `undo_kept` or the next boot, or for longer; return the unit's sentence, if there is one.

        Raises
        ------
        InputError
            Another cure is applied already, or root should not run this unbloat at boot.
        RunError
            The cure cannot be loaded.

        """
        if other := kept():
            raise InputError(f"{other.name} is applied already: unbloat line --undo")
        cure = self._journal.cure
        is_load = re.fullmatch(r"(sudo )?unbloat load [^;&|]*", cure.command) is not None
        has_unit = persists and not is_load
        if has_unit:
            systemd.prepare("")
        self.switch(False)
        self.switch(True, f"{cure.command} --persist" if persists and is_load else None)
        self._journal = replace(self._journal, persists=persists)
        unit = None
        if has_unit:
            shell = ["/bin/sh", "-c"]
            start, stop = ([*shell, script_of(text)] for text in (cure.command, cure.undo))
            unit = systemd.install_command(cure.name, start, stop, _device_of(cure.command))
        self._journal.write(self._folder.trial)
        self._folder.trial.replace(self._folder.kept)
        if persists:
            systemd.write_file(PERSISTED, json.dumps(asdict(cure)))
        self._folder.close()
        return unit.sentence if unit else None

    def close(self) -> None:
        """Undo the cure if it is there; raises `RunError` if something of it stays."""
        try:
            self.switch(False)
            self._folder.trial.unlink(missing_ok=True)
        finally:
            self._folder.close()


PERSISTED = systemd.SOURCES / "line-cure.json"
"""The cure that is loaded at every boot."""


def _device_of(command: str) -> str | None:
    """Return the device that a command names, if it names one."""
    found = re.search(r"(?:--)?\bdev (\S+)", command)
    return found[1] if found else None


def _undone(journal: Journal, folder: Folder) -> Journal:
    """Restore the state from before; the journal stays as it was if something cannot be restored."""
    failed: list[str] = []

    def undo() -> None:
        try:
            run(_draining(journal.cure.undo), folder.lock)
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
    if not (_path() / "trial.json").exists():
        return None
    with closing(Folder(wait_s)) as folder:
        return _recover(folder)


def kept() -> Commands | None:
    """Return the cure that is applied, or was before the last boot and persists; none if there is none."""
    if journal := Journal.read(_path() / "kept.json"):
        return journal.cure
    return Commands(**json.loads(PERSISTED.read_text())) if PERSISTED.exists() else None


def undo_kept() -> Commands:
    """Undo the cure that is applied, and remove its unit.

    Raises
    ------
    InputError
        No cure is applied.
    RunError
        This process lacks the rights, another one is trying a cure, or something of the cure stays.

    """
    cure = kept()
    if cure is None:
        raise InputError("no cure is applied: unbloat line --apply loads one")
    with closing(Folder()) as folder:
        _recover(folder)
        journal = Journal.read(folder.kept)
        if journal is None:
            _undo_since_boot(cure, folder)
        else:
            _undone(journal, folder)
            folder.trial.unlink()
            _forget_units(journal)
            _forget_persisted()
            folder.kept.unlink()
    return cure


def _undo_since_boot(cure: Commands, folder: Folder) -> None:
    """Undo a cure that was loaded at boot: only its own command knows the state from before."""
    try:
        run(_draining(cure.undo), folder.lock)
    except RunError as error:
        raise RunError(f"{error}; nothing loads {cure.name} at the next boot any more") from None
    finally:
        _forget_persisted()


def _forget_persisted() -> None:
    systemd.remove_command()
    PERSISTED.unlink(missing_ok=True)


def _draining(undo: str) -> str:
    """Unload a congestion control although sockets use it."""
    return undo.replace("unbloat unload ", "unbloat unload --drain ")


def _forget_units(journal: Journal) -> None:
    """Remove the units of mechanisms that came with a cure that persists."""
    if not journal.persists or journal.after is None:
        return
    for kind, name, *source in journal.after.differs_from(journal.before):
        if kind == "control":
            systemd.remove_control(name)
        elif kind in ("window", "classifier"):
            systemd.remove_at_device("window" if kind == "window" else "classifier", name, source[0])


# ---------------------------------------------------------------- Commands


def script_of(command: str) -> str:
    """Write a cure's command as root's shell runs it: without sudo, and with this unbloat."""
    unbloat = shlex.join([sys.executable, "-P", "-m", "unbloat"])
    return f'sudo() {{ "$@"; }}; unbloat() {{ {unbloat} "$@"; }}; {command}'


def run(command: str, lock: int) -> None:
    """Run a cure's command; raises `RunError` if it fails.

    It shares the lock, so that nobody undoes a cure while a killed process's command still loads it.
    """
    with subprocess.Popen(
        ["/bin/sh", "-c", script_of(command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
        pass_fds=[lock],
    ) as process:
        try:
            _, told = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise RunError(f"`{command}` did not end within {PATIENCE_S:.0f} s") from None
    if process.returncode:
        reason = told.strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
        raise RunError(f"`{command}` failed: {reason[0].removeprefix('unbloat: ')}")
