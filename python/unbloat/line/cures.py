"""Cures of a bloated line: what this computer, or a router, can load against it.

`cures` lists them for a `Computer`, whose abilities `computer.py` reads from the running kernel. A cure has the
commands that load and undo it, and says whom it reaches and what is missing for it. Its keys put it into a scenario of
`home.py`; a cure that the simulator lacks has none.

To add a cure, add an entry to `RECIPES`. Mechanisms of the catalogue come by themselves: congestion controls and window
controllers except those in `UNFIT`, and the classifiers in `SORTING`. Texts may hold the placeholders of `cures`, such
as `{device}` and `{up}`. Keys name flows by their role: `uploads.cc`, `downloads.window_controller`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from unbloat.line.computer import NEEDS, OURS, Computer, is_of_linux
from unbloat.system import qdiscs
from unbloat.system.paths import mechanism_names

Where = Literal["host", "router"]
"""The place of a cure: the computer at which unbloat runs, or the router before the line."""
Reaches = Literal["uploads", "downloads", "everybody"]
"""The traffic that a cure changes: this computer's own in one direction, or everything on the line."""

HOST, DEVICE, ROUTER, LINE = "home", "device", "router", "line"
"""Names in the scenarios of `home.py`: this computer, its device, the router, and the line itself."""
SHAPED = {"up": 0.95, "down": 0.9}
"""The share of a direction's rate at which a cure shapes. A shaper behind the line needs more room."""

UNFIT = {
    "dctcp": "it needs a network that marks packets as data centres do",
    "dtpa": "it is for meshes of sensors",
    "dtpa_auto": "it is for meshes of sensors",
    "compound_ns2": "it is for comparisons with ns-2",
    **dict.fromkeys(
        ("agile_sd", "compound", "elastic", "htcp", "illinois", "veno", "westwood"),
        "it is made for throughput, and fills queues as CUBIC does",
    ),
    **dict.fromkeys(("cubic_hystartpp", "cubic_search"), "after its slow start it fills queues as CUBIC does"),
    "autotuning": "Linux does the same",
    "static": "its window suits one path only",
    "rtac": "its parameter suits one path only",
}
"""Mechanisms of the catalogue that do not cure lines."""
SORTING = ("sorpc", "sorpc_fair")
"""Classifiers that put uploads behind everything else."""


@dataclass(frozen=True)
class Cure:
    """A change that may shorten a line's queues."""

    name: str
    where: Where
    reaches: Reaches
    command: str
    """The shell command that loads it; on a router, $WAN is the device that leads to the line."""
    undo: str
    """The shell command that restores what was there before."""
    keys: Mapping[str, object] | None
    """Keys of the scenario, with roles for flows; None if the simulator lacks it."""
    needs: tuple[str, ...] = ()
    """Keys of `NEEDS`; every cure needs root's rights besides."""
    openwrt: str = ""
    """The command for OpenWrt's SQM, which does the same on a router."""
    why_not: str = ""
    """Why it is not simulated."""
    missing: tuple[str, ...] = ()
    """What this computer lacks for it, in words."""
    unknown: tuple[str, ...] = ()
    """Requirements that only root can check."""
    may_yield: bool = False
    """Whether its transfers may give way to others: it is for one program only."""
    parts: tuple[str, ...] = ()
    """The names of the cures that it combines."""

    @property
    def can_load(self) -> bool | None:
        """Return whether this computer can load it with root's rights; None where only root can find out."""
        return False if self.missing else None if self.unknown else True

    @property
    def is_at_device(self) -> bool:
        """Return whether it changes the queue of a device, not the ends of connections."""
        return any(key.startswith("link.") for key in self.keys or ())

    def beside(self, other: Cure) -> Cure:
        """Return both cures as one; the other is loaded second and undone first."""
        return Cure(
            name=f"{self.name} + {other.name}",
            where=self.where,
            reaches="everybody" if self.reaches != other.reaches else self.reaches,
            command=f"{self.command} && {other.command}",
            undo=f"{other.undo}; {self.undo}",
            keys=None if self.keys is None or other.keys is None else {**self.keys, **other.keys},
            needs=tuple(dict.fromkeys((*self.needs, *other.needs))),
            missing=tuple(dict.fromkeys((*self.missing, *other.missing))),
            unknown=tuple(dict.fromkeys((*self.unknown, *other.unknown))),
            may_yield=self.may_yield or other.may_yield,
            parts=(self.name, other.name),
        )


