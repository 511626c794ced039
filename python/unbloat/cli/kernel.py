"""The commands about the running kernel: `unbloat load`, `unload`, `attach`, `detach`, `status`, `doctor`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat import _core
from unbloat._core import Error
from unbloat.guest import doctor as vm
from unbloat.report.table import Column, render
from unbloat.system import compiler_warnings
from unbloat.system.paths import ALGORITHMS

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Describe them to the command line."""
    _load_arguments(commands.add_parser("load", help="put a congestion control into the running kernel"))
    _unload_arguments(commands.add_parser("unload", help="take one out of the running kernel"))
    _attach_arguments(commands.add_parser("attach", help="give a control group's connections a congestion control"))
    _detach_arguments(commands.add_parser("detach", help="take it back"))
    _status_arguments(commands.add_parser("status", help="what is in the running kernel, who uses it, what it costs"))
    _doctor_arguments(commands.add_parser("doctor", help="what this machine can do, what is missing, what mends it"))


def _load_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=load_command)
    add = parser.add_argument
    add("control", metavar="NAME|FILE", help="a congestion control from `unbloat list`, or a .bpf.c file of your own")
    add("--param", metavar="NAME=VALUE", action="append", default=[], type=parameter, help="set a parameter")
    add("--as", dest="name", metavar="NAME", help="what the kernel shall call it (default: as its file says)")
    add("--default", action="store_true", help="give it to every new connection that asks for none")
    add("--persist", action="store_true", help="load it at every boot (writes a unit of systemd)")
    add("--log", metavar="FILE", type=Path, help="where to write what the kernel's verifier says when it refuses")
    add("--verbose", action="store_true", help="print what the kernel's verifier says when it refuses")
    add("--json", action="store_true", help="print JSON")


def _unload_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=unload_command)
    parser.add_argument("name", metavar="NAME", help="what the kernel calls it")
    parser.add_argument("--drain", action="store_true", help="let sockets that use it keep it until they close")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _attach_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=attach_command)
    parser.add_argument("control", metavar="NAME", help="what the kernel calls it")
    _cgroup_arguments(parser)


def _detach_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=detach_command)
    _cgroup_arguments(parser)


def _cgroup_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    of = "a control group, such as system.slice/backup.service (default: the one that this command runs in)"
    which.add_argument("cgroup", metavar="CGROUP", nargs="?", help=of)
    everyone = "the root group, which holds every process of the machine"
    which.add_argument("--everyone", action="store_true", help=everyone)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=status_command)
    parser.add_argument("--measure", metavar="TIME", help="count calls and their run time for so long, such as 2s")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=doctor_command)
    parser.add_argument("--json", action="store_true", help="print JSON")


def parameter(text: str) -> tuple[str, str]:
    """Split NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE, such as threshold=90%")
    return name.strip(), value.strip()


def load_command(args: argparse.Namespace) -> None:
    """Load; say what the kernel calls it."""
    from unbloat.system import systemd

    try:
        answer = _core.kernel_load(ALGORITHMS, args.control, args.param, name=args.name, make_default=args.default)
    except Error as error:
        show_log(error, args)
        raise
    finally:
        for path, text in _core.take_warnings():
            compiler_warnings.show(str(path), text)
    loaded = json.loads(answer)
    loaded["parameters"] = dict(loaded["parameters"])
    unit = systemd.install(loaded["name"], args.control, args.param, args.default) if args.persist else None
    if args.json:
        print(json.dumps({**loaded, "unit": str(unit.path) if unit else None}, indent=2))
        return
    print(f"the kernel has {args.control} now and calls it {loaded['name']}")
    if loaded["parameters"]:
        print(f"  {settings(loaded)}")
    if loaded["default_before"]:
        print(f"every new connection gets it; so far that was {loaded['default_before']}")
    if unit:
        print(unit.sentence)


def show_log(error: Error, args: argparse.Namespace) -> None:
    """Print or write what the kernel's verifier said, or say how to have it."""
    log: str | None = getattr(error, "log", None)
    if not log:
        return
    if args.log:
        args.log.write_text(log)
    if args.verbose:
        print(log, file=sys.stderr)
    if not (args.log or args.verbose):
        error.args = (f"{error} (the whole of it: --verbose, or --log FILE)",)


