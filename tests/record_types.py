"""The types of a run's records, written from the register of the core; `test_metrics` holds the file against it."""

from unbloat.results.metrics import DECLARED

TYPES = {"text": "str", "flag": "bool", "integer": "int", "number": "float", "integers": "list[int]"}
HEAD = '''"""The rows of results: runs with their flows, links and nodes, as `unbloat run --json` prints them.

The core's register declares the columns; `REGENERATE=1 pytest tests/test_metrics.py -k rows` writes this file from it.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict
'''
RUN = (
    "    repeat: NotRequired[int]",
    '    """Number of the repeat of its grid point, from 1."""',
    "    flows: list[Flow]",
    "    links: list[Link]",
    "    nodes: NotRequired[list[Node]]",
)


def source() -> str:
    """Write the module."""
    return "\n\n".join(
        (
            HEAD,
            _type("Flow", "A flow of a run.", "flows"),
            _type("Link", "A direction of a link.", "links"),
            _type("Node", "A node of a mesh.", "nodes"),
            _type("Run", "A run with its rows.", "runs", *RUN),
        )
    )


def _type(name: str, about: str, table: str, *more: str) -> str:
    lines = [f"class {name}(TypedDict):", f'    """{about}"""', ""]
    for column in DECLARED[table]:
        own = TYPES[column["kind"]] + (" | None" if column["is_optional"] else "")
        lines.append(f"    {column['name']}: " + (f"NotRequired[{own}]" if column["is_rare"] else own))
    return "\n".join([*lines, *more]) + "\n"
