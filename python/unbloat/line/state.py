"""The state of this computer, as far as cures change it: read before a cure is loaded, and put back exactly.

A state has the settings that cures set, each device's queue discipline, and what `unbloat load` and `unbloat attach`
have put into the kernel. The changes of somebody else while a cure was there stay.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat._core import Error, InputError
from unbloat.system import qdiscs
from unbloat.system.qdiscs import RESTORABLE, Qdisc

SYSCTLS = Path("/proc/sys")
SETTINGS = (
    "net.core.default_qdisc",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
"""Settings that cures are known to set; those that a cure's command names are added."""
NAMED_SETTING = re.compile(r"\b([a-z0-9_]+(?:\.[\w-]+)+)=")
NAMED_ROOT = re.compile(r"\btc qdisc \w+ dev (\S+) root\b")
ATTACHED = Path("/run/unbloat-cgroups")
"""Where `unbloat attach` notes the groups."""

Place = tuple[str, ...]
"""What of the computer: a kind, and its name, such as `("setting", "net.ipv4.tcp_ecn")`."""


@dataclass(frozen=True)
class State:
    """The values of this computer by place; a place that is missing has nothing."""

    values: Mapping[Place, Any] = field(default_factory=dict)

    def differs_from(self, other: State) -> list[Place]:
        """List the places whose values differ."""
        places = dict.fromkeys((*other.values, *self.values))
        return [place for place in places if self.values.get(place) != other.values.get(place)]

    def to_json(self) -> list[list[Any]]:
        """Return it as a journal has it."""
        return [[list(place), value] for place, value in self.values.items()]

    @classmethod
    def from_json(cls, entries: list[list[Any]]) -> State:
        """Read it from a journal."""
        return cls({tuple(place): value for place, value in entries})


def read(command: str) -> State:
    """Read what this computer has, as far as cures change it; the command may name further settings."""
    return State(dict(_places(command)))


def _places(command: str) -> Iterator[tuple[Place, Any]]:
    for name in dict.fromkeys((*SETTINGS, *NAMED_SETTING.findall(command))):
        if (value := _setting(name)) is not None:
            yield ("setting", name), value
    disciplines, filtered = qdiscs.of_devices(), qdiscs.with_clsact()
    for device, index in _devices().items():
        # A device that comes back is another one.
        yield ("device", device), index
        if index in disciplines:
            yield ("discipline", device, str(index)), asdict(disciplines[index])
        if index in filtered:
            yield ("clsact", device, str(index)), True
    for control in _of_kernel(_core.kernel_status):
        if control["held_by"] == "pin":
            yield ("control", control["name"]), True
    for window in _of_kernel(_core.kernel_window_status):
        yield ("window", window["device"], window["source"]), True
    for classifier in _of_kernel(_core.kernel_classifier_status):
        yield ("classifier", classifier["device"], classifier["source"]), True
    for note in sorted(ATTACHED.glob("*.json")):
        attachment = json.loads(note.read_text())
        yield ("group", attachment["cgroup"]), attachment["control"]


def _of_kernel(listed: Callable[[], Any]) -> list[Any]:
    """Return what a kernel lists; one that cannot load mechanisms has none."""
    try:
        return list(listed())
    except Error:
        return []


def _setting_file(name: str) -> Path:
    return SYSCTLS / name.replace(".", "/")


def _setting(name: str) -> str | None:
    try:
        return _setting_file(name).read_text().strip()
    except OSError:
        return None


def _devices() -> dict[str, int]:
    """Return the number of each network device of this namespace."""
    return {name: index for index, name in socket.if_nameindex()}


def refuse_what_cannot_return(command: str) -> None:
    """Raise `InputError` if a command replaces a discipline that could not be restored."""
    disciplines, devices = qdiscs.of_devices(), _devices()
    for device in NAMED_ROOT.findall(command):
        root = disciplines.get(devices.get(device, 0))
        if root is not None and root.handle and root.kind not in RESTORABLE:
            raise InputError(
                f"{device} has the queue discipline {root.kind}, which unbloat could not restore exactly: remove it "
                f"(tc qdisc del dev {device} root)"
            )


# ---------------------------------------------------------------- Putting back


def put_back(before: State, after: State | None, command: str, undo: Callable[[], object]) -> list[str]:
    """Restore the state from before a cure; return what could not be restored, a phrase each.

    `after` is the state with the cure; none if the cure's command may not have come to its end. `undo` runs the cure's
    own command, which may find nothing left to undo.
    """
    now = read(command)
    others = {place for place in _differences(now, before, command) if after and not _is_same(place, now, after)}
    undo()
    problems = {}
    # Settings wait for the controls that they name, and disciplines for the mechanisms and settings they depend on.
    for kind, restore in RESTORE.items():
        for place in _differences(read(command), before, command):
            if place[0] == kind and place not in others:
                try:
                    restore(place, before.values.get(place))
                except (Error, OSError, subprocess.CalledProcessError) as error:
                    problems[place] = f" ({error})"
    left = [place for place in _differences(read(command), before, command) if place not in others]
    return [" ".join(place[:2]) + problems.get(place, "") for place in left]


def _is_same(place: Place, one: State, other: State) -> bool:
    return bool(one.values.get(place) == other.values.get(place))


def _differences(now: State, before: State, command: str) -> list[Place]:
    """List what a command may have changed: all settings and groups, and of the rest what it names.

    A device that has gone, or came back as another one, has nothing to restore.
    """
    words = set(re.split(r"[\s=;&|]+", command))
    gone = {place[1] for place in now.differs_from(before) if place[0] == "device" and place in before.values}

    def concerns(place: Place) -> bool:
        kind, name, *_ = place
        if kind in ("setting", "group"):
            return True
        if kind == "control":
            return bool({name, name.removeprefix("ub_")} & words) or ".bpf.c" in command
        return name in words and name not in gone

    return [place for place in now.differs_from(before) if concerns(place)]


def _control(place: Place, value: object) -> None:
    if value is None:
        _core.kernel_unload(place[1], drain=True)


def _window(place: Place, value: object) -> None:
    if value is None:
        _core.kernel_unload_window(place[2], device=place[1])


def _classifier(place: Place, value: object) -> None:
    if value is None:
        _core.kernel_unload_classifier(place[2], device=place[1])


def _group(place: Place, value: object) -> None:
    is_root = (Path(place[1]) / "cgroup.procs").is_file() and not (Path(place[1]) / "cgroup.type").is_file()
    group = None if is_root else place[1]
    if value is None:
        _core.kernel_detach(group, everyone=is_root)
    else:
        _core.kernel_attach(str(value), group, everyone=is_root)


def _write_setting(place: Place, value: object) -> None:
    _setting_file(place[1]).write_text(f"{value}\n")


def _device(place: Place, value: object) -> None:
    if value is None:
        subprocess.run(["ip", "link", "del", place[1]], check=True, capture_output=True)


def _clsact(place: Place, value: object) -> None:
    if value is None:
        qdiscs.remove_clsact(int(place[2]))


def _discipline(place: Place, value: Any) -> None:
    if value is not None:
        qdiscs.put_back(int(place[2]), Qdisc(**value))


RESTORE: dict[str, Callable[[Place, Any], None]] = {
    "window": _window,
    "classifier": _classifier,
    "group": _group,
    "control": _control,
    "setting": _write_setting,
    "device": _device,
    "clsact": _clsact,
    "discipline": _discipline,
}
"""How each kind of place gets its value back, in the order in which it has to happen."""
