"""Units of systemd that load a congestion control at every boot, or a mechanism when its device appears."""

from __future__ import annotations

import os
import stat
import string
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Literal, NamedTuple

from unbloat._core import InputError, RunError, control_name
from unbloat.system.files import sync
from unbloat.system.paths import DATA
from unbloat.system.scratch import Scratch, remove_from

UNITS = Path("/etc/systemd/system")
RUNNING = Path("/run/systemd/system")
"""There while systemd runs."""
SOURCES = Path("/var/lib/unbloat")
"""Copies of users' own congestion controls: what root compiles at boot must not be for others to change."""

TEXT = """\
[Unit]
Description={what}
DefaultDependencies=no
After=local-fs.target sys-fs-bpf.mount
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={start}
ExecStop={stop}

[Install]
WantedBy=multi-user.target
"""

Kind = Literal["window", "classifier"]
WHAT: dict[Kind, str] = {"window": "TCP receive windows", "classifier": "Order of packets"}
"""Mechanisms at a device, each with its description."""

AT_DEVICE = """\
[Unit]
Description={what}
BindsTo={device_unit}
After={device_unit} local-fs.target sys-fs-bpf.mount

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={start}
# A device that is gone has taken its programs along.
ExecStop=-{stop}

[Install]
WantedBy={device_unit}
"""


FOLLOWER = """\
[Unit]
Description=Cures of the line in their networks (unbloat)
After=local-fs.target sys-fs-bpf.mount

[Service]
ExecStart={start}
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""


class Unit(NamedTuple):
    """A unit file that was written, and a sentence about it."""

    path: Path
    sentence: str


@dataclass(frozen=True)
class UnitName:
    """The name of a unit and of the copies of its sources: always one component of a path."""

    text: str

    @classmethod
    def of_control(cls, name: str) -> UnitName:
        """Name the unit of a congestion control; raises `InputError` if it cannot have this name."""
        return cls(control_name(name))

    @classmethod
    def at_device(cls, kind: Kind, device: str) -> UnitName:
        """Name the unit of a device's mechanism; it has one of each kind at most. No mechanism's name has a "-"."""
        return cls(f"{kind}-{escaped(device)}")

    @property
    def path(self) -> Path:
        """Where the unit is."""
        return UNITS / f"unbloat-{self.text}.service"

    @property
    def sources(self) -> Path:
        """Where the copies are."""
        return SOURCES / self.text


LINE = UnitName("line-cure")
"""The unit of a line's cure for which `unbloat load` has none, or of cures for networks.

Names of mechanisms lack the "-".
"""


@dataclass(frozen=True)
class AtBoot:
    """The program that a unit will run, and a shipped or a user's own congestion control."""

    program: tuple[str, ...]
    control: str
    """The congestion control's name, or its file, maybe with `#NAME` behind it."""
    sources: Sequence[Path] = ()
    """The files that a congestion control of the user's own is written in."""


def prepare(control: str, sources: Sequence[Path] = ()) -> AtBoot:
    """Check that this program may run at boot; raises `InputError` if root should not run it.

    A checkout is not: it may be moved, changed or deleted, and belongs to somebody.
    """
    quoted(control)
    if (DATA / "algorithms").is_symlink():
        raise InputError(
            f"--persist: this unbloat runs from the checkout {DATA.resolve().parents[2]}, which may be gone at the "
            "next boot: `sudo make install` there, then load it with /usr/local/bin/unbloat"
        )
    program, package = Path(sys.executable), DATA.parent
    for path, part in ((program, changeable(program)), (package, changeable_within(package))):
        if part:
            raise InputError(
                f"--persist: root would run {path} at every boot, and others can change {part}: install "
                "unbloat where only root can write, as `sudo make install` does"
            )
    for path in (UNITS, SOURCES):
        if part := changeable(path):
            raise InputError(
                f"--persist: root would obey {path} at every boot, and others can change {part}: give "
                f"it to root alone (chown -h root {part}, chmod go-w {part})"
            )
    return AtBoot((sys.executable, "-m", "unbloat"), control, sources)


