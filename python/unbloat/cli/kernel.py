"""The commands about the running kernel: `unbloat load`, `unload`, `attach`, `detach`, `status`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbloat import _core
from unbloat._core import Error, InputError
from unbloat.cli import devices
from unbloat.cli.options import DefineOption, IncludeOption, JsonOption, control_names, split_pair
from unbloat.cli.terminal import say, say_json, tell
from unbloat.scenarios.checks import did_you_mean
from unbloat.scenarios.controls import known_control, refuse_discipline, show_warnings
from unbloat.system.core_types import Attachment, LoadedControl, UnloadedControl, WindowTarget
from unbloat.system.files import write_text
from unbloat.system.paths import ALGORITHMS, mechanism_names

if TYPE_CHECKING:
    from unbloat.system.systemd import AtBoot, Kind, Unit

LOAD_EXAMPLES = """\
sudo unbloat load cubic_plus --param threshold=30ms
sudo unbloat load ./mine.bpf.c --as mine --verbose
sudo unbloat load clpc --persist
sudo unbloat load rtac_auto --dev wlan0
sudo unbloat load rtac --dev eth0 --param bdp=68
sudo unbloat load sorpc --dev eth0 --rate 20mbit"""
UNLOAD_EXAMPLES = """\
sudo unbloat unload cubic_plus
sudo unbloat unload clpc --drain
sudo unbloat unload rtac_auto --dev wlan0
sudo unbloat unload sorpc --dev eth0"""
ATTACH_EXAMPLES = """\
sudo unbloat attach clpc system.slice/backup.service
sudo unbloat attach clpc --everyone"""
DETACH_EXAMPLES = "sudo unbloat detach system.slice/backup.service"
STATUS_EXAMPLES = """\
sudo unbloat status
sudo unbloat status --measure 2s"""

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name in the kernel.", show_default=False)]
CgroupArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[CGROUP]",
        help="Control group, such as system.slice/backup.service. Default: the group of this command.",
    ),
]
EveryoneOption = Annotated[
    bool, typer.Option("--everyone", help="Use the root group, which contains every process of the machine.")
]
ControlArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A congestion control, a window controller or a classifier from `unbloat list`, or your own .bpf.c file.",
        autocompletion=control_names,
        show_default=False,
    ),
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="Set a parameter (`unbloat show NAME` lists them)."),
]
AsOption = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Name in the kernel. Default: the name in its file."),
]
DefaultOption = Annotated[bool, typer.Option("--default", help="Make it the default for new connections.")]
PersistOption = Annotated[bool, typer.Option("--persist", help="Also load it at every boot (writes a systemd unit).")]
LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log", metavar="FILE", help="Write the verifier's log to this file if the kernel refuses the program."
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--dev",
        metavar="DEVICE",
        help="For a window controller or a classifier: the network device that sends the packets.",
    ),
]
RateOption = Annotated[
    str | None,
    typer.Option("--rate", metavar="RATE", help="For a classifier: limit the rate of the device, such as 20mbit."),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="PORT",
        min=1,
        max=65535,
        help="For a window controller: lower only the windows of connections to this port.",
    ),
]
DestOption = Annotated[
    str | None,
    typer.Option(
        "--dest",
        metavar="NET",
        help="For a window controller: lower only the windows of connections to this address or network.",
    ),
]
GroupOption = Annotated[
    str | None,
    typer.Option(
        "--cgroup",
        metavar="CGROUP",
        help="For a window controller: lower only the windows of this control group's sockets.",
    ),
]
RouterOption = Annotated[
    bool,
    typer.Option(
        "--router", help="For a window controller: also lower the windows of connections that this machine forwards."
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="NAME[KEY]=VALUE",
        help="Put a value into a BPF map of the congestion control. Commas separate the members of a struct.",
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Print the verifier's log if the kernel refuses the program.")
]


def load_command(
    control: ControlArgument,
    param: ParamOption = None,
    contents: MapOption = None,
    name: AsOption = None,
    default: DefaultOption = False,
    persist: PersistOption = False,
    log: LogOption = None,
    verbose: VerboseOption = False,
    dev: DeviceOption = None,
    rate: RateOption = None,
    port: PortOption = None,
    dest: DestOption = None,
    cgroup: GroupOption = None,
    router: RouterOption = False,
    include: IncludeOption = None,
    define: DefineOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load a congestion control, a window controller or a classifier into the running kernel."""
    from unbloat.system import systemd

    parameters = [split_pair(text, "--param", "NAME=VALUE", "threshold=90%") for text in param or []]
    target: WindowTarget = {"port": port, "dest": dest, "cgroup": cgroup, "router": router}
    given = {"include": include or [], "define": define or []}
    if persist and any(given.values()):
        raise InputError(
            "--persist: a copy of the file is loaded at boot, without -I and -D: put the headers beside it"
        )
    kind = devices.kind_of(control)
    if kind != "classifier":
        refuse_discipline(control, dev)
        if rate is not None:
            raise InputError(f"--rate is only for classifiers, such as sorpc, not for {control}")
        if dev is not None or any(target.values()):
            kind = "window"
    if kind:
        refuse_at_devices(name, default, contents)
        when_it_comes = at_every_boot(control, dev, target) if persist else None
        with explained(log, verbose):
            at_device = devices.load(kind, control, parameters, dev, rate, target, given)
        if warning := devices.warning(at_device):
            tell(warning)
        options = devices.options(parameters, rate, target)
        kept = systemd.install_at_device(when_it_comes, kind, at_device["device"], options) if when_it_comes else None
        say_loaded(at_device, kept, devices.load_sentence(kind, at_device), as_json)
        return
    refuse_unknown(control)
    known_control(control)
    at_boot = systemd.prepare(control, sources_of(control)) if persist else None
    if at_boot and not parameters and not contents and not default and (there := loaded_already(control, name)):
        kept = systemd.install(at_boot, there["name"], there["parameters"], default=False)
        say_loaded(devices.by_name(there), kept, "the kernel has it already", as_json)
        return
    entries = map_entries(contents)
    with explained(log, verbose):
        loaded = _core.kernel_load(
            ALGORITHMS, control, parameters, maps=entries, name=name, make_default=default, **given
        )
    unit = systemd.install(at_boot, loaded["name"], parameters, default, contents or []) if at_boot else None
    shown = devices.by_name(loaded)
    say_loaded(shown, unit, "\n".join(load_sentences(control, shown)), as_json)