NOT_SIMULATED = "the simulator lacks this congestion control"

SHAPE_UP = {"kind": "cake", "bandwidth": "{up}"}
SHAPE_DOWN = {"kind": "cake", "bandwidth": "{down}", "ingress": True}
FROM_LINE = (
    "clsact && {sudo}ip link add ub_down type ifb && {sudo}ip link set ub_down up && {sudo}tc filter add dev {wan}"
)
"""The middle of a command that leads what comes from the line through a device of its own, where it can be shaped."""
REDIRECT = "ingress matchall action mirred egress redirect dev ub_down && {sudo}tc qdisc add dev ub_down root"


def _from_line(wan: str, sudo: str) -> str:
    """Return the command that leads the packets from the line through `ub_down`; a discipline follows."""
    middle = FROM_LINE.replace("{sudo}", sudo).replace("{wan}", wan)
    return f"{sudo}tc qdisc add dev {wan} {middle} {REDIRECT.replace('{sudo}', sudo)}"


def _sqm(qdisc: str, script: str) -> str:
    """Return the commands that shape with OpenWrt's SQM."""
    settings = {
        "enabled": "1",
        "interface": "$WAN",
        "download": "{down_kbit}",
        "upload": "{up_kbit}",
        "qdisc": qdisc,
        "script": script,
    }
    sets = " && ".join(f"uci set sqm.wan.{key}={value}" for key, value in settings.items())
    return f"opkg install sqm-scripts && uci set sqm.wan=queue && {sets} && uci commit sqm && service sqm restart"


INGRESS_NEEDS = ("ifb", "act_mirred", "cls_matchall")

RECIPES: tuple[Cure, ...] = (
    Cure(
        name="cake",
        where="host",
        reaches="uploads",
        command="sudo tc qdisc replace dev {device} root cake bandwidth {up}",
        undo="{discipline}",
        needs=("tc", "device", "restorable", "rate up", "sch_cake"),
        keys={f"link.{DEVICE}.queue": SHAPE_UP},
    ),
    Cure(
        name="fq_codel",
        where="host",
        reaches="uploads",
        command="sudo tc qdisc replace dev {device} root handle 1: htb default 1 && "
        "sudo tc class add dev {device} parent 1: classid 1:1 htb rate {up} && "
        "sudo tc qdisc add dev {device} parent 1:1 fq_codel",
        undo="{discipline}",
        needs=("tc", "device", "restorable", "rate up", "sch_htb", "sch_fq_codel"),
        keys={f"link.{DEVICE}.rate": "{up}", f"link.{DEVICE}.queue": {"kind": "fq_codel"}},
    ),
    Cure(
        name="cake for downloads",
        where="host",
        reaches="downloads",
        command=f"{_from_line('{device}', 'sudo ')} cake bandwidth {{down}} ingress",
        undo="sudo tc qdisc del dev {device} clsact; sudo ip link del ub_down",
        needs=("tc", "device", "rate down", "sch_cake", *INGRESS_NEEDS),
        keys={f"link.{DEVICE}.reverse.queue": SHAPE_DOWN},
    ),
    Cure(
        name="tcp_notsent_lowat",
        where="host",
        reaches="uploads",
        command="sudo sysctl -w net.ipv4.tcp_notsent_lowat=131072",
        undo="sudo sysctl -w net.ipv4.tcp_notsent_lowat={lowat}",
        keys={f"host.{HOST}.tcp_wmem.notsent_lowat": "131072b"},
    ),
    Cure(
        name="cake on the router",
        where="router",
        reaches="everybody",
        command=f"tc qdisc replace dev $WAN root cake bandwidth {{up}} && {_from_line('$WAN', '')} "
        "cake bandwidth {down} ingress",
        undo="tc qdisc del dev $WAN root; tc qdisc del dev $WAN clsact; ip link del ub_down",
        openwrt=_sqm("cake", "piece_of_cake.qos"),
        needs=("rate up", "rate down"),
        keys={f"link.{ROUTER}.queue": SHAPE_UP, f"link.{ROUTER}.reverse.queue": SHAPE_DOWN},
    ),
    Cure(
        name="fq_codel on the router",
        where="router",
        reaches="everybody",
        command="tc qdisc replace dev $WAN root handle 1: htb default 1 && "
        "tc class add dev $WAN parent 1: classid 1:1 htb rate {up} && tc qdisc add dev $WAN parent 1:1 fq_codel && "
        f"{_from_line('$WAN', '')} handle 1: htb default 1 && "
        "tc class add dev ub_down parent 1: classid 1:1 htb rate {down} && "
        "tc qdisc add dev ub_down parent 1:1 fq_codel",
        undo="tc qdisc del dev $WAN root; tc qdisc del dev $WAN clsact; ip link del ub_down",
        openwrt=_sqm("fq_codel", "simple.qos"),
        needs=("rate up", "rate down"),
        keys={
            f"link.{ROUTER}.rate": "{up}",
            f"link.{ROUTER}.queue": {"kind": "fq_codel"},
            f"link.{ROUTER}.reverse.rate": "{down}",
            f"link.{ROUTER}.reverse.queue": {"kind": "fq_codel"},
        },
    ),
)
"""Cures that no mechanism of the catalogue brings."""


