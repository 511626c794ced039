"""What is written for people to read: names and values out of files must not steer their terminal."""

from __future__ import annotations

import sys

SHOWN = "\n\t"
TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that turn the direction of writing: what one reads is not what stands there."""
ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in SHOWN},
    **{code: f"\\u{code:04x}" for code in TURNING},
}
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
