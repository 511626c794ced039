"""Arguments that several commands take."""

from __future__ import annotations

import argparse


def assignment(text: str) -> tuple[str, str]:
    """Split KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE, such as link.bottleneck.rate=10mbit")
    return key.strip(), value.strip()
