"""What the documentation says is so: its commands run and print what stands below them, its lines are short."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import guests
import pytest
from leftovers import PATIENCE_S

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
BLOCK = re.compile(
    r"^(?P<indent> *)<!-- (?P<mark>runs as root|runs in a guest|runs|fails|prints|file (?P<name>[\w./-]+)) -->\n"
    r" *```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
"""A block of code that is marked, by a comment on the line before it:

`runs`: the commands run (those in Python of a page as one program), `fails`: they end with status 2, `runs in a guest`:
they run and start one; `runs as root`: all of a page do so one after the other, in a guest, whose kernel they may
change. `prints`: the commands before it print this, to the letter; `file NAME`: they find this file. The blocks of a
page share a folder.
"""
AS_ROOT = "runs as root"
GUESTS = {AS_ROOT, "runs in a guest"}
PICTURE = re.compile(r"^!\[[^]]*\]\(pictures/(?P<name>[\w-]+\.(?:svg|png))\)$", re.MULTILINE | re.DOTALL)
"""A picture of a page, which a command of the page draws into the shared folder."""
REGENERATE = os.environ.get("REGENERATE")
"""Set, what commands print and draw takes the place of what is in the pages."""


@dataclass(frozen=True)
class Block:
    mark: str
    name: str
    body: str
    is_python: bool
    span: tuple[int, int]
    """Where the body stands in the page."""

    @classmethod
    def of(cls, found: re.Match[str]) -> Block:
        lines = found["body"].splitlines(keepends=True)
        indent = len(found["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in lines)
        mark = "file" if found["name"] else found["mark"]
        return cls(mark, found["name"], body, found["language"] == "python", found.span("body"))


def pages() -> list[Path]:
    """List what the checkout holds of Markdown."""
    patterns = ["*.md", "docs/**/*.md", "papers/**/*.md", "*/README.md"]
    return sorted({file for pattern in patterns for file in ROOT.glob(pattern)})


def blocks(page: Path) -> list[Block]:
    return [Block.of(found) for found in BLOCK.finditer(page.read_text())]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def marked(*, with_guests: bool) -> list[Path]:
    """List the pages with commands, those where some start a guest apart."""
    marks = {page: {block.mark for block in blocks(page)} for page in pages()}
    return [page for page, own in marks.items() if own and bool(own & GUESTS) == with_guests]


@pytest.mark.parametrize("page", marked(with_guests=False), ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    check(page, tmp_path)


@pytest.mark.parametrize("page", marked(with_guests=True), ids=name_of)
def test_the_commands_of_a_page_with_guests_do_what_it_says(page: Path, tmp_path: Path, cache: Path) -> None:
    guests.booted(cache)
    check(page, tmp_path)


def check(page: Path, folder: Path) -> None:
    """Run a page's commands in a folder; hold what they print against what stands there."""
    printed: str | None = None
    shown = []
    for block in blocks(page):
        if block.mark == "file":
            (folder / block.name).write_text(block.body)
        elif block.mark == "prints":
            assert printed is not None, "a command stands before what it prints"
            assert REGENERATE or printed == block.body
            shown.append((block.span, printed))
        elif block.mark != AS_ROOT and not block.is_python:
            printed = run(block.body, folder, 2 if block.mark == "fails" else 0)
    if program := "".join(block.body for block in blocks(page) if block.mark == "runs" and block.is_python):
        (folder / "page.py").write_text(program)
        run(f"{sys.executable} page.py", folder, 0)
    as_root = "".join(block.body for block in blocks(page) if block.mark == AS_ROOT)
    if as_root:
        run_as_root(as_root, folder)
    for name in PICTURE.findall(page.read_text()):
        assert (folder / name).is_file(), f"a command of the page draws {name}"
        if REGENERATE:
            shutil.copy(folder / name, page.parent / "pictures" / name)
    if REGENERATE:
        put(page, shown)


def run(commands: str, folder: Path, status: int) -> str:
    """Run commands as a user types them; give what they print, of those that fail the complaint.

    Guests have the oldest kernel that there is.
    """
    script = re.sub(r"--kernel [\d.]+", lambda _: f"--kernel {guests.oldest_kernel()}", commands)
    known = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-c", f"set -eu\n{script}"],
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == status, f"{commands}{done.stdout}{done.stderr}"
    printed = done.stderr if status else done.stdout
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


def run_as_root(commands: str, folder: Path) -> None:
    """Run commands in a guest, where a user is root already.

    In one process, for a guest emulates what Python does before the first line of a program.
    """
    words = [shlex.split(line, comments=True) for line in commands.splitlines()]
    assert all(line[:2] == ["sudo", "unbloat"] for line in words)
    script = folder / "as-root.py"
    script.write_text(
        f"from unbloat.cli.app import main\nfor words in {[line[2:] for line in words]}:\n"
        "    assert main(words) == 0, words\n"
    )
    run(f"unbloat shell home-dsl --on vm --kernel 6.1 -- {sys.executable} {script}", folder, 0)


def put(page: Path, shown: list[tuple[tuple[int, int], str]]) -> None:
    """Write what commands print into their places, the last first: those before it stay where they are."""
    text = page.read_text()
    for (start, end), printed in reversed(shown):
        text = text[:start] + printed + text[end:]
    page.write_text(text)


# ---------------------------------------------------------------- How pages are written

GENERATED = re.compile(r"<!-- begin .*?-->.*?<!-- end .*?-->|^```.*?^```$", re.MULTILINE | re.DOTALL)
"""Parts that tools write, and code."""


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_lines_have_at_most_120_columns(page: Path) -> None:
    prose = GENERATED.sub(lambda part: "\n" * part[0].count("\n"), page.read_text()).splitlines()
    long = [number for number, line in enumerate(prose, 1) if len(line) > 120 and not line.lstrip().startswith("|")]
    assert not long, f"{name_of(page)}: lines {long}"
