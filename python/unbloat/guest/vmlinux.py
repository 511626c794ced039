"""Kernels without what unpacks them at boot: unpacked here, since an emulated processor takes seconds for that."""

from __future__ import annotations

import lzma
import re
import shutil
import struct
import subprocess
import zlib
from typing import Any

XZ, GZIP, ZSTD = b"\xfd7zXZ\0", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
"""What packed data begins with."""
SIZE_BYTES = 4
"""The kernel's build puts the unpacked size behind the packed data."""
DIRECT_ENTRY = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")
"""An ELF note with the name Xen, of type 18 (`XEN_ELFNOTE_PHYS32_ENTRY`): where QEMU can enter the kernel directly."""


def bootable(image: bytes) -> bytes:
    """Return the kernel that is packed in a bzImage, if QEMU can start it directly, or else the image as it is."""
    try:
        kernel = unpacked(payload(image))
    except (struct.error, lzma.LZMAError, zlib.error, subprocess.CalledProcessError):
        return image
    return kernel if DIRECT_ENTRY.search(kernel) else image


def payload(image: bytes) -> bytes:
    """Cut the packed kernel out of a bzImage: the kernel's `Documentation/arch/x86/boot.rst`, `payload_offset`."""
    offset, length = struct.unpack_from("<II", image, 0x248)
    sectors_of_setup = image[0x1F1] or 4
    start = (1 + sectors_of_setup) * 512 + offset
    return image[start : start + length]


def unpacked(packed: bytes) -> bytes:
    """Unpack a kernel; nothing comes out of what is not whole, or is packed in another way."""
    if packed.startswith(ZSTD) and (zstd := shutil.which("zstd")):
        frame = packed[:-SIZE_BYTES]
        return subprocess.run([zstd, "-dc"], input=frame, capture_output=True, check=True).stdout
    if packed.startswith(XZ):
        unpacker: Any = lzma.LZMADecompressor()
    elif packed.startswith(GZIP):
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    else:
        return b""
    kernel: bytes = unpacker.decompress(packed)
    return kernel if unpacker.eof else b""
