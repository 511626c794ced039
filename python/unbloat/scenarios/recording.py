"""What is kept of a run besides its records."""

from __future__ import annotations

from dataclasses import dataclass

Columns = dict[str, dict[str, tuple[str, bytes]]]
"""A run's series as the core gives them: by table and column a NumPy type and bytes."""


@dataclass(frozen=True)
class Recording:
    """Time series and packets, as `Cell.run` takes them; nothing by default."""

    series_ns: int | None = None
    """The step of the time series."""
    pcap: str | None = None
    """The file for the packets at the senders."""
    pcap_links: bool = False
    """Packets at links too."""
    pcap_headers_only: bool = False
    """Whether the packet trace goes without the payloads, which are zeros."""
