"""What `unbloat doctor` says about guests, on machines that are made up: nothing is fetched for it."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli
from inline_snapshot import snapshot
from made_up_kernels import kernel
from sentences import plain
from unbloat.guest import doctor, kernels
from unbloat.guest.doctor import Check


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No kernel anywhere, and a cache of its own."""
    monkeypatch.setattr(kernels, "BOOT", tmp_path / "boot")
    folder = tmp_path / "empty"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("UNBLOAT_CACHE", str(folder))
    return folder


def checks() -> dict[str, Check]:
    return {check["what"]: check for check in doctor.doctor()}


def without(program: str) -> Callable[[str], str | None]:
    return lambda name: None if name == program else f"/usr/bin/{name}"


def test_the_command_has_the_guest_s_needs_beside_the_others(cli: Cli) -> None:
    checks = json.loads(cli("doctor", "--json").stdout)["checks"]
    assert len({tuple(check) for check in checks}) == 1, "all have the same fields"
    needed = {check["what"] for check in checks if check["needed_for"] == "--on vm"}
    assert needed >= {"x86-64 machine", "qemu-system-x86_64", "setpriv", "kernel for a guest", "400 MB in the cache"}


@pytest.mark.parametrize(("name", "package"), [("qemu-system-x86_64", "qemu-system-x86"), ("setpriv", "util-linux")])
def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    monkeypatch.setattr(shutil, "which", without(name))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, "", ""))
    found = checks()[name]
    assert (found["there"], found["remedy"]) == (False, f"apt-get install {package}")


def test_other_machines_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    found = checks()["x86-64 machine"]
    assert (found["there"], found["found"]) == (False, "aarch64")


def test_the_kernel_that_a_run_would_take_is_named_with_its_place(tmp_path: Path) -> None:
    old = kernel(tmp_path, "6.1.0-9-amd64", "veth.ko")
    modelled = kernel(tmp_path, "6.12.1-1-amd64", "veth.ko.xz")
    new = kernel(tmp_path, "6.13.1-1-amd64", "veth.ko.xz")
    found = checks()
    assert found["kernel for a guest"]["found"] == f"6.12.1-1-amd64 ({modelled})"
    assert old.exists() and new.exists() and "zstd" not in found


def test_zstd_is_needed_where_modules_are_packed_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(tmp_path, "6.12.0-31-generic", "veth.ko.zst")
    monkeypatch.setattr(shutil, "which", without("zstd"))
    assert checks()["zstd"]["remedy"] == "apt-get install zstd"


def test_a_kernel_that_would_be_fetched_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though /boot has another version than the simulator models."""
    kernel(tmp_path, "6.1.0-9-amd64", "veth.ko")
    monkeypatch.setattr(kernels, "packages", lambda: ["6.1.0-10-amd64", "6.12.1-1-amd64"])
    monkeypatch.setattr(kernels, "fetch", lambda *_: pytest.fail("the doctor fetches nothing"))
    found = checks()["kernel for a guest"]
    assert (found["there"], found["remedy"]) == (False, snapshot("nothing: the first run fetches it"))
    assert "6.12.1-1-amd64" in found["found"]


def test_no_kernel_and_no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", without("apt-get"))
    found = checks()["kernel for a guest"]
    assert (found["there"], found["remedy"]) == (False, snapshot("apt-get update, or name an image with --kernel FILE"))


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 30, 1 << 30, 1 << 20))
    found = checks()["400 MB in the cache"]
    assert (found["there"], found["found"]) == (False, f"1 MB free in {empty}")


def test_a_cache_of_somebody_else(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    monkeypatch.setattr(os, "access", lambda _, how: how == os.F_OK)
    assert plain(checks()["400 MB in the cache"]["found"]) == snapshot("TMP/empty cannot be written to")
