"""What is written for people to read: names and values out of files must not steer their terminal."""

from __future__ import annotations

import logging
import sys
import warnings

from unbloat.results.record import IdenticalRepeats, UnsoundRun

SHOWN = "\n\t"
TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that turn the direction of writing: what one reads is not what stands there."""
ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in SHOWN},
    **{code: f"\\u{code:04x}" for code in TURNING},
}
WIPE = "\r\033[K"
"""Clears the line of a terminal, on which a progress bar may stand."""
LONGEST = 4000
"""Characters of a line of an error; what is longer quotes somebody's file."""


def plain(text: str) -> str:
    """Write control characters as escapes."""
    return text.translate(ESCAPES)


def say(text: str) -> None:
    """Print it on stdout."""
    sys.stdout.write(f"{plain(text)}\n")


def complain(sentence: object) -> None:
    """Say on stderr what went wrong."""
    lines = (plain(line) for line in f"unbloat: {sentence}".split("\n"))
    cut = (line if len(line) <= LONGEST else f"{line[:LONGEST]} ..." for line in lines)
    print("\n".join(cut), file=sys.stderr)


class Messages(logging.Handler):
    """Writes what the library logs to stderr, each message as a sentence of this program."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        wipe = WIPE if sys.stderr.isatty() else ""
        print(f"{wipe}unbloat: {plain(self.format(record))}", file=sys.stderr, flush=True)


def show_messages() -> None:
    """Have the library's messages shown from now on."""
    for warning in (UnsoundRun, IdenticalRepeats):
        warnings.simplefilter("ignore", warning)  # Tables say it too.
    log = logging.getLogger("unbloat")
    log.setLevel(logging.INFO)
    if not any(isinstance(handler, Messages) for handler in log.handlers):
        log.addHandler(Messages())
