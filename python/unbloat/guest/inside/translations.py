"""A larger table for QEMU's translations of addresses, so that a run takes less time.

An emulated processor keeps translations of pages in a table, of 256 entries at first. QEMU doubles it only when it must
forget them all and most entries were in use (`tlb_mmu_resize_locked` in its accel/tcg/cputlb.c). That never happens
during a run, in which the kernel works for one process. For a flow's packets the kernel repeatedly needs more pages
than the table has.
"""

from __future__ import annotations

import mmap
import os

TOO_SMALL = (256, 512, 1024)
"""Entries of the tables that are doubled, the first one first. With one more a run was not faster."""
FORGOTTEN = 64
"""Pages to take away: for more than 33 at once Linux has a processor forget all (`tlb_single_page_flush_ceiling`)."""


class Touched:
    """Pages that the kernel can be made to touch; they are there from the beginning."""

    def __init__(self) -> None:
        self._area = mmap.mmap(-1, max(TOO_SMALL) * mmap.PAGESIZE)
        area = memoryview(self._area)
        self._a_byte_of_each = [area[at : at + 1] for at in range(0, len(area), mmap.PAGESIZE)]
        self._zeroes = os.open("/dev/zero", os.O_RDONLY)
        self._touch(max(TOO_SMALL))

    def _touch(self, pages: int) -> None:
        os.readv(self._zeroes, self._a_byte_of_each[:pages])

    def widen_table(self) -> None:
        """Have the table of translations doubled as often as that helps."""
        for entries in TOO_SMALL:
            self._touch(entries)
            self._area.madvise(mmap.MADV_DONTNEED, 0, FORGOTTEN * mmap.PAGESIZE)