def cures(computer: Computer, up_bps: float | str, down_bps: float | str, cgroup: str | None = None) -> list[Cure]:
    """List the cures of a line for this computer, and those for its router.

    Parameters
    ----------
    computer : Computer
        The abilities of this computer.
    up_bps, down_bps : float or str
        The rates of the line, from which shapers take a part; or the reason why no shaper suits that direction.
    cgroup : str, optional
        The control group of the program that uploads: congestion controls are then for its connections only.

    """
    rates = {"up": up_bps, "down": down_bps}
    words = {  # Placeholders: `up` and `down` are shaped rates, `cc` and `lowat` the values of today.
        "device": computer.device or "DEVICE",
        "cc": computer.cc,
        "cgroup": cgroup or "",
        "lowat": str(computer.notsent_lowat),
        "discipline": _restores(computer),
        **{way: _kbit(rate, way) for way, rate in rates.items()},
        **{f"{way}_kbit": _kbit(rate, way).removesuffix("kbit") for way, rate in rates.items()},
    }
    has = {
        **computer.has,
        "device": computer.device is not None,
        "restorable": computer.discipline in (None, *qdiscs.RESTORABLE),
        **{f"rate {way}": not isinstance(rate, str) for way, rate in rates.items()},
    }
    recipes = [*_controls(computer, is_per_program=cgroup is not None), *_at_devices(), *RECIPES]
    unshaped = {f"rate {way}": rate for way, rate in rates.items() if isinstance(rate, str)}
    found = [_for(recipe, words, has, computer.lacks, unshaped) for recipe in recipes]
    return [_as_root(cure) for cure in found] if computer.is_root else found


def _kbit(rate_bps: float | str, way: str) -> str:
    """Write the shaped rate of a direction; a placeholder where no shaper suits it."""
    return "RATE" if isinstance(rate_bps, str) else f"{max(1, int(rate_bps * SHAPED[way] / 1e3))}kbit"


def _restores(computer: Computer) -> str:
    """Return the command that restores the discipline of the device."""
    if computer.discipline is None:
        return f"sudo tc qdisc del dev {computer.device} root"
    return f"sudo tc qdisc replace dev {computer.device} root {computer.discipline}"