FOLDERS = {"congestion": "congestion controls", "window": "window controllers", "classify": "classifiers"}
"""The folders of what can be loaded, with what it is called."""


def refuse_unknown(name: str) -> None:
    """Raise `InputError` for a name that is neither a file's nor a mechanism's, and list the valid names."""
    names = {kind: mechanism_names(folder) for folder, kind in FOLDERS.items()}
    every = [each for listed in names.values() for each in listed]
    if name.isidentifier() and name not in every:
        near = did_you_mean(name, every)
        all_names = "; ".join(f"{kind}: {', '.join(listed)}" for kind, listed in names.items())
        there = "`unbloat list` shows all" if near else f"{all_names}; or the path of a .bpf.c file"
        raise InputError(f"unknown name {name}{near}; {there}")


def say_loaded(loaded: dict[str, Any], unit: Unit | None, sentences: str, as_json: bool) -> None:
    """Print what was loaded, and what loads it again."""
    if as_json:
        say_json({**loaded, "unit": str(unit.path) if unit else None})
    else:
        say("\n".join([sentences, *([unit.sentence] if unit else [])]))


def at_every_boot(control: str, device: str | None, target: WindowTarget) -> AtBoot:
    """Check that a mechanism may be loaded whenever its device comes; raises `InputError`."""
    from unbloat.system import systemd

    if device == "lo":
        raise InputError("--persist: systemd starts no unit when lo appears; write a unit that loads it")
    if target["cgroup"]:
        raise InputError("--persist: a control group may not exist yet when the device appears; leave --cgroup out")
    return systemd.prepare(control, sources_of(control))


ENTRY = re.compile(r"\s*([^\[\]=\s]+)\s*\[([^\[\]]*)\]\s*=(.*)", re.DOTALL)
# No number of a BPF map has more than 64 bits.
LEAST, MOST = -(1 << 63), (1 << 64) - 1


def map_entries(texts: Sequence[str] | None) -> list[tuple[str, str, list[int]]]:
    """Split what the option was given: map, key and the numbers of the value."""
    return [_map_entry(text) for text in texts or []]


def _map_entry(text: str) -> tuple[str, str, list[int]]:
    found = ENTRY.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        numbers = [int(number, 0) for number in found[3].split(",")]
    except ValueError:
        raise InputError(f"--map: {text} is not NAME[KEY]=VALUE with whole numbers, such as rates[0]=1250000") from None
    if not all(LEAST <= number <= MOST for number in numbers):
        raise InputError(f"--map: {text} is out of range: numbers in maps have at most 64 bits")
    return found[1], found[2], numbers


def refuse_at_devices(name: str | None, default: bool, contents: list[str] | None) -> None:
    """Refuse the options that mean a congestion control."""
    given = [("--as", name is not None), ("--default", default), ("--map", bool(contents))]
    if wrong := next((option for option, is_given in given if is_given), None):
        raise InputError(
            f"{wrong} is only for congestion controls; a mechanism at a device stays there until `unbloat unload`"
        )


