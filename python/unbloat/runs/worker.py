"""A process that runs tasks: it reads a line of JSON for each run, and writes progress and answers as lines of JSON.

Each run has its own process, because a congestion control is native code. If it crashes, its run fails with a sentence,
and neither other runs nor the user's session are harmed.
"""

from __future__ import annotations

import json
import os
import signal
import site
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

from unbloat import _core
from unbloat.runs.store import Store
from unbloat.runs.task import Task
from unbloat.scenarios.identity import code_files, refuse_changed
from unbloat.scenarios.portable import Columns
from unbloat.system.core_types import Step
from unbloat.system.paths import ALGORITHMS

Tell = Callable[..., None]
"""Answers with a line that has these members."""
Runner = Callable[[_core.GridPoint, Task, Tell], tuple[str, Columns | None]]
"""Runs a grid point; returns the records as JSON and the series, if the task asks for them."""


def main() -> None:
    """Do run after run until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent decides what an interrupt ends.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # What a control prints appears, though the parent has the terminal.
    answers = take_stdout()
    opening = json.loads(sys.stdin.readline())
    _core.end_with(opening["parent"])
    spare = opening.get("spare")
    store = Store(Path(opening["folder"]), Path(spare) if spare else None)
    if opening["guest"]:
        run = in_guest(Path(opening["guest"]))
    else:
        _core.watch_controls(answers.fileno())
        run = here
    files = code_files()
    for line in sys.stdin:
        message = json.loads(line)
        point, task = _core.resolved(message["scenario"]), Task.of(message["task"])
        end = attempt(run, store, point, task, files, answers)
        for path, text in _core.take_warnings():
            say(answers, warned=str(path), text=text)
        say(answers, **end)


def here(point: _core.GridPoint, task: Task, tell: Tell) -> tuple[str, Columns | None]:
    """Run a grid point in this process."""
    return point.run(
        ALGORITHMS,
        on=task.on,
        **vars(task.recording),
        stamp=task.stamp,
        progress=lambda share: tell(share=share),
        steps=None if task.pace is None else Steps(tell, task.pace if task.on == "simulator" else None),
    )


class Steps:
    """Reports each step of a series when it is taken, and slows a simulation down to a pace that can be followed."""

    def __init__(self, tell: Tell, pace: float | None) -> None:
        self._tell = tell
        self._pace = pace
        self._start = time.monotonic()

    def __call__(self, step: Step) -> None:
        """Report a step."""
        if self._pace:
            time.sleep(max(0.0, self._start + step["time_s"] / self._pace - time.monotonic()))
        self._tell(step=step)


def in_guest(folder: Path) -> Runner:
    """Run grid points in guests that start from the state in `folder`."""
    from unbloat.guest import guest

    def run(point: _core.GridPoint, task: Task, tell: Tell) -> tuple[str, Columns | None]:
        return guest.run(guest.Guest(folder), point, task.recording, lambda share: tell(share=share))

    return run


def attempt(
    run: Runner, store: Store, point: _core.GridPoint, task: Task, files: Sequence[Path], answers: IO[str]
) -> dict[str, Any]:
    """Run a grid point and store its results; return the answer that ends the task. `files` are those of the code."""
    try:
        record, columns = run(point, task, partial(say, answers))
        refuse_changed(point, files, task.stamp)
        if columns is not None:
            find_libraries()
        store.put(task.key, record, task.recording.series_ns, columns)
    except _core.Error as error:
        return {"error": str(error), "wrong_input": isinstance(error, _core.InputError)}
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        way_out = "UNBLOAT_CACHE names another folder for it, and --no-cache keeps nothing"
        return {"error": f"cannot store the result in {store.folder}: {why}; {way_out}", "wrong_input": False}
    return {"finished": True}


@cache
def find_libraries() -> None:
    """Let installed libraries be found, without which this process starts sooner: writing series needs one."""
    site.main()


def say(answers: IO[str], **answer: object) -> None:
    """Answer with one line; when nobody listens any more there is nothing left to do."""
    try:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    except BrokenPipeError:
        os._exit(1)


def take_stdout() -> IO[str]:
    """Reserve the answers' channel: what a congestion control prints goes to stderr."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w")


if __name__ == "__main__":
    main()
