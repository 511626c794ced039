"""Progress in a notebook, where standard error is no terminal."""

from __future__ import annotations

import sys
from typing import Any


def is_notebook() -> bool:
    """Return whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")


class NotebookBar:
    """A widget with a bar and words beside it; a line of text where the notebook has no widgets."""

    def __init__(self) -> None:
        """Start without drawing."""
        from tqdm.auto import tqdm

        self._bar: Any = tqdm(total=1.0, bar_format="{bar} {postfix}", leave=False, miniters=0, mininterval=0)

    def draw(self, share: float, words: str) -> None:
        """Draw it anew."""
        self._bar.n = share
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Remove it."""
        self._bar.close()
