"""A mesh as a tree: each node with its goodput, and how often its queue overflowed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from matplotlib.axes import Axes

from unbloat._core import InputError
from unbloat.report.figures.grid import View, repeated
from unbloat.report.figures.layout import columns_of
from unbloat.report.figures.style import COLOURS, GREY, Size, Style, small
from unbloat.results.record import Record
from unbloat.results.rows import Flow, Node

LARGEST = 26
"""Diameter of the largest circle, in widths of a line."""
BEHIND: Style = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""Behind a node's name, which may lie on a line: a halo would make curves of the letters in a file."""
WIDEST = 14
"""Letters of a node's name and goodput with a blank on either side; in less room one is below the other."""


def draw(name: str, where: str, view: View) -> None:
    """Draw a mesh of a grid point's runs: hops to the right, circles as large as the mean goodputs."""
    records, axes, size = view.records, view.axes, view.size
    nodes = nodes_of(records[0], name)
    goodputs = {node["node"]: _goodput(records, node) for node in nodes}
    overflows = {node["node"]: _overflows(records, node) for node in nodes}
    heights = rows_of(nodes)
    # Circles of one size mean the same in all panels of the picture.
    everywhere = [_goodput(runs, node) for _, runs in repeated(view.whole) for node in nodes_of(runs[0], name)]
    most = max(filter(None, everywhere), default=1.0)
    deepest = max(node["hops"] for node in nodes)
    between = " " * 2 if size.letters(columns_of(axes)) >= WIDEST * (deepest + 1) else "\n"
    for node in nodes:
        place = (node["hops"], heights[node["node"]])
        if node["parent"] is not None:
            parent = (node["hops"] - 1, heights[node["parent"]])
            axes.plot(*zip(place, parent, strict=True), color=GREY, linewidth=0.8 * size.line, zorder=1)
        _node(axes, place, node["node"], goodputs[node["node"]], overflows[node["node"]], most, between, size)
    axes.set_xlim(-0.4, deepest + 0.6)
    axes.set_ylim(max(heights.values()) + 0.8, -0.8)
    axes.set_xticks(range(deepest + 1))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    dropped = ", and packets that the node's queue dropped" if any(drops >= 1 for drops in overflows.values()) else ""
    axes.set_xlabel(f"hops from the border router; goodput in kbit/s{dropped}")
    title = where if len(names_of(records[0])) == 1 else ": ".join(filter(None, (where, name)))
    axes.set_title(title, loc="left", fontsize=size.font)


def height(record: Record, name: str, size: Size) -> float:
    """Return the height of a mesh's panel, in panels of the usual height."""
    leaves = 1 + max(rows_of(nodes_of(record, name)).values())
    return size.rows_of_text(int(2.5 * leaves))


def check(records: Sequence[Record]) -> None:
    """Raise `InputError` where there is no mesh."""
    if not all(record.run.get("nodes") for record in records):
        raise InputError("mesh: no run of these results has a mesh; a scenario has one with [mesh.NAME]")


def names_of(record: Record) -> list[str]:
    """List the meshes of a run in the scenario's order."""
    return list(dict.fromkeys(node["mesh"] for node in record.run["nodes"]))


def nodes_of(record: Record, name: str) -> list[Node]:
    """List the nodes of one mesh: those of two may have the same names."""
    return [node for node in record.run["nodes"] if node["mesh"] == name]


def rows_of(nodes: Sequence[Node]) -> dict[str, float]:
    """Assign each node a row: leaves one below another, a parent in the middle of its children."""
    children: dict[str | None, list[str]] = {}
    for node in nodes:
        children.setdefault(node["parent"], []).append(node["node"])
    rows: dict[str, float] = {}
    left = 0

    def place(name: str) -> None:
        nonlocal left
        below = children.get(name, [])
        for child in below:
            place(child)
        if below:
            rows[name] = fmean(rows[child] for child in below)
        else:
            rows[name] = float(left)
            left += 1

    for root in children.get(None, []):
        place(root)
    return rows


def _is_of(row: Flow | Node, node: Node) -> bool:
    return (row.get("mesh"), row.get("node")) == (node["mesh"], node["node"])


def _goodput(records: Sequence[Record], node: Node) -> float | None:
    """Return the goodput of a node's flows as the mean over the runs, kbit/s; None for one that sends nothing."""
    flows = [[flow for flow in record.run["flows"] if _is_of(flow, node)] for record in records]
    return fmean(1e3 * sum(flow["goodput_mbps"] for flow in own) for own in flows) if any(flows) else None


def _overflows(records: Sequence[Record], node: Node) -> float:
    return fmean(row["overflows"] for record in records for row in record.run.get("nodes", []) if _is_of(row, node))


def _node(
    axes: Axes,
    place: tuple[float, float],
    name: str,
    goodput: float | None,
    drops: float,
    most: float,
    between: str,
    size: Size,
) -> None:
    share = (goodput / most) ** 0.5 if goodput else 0.15
    hue = GREY if goodput is None else COLOURS[0]
    axes.plot(*place, "o", color=hue, alpha=0.75, markersize=max(share * LARGEST * size.line * 0.6, 3), zorder=2)
    label = name if goodput is None else f"{name}{between}{goodput:.2f}"
    label += f", {drops:.0f} dropped" if drops >= 1 else ""
    words: Style = {"fontsize": small(axes), "bbox": BEHIND, "zorder": 1.5, "ha": "center", "va": "top"}
    axes.annotate(label, place, xytext=(0, -0.32 * LARGEST * size.line), textcoords="offset points", **words)
