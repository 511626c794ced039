"""Booted guests in the cache: which one fits, how many stay, and what is left by those that ended too early.

The machines are made up: a guest's state is here the number of its boot.
"""

import errno
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import made_up_kernels
import pytest
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from sentences import plain, refused
from unbloat import RunError, _core
from unbloat.guest import guest, initramfs, kernels, qemu
from unbloat.guest.guest import Guest
from unbloat.guest.inside import shared
from unbloat.guest.kernels import Kernel, kernel_of

HOUR_S = 3600


class Machine:
    """Boots in no time; what becomes of it can be set."""

    boots = 0
    failure: str | None = None

    def __init__(self, kernel: Path, archive: Path) -> None:
        assert kernel.is_file() and archive.read_bytes() == b"files"
        Machine.boots += 1
        self.pauses = 0
        self.memory = SimpleNamespace(state=shared.READY, failure=lambda: Machine.failure)

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def has_countable_past(self) -> bool:
        return True

    def pause(self) -> None:
        self.pauses += 1
        assert self.pauses < 100, "nobody sees that this one never comes up"

    def save(self, path: Path) -> None:
        path.write_bytes(b"half")
        Machine.meanwhile()
        path.write_bytes(f"boot {Machine.boots}".encode())

    @staticmethod
    def meanwhile() -> None:
        """What happens while the state is written."""


@pytest.fixture(autouse=True)
def machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no QEMU, and no files of guests."""
    monkeypatch.setattr(Machine, "boots", 0)
    monkeypatch.setattr(qemu, "boot", Machine)
    monkeypatch.setattr(qemu, "require_qemu", lambda: None)
    monkeypatch.setattr(qemu, "version", lambda: "QEMU 7.2")
    monkeypatch.setattr(initramfs, "build", lambda _: b"files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


Prepare = Callable[..., Guest]


@pytest.fixture
def prepare(root: Path, monkeypatch: pytest.MonkeyPatch) -> Prepare:
    """Prepare a guest with a kernel of that release, as it is now."""

    def prepare(release: str = "6.1.0-9-amd64") -> Guest:
        image = root / "boot" / f"vmlinuz-{release}"
        if not image.exists():
            made_up_kernels.kernel(root, release, "veth.ko")
        monkeypatch.setattr(guest, "kernel_named", lambda _: kernel_of(image))
        return guest.prepare(None, lambda _: None)

    return prepare


def guests_in(cache: Path) -> set[str]:
    return {path.name for path in (cache / "guests").iterdir()}


# ---------------------------------------------------------------- Which one fits


def test_a_guest_is_booted_once(prepare: Prepare) -> None:
    assert prepare() == prepare()
    assert prepare().state.read_bytes() == b"boot 1" and Machine.boots == 1


def other_image(kernel: Kernel) -> None:
    kernel.image.write_bytes(kernel.image.read_bytes() + b"rebuilt")


def another_module(kernel: Kernel) -> None:
    made_up_kernels.write(kernel.modules / "kernel/net/tun.ko", made_up_kernels.module_that_needs())


def other_module(kernel: Kernel) -> None:
    made_up_kernels.write(kernel.modules / "kernel/net/veth.ko", made_up_kernels.module_that_needs("tun"))


def modules_gone(kernel: Kernel) -> None:
    shutil.rmtree(kernel.modules)


@pytest.mark.parametrize("change", [other_image, another_module, other_module, modules_gone])
def test_another_kernel_is_another_guest(prepare: Prepare, root: Path, change: Callable[[Kernel], None]) -> None:
    before = prepare()
    change(kernel_of(root / "boot/vmlinuz-6.1.0-9-amd64"))
    after = prepare()
    assert after != before and after.state.read_bytes() == b"boot 2"


def test_another_interpreter_is_another_guest(prepare: Prepare, monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepare()
    monkeypatch.setattr(sys, "version", "3.99.0 (main)")
    assert prepare() != before


def test_another_qemu_is_another_guest(prepare: Prepare, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not read the other's state."""
    before = prepare()
    monkeypatch.setattr(qemu, "version", lambda: "QEMU 10.0")
    assert prepare() != before


