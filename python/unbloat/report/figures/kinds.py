"""The kinds and widths of pictures: for the help of commands, which loads no Matplotlib, and for what draws them."""

from __future__ import annotations

from typing import Literal

OF_SOCKETS = ("send_queue", "send_buffer")
"""Kinds that draw flows of hosts and of kernels alone."""
OF_LINKS = ("queue", "queue_delay", "throughput")
"""Kinds that draw links, of which few have lines, however many flows there are."""
OVER_TIME = ("cwnd", "rtt", "queue", "queue_delay", "goodput", "throughput", *OF_SOCKETS)
WITHIN_RUNS = ("rtt_cdf", "rtt_ccdf", "rtt_box", "queue_delay_cdf", "queue_delay_ccdf", "queue_delay_box")
OVER_A_SWEEP = ("lines", "bars", "heatmap", "delay_throughput")
OVER_RUNS = ("box", "ecdf", "eccdf")
OF_NODES = ("mesh",)
OF_TWO = ("comparison",)
KINDS = (*OVER_TIME, *WITHIN_RUNS, *OVER_A_SWEEP, *OVER_RUNS, *OF_NODES, *OF_TWO)
SHORT = {
    "cdf": ("rtt_cdf", "queue_delay_cdf"),
    "ccdf": ("rtt_ccdf", "queue_delay_ccdf"),
}
"""Names that stand for several kinds."""
DEFAULT = ("cwnd", "rtt", "queue_delay", "goodput")
DEFAULT_OF_NODES = ("mesh", "rtt", "goodput")

Width = Literal["page", "slide", "column"]
"""Where a picture is looked at."""

ABOUT = (
    f"Over time: {', '.join(OVER_TIME)}. Within runs: {', '.join((*WITHIN_RUNS, *SHORT))}. Over a sweep: "
    f"{', '.join(OVER_A_SWEEP)}. Over flows and runs: {', '.join(OVER_RUNS)}. Of nodes: {', '.join(OF_NODES)}. "
    f"Default: {', '.join(DEFAULT)}; with a mesh {', '.join(DEFAULT_OF_NODES)}."
)
"""Kinds for one set of results, in words."""