def _controls(computer: Computer, *, is_per_program: bool) -> Iterator[Cure]:
    """Yield the congestion controls for uploads: the kernel's own, and those that unbloat loads."""
    simulated = mechanism_names("congestion")
    for name in sorted(set(computer.available) - UNFIT.keys() - {computer.cc}):
        everybody = ("sudo sysctl -w net.ipv4.tcp_congestion_control=" + name, "sudo sysctl -w " + CC_OF_TODAY)
        program = (f"sudo unbloat attach {name} {{cgroup}}", "sudo unbloat detach {cgroup}")
        command, undo = program if is_per_program else everybody
        has_it = name in simulated
        yield Cure(
            name=name,
            where="host",
            reaches="uploads",
            command=command,
            undo=undo,
            needs=("loading",) if is_per_program else ("default",),
            keys={"uploads.cc": name} if has_it else None,
            why_not="" if has_it else NOT_SIMULATED,
            may_yield=is_per_program,
        )
    for name in simulated:
        if name in UNFIT or name in (*computer.available, computer.cc, computer.cc.removeprefix(OURS)):
            continue
        load = f"sudo unbloat load {name}"
        loaded = OURS + name if is_of_linux(name) else name
        yield Cure(
            name=name,
            where="host",
            reaches="uploads",
            command=f"{load} && sudo unbloat attach {loaded} {{cgroup}}" if is_per_program else f"{load} --default",
            undo=f"sudo unbloat unload {loaded}",
            needs=("loading",) if is_per_program else ("loading", "default"),
            keys={"uploads.cc": name},
            may_yield=is_per_program,
        )


CC_OF_TODAY = "net.ipv4.tcp_congestion_control={cc}"


def _at_devices() -> Iterator[Cure]:
    """Yield the window controllers for downloads, and the classifiers for uploads."""
    for name in mechanism_names("window"):
        if name not in UNFIT:
            yield Cure(
                name=name,
                where="host",
                reaches="downloads",
                command=f"sudo unbloat load {name} --dev {{device}}",
                undo=f"sudo unbloat unload {name} --dev {{device}}",
                needs=("device", "loading", "load --dev"),
                keys={"downloads.window_controller": name},
            )
    for name in SORTING:
        yield Cure(
            name=name,
            where="host",
            reaches="uploads",
            command=f"sudo unbloat load {name} --dev {{device}} --rate {{up}}",
            undo=f"sudo unbloat unload {name} --dev {{device}}",
            needs=("device", "restorable", "rate up", "loading", "load --dev"),
            keys={
                f"link.{DEVICE}.rate": "{up}",
                f"link.{DEVICE}.queue": {"kind": "prio", "bands": 3, "limit": "1000p"},
                f"host.{HOST}.classifier": name,
            },
        )


def _for(
    recipe: Cure,
    words: Mapping[str, str],
    has: Mapping[str, bool | None],
    lacks: Mapping[str, str],
    unshaped: Mapping[str, str],
) -> Cure:
    """Fill a recipe in for a computer and a line; `unshaped` says why needed rates are missing."""
    missing = tuple(lacks.get(need, NEEDS[need]) for need in recipe.needs if has.get(need) is False)
    unknown = tuple(NEEDS[need] for need in recipe.needs if has.get(need) is None)
    why_not = next((unshaped[need] for need in recipe.needs if need in unshaped), "")
    return replace(
        recipe,
        command=_filled(recipe.command, words),
        undo=_filled(recipe.undo, words),
        openwrt=_filled(recipe.openwrt, words),
        keys=None if why_not or recipe.keys is None else _filled(recipe.keys, words),
        why_not=why_not or recipe.why_not,
        missing=missing,
        unknown=unknown if recipe.where == "host" else (),
    )


def _as_root(cure: Cure) -> Cure:
    """Return a cure whose commands need no `sudo`, which a machine without other users may lack."""
    return replace(cure, command=cure.command.replace("sudo ", ""), undo=cure.undo.replace("sudo ", ""))


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    """Replace the placeholders in a text, or in all texts of a table."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: words[found[1]], value)
    if isinstance(value, Mapping):
        return {key: _filled(each, words) for key, each in value.items()}
    return value
