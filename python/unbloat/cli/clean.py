"""`unbloat clean`: sweeping up after a crash."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from unbloat import _core
from unbloat.system import scratch

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Describe it to the command line."""
    about = "remove what a killed run left in the kernel and on the disk (every run begins with that)"
    parser = commands.add_parser("clean", help=about)
    parser.set_defaults(command=clean_command)
    parser.add_argument("--json", action="store_true", help="print JSON")


def clean_command(args: argparse.Namespace) -> None:
    """Remove leftovers; say which."""
    removed = [f"temporary folder {folder}" for folder in scratch.sweep()]
    removed += json.loads(_core.clean())
    if args.json:
        print(json.dumps({"removed": removed}))
    else:
        print("\n".join(f"removed {what}" for what in removed) or "nothing was left behind")
