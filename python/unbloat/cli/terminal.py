"""Output for people: names and values from files must not control their terminal."""

from __future__ import annotations

import codecs
import io
import logging
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Mapping
from typing import Any, TextIO

from unbloat.results.record import IdenticalRepeats, UnsoundRun
from unbloat.system.legible import plain, screen_width
from unbloat.system.renamed import OldNameWarning

PROGRAM = "unbloat"
WIPE = "\r\033[K"
"""Clears the line of a terminal, where a progress bar may be."""
LONGEST = 4000
"""The longest line of an error, in characters; longer ones quote somebody's file."""


def show_what_can_be_shown() -> None:
    """Let a terminal that is not UTF-8 show what it can: lines as hyphens, other characters as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(errors=IN_ASCII)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    shown = (ASCII.get(character, ascii(character)[1:-1]) for character in wrong)
    return "".join(shown), error.end


IN_ASCII = "unbloat.ascii"
codecs.register_error(IN_ASCII, _in_ascii)
ASCII = {
    "─": "-",
    "±": "+-",
    "·": "|",
    "…": "...",
    "\N{EN DASH}": "-",
    "“": '"',
    "”": '"',
    "\N{MULTIPLICATION SIGN}": "x",
    "µ": "u",
    "≤": "<=",
    "≥": ">=",
}
"""Characters of tables and sentences, with what a terminal without UTF-8 shows in their place."""


def say(text: str) -> None:
    """Print it on stdout for people; on a terminal sentences are folded to its width, and marks have their colours."""
    text = "\n".join(line for whole in plain(text).split("\n") for line in folded(whole))
    sys.stdout.write(f"{coloured(text) if is_coloured() else text}\n")


def say_json(data: Mapping[str, Any]) -> None:
    """Print data on stdout for scripts: one object, whatever the command."""
    import json

    json.dump(data, sys.stdout, indent=2)
    sys.stdout.write("\n")


def folded(line: str) -> list[str]:
    """Break a sentence into lines as wide as the terminal; a line of a table, which has gaps, stays as it is."""
    width = screen_width()
    if not width or len(line) <= width or "  " in line.strip():
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, max(width, 20), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def wrapped(text: str, indent: int, hanging: int = 0) -> list[str]:
    """Break a text into lines as wide as the terminal, or of 100 characters where there is none; paths stay whole."""
    width = max(40, min(120, shutil.get_terminal_size((100, 24)).columns))
    before, below = " " * indent, " " * (indent + hanging)
    lines = textwrap.wrap(
        text, width, initial_indent=before, subsequent_indent=below, break_on_hyphens=False, break_long_words=False
    )
    return lines or [""]


def tell(sentence: str) -> None:
    """Report on stderr what was done besides printing."""
    print(f"{PROGRAM}: {plain(sentence)}", file=sys.stderr)


def complain(sentence: object) -> None:
    """Report an error on stderr."""
    lines = (plain(line) for line in f"{PROGRAM}: {sentence}".split("\n"))
    cut = (line if len(line) <= LONGEST else f"{line[:LONGEST]} ..." for line in lines)
    print("\n".join(cut), file=sys.stderr)


# ---------------------------------------------------------------- Colours

BOLD, DIM, RED, GREEN, YELLOW = 1, 2, 31, 32, 33
MARKS = [
    (r"─+", DIM),
    (r"\b(unsound|not reproduced|outside|failed|undecided)\b", RED),
    (r"\b(warning:|direction only)", YELLOW),
    (r"(?<!not )\breproduced\b", GREEN),
]
"""Words and marks that are coloured in tables and sentences, with their colours (ECMA-48, SGR)."""


def is_coloured() -> bool:
    """Return whether stdout is a terminal whose user wants colours (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Colour the marks of a text."""
    for pattern, colour in MARKS:
        text = re.sub(pattern, f"\033[{colour}m\\g<0>\033[0m", text)
    return text


# ---------------------------------------------------------------- Messages of the library


class Messages(logging.Handler):
    """Writes what the library logs to stderr, each message as a sentence of this program."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        wipe = WIPE if sys.stderr.isatty() else ""
        print(f"{wipe}{PROGRAM}: {plain(self.format(record))}", file=sys.stderr, flush=True)


SHOW_WARNING = warnings.showwarning


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Write a warning about a name of the user's as a sentence; others are about the code, whose line they show."""
    if issubclass(category, OldNameWarning):
        tell(f"warning: {message}")
    else:
        SHOW_WARNING(message, category, filename, lineno, file, line)


def show_messages() -> None:
    """Show the library's messages from now on."""
    for warning in (UnsoundRun, IdenticalRepeats):
        warnings.simplefilter("ignore", warning)  # Tables say it too.
    warnings.showwarning = show_warning
    log = logging.getLogger("unbloat")
    log.setLevel(logging.INFO)
    if not any(isinstance(handler, Messages) for handler in log.handlers):
        log.addHandler(Messages())