def install(
    at_boot: AtBoot,
    name: str,
    parameters: Sequence[tuple[str, str]],
    default: bool,
    contents: Sequence[str] = (),
) -> Unit:
    """Write the unit that loads a control as `name`, and enable it if systemd runs."""
    unit = UnitName.of_control(name)
    start = [*at_boot.program, "load", keep_sources(at_boot, unit), "--as", name]
    for key, value in parameters:
        start += ["--param", f"{key}={value}"]
    for entry in contents:
        start += ["--map", entry]
    start += ["--default"] if default else []
    stop = [*at_boot.program, "unload", name, "--drain", "--keep-unit"]
    what = f"TCP congestion control {name} (unbloat)"
    return written(unit.path, TEXT.format(what=what, start=command_line(start), stop=command_line(stop)))


def install_at_device(at_boot: AtBoot, kind: Kind, device: str, options: Sequence[str]) -> Unit:
    """Write the unit that loads a mechanism when a device comes, and enable it if systemd runs."""
    unit = UnitName.at_device(kind, device)
    source = keep_sources(at_boot, unit)
    text = AT_DEVICE.format(
        what=description_at(kind, device, at_boot.control),
        device_unit=f"sys-subsystem-net-devices-{escaped(device)}.device",
        start=command_line([*at_boot.program, "load", source, "--dev", device, *options]),
        stop=command_line([*at_boot.program, "unload", source, "--dev", device, "--keep-unit"]),
    )
    return written(unit.path, text)


def install_command(name: str, start: Sequence[str], stop: Sequence[str], device: str | None) -> Unit:
    """Write the unit that runs a cure's command at boot or when a device comes, and enable it if systemd runs."""
    device_unit = f"sys-subsystem-net-devices-{escaped(device)}.device" if device else ""
    text = (AT_DEVICE if device else TEXT).format(
        what=f"Cure of the line: {name} (unbloat)",
        device_unit=device_unit,
        start=command_line(start),
        stop=command_line(stop),
    )
    return written(LINE.path, text)


def install_follower(start: Sequence[str]) -> Unit:
    """Write the unit that loads cures of the line in their networks, and enable it if systemd runs."""
    return written(LINE.path, FOLLOWER.format(start=command_line(start)))


def remove_command() -> Path | None:
    """Remove the unit of a line's cure as `remove` does."""
    return remove(LINE)


def remove_at_device(kind: Kind, device: str, source: str) -> Path | None:
    """Remove the unit of a device's mechanism as `remove` does, if it is the one of this name or file."""
    unit = UnitName.at_device(kind, device)
    if not unit.path.exists() or f"={description_at(kind, device, source)}\n" not in unit.path.read_text():
        return None
    return remove(unit)


def description_at(kind: Kind, device: str, source: str) -> str:
    """Say what a unit is for; a file goes by its name, as its copy does."""
    return f"{WHAT[kind]} at {escaped(device)}: {Path(source).name} (unbloat)"


def escaped(device: str) -> str:
    """Write a device's name as systemd has it in the names of units (systemd.unit, "String Escaping")."""
    plain = set(string.ascii_letters + string.digits + ":_.")
    return "".join(letter if letter in plain else f"\\x{ord(letter):02x}" for letter in device)


def written(path: Path, text: str) -> Unit:
    """Write a unit, and enable it if systemd runs."""
    write_file(path, text)
    if not RUNNING.is_dir():
        return Unit(path, f"wrote {path}; systemd does not run here: enable it with systemctl enable {path.name}")
    systemctl("enable", path.name)
    return Unit(path, f"wrote and enabled {path}")


def keep_sources(at_boot: AtBoot, unit: UnitName) -> str:
    """Copy a user's own congestion control to where root alone can change it; return what the unit loads."""
    if not at_boot.sources:
        return at_boot.control
    write_folder(unit.sources, at_boot.sources)
    file, hash_sign, which = at_boot.control.partition("#")
    return f"{place_below(unit.sources, Path(file))}{hash_sign}{which}"


def remove_control(name: str) -> Path | None:
    """Remove the unit of a congestion control as `remove` does; a name that no unit can have has none."""
    try:
        unit = UnitName.of_control(name)
    except InputError:
        return None
    return remove(unit)


