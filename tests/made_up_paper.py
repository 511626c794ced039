"""A paper of a few lines, whose runs take a moment."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from unbloat.claims.claim import Claim
from unbloat.claims.expressions import Call, calls
from unbloat.papers.paper import Paper, Statements

SCENARIO = """
duration = "4s"
[link.bottleneck]
rate = "2mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "20kb" }
[[flows]]
cc = "reno"
[sweep]
"link.bottleneck.queue.limit" = ["10kb", "20kb"]
"flows.0.cc" = ["reno", "vegas"]
"""

PUBLISHED = """
paper = { name = "tiny", title = "Two congestion controls on a line", authors = "A. Author", where = "Journal, 2020" }
bounds = { relative = 0.1, index = 0.04 }
runs = { seeds = 3, series = { two = "10ms" } }
[[tables]]
id = "table1"
title = "Table 1. Throughput"
columns = ["reno", "vegas"]
groups = [{ name = "10 KB", scenario = "two", at = ["10kb"], rows = [
    { name = "throughput", quantity = "throughput", unit = "Mb/s", published = ["1.9", "0.5"] },
] }]
[[statements]]
where = "section 2"
scenario = "two"
at = ["20kb"]
claims = [
    { id = "delay", says = "Vegas queues shorter", holds = "queue_delay(vegas) < queue_delay(reno)" },
    { id = "window", says = "Reno's window falls", holds = "window_steps(reno, low=0.3, high=0.95) >= 1" },
]
[[figures]]
id = "figure1"
title = "Throughput"
kind = "bars"
quantity = "throughput"
unit = "Mb/s"
groups = ["reno", "vegas"]
bars = [{ name = "first flow", flow = 1 }]
panels = [{ name = "10 KB", scenario = "two", at = ["10kb"], published = [[1.9, 0.5]] }]
[[figures]]
id = "figure2"
title = "Windows"
kind = "window"
scenario = "two"
at = ["10kb"]
groups = ["reno", "vegas"]
"""

ANSWER = """
[answer]
mechanism = "Vegas looks at delay."
works = "Partly: it waits less."
use_for = "Short queues."
avoid_for = "Lines with Reno."
depends_on = "The buffer."
figures = ["figure1"]
"""
"""What a page needs besides, to stand behind `PUBLISHED`."""

READING = """
[[readings]]
id = "slow"
title = "A slow link"
text = "The paper's two megabits are one."
scenarios = ["two"]
set = { "link.bottleneck.rate" = "1mbit" }
[[readings.reasons]]
claims = ["table1.*"]
text = "Half the rate."
"""
"""Another reading of the paper, to stand behind `PUBLISHED`."""


def write_paper(parent: Path, more: Mapping[str, str]) -> Path:
    """Write the paper into its folder, with `more` files or others in their place; give the folder."""
    folder = parent / "tiny"
    folder.mkdir()
    for name, text in {"two.toml": SCENARIO, "published.toml": PUBLISHED, **more}.items():
        (folder / name).write_text(text)
    return folder


def measurements_named(paper: Paper) -> Iterator[tuple[Statements, Claim, Call]]:
    """Go through every measurement that a claim names, with the setting that it is taken in."""
    for statements in paper.statements:
        for claim in statements.claims:
            for _, expression in claim.expressions():
                yield from ((statements, claim, call) for call in calls(expression))
