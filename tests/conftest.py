"""A small scenario, a cache of its own for every test, the command line as a user calls it."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kept import forget_old, lend
from leftovers import PATIENCE_S
from warm_program import COLD, LIBRARIES, Loaded, WarmProgram

SMALL = """\
name     = "small"
duration = "2s"

[link.bottleneck]
rate  = "4mbit"
delay = "10ms"
queue = { limit = "30kb" }

[[flows]]
cc = "reno"
"""

SWEEP = """
[sweep]
"flows.0.cc" = ["reno", "cubic"]
"link.bottleneck.queue.limit" = ["15kb", "60kb"]
"""

pytest.register_assert_rewrite("kernel_sandbox", "sentences")

# A shell that starts a program in its background has it ignore interrupts, nohup has it ignore a terminal that closes,
# and with it whatever that starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Unbuffered output hides errors that come when a buffer is flushed at the end.
os.environ.pop("PYTHONUNBUFFERED", None)

PROGRAM = "UNBLOAT_TESTS_PROGRAM"
"""Where the process listens that has loaded the program's libraries; for the workers of this session."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a slow machine that does few tests load no library that they do not use."""
    parser.addoption("--cold", action="store_true", help="load most of the program's libraries when it uses them")


def pytest_configure(config: pytest.Config) -> None:
    """Have no test timed, by Hypothesis neither: a machine that stands still for a moment is no failure."""
    if not config.getoption("cold"):
        from hypothesis import settings

        settings.register_profile("untimed", deadline=None)
        settings.load_profile("untimed")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Tidy up, and load the program's libraries for all workers, before the first of them begins."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        forget_old()
        if session.config.getoption("numprocesses", None):
            load_program(session.config).wait()


def load_program(config: pytest.Config) -> Loaded:
    """Start the process that loads the program's libraries."""
    loaded = Loaded(COLD if config.getoption("cold") else LIBRARIES)
    config.add_cleanup(loaded.close)
    os.environ[PROGRAM] = loaded.address
    return loaded


Write = Callable[..., Path]
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without runs; what was compiled is shared by all tests, to save time."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    lend(folder, "mechanisms")
    monkeypatch.setenv("UNBLOAT_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def runs_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs for all tests of this process that share theirs."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def shared_runs(cache: Path, runs_of_all: Path) -> None:
    """Take runs that another test has run: for tests of what is made of runs."""
    (cache / "runs").symlink_to(runs_of_all)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    file = tmp_path / "sweep.toml"
    file.write_text(SMALL + SWEEP)
    return file


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Iterator[WarmProgram]:
    """The program, with its libraries loaded."""
    if PROGRAM not in os.environ:
        load_program(pytestconfig)
    warm = WarmProgram(os.environ[PROGRAM])
    yield warm
    warm.close()


@pytest.fixture
def cli(tmp_path: Path, program: WarmProgram) -> Cli:
    """Call the command line as a user does, in the test's folder."""
    return lambda *words: program.call([str(word) for word in words], tmp_path, timeout_s=PATIENCE_S)


@pytest.fixture
def no_guest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with compilers and without QEMU."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cc", "gcc", "clang", "as", "ld"):
        for folder in ("/usr/bin", "/usr/local/bin", "/bin"):
            if (Path(folder) / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(folder) / name)
    monkeypatch.setenv("PATH", str(tools))


@pytest.fixture
def scenario(tmp_path: Path) -> Write:
    """Write a scenario file: its link, and flow groups."""

    def write(link: str, *groups: str, duration: str = "2s", top: str = "") -> Path:
        flows = "\n".join(f"[[flows]]\n{group}" for group in groups)
        file = tmp_path / "scenario.toml"
        file.write_text(f'duration = "{duration}"\n{top}\n[link.bottleneck]\n{link}\n{flows}\n')
        return file

    return write