def remove(unit: UnitName) -> Path | None:
    """Disable and remove a unit, and the copies of its sources; return the unit's path if there was one."""
    path = unit.path
    if not path.exists():
        return None
    if RUNNING.is_dir():
        systemctl("disable", path.name)
    path.unlink()
    remove_from(SOURCES, unit.sources.name)
    return path


def command_line(words: Sequence[str]) -> str:
    """Write a command as a unit has it."""
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """Write a word as a unit's command line wants it: % and $ mean something there, and a line is a setting."""
    if any(ord(letter) < ord(" ") for letter in word):
        raise InputError(f"{word!r} has a control character in it, such as a new line, which a unit cannot contain")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t'\"\\;#") else escaped


def own_scope() -> list[str]:
    """Return the words before a command that give it a control group of its own; none where systemd gives none."""
    words = ["systemd-run", "--scope", "--quiet", "--collect", "--"]
    if not RUNNING.is_dir() or which(words[0]) is None:
        return []
    return [] if subprocess.run([*words, "true"], check=False, capture_output=True).returncode else words


def systemctl(verb: str, unit: str) -> None:
    """Run systemctl."""
    done = subprocess.run(["systemctl", "--quiet", verb, unit], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RunError(f"systemctl {verb} {unit} failed: {done.stderr.strip()}")


# ---------------------------------------------------------------- Files that root alone may change


FILE, FOLDER = 0o644, 0o755
"""The modes, whatever the umask of whoever writes."""
MOST_LINKS = 40
"""Symbolic links that the kernel follows on one way, at most (MAXSYMLINKS)."""


def changeable(path: Path) -> Path | None:
    """Return the first folder, file or link on the way to `path` that others than root could replace or write to."""
    return next(filter(_is_of_others, _way(path)), None)


def changeable_within(folder: Path) -> Path | None:
    """Return what others could change of a folder, of the way to it, or of the ways on which its links lead."""
    parts = (changeable(part) if part.is_symlink() else part for part in sorted(folder.rglob("*")))
    return changeable(folder) or next((part for part in parts if part and _is_of_others(part)), None)


def _is_of_others(part: Path) -> bool:
    state = part.lstat()
    if state.st_uid != 0 or stat.S_ISLNK(state.st_mode):
        return state.st_uid != 0
    is_open = state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and state.st_gid != 0)
    # Of a sticky folder others can replace only what is theirs, which is looked at next.
    return bool(is_open) and not (stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_ISVTX)


def _way(path: Path) -> Iterator[Path]:
    """Yield what the kernel passes on the way to a path: folders, links, what they lead to; all that is there."""
    ahead = list(reversed(path.absolute().parts))
    place, links = Path("/"), 0
    while ahead:
        part = ahead.pop()
        place = place.parent if part == ".." else place / part
        if not os.path.lexists(place):
            return
        yield place
        if place.is_symlink():
            links += 1
            if links > MOST_LINKS:
                return
            ahead += reversed(place.readlink().parts)
            place = place.parent


def write_file(path: Path, text: str) -> None:
    """Write a file whole: what was there before counts until then."""
    _make(path.parent)
    with closing(Scratch(within=path.parent)) as scratch:
        draft = scratch.folder / path.name
        draft.write_text(text, encoding="utf-8")
        draft.chmod(FILE)
        sync(draft)
        draft.replace(path)
        sync(path.parent)


def write_folder(folder: Path, files: Iterable[Path]) -> None:
    """Put copies of files into a folder in place of what was there; each is below it where it was below the root."""
    place = folder.parent
    _make(place)
    with closing(Scratch(within=place)) as scratch:
        draft = scratch.folder / folder.name
        for file in files:
            copy = place_below(draft, file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        for part in (draft, *draft.rglob("*")):
            part.chmod(FOLDER if part.is_dir() else FILE)
            sync(part)
        remove_from(place, folder.name)
        draft.rename(folder)
        sync(place)


def _make(folder: Path) -> None:
    """Make a folder, and those above it, if they are not there."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=FOLDER, exist_ok=True)
        folder.chmod(FOLDER)


def place_below(folder: Path, file: Path) -> Path:
    """Return where a copy of a file is below a folder, which no `..` of the file's path leaves."""
    return folder / os.path.normpath(file.absolute()).lstrip("/")
