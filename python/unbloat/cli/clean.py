"""`unbloat clean`: what killed runs have left."""

from __future__ import annotations

import json

from unbloat import _core
from unbloat.cli.options import JsonOption
from unbloat.cli.terminal import say, say_json

EXAMPLES = "sudo unbloat clean"


def command(as_json: JsonOption = False) -> None:
    """Remove what killed runs left in the kernel and on the disk.

    Every run does this first. The cache of finished runs stays: `unbloat cache` is for that.
    """
    from unbloat.system import scratch

    removed = [f"temporary folder {folder}" for folder in scratch.sweep()]
    removed += json.loads(_core.clean())
    if as_json:
        say_json({"removed": removed})
    else:
        say("\n".join(f"removed {what}" for what in removed) or "nothing was left behind")
