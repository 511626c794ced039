"""Units of systemd that load a congestion control at every boot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from unbloat._core import InputError, RunError

UNITS = Path("/etc/systemd/system")
RUNNING = Path("/run/systemd/system")
"""There while systemd runs."""

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
ExecStart={command}

[Install]
WantedBy=multi-user.target
"""


class Unit(NamedTuple):
    """A unit that was written, and a sentence about it."""

    path: Path
    sentence: str


def install(name: str, control: str, parameters: Sequence[tuple[str, str]], default: bool) -> Unit:
    """Write the unit that loads `control` as `name`, and enable it if systemd runs."""
    path = unit_path(name)
    UNITS.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(name=name, command=command(name, control, parameters, default)))
    if not RUNNING.is_dir():
        return Unit(path, f"wrote {path}; systemd does not run here: enable it with systemctl enable {path.name}")
    systemctl("enable", path.name)
    return Unit(path, f"wrote and enabled {path}")


def remove(name: str) -> Path | None:
    """Disable and remove the unit of `name`; give its path if there was one."""
    path = unit_path(name)
    if not path.exists():
        return None
    if RUNNING.is_dir():
        systemctl("disable", path.name)
    path.unlink()
    return path


def unit_path(name: str) -> Path:
    """Where the unit of a control is."""
    return UNITS / f"unbloat-{name}.service"


def command(name: str, control: str, parameters: Sequence[tuple[str, str]], default: bool) -> str:
    """Write the command that loads it again, independent of the folder that it is run in."""
    is_file = Path(control.split("#")[0]).is_file()
    words = [
        sys.executable,
        "-m",
        "unbloat",
        "load",
        str(Path(control).absolute()) if is_file else control,
        "--as",
        name,
    ]
    for key, value in parameters:
        words += ["--param", f"{key}={value}"]
    return " ".join(map(quoted, [*words, *(["--default"] if default else [])]))


def quoted(word: str) -> str:
    """Write a word as a unit's command line wants it: % and $ mean something there, and a line is a setting."""
    if any(ord(letter) < ord(" ") for letter in word):
        raise InputError(f"{word!r} has a control character in it, such as a new line, and cannot stand in a unit")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t'\"\\;#") else escaped


def systemctl(verb: str, unit: str) -> None:
    """Ask systemd."""
    done = subprocess.run(["systemctl", "--quiet", verb, unit], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RunError(f"systemctl {verb} {unit} failed: {done.stderr.strip()}")
