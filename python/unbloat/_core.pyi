"""The compiled core: reads scenarios, knows the mechanisms, simulates."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, final

from unbloat.system.core_types import (
    Attachment,
    Check,
    ClassifierStatus,
    ControlStatus,
    LoadedClassifier,
    LoadedControl,
    LoadedWindow,
    Mechanism,
    RecordColumn,
    ScenarioKey,
    Step,
    UnloadedAtDevice,
    UnloadedControl,
    WindowStatus,
    WindowTarget,
)

__all__ = [
    "BASE_UNITS",
    "LEAST_STEP_NS",
    "LINUX",
    "RENAMED_KEYS",
    "Error",
    "GridPoint",
    "InputError",
    "LineServer",
    "RunError",
    "__version__",
    "call_rating",
    "classifiers",
    "clean",
    "control_name",
    "duration_ns",
    "end_with",
    "folds",
    "kernel_attach",
    "kernel_classifier_status",
    "kernel_detach",
    "kernel_doctor",
    "kernel_load",
    "kernel_load_classifier",
    "kernel_load_window",
    "kernel_status",
    "kernel_unload",
    "kernel_unload_classifier",
    "kernel_unload_window",
    "kernel_window_status",
    "line_of",
    "load",
    "measure_line",
    "mechanisms",
    "parse",
    "quantity",
    "record_columns",
    "resolved",
    "scenario_keys",
    "series_columns",
    "simulate_all",
    "sweep_compilations",
    "take_warnings",
    "watch_controls",
    "window_controllers",
]

__version__: str
BASE_UNITS: list[str]
"""The base units of `quantity`, which are the endings of columns with numbers of an axis."""
LEAST_STEP_NS: int
"""The finest step of a series with the kernel's TCP, in nanoseconds."""
LINUX: str
"""The version of Linux whose TCP the simulator's is, such as 6.12."""
RENAMED_KEYS: dict[str, str]
"""Keys of scenarios by the names that they had in earlier releases."""

class Error(Exception):
    """Whatever kept a run from giving records, in one sentence."""

class InputError(Error):
    """The scenario, a congestion control or an override is wrong: file, line, key and what is allowed.

    The attributes tell where the first mistake is; each is None where it does not apply.
    """

    file: str | None
    """The scenario's file; `<text>` for a text or a dictionary, None for a key that the caller set."""
    line: int | None
    """The line, from 1."""
    key: str | None
    """The key with its sections, such as `link.bottleneck.rate`."""

    @property
    def hint(self) -> str | None:
        """The next step to try: the name that may be meant, the allowed values, or a command; None without one."""

class RunError(Error):
    """The input is right, but the run failed."""

