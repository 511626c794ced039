"""The process that follows the network: it loads the cures that persist for a network, and undoes them in others."""

from __future__ import annotations

import os
import signal
import sys

from unbloat._core import Error
from unbloat.line import held, network, persisted

RETRY_S = 60.0
"""The time after which a cure that could not be loaded, or undone, is tried again."""


def main() -> None:
    """Follow the network until a signal ends this process; the cure of the network is then undone."""
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    with persisted.following() as is_ours, network.Changes() as changes:
        while is_ours and changes.wait(ended, None if _settled(network.here()) else RETRY_S):
            pass
        if is_ours:
            _settled(None)


def _settled(where: network.Network | None) -> bool:
    """Load and undo what the network wants; report an error."""
    try:
        held.settle(where)
    except Error as error:
        sys.stderr.write(f"unbloat: {error}\n")
        return False
    return True


if __name__ == "__main__":
    main()
