"""A run to do, and how those who do it report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from unbloat._core import Error
from unbloat.scenarios.portable import Recording
from unbloat.system.core_types import Step

NOTHING = Recording()


@dataclass(frozen=True)
class Task:
    """A run to do: the key to keep it under, where to run, what to keep besides the records."""

    key: str
    stamp: str
    """The stamp of the files that the key is a hash of (`Code.stamp_with`)."""
    on: str = "simulator"
    recording: Recording = NOTHING
    pace: float | None = None
    """The largest number of simulated seconds in a real one, for somebody who watches; None: nobody watches, and steps
    of the series are not reported.
    """

    def as_dict(self) -> dict[str, Any]:
        """Convert the task for another process."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Task:
        """Read what `as_dict` gave."""
        return cls(**{**data, "recording": Recording(**data["recording"])})


Watch = Callable[[Task, float], None]
"""Called with a task and the share of it that is done; 1 means finished."""
WatchSteps = Callable[[Task, Step], None]
"""Called with a task and the latest step of its series."""
Failed = Callable[[Task, Error], None]
"""Called with a task and the error that left it without a result."""
