"""The messages between host and guest, as JSON."""

from __future__ import annotations

from typing import TypedDict, final

Series = dict[str, dict[str, tuple[str, str]]]
"""A run's series: by table and column a NumPy type and bytes in base64."""


class RunTask(TypedDict):
    """A run to do."""

    point: str
    """The scenario, as `_core.resolved` reads it."""
    files: dict[str, str]
    """The user's own files in base64, by their paths."""
    objects: dict[str, str]
    """The compiled mechanisms in base64, by what the scenario calls them."""
    series_ns: int | None
    pcap: bool
    pcap_links: bool
    pcap_headers_only: bool


class Runs(TypedDict):
    """Runs to do one after the other."""

    runs: list[RunTask]


@final
class RunAnswer(TypedDict):
    """The results of a run."""

    record: str
    columns: Series | None
    pcap: str | None


@final
class Refusal(TypedDict):
    """The reason why a run or a program gave no results, and whether the user's input is to blame."""

    error: str
    wrong_input: bool


class LinkTask(TypedDict):
    """A link, and the end of it that a program is at."""

    point: str
    algorithms: str
    at: str
    far: list[str] | None
    objects: dict[str, str]
    queues: bool
    """Whether to write the queues down."""


class ProgramTask(TypedDict):
    """A program to run."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    terminal: bool
    """Whether the program has a terminal. Without one it has no input."""
    link: LinkTask | None


class Ended(TypedDict):
    """The status of a program, as a shell gives it."""

    status: int
    queues: str
    """The lines of CSV that were asked for."""