@final
class GridPoint:
    """One run of an experiment: the scenario itself, or one point of its grid."""

    name: str
    """What the scenario calls itself."""
    seed: int
    duration_s: float
    axes: list[tuple[str, str]]
    """The axes of the sweep with this grid point's labels, in the file's order."""
    expectations: list[tuple[str, str, str]]
    """Statements that the results must fulfil: name, text, and the place `FILE:LINE: expect.NAME`."""

    def seeded(self, seed: int) -> GridPoint:
        """Return the same run with another seed."""
    def sources(self, algorithms: str | Path) -> list[Path]:
        """List the files that the user's own congestion controls are written in, headers beside them included."""
    slowest_rate_bps: int | None
    """The lowest constant rate of a link's forward direction, bit/s; None if all follow recordings."""
    smallest_packet_bytes: int
    """IP length of the smallest data packet that a group of flows sends."""
    own_controls: list[Path]
    """The user's own congestion controls, each as the scenario writes it: a path, maybe with `#NAME` behind it."""
    controls: list[tuple[Literal["builtin", "file", "kernel", "none"], str]]
    """The congestion control of each group of flows: what kind it is, and how the scenario writes it."""
    group_names: list[str | None]
    """The name that the scenario gives each group of flows, where it gives one."""
    groups: list[int]
    """How many flows each group has; they are numbered group by group."""
    link_names: list[str]
    """The names of the links, in the scenario's order."""
    access_delays_ns: list[int]
    """The one-way delay of each group's access links."""
    compiler_options: tuple[list[Path], list[str]]
    """Folders for the compiler's -I, and definitions for its -D."""
    steady_flows: int
    """How many flows there are from beginning to end; those that arrive at random are not counted."""
    sampled_links: int
    """How many links a series has samples of: each direction of a link, and access links with a rate."""
    doubts: list[str]
    """Warnings about settings that are allowed but probably not meant: a sentence with its place each."""

    def with_own_controls(self, paths: Mapping[Path, Path]) -> GridPoint:
        """Return the same run with the user's own congestion controls moved, from the paths (the keys) to others."""
    def objects(self, algorithms: str | Path) -> dict[str, bytes]:
        """Compile its congestion controls for the kernel; return the object files by what the scenario calls them."""
    def locate(self, key: str) -> str:
        """Return the place of a dotted key such as `flows.0.cc`, as `FILE:LINE: KEY`."""
    def check(self, on: str) -> None:
        """Raise `InputError` if it asks for something that this backend does not have."""
    def check_shell(self, on: str) -> None:
        """Raise `InputError` if a shell behind its link asks for something that this backend does not have."""
    def json(self) -> str:
        """Serialise the whole scenario with its defaults filled in: equal text for equal scenarios."""
    def settings(self) -> str:
        """Serialise the scenario as JSON without names and congestion controls; a sweep hashes it for seeds."""
    def portable(self) -> str:
        """Serialise the scenario with every file it needs, for another process; `resolved` reads it there."""
    def expected_packets(self) -> tuple[float, float]:
        """Estimate the data packets of a run with full links, and the datagrams left in queues without a limit."""
    def run(
        self,
        algorithms: str | Path,
        *,
        on: str = "simulator",
        series_ns: int | None = None,
        pcap: str | Path | None = None,
        pcap_links: bool = False,
        pcap_headers_only: bool = False,
        progress: Callable[[float], None] | None = None,
        steps: Callable[[Step], None] | None = None,
        objects: Mapping[str, bytes] | None = None,
        stamp: str | None = None,
    ) -> tuple[str, dict[str, dict[str, tuple[str, bytes]]] | None]:
        """Run it; return the records as JSON and the series, if asked for: by table and column a numpy type and bytes.

        `on` is the backend: simulator, kernel, or vm inside a guest. `objects` is what `objects` gave elsewhere, for a
        machine without a compiler. `stamp` identifies the state of all files: runs in this process with the same one
        read them once.

        About ten times a second `progress` gets the share that is done, and `steps` gets each step of the series when
        it is taken. An exception in either ends the run.
        """
    def shell(
        self,
        algorithms: str | Path,
        *,
        at: str,
        program: Sequence[str],
        far: Sequence[str] | None = None,
        on: str = "kernel",
        series_ns: int | None = None,
        steps: Callable[[Step], None] | None = None,
        objects: Mapping[str, bytes] | None = None,
    ) -> tuple[int, str | None]:
        """Run a program at one end of the link, `sender` or `receiver`, and maybe one at the far end meanwhile.

        `on`, `steps` and `objects` are as `run` has them; steps are taken every `series_ns`, and have no flows.
        Return the program's exit status once it has ended: 128 plus the signal's number if a signal ended it. The
        second value says why the link was not the scenario's, or is None if it was.
        """

@final
class LineServer:
    """The far end of a measured line, which listens until it is stopped."""

    def __new__(
        cls,
        address: str,
        port: int,
        *,
        client_bytes: int,
        all_bytes: int,
        client_connections: int,
        all_connections: int,
        seconds: int,
        controls: Sequence[str],
        names: Sequence[str],
        certificate: tuple[Path, Path] | None = None,
    ) -> LineServer: ...
    port: int | None
    """The port of TCP and UDP; None once the server is stopped."""

    def stop(self) -> None:
        """Close all connections and free the ports."""

def call_rating(delay_ms: float, loss: float) -> float:
    """Rate a telephone call over G.711 by the E-model: its mean opinion score, from 1 to 4.5.

    `delay_ms` is the time from mouth to ear, `loss` the share of packets that are lost or late.
    """

def measure_line(
    server: str,
    *,
    budget: int,
    seconds: float,
    phases: Sequence[str],
    far_cc: str | None = None,
    observe: Callable[[str, float, float, float, float | None, int], object] | None = None,
) -> tuple[str, bool]:
    """Measure a line against a far end; returns what was measured as JSON, and whether Ctrl-C ended it early.

    `far_cc` is the congestion control of downloads that the far end is asked for.
    `observe` gets the phase, seconds, Mbit/s down and up, the latest round-trip time in ms, and bytes, several times
    a second.
    """

def load(
    path: str | Path, overrides: Sequence[tuple[str, str]], warn: Callable[[str], object] | None = None
) -> list[GridPoint]:
    """Read a scenario file; each override sets a key as if the file had it.

    The function `warn` gets the sentence of each warning.
    """

def parse(
    text: str, folder: str | Path, overrides: Sequence[tuple[str, str]], warn: Callable[[str], object] | None = None
) -> list[GridPoint]:
    """Read a scenario's text; its paths are relative to `folder`. The function `warn` gets each warning's sentence."""

def resolved(json: str) -> GridPoint:
    """Read what `GridPoint.portable` gave in another process.

    The place of every error is `?: KEY`, which the other process can locate.
    """

def clean() -> list[str]:
    """Remove what killed runs left in the kernel; list it in words."""

