"""Units of systemd that load a congestion control at every boot, or what stands at a device when that comes."""

from __future__ import annotations

import string
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from unbloat._core import InputError, RunError, control_name
from unbloat.system.paths import DATA
from unbloat.system.removal import remove_from
from unbloat.system.roots_files import changeable, changeable_within, place_below, write_file, write_folder

UNITS = Path("/etc/systemd/system")
RUNNING = Path("/run/systemd/system")
"""There while systemd runs."""
SOURCES = Path("/var/lib/unbloat")
"""Copies of users' own congestion controls: what root compiles at boot must not be for others to change."""

TEXT = """\
[Unit]
Description=TCP congestion control {name} (unbloat)
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
"""Mechanisms that stand at a device, and what they are about."""

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


class Unit(NamedTuple):
    """A unit file that was written, and a sentence about it."""

    path: Path
    sentence: str


@dataclass(frozen=True)
class UnitName:
    """What a unit and the copies of its sources are called: one component of a path, whatever was asked for."""

    text: str

    @classmethod
    def of_control(cls, name: str) -> UnitName:
        """Name the unit of a congestion control; raises `InputError` if no control can have this name."""
        return cls(control_name(name))

    @classmethod
    def at_device(cls, kind: Kind, device: str) -> UnitName:
        """Name the unit of a device's mechanism; it has one of each kind at most. No control's name has a "-"."""
        return cls(f"{kind}-{escaped(device)}")

    @property
    def path(self) -> Path:
        """Where the unit is."""
        return UNITS / f"unbloat-{self.text}.service"

    @property
    def sources(self) -> Path:
        """Where the copies are."""
        return SOURCES / self.text


@dataclass(frozen=True)
class AtBoot:
    """What a unit will run: this program, and a congestion control that comes along or is the user's own."""

    program: tuple[str, ...]
    control: str
    """Its name, or its file, maybe with `#NAME` behind it."""
    sources: Sequence[Path] = ()
    """The files that a control of the user's own is written in."""


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
                f"--persist: root would run {path} at every boot, and not only root can change {part}: install "
                "unbloat where only root can write, as `sudo make install` does"
            )
    for path in (UNITS, SOURCES):
        if part := changeable(path):
            raise InputError(
                f"--persist: root would run what {path} says at every boot, and not only root can change {part}: give "
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
    return written(unit.path, TEXT.format(name=name, start=command_line(start), stop=command_line(stop)))


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
    """Copy a user's own control to where root alone can change it; return what the unit loads."""
    if not at_boot.sources:
        return at_boot.control
    write_folder(unit.sources, at_boot.sources)
    file, hash_sign, which = at_boot.control.partition("#")
    return f"{place_below(unit.sources, Path(file))}{hash_sign}{which}"


def remove_control(name: str) -> Path | None:
    """Remove the unit of a control as `remove` does; there is none for what cannot be the name of a control."""
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
        raise InputError(f"{word!r} has a control character in it, such as a new line, and cannot stand in a unit")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t'\"\\;#") else escaped


def systemctl(verb: str, unit: str) -> None:
    """Run systemctl."""
    done = subprocess.run(["systemctl", "--quiet", verb, unit], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RunError(f"systemctl {verb} {unit} failed: {done.stderr.strip()}")
