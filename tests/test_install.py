"""`make install`: the tool in a place of its own, where sudo finds it, apart from the checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import unbloat as ub

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ub.__file__).parent
SECURE_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where Debian's sudo looks for programs, whatever the user's PATH is."""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel of what is built here, as maturin would make it, without papers."""
    file = tmp_path / f"unbloat-{ub.__version__}-py3-none-any.whl"
    about = f"unbloat-{ub.__version__}.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        for folder, below, names in os.walk(PACKAGE, followlinks=True):
            below[:] = [name for name in below if name not in ("__pycache__", "papers")]
            for name in names:
                path = Path(folder) / name
                archive.write(path, Path("unbloat") / path.relative_to(PACKAGE))
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: unbloat\nVersion: {ub.__version__}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/entry_points.txt", "[console_scripts]\nunbloat = unbloat.cli.entry:main\n")
        records = "".join(f"{name},,\n" for name in [*archive.namelist(), f"{about}/RECORD"])
        archive.writestr(f"{about}/RECORD", records)
    return file


def test_the_tool_is_installed_where_sudo_finds_it_and_needs_no_checkout(wheel: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "usr" / "local"
    program = prefix / "bin" / "unbloat"
    of_an_older_one = prefix / "lib" / "unbloat" / "bin" / "removed-since"
    for folder in (program.parent, of_an_older_one.parent):
        folder.mkdir(parents=True)
    of_an_older_one.touch()
    program.symlink_to("../lib/unbloat/bin/removed-since")
    offline = {**os.environ, "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    subprocess.run([ROOT / "tools/install", wheel, prefix, sys.executable], check=True, env=offline)
    assert not of_an_older_one.exists()
    assert program.resolve() == prefix / "lib/unbloat/bin/unbloat"
    # Its dependencies come from here, so that none need be fetched.
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "PYTHONPATH": sysconfig.get_path("purelib")}
    done = subprocess.run(
        ["unbloat", "show", "--path", "home-dsl"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**environment, "UNBLOAT_CACHE": os.environ["UNBLOAT_CACHE"]},
    )
    assert Path(done.stdout.strip()).is_relative_to(prefix / "lib" / "unbloat")
    assert not [path for path in prefix.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]


def test_make_installs_there() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "install"], cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ}
    )
    (command,) = [line for line in done.stdout.splitlines() if line.startswith("tools/install ")]
    prefix = command.split()[2]
    assert f"{prefix}/bin" in SECURE_PATH


def test_examples_that_need_root_are_typed_with_sudo() -> None:
    """Commands that change the kernel, in the help of each and in the documents."""
    from unbloat.cli.app import COMMANDS, examples_of

    needs_root = re.compile(r"^unbloat (load|unload|attach|detach|status)\b|^unbloat (run|shell)\b.*--on kernel")
    examples = [line for entry in COMMANDS for line in examples_of(entry.command())]
    assert len(examples) > 40
    assert not [line for line in examples if needs_root.search(line)]
