"""The compiled core: reads scenarios, knows the mechanisms, simulates."""

from collections.abc import Callable, Sequence

__version__: str

class Error(Exception):
    """Whatever kept a run from giving records, in one sentence."""

class InputError(Error):
    """The scenario, a congestion control or an override is wrong: file, line, key and what is allowed."""

class RunError(Error):
    """The input is right, but the run failed."""

class Column:
    """One column of a table: numbers in native byte order, behind the buffer protocol's simplest form."""

    name: str
    dtype: str
    data: bytes

class Cell:
    """One run of an experiment: the scenario itself, or one point of its grid."""

    name: str
    """What the scenario calls itself."""
    seed: int
    duration_s: float
    axes: list[tuple[str, str]]
    """The keys of `[sweep]` with this cell's values, in the file's order."""
    hash: str
    """Of every value of the cell, defaults included, in hexadecimal."""
    sources: list[str]
    """The user's own congestion-control files that it names."""

    def json(self) -> str:
        """Give the whole scenario, defaults filled in."""
    def simulate(
        self,
        algorithms: str,
        *,
        series_ns: int | None = None,
        pcap: str | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> tuple[str, dict[str, list[Column]] | None]:
        """Run it; give the records as JSON and, if asked for, the series as tables of columns.

        `progress` is told the share that is done about ten times a second; what it raises ends the run.
        """

def load(path: str, overrides: Sequence[tuple[str, str]]) -> list[Cell]:
    """Read a scenario file; each override sets a key as if it stood in the file."""

def parse(text: str, folder: str, overrides: Sequence[tuple[str, str]]) -> list[Cell]:
    """Read a scenario's text; its paths are relative to `folder`."""

def catalogue(algorithms: str) -> str:
    """Describe every mechanism, queue discipline and link model, as JSON."""