def control_name(name: str) -> str:
    """Return a name that a congestion control may have in the kernel; raises `InputError` for any other."""

def simulate_all(points: Sequence[GridPoint], algorithms: str | Path) -> list[str | Error]:
    """Simulate grid points one after the other; return the records of each as JSON, or its error.

    Each mechanism is read once: a change during the call has no effect.
    """

def duration_ns(text: str) -> int:
    """Read a duration such as `10ms`, in nanoseconds."""

def quantity(text: str) -> tuple[str, float] | None:
    """Read `10mbit` as ("bps", 1e7): the base unit and the number of them; None if it is not a quantity."""

def line_of(text: str, keys: Sequence[str]) -> int:
    """Find the line of a TOML text on which a key begins, from 1: names lead there and, in lists, numbers from 0.

    The line of what would hold a key that is missing; 1 where that is the whole text, or no TOML.
    """

def series_columns() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what each column of the tables of flows and links means, in their order."""

def record_columns() -> dict[str, list[RecordColumn]]:
    """Describe every column of the tables of a run's records."""

def folds() -> dict[str, str]:
    """Return the words for each way to fold several flows into one number."""

def scenario_keys() -> list[ScenarioKey]:
    """Describe every key of the scenario file."""

def mechanisms(algorithms: str | Path) -> list[Mechanism]:
    """Describe every congestion control of a library."""

def window_controllers(algorithms: str | Path) -> list[Mechanism]:
    """Describe every window controller of a library."""

def classifiers(algorithms: str | Path) -> list[Mechanism]:
    """Describe every classifier of a library."""

def kernel_load(
    algorithms: str | Path,
    control: str,
    parameters: Sequence[tuple[str, str]],
    *,
    maps: Sequence[tuple[str, str, Sequence[int]]] = ...,
    include: Sequence[str | Path] = ...,
    define: Sequence[str] = ...,
    name: str | None = None,
    make_default: bool = False,
) -> LoadedControl:
    """Load a congestion control into the running kernel, to stay: a built-in's name or the path of a `.bpf.c` file.

    The compiler gets `include` with -I and `define` with -D. The `log` of an error is the verifier's.
    """

def kernel_load_window(
    algorithms: Path,
    controller: str,
    parameters: list[tuple[str, str]],
    device: str,
    target: WindowTarget,
    *,
    include: Sequence[str | Path] = ...,
    define: Sequence[str] = ...,
) -> LoadedWindow:
    """Load a window controller onto a device, to stay; it rewrites the ACKs that `target` describes."""

def kernel_unload_window(source: str, *, device: str | None = None) -> list[UnloadedAtDevice]:
    """Remove a window controller from a device, or from every device that has it."""

def kernel_window_status() -> list[WindowStatus]:
    """List the window controllers of this network namespace's devices, with their connections."""

def kernel_load_classifier(
    algorithms: Path,
    classifier: str,
    parameters: list[tuple[str, str]],
    device: str,
    *,
    include: Sequence[str | Path] = ...,
    define: Sequence[str] = ...,
    rate: str | None = None,
) -> LoadedClassifier:
    """Load a classifier onto a device, to stay; the device then sends at `rate` (such as `20mbit`) at most."""

def kernel_unload_classifier(source: str, *, device: str | None = None) -> list[UnloadedAtDevice]:
    """Remove a classifier from a device, or from every device that has it."""

def kernel_classifier_status() -> list[ClassifierStatus]:
    """List the classifiers of this network namespace's devices, with their connections."""

def kernel_attach(control: str, cgroup: str | Path | None, *, everyone: bool = False) -> Attachment:
    """Give a congestion control to the new connections of a control group.

    With `everyone` it is the root group; without a group it is the one of this process.
    """

def kernel_detach(cgroup: str | Path | None, *, everyone: bool = False) -> Attachment:
    """Remove the congestion control of a control group; return what the group had."""

def kernel_unload(name: str, *, drain: bool = False) -> UnloadedControl:
    """Unload a congestion control from the kernel; with `drain`, open sockets keep it until they close."""

def kernel_status(*, measure_ns: int | None = None) -> list[ControlStatus]:
    """Describe the BPF congestion controls in the kernel; count the calls of their functions for `measure_ns`."""

def kernel_doctor() -> list[Check]:
    """Check what this machine has for running and loading, and what is missing."""

def watch_controls(fd: int) -> None:
    """Have this process write an answer to `fd` before a congestion control's fault ends it."""

def end_with(parent: int) -> None:
    """End this process and all of its group with the process `parent`, and on SIGTERM and SIGHUP."""

def take_warnings() -> list[tuple[Path, str]]:
    """List what compilers have warned of in the user's files since the last call: each file with the text."""

def sweep_compilations() -> None:
    """Remove what killed compilers left in the cache."""
