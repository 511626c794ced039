"""What was measured on a line: tables of raw samples, from the client of `unbloat line` or from the simulator."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from unbloat._core import InputError
from unbloat.system.files import open_regular, write_text

if TYPE_CHECKING:
    import pandas as pd

PhaseName = Literal["idle", "down", "up", "both"]
"""What the line carries meanwhile: nothing but probes, a download, an upload, or both."""
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)
Direction = Literal["down", "up"]
"""Which way data goes: to this computer, or from it."""
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

COLUMNS: dict[str, dict[str, str]] = {
    "phases": {
        "phase": "its name, one of idle, down, up and both",
        "start_s": "when its load began",
        "stop_s": "when its load ended",
    },
    "probes": {
        "phase": "the phase in which the probe was sent; pause: between phases",
        "sent_s": "when the probe was sent",
        "rtt_ms": "its round-trip time; missing if no answer came",
        "up_ms": "its delay to the far end, up to a constant that makes the least up_ms half the least rtt_ms",
        "down_ms": "its delay from the far end: rtt_ms - up_ms, without the far end's own time",
    },
    "transfers": {
        "phase": "the phase to which the connection belongs",
        "direction": "down or up",
        "connection": "number of the connection, from 0 on in each phase and direction",
        "time_s": "when the sample was taken",
        "bytes": "payload bytes that this connection has carried so far: received, or acknowledged",
        "rtt_ms": "smoothed round-trip time as the connection's TCP sender sees it; missing if unknown",
        "retransmits": "segments that the connection's sender has resent so far; missing if unknown",
    },
    "requests": {
        "phase": "the phase in which the request was sent",
        "kind": "foreign: on a new connection; self: on a connection that carries load",
        "sent_s": "when the request began",
        "tcp_ms": "time of the TCP handshake; missing on a connection that exists",
        "tls_ms": "time of the TLS handshake; missing on a connection that exists",
        "http_ms": "time from the request to the first byte of its answer; missing if none came",
    },
    "hops": {
        "phase": "the phase in which the probe was sent; pause: between phases",
        "sent_s": "when the probe was sent",
        "rtt_ms": "round-trip time to the first router; missing if it did not answer",
    },
    "host": {
        "phase": "the phase in which the sample was taken",
        "time_s": "when the sample was taken",
        "unsent_bytes": "bytes that wait in the send buffers of all loaded connections and were never sent",
        "backlog_bytes": "bytes that wait in the queue disciplines of the device that leads to the far end",
    },
}
"""The tables with their columns and meanings; times in seconds since the measurement began."""

SAMPLES = "measurement.json"
"""The samples in the folder of a measurement, beside the files of every set of results."""


@dataclass(frozen=True)
class About:
    """Where, when and how a line was measured."""

    server: str
    """The far end as the user named it."""
    address: str = ""
    """The far end's address."""
    started: str = ""
    """The date and time of the beginning, in UTC."""
    device: str = ""
    """The network device that leads to the far end."""
    is_wireless: bool = False
    """Whether that device is Wi-Fi."""
    cc: str = ""
    """The congestion control of this computer's uploads."""
    far_cc: str = ""
    """The congestion control of downloads that the far end was asked for; empty if it chose."""
    sent_bytes: int = 0
    """Bytes that all connections and probes sent, with their headers."""
    received_bytes: int = 0
    """Bytes that all connections and probes received, with their headers."""
    seconds: float = 0.0
    """How long the measurement took."""
    is_capture: bool = False
    """Whether segments of a packet capture stand for probes: how many of those got no answer is unknown."""
    is_complete: bool = True
    """Whether every phase ran to its end."""
    notes: tuple[str, ...] = ()
    """Remarks for readers, a sentence each, such as an unverified certificate."""


@dataclass(frozen=True)
class Measurement:
    """Raw samples of a line; `COLUMNS` describes the tables."""

    about: About
    phases: pd.DataFrame
    probes: pd.DataFrame
    transfers: pd.DataFrame
    requests: pd.DataFrame
    hops: pd.DataFrame
    host: pd.DataFrame

    def save(self, path: Path) -> None:
        """Write the samples as JSON: `about`, and a list of values for each column of each table."""
        frames = {name: getattr(self, name).astype(object) for name in COLUMNS}
        tables = {name: frame.where(frame.notna(), None).to_dict("list") for name, frame in frames.items()}
        write_text(path, json.dumps({"about": asdict(self.about), **tables}) + "\n")


def measurement_of(about: About, tables: dict[str, dict[str, list[object]]]) -> Measurement:
    """Make a measurement from columns by table; a table that is missing is empty."""
    import pandas as pd

    def frame(name: str) -> pd.DataFrame:
        columns = tables.get(name) or {column: [] for column in COLUMNS[name]}
        texts = ("phase", "direction", "kind")
        kinds = {column: object if column in texts else float for column in COLUMNS[name]}
        return pd.DataFrame({column: columns[column] for column in kinds}).astype(kinds)

    frames = {name: frame(name) for name in COLUMNS}
    return Measurement(about, **frames)


def read_measurement(path: Path) -> Measurement:
    """Read the samples that `Measurement.save` wrote.

    Raises
    ------
    InputError
        The file cannot be read or is not a measurement.

    """
    try:
        with open_regular(path) as file:
            content = json.load(file)
        about = content.pop("about")
        about["notes"] = tuple(about["notes"])
        return measurement_of(About(**about), content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a measurement that `unbloat line` saved: {error}") from None
