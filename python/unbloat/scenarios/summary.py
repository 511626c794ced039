"""A scenario's file in short: its grid, its links, its groups of flows, in the file's own words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unbloat.scenarios.source import source_of

TOP = ("duration", "warmup", "seed", "profile", "emulator")

Row = dict[str, str]
"""What a part is called, its `name`, and its settings by their keys."""


def summary(file: Path) -> dict[str, Any]:
    """Summarise a file; raises `InputError` if it is no scenario."""
    cells = source_of(file).cells()
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        "title": cells[0].name,
        "cells": len(cells),
        "run": [row("", {key: data[key] for key in TOP if key in data})],
        "links": [
            *(row(f"wifi.{name}", table) for name, table in data.get("wifi", {}).items()),
            *(row(name, table) for name, table in data["link"].items()),
        ],
        "flows": [row(f"flows.{number}", table) for number, table in enumerate(data["flows"])],
        "axes": [{"name": axis, "labels": ", ".join(labels)} for axis, labels in _axes(cells[0].axes, cells).items()],
    }


def _axes(names: list[tuple[str, str]], cells: list[Any]) -> dict[str, list[str]]:
    return {name: list(dict.fromkeys(dict(cell.axes)[name] for cell in cells)) for name, _ in names}


def row(name: str, table: Mapping[str, Any]) -> Row:
    """Write a table's settings, those of tables within under dotted keys."""
    return {"name": name, **dict(_settings(table, ""))}


def _settings(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{before}{key}.")
        elif isinstance(value, list):
            yield f"{before}{key}", f"({len(value)})" if value and isinstance(value[0], Mapping) else ", ".join(value)
        else:
            yield f"{before}{key}", str(value).lower() if isinstance(value, bool) else str(value)