@contextmanager
def explained(log: Path | None, verbose: bool) -> Iterator[None]:
    """Show warnings of the compiler, and print or write the verifier's log if the kernel refuses the program."""
    try:
        try:
            yield
        finally:
            show_warnings()
    except Error as error:
        found: str | None = getattr(error, "log", None)
        if found and log:
            write_text(log, found)
        if found and verbose:
            print(found, file=sys.stderr)
        if found and not (log or verbose):
            error.args = (f"{error} (--verbose or --log FILE show the whole log)",)
        raise


def load_sentences(control: str, loaded: dict[str, Any]) -> Iterator[str]:
    """Describe what the kernel has now."""
    yield f"loaded {control} as {loaded['name']}"
    yield from (f"  {line}" for line in devices.settings(loaded))
    if loaded["default_before"]:
        yield f"new connections use it by default (before: {loaded['default_before']})"


def loaded_already(control: str, name: str | None) -> LoadedControl | None:
    """Find what an earlier `unbloat load` has loaded from the same source."""
    for status in _core.kernel_status():
        if status["source"] == control and status["held_by"] == "pin" and name in (None, status["name"]):
            parameters = status["parameters"] or []
            return {"name": status["name"], "source": control, "parameters": parameters, "default_before": None}
    return None


def sources_of(control: str) -> list[Path]:
    """List the source files of a user's own congestion control; a shipped one has none."""
    if not Path(control.partition("#")[0]).is_file():
        return []
    from unbloat.scenarios.catalogue import control_files

    return control_files(control)


Gone = dict[str, str | None]
"""A device that lost a mechanism, and the unit that brings it back no more."""


