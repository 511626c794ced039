"""A packet trace is read, or refused by a sentence, whatever its bytes are. `tools/fuzz trace` runs this."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dpkt", "unbloat.comparison"]):
    import dpkt
    import unbloat as ub
    from unbloat.comparison import trace

LONGEST_SENTENCE = 1000
LINKTYPE_RAW = 101
IN_MEMORY = os.memfd_create("trace")
"""The file that is read, which nobody has to remove."""


def main() -> None:
    """Run as libFuzzer's own arguments say: the last of them is a folder of inputs, or one input."""
    inputs = Path(sys.argv[-1])
    if inputs.is_dir():
        write_seeds(inputs)
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()


def read(data: bytes) -> None:
    """Read these bytes as a trace."""
    os.ftruncate(IN_MEMORY, 0)
    os.pwrite(IN_MEMORY, data, 0)
    try:
        trace.read(Path(f"/proc/self/fd/{IN_MEMORY}"))
    except ub.InputError as error:
        sentence = str(error)
        assert "\n" not in sentence and len(sentence) < LONGEST_SENTENCE, sentence


def write_seeds(folder: Path) -> None:
    """Write a short trace, and its packets in the older format."""
    ub.scenario(Path(__file__).with_suffix(".toml")).run(pcap=folder / "seed.pcapng", pcap_links=True)
    with (folder / "seed.pcapng").open("rb") as newer, (folder / "seed.pcap").open("wb") as older:
        writer = dpkt.pcap.Writer(older, linktype=LINKTYPE_RAW)
        for at_s, packet in dpkt.pcapng.Reader(newer):
            writer.writepkt(packet, at_s)


if __name__ == "__main__":
    main()
