"""Options of queue disciplines, as netlink has them."""

import struct

from unbloat.system.qdiscs import ATTRIBUTE, OPTIONS, Qdisc, _options


def u32(kind: int, value: int) -> bytes:
    return ATTRIBUTE.pack(8, kind) + struct.pack("=I", value)


def test_times_of_codel_are_rounded_to_what_they_were() -> None:
    def rounded(microseconds: int) -> int:
        """Do what the kernel does to a time: it counts in 1024 ns."""
        return ((microseconds * 1000) >> 10) * 1024 // 1000

    for chosen in (1, 4999, 5000, 7777, 100_000, 999_999):
        shown = rounded(chosen)
        nest = u32(1, shown) + u32(2, 777) + u32(3, shown)
        whole = ATTRIBUTE.pack(ATTRIBUTE.size + len(nest), OPTIONS) + nest
        _, target, _, limit, _, interval = struct.unpack("=IIIIII", _options(Qdisc("codel", 1, whole.hex()))[4:])
        assert (rounded(target), limit, rounded(interval)) == (shown, 777, shown)


def test_options_of_others_stay_as_they_are() -> None:
    whole = ATTRIBUTE.pack(12, OPTIONS | 1 << 15) + u32(1, 5)
    assert _options(Qdisc("fq_pie", 1, whole.hex())) == whole
    assert _options(Qdisc("pfifo_fast", 1, "")) == b""
