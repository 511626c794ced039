"""Provenance of results: everything needed to run them again, stored in every saved file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

FORMAT = 1
"""Version of the metadata's layout, for later readers."""

JSON_TYPES: dict[str, Any] = {"str": str, "int | None": int | None, "Mapping": dict, "Sequence": list}
"""JSON types of the fields."""


@dataclass(frozen=True)
class About:
    """How a set of results was made. Files hold it as JSON in the metadata of their Arrow schema, under `unbloat`."""

    scenario: str = ""
    """The scenario's text."""
    source: str = ""
    """The file that it was in; empty for a text or a dictionary."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Keys that were set anew, as TOML."""
    axes: Sequence[str] = ()
    """The axes of the grid."""
    repeat: int | None = None
    """Runs planned for each cell; None if each ran once, with the scenario's own seed."""
    on: str = ""
    """The backend: simulator, kernel or vm."""
    kernel: Sequence[str] = ()
    """The releases of the kernels whose TCP ran; none in the simulator."""
    version: str = ""
    """Version of unbloat."""
    code: str = ""
    """SHA-256 over the compiled core and the sources of every congestion control."""
    controls: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each source file of the congestion controls that ran, by its path."""
    host: Mapping[str, str] = field(default_factory=dict)
    """The machine that asked for the runs: its name, operating system, processor and Python."""
    command: str = ""
    """The command of the process that asked for them."""
    time: str = ""
    """When it did, as ISO 8601 in UTC. Kept runs may be older."""
    doubts: Sequence[str] = ()
    """Warnings about the scenario: what is allowed but probably not meant, a sentence each."""

    def json(self) -> str:
        """Write it."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def of_json(cls, text: str | bytes) -> About:
        """Read it; raises `ValueError` if it is something else."""
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("the metadata is not an object")
        known = {each.name: each.type for each in fields(cls)}
        own = {name: value for name, value in data.items() if name in known}
        wrong = [name for name, value in own.items() if not isinstance(value, JSON_TYPES[known[name].split("[")[0]])]
        if wrong:
            raise ValueError(f"in the metadata, something else stands at {wrong[0]}")
        return cls(**own)