def unload_command(args: argparse.Namespace) -> None:
    """Unload; say who keeps it, and what the default is now."""
    from unbloat._core import InputError
    from unbloat.system import systemd

    try:
        answer = _core.kernel_unload(args.name, drain=args.drain)
    except InputError:
        # A control that did not come up at boot has a unit all the same.
        if not (unit := systemd.remove(args.name)):
            raise
        print(f"{args.name} was not loaded; removed {unit}")
        return
    unloaded = json.loads(answer)
    unit = systemd.remove(args.name)
    if args.json:
        print(json.dumps({**unloaded, "unit": str(unit) if unit else None}, indent=2))
        return
    print(f"the kernel no longer offers {args.name}")
    if unloaded["draining"]:
        print(f"sockets that keep it until they close: {unloaded['draining']}")
    for cgroup in unloaded["cgroups"]:
        print(f"new connections of {cgroup} no longer get it")
    if unloaded["default_now"]:
        what_was = " again" if unloaded["default_is_restored"] else "; what it was before is not known, or gone"
        print(f"every new connection gets {unloaded['default_now']}{what_was}")
    if unit:
        print(f"removed {unit}")


def attach_command(args: argparse.Namespace) -> None:
    """Attach; say to what."""
    attached = _core.kernel_attach(args.control, args.cgroup, everyone=args.everyone)
    print_attached(attached, args, "every new connection of {cgroup} gets {control}")


def detach_command(args: argparse.Namespace) -> None:
    """Detach; say from what."""
    detached = _core.kernel_detach(args.cgroup, everyone=args.everyone)
    print_attached(detached, args, "new connections of {cgroup} no longer get {control}")


def print_attached(attachment: str, args: argparse.Namespace, sentence: str) -> None:
    """Print it as it is or in a sentence."""
    print(json.dumps(json.loads(attachment), indent=2) if args.json else sentence.format(**json.loads(attachment)))


def status_command(args: argparse.Namespace) -> None:
    """Print the controls, and their callbacks if they were measured."""
    controls = json.loads(_core.kernel_status(measure_ns=_core.duration_ns(args.measure) if args.measure else None))
    for control in controls:
        control["parameters"] = dict(control["parameters"] or [])
    if args.json:
        print(json.dumps({"controls": controls}, indent=2))
    elif controls:
        print(status_screen(controls))
    else:
        print("no BPF congestion control is loaded; `unbloat load NAME` loads one")


def status_screen(controls: list[dict[str, Any]]) -> str:
    """Draw what is loaded."""
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
    parameters = [f"{control['name']}: {settings(control)}" for control in controls if control["parameters"]]
    parts = [render(overview), "\n".join(parameters), render(costs) if called else ""]
    return "\n\n".join(part for part in parts if part)


def settings(control: dict[str, Any]) -> str:
    """Write a control's parameters on a line."""
    return ", ".join(f"{name} = {value}" for name, value in control["parameters"].items())


def doctor_command(args: argparse.Namespace) -> None:
    """Print what is there and what is not."""
    checks = [*json.loads(_core.kernel_doctor()), *vm.doctor()]
    if args.json:
        print(json.dumps({"checks": checks}, indent=2))
        return
    there = {True: "yes", False: "no", None: "?"}
    columns = [
        Column("what", "", [check["what"] for check in checks]),
        Column("for", "", [check["needed_for"] for check in checks]),
        Column("there", "", [there[check["there"]] for check in checks]),
        Column("found", "", ["" if check["found"] == "yes" else check["found"] for check in checks]),
        Column("what to do", "", [check["remedy"] or "" for check in checks]),
    ]
    print(render(columns))