def unload_command(
    name: NameArgument,
    drain: Annotated[bool, typer.Option("--drain", help="Let current sockets use it until they close.")] = False,
    keep_unit: Annotated[
        bool, typer.Option("--keep-unit", help="Leave its systemd unit, which loads it again at the next boot.")
    ] = False,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev", metavar="DEVICE", help="Unload a window controller or a classifier from this device only."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Unload a congestion control, a window controller or a classifier from the running kernel."""
    from unbloat.line.apply import undo_loading

    undone = [] if keep_unit else [cure.name for cure in undo_loading(name, dev)]
    if undone:
        tell(f"the cure of the line that loads {name} is undone: {', '.join(undone)}")
    try:
        unload(name, dev, as_json, drain=drain, keep_unit=keep_unit)
    except InputError:
        if not undone:
            raise
        if as_json:
            say_json({"name": name, "unit": None})


def unload(name: str, dev: str | None, as_json: bool, *, drain: bool, keep_unit: bool) -> None:
    """Remove a mechanism and its unit, and print that; raises `InputError` if it is not there."""
    from unbloat.system import systemd

    from_devices = unloaded_at_device("classifier", name, dev, keep_unit)
    if from_devices is None:
        from_devices = unloaded_at_device("window", name, dev, keep_unit)
    if from_devices is not None:
        sentences = unload_at_device_sentences(name, from_devices)
        say_json({"unloaded": from_devices}) if as_json else say("\n".join(sentences))
        return
    try:
        unloaded = _core.kernel_unload(name, drain=drain)
    except InputError:
        # A control that failed to load at boot still has its unit.
        unit = None if keep_unit else systemd.remove_control(name)
        if not unit:
            raise
        say_json({"name": name, "unit": str(unit)}) if as_json else say(f"{name} was not loaded; removed {unit}")
        return
    unit = None if keep_unit else systemd.remove_control(name)
    if as_json:
        say_json({**unloaded, "unit": str(unit) if unit else None})
    else:
        say("\n".join([*unload_sentences(name, unloaded), *([f"removed {unit}"] if unit else [])]))


def unloaded_at_device(kind: Kind, name: str, device: str | None, keep_unit: bool) -> list[Gone] | None:
    """Remove a mechanism from its devices, and what loads it again; return None if the name means another kind."""
    from unbloat.system import systemd

    def unit_of(device: str) -> str | None:
        path = None if keep_unit else systemd.remove_at_device(kind, device, name)
        return str(path) if path else None

    try:
        from_devices = devices.unload(kind, name, device)
    except InputError:
        # One whose device has not come, or that failed to load there, still has its unit.
        if device is None or (unit := unit_of(device)) is None:
            raise
        return [{"device": device, "unit": unit}]
    if from_devices is None:
        return None
    return [
        {"device": each["device"], "source": each["source"], "unit": unit_of(each["device"])} for each in from_devices
    ]


def unload_at_device_sentences(name: str, from_devices: list[Gone]) -> Iterator[str]:
    """Describe what devices no longer have, and what no longer brings it back."""
    for each in from_devices:
        yield f"{each['device']} no longer has {name}"
        if each.get("unit"):
            yield f"removed {each['unit']}"


def unload_sentences(name: str, unloaded: UnloadedControl) -> Iterator[str]:
    """Describe what was removed from the kernel."""
    yield f"the kernel no longer offers {name}"
    if unloaded["draining"]:
        yield f"sockets that keep it until they close: {unloaded['draining']}"
    yield from (f"new connections of {cgroup} no longer get it" for cgroup in unloaded["cgroups"])
    if unloaded["default_now"]:
        what_was = " again" if unloaded["default_is_restored"] else "; what it was before is not known, or gone"
        yield f"every new connection gets {unloaded['default_now']}{what_was}"


def attach_command(
    control: NameArgument, cgroup: CgroupArgument = None, everyone: EveryoneOption = False, as_json: JsonOption = False
) -> None:
    """Set the congestion control for new connections of a control group."""
    refuse_both(cgroup, everyone)
    attached = _core.kernel_attach(control, cgroup, everyone=everyone)
    say_attached(attached, as_json, "every new connection of {cgroup} gets {control}")


def detach_command(
    cgroup: CgroupArgument = None, everyone: EveryoneOption = False, as_json: JsonOption = False
) -> None:
    """Remove the congestion control of a control group."""
    refuse_both(cgroup, everyone)
    detached = _core.kernel_detach(cgroup, everyone=everyone)
    say_attached(detached, as_json, "new connections of {cgroup} no longer get {control}")


def refuse_both(cgroup: str | None, everyone: bool) -> None:
    """Refuse a group together with the root group."""
    if cgroup is not None and everyone:
        raise InputError(f"--everyone means the root group, and {cgroup} is another: name one of them")


def say_attached(attachment: Attachment, as_json: bool, sentence: str) -> None:
    """Print it as it is or in a sentence."""
    say_json(attachment) if as_json else say(sentence.format(**attachment))


def status_command(
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", metavar="TIME", help="Count calls and measure their run time for this long, such as 2s."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show loaded mechanisms, their users and their cost."""
    found = _core.kernel_status(measure_ns=_core.duration_ns(measure) if measure else None)
    controls = [devices.by_name(control) for control in found]
    windows, sorts = devices.statuses("window"), devices.statuses("classifier")
    cures = list(line_cures())
    if as_json:
        say_json({"controls": controls, "window_controllers": windows, "classifiers": sorts, "line_cures": cures})
        return
    nothing = "no BPF congestion control is loaded; `unbloat load NAME` loads one"
    first = status_screen(controls) if controls else nothing
    parts = [first, *devices.screen("window", windows), *devices.screen("classifier", sorts)]
    say("\n\n".join([*parts, *(["\n".join(map(cure_sentence, cures))] if cures else [])]))


def line_cures() -> Iterator[dict[str, Any]]:
    """Yield what `unbloat line --apply` has loaded, and what it would load in other networks."""
    from unbloat.line.apply import kept

    for each in kept():
        network = asdict(each.network) if each.network else None
        yield {"name": each.cure.name, "command": each.cure.command, "is_loaded": each.is_here, "lasts": each.lasts} | {
            "network": network
        }


def cure_sentence(cure: dict[str, Any]) -> str:
    """Describe a cure of the line, and how long it stays."""
    if network := cure["network"]:
        place = f"in the network of {network['gateway']} ({network['link_address']}) at {network['device']}"
        return f"cure of the line: {cure['name']}, {'loaded' if cure['is_loaded'] else 'waits'}, only {place}"
    return f"cure of the line: {cure['name']}, loaded {'until a boot' if cure['lasts'] == 'until a boot' else 'always'}"


def status_screen(controls: list[dict[str, Any]]) -> str:
    """Draw what is loaded."""
    from unbloat.report.table import Column, render

    called = [(control, calls) for control in controls for calls in control["callbacks"] if calls["calls"]]
    overview = [
        Column("control", "", [control["name"] for control in controls]),
        Column("from", "", [control["source"] for control in controls]),
        Column("held by", "", [control["held_by"] for control in controls]),
        Column("sockets", "", [control["sockets"] for control in controls]),
        Column("default", "", ["yes" if control["is_default"] else "" for control in controls]),
        Column("control groups", "", [", ".join(control["cgroups"]) for control in controls]),
    ]
    costs = [
        Column("control", "", [control["name"] for control, _ in called]),
        Column("callback", "", [calls["callback"] for _, calls in called]),
        Column("calls", "", [calls["calls"] for _, calls in called]),
        Column("a call", "ns", [calls["ns_per_call"] for _, calls in called]),
    ]
    parameters = [f"{control['name']}: {line}" for control in controls for line in devices.settings(control)]
    parts = [render(overview), "\n".join(parameters), render(costs) if called else ""]
    return "\n\n".join(part for part in parts if part)