def test_another_agent_is_another_guest(prepare: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepare()
    edited = tmp_path / "guest"
    shutil.copytree(initramfs.HERE, edited)
    monkeypatch.setattr(initramfs, "HERE", edited)
    assert prepare() == before, "where the package lies does not matter"
    agent = edited / "inside/agent.py"
    agent.write_text(agent.read_text() + "# edited\n")
    assert prepare() != before


@pytest.fixture
def edited_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the compiled core, which takes its place."""
    core = tmp_path / "edited" / Path(_core.__file__).name
    made_up_kernels.write(core, Path(_core.__file__).read_bytes())
    monkeypatch.setattr(_core, "__file__", str(core))
    yield core


def test_another_core_is_another_guest(prepare: Prepare, edited_core: Path) -> None:
    before = prepare()
    edited_core.write_bytes(edited_core.read_bytes() + b"\0")
    assert prepare() != before


# ---------------------------------------------------------------- How many stay


def age(guest: Guest, hours: float) -> None:
    """Have a guest used last so long ago."""
    then = time.time() - hours * HOUR_S
    os.utime(guest.folder, (then, then))


def test_the_four_used_last_stay(prepare: Prepare, cache: Path) -> None:
    kept = [prepare(f"6.1.{number}-1-amd64") for number in range(4)]
    for hours, each in enumerate(kept):
        age(each, hours + 1)
    prepare("6.1.3-1-amd64")  # The oldest is used again; so it is not the one that has to go.
    newest = prepare("6.1.4-1-amd64")
    assert guests_in(cache) == {each.folder.name for each in (kept[0], kept[1], kept[3], newest)}
    assert Machine.boots == 5


def test_a_run_uses_its_guest(prepare: Prepare) -> None:
    """So that a long grid keeps the guest that it starts from."""
    here = prepare()
    age(here, 5)
    here.use()
    assert time.time() - here.folder.stat().st_mtime < HOUR_S


def test_a_guest_that_was_removed_meanwhile_is_a_sentence(prepare: Prepare) -> None:
    here = prepare()
    shutil.rmtree(here.folder)
    with refused(RunError, snapshot("the guest was removed from the cache meanwhile; run again")):
        here.use()


# ---------------------------------------------------------------- Ends before the end


def test_a_guest_that_cannot_come_up_is_not_kept(
    prepare: Prepare, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "failure", "it has no TUN devices")
    with refused(RunError, snapshot("Linux 6.1.0-9-amd64 cannot be a guest's kernel: it has no TUN devices")):
        # It never becomes ready.
        monkeypatch.setattr(Machine, "has_countable_past", lambda _: False)
        prepare()
    assert guests_in(cache) == set()


def full_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("meanwhile", "raised"), [(full_disk, RunError), (interrupt, KeyboardInterrupt)])
def test_half_a_state_is_none(
    prepare: Prepare,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: Callable[[], None],
    raised: type[BaseException],
) -> None:
    monkeypatch.setattr(Machine, "meanwhile", staticmethod(meanwhile))
    with pytest.raises(raised) as refusal:
        prepare()
    if raised is RunError:
        assert plain(refusal.value) == snapshot(
            "TMP/cache/guests: files for guests cannot be written there: No space left on device"
        )
    assert guests_in(cache) == set()


def test_a_folder_without_a_state_is_no_guest(prepare: Prepare) -> None:
    """Somebody was stopped while removing it."""
    prepare().state.unlink()
    assert prepare().state.read_bytes() == b"boot 2"


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:3]),
        lambda file: file.write_bytes(b"soot 1"),
        lambda file: file.write_bytes(file.read_bytes() + b"1"),
        lambda file: (file.unlink(), file.mkdir()),
    ],
)
@pytest.mark.parametrize("name", ["state", "crc32"])
def test_a_damaged_guest_is_booted_again(prepare: Prepare, name: str, damage: Callable[[Path], object]) -> None:
    damage(prepare().folder / name)
    assert prepare().state.read_bytes() == b"boot 2"
    assert prepare().state.read_bytes() == b"boot 2"


def test_a_machine_is_not_started_from_nothing(tmp_path: Path) -> None:
    """It would wait for its state for ever."""
    empty = tmp_path / "state"
    for _ in range(2):
        with pytest.raises(RunError) as refusal:
            qemu.resume(empty)
        empty.touch()
    assert plain(refusal.value) == snapshot("the guest's state in TMP is gone; run again to boot it anew")


@pytest.mark.parametrize(
    ("version", "scheme"),
    [("7.2.22 (Debian)", "fd:"), ("8.1.0", "fd:"), ("8.2.2 (Debian)", "file:/"), ("10.0.13", "file:/")],
)
def test_each_qemu_is_given_the_state_as_it_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, scheme: str
) -> None:
    monkeypatch.setattr(qemu, "version", lambda: f"QEMU emulator version {version}")
    with (tmp_path / "state").open("wb") as state:
        assert qemu.incoming(state).startswith(scheme)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


FORK = multiprocessing.get_context("fork")
"""So that the made-up machines are there as well."""


def test_a_kill_leaves_nothing_that_is_taken_for_a_guest(
    prepare: Prepare, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Machine, "meanwhile", killed)
        process = FORK.Process(target=prepare)
        process.start()
        process.join(timeout=PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL
    (left,) = (cache / "guests").iterdir()
    assert left.name.startswith(kernels.ASIDE)
    here = prepare()
    assert here.state.read_bytes() == b"boot 1"
    assert left.exists(), "another process might be at work there"
    age(Guest(left), 2)
    prepare("6.12.1-1-amd64")
    assert not left.exists()


def test_two_processes_at_once_come_to_the_same_guest(prepare: Prepare, root: Path, cache: Path) -> None:
    """Both boot one, the second to be ready takes the first's."""
    made_up_kernels.kernel(root, "6.1.0-9-amd64", "veth.ko")
    both_at_work = FORK.Barrier(2)
    states = FORK.Queue()

    def work(number: int) -> None:
        Machine.boots = 10 * number
        Machine.meanwhile = lambda: both_at_work.wait(timeout=PATIENCE_S)  # type: ignore[method-assign, assignment, return-value]
        states.put(prepare().state.read_bytes())

    processes = [FORK.Process(target=work, args=(number,)) for number in range(2)]
    for process in processes:
        process.start()
    first, second = states.get(timeout=PATIENCE_S), states.get(timeout=PATIENCE_S)
    for process in processes:
        process.join(timeout=PATIENCE_S)
    assert first == second and first in (b"boot 1", b"boot 11")
    (only,) = (cache / "guests").iterdir()
    assert (only / "state").read_bytes() == first and [process.exitcode for process in processes] == [0, 0]
