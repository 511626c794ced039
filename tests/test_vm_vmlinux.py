"""Which kernels are unpacked before a guest boots, and that all others are left as they are."""

import gzip
import lzma
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import guests
import made_up_kernels
import pytest
from unbloat.guest import initramfs, kernels

NOTE = struct.pack("<III", 4, 8, 18) + b"Xen\0" + struct.pack("<Q", 0x1000370)
KERNEL = b"\x7fELF" + bytes(100) + NOTE + os.urandom(100)
SETUP_SECTORS = 3


def bz_image(packed: bytes, setup_sectors: int = SETUP_SECTORS) -> bytes:
    """Give an image in which this is the packed kernel: `payload_offset` and `payload_length` of the boot protocol."""
    image = bytearray(made_up_kernels.image_of("6.1.0-9-amd64")).ljust(32 * 512)
    image[0x1F1] = setup_sectors
    code = b"what unpacks it at boot"
    struct.pack_into("<II", image, 0x248, len(code), len(packed))
    return bytes(image[: (1 + (setup_sectors or 4)) * 512]) + code + packed + b"what follows"


def with_size(pack: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: pack(data) + len(data).to_bytes(4, "little")


@pytest.mark.parametrize("pack", [with_size(lzma.compress), gzip.compress], ids=["xz", "gzip"])
@pytest.mark.parametrize("setup_sectors", [0, 3, 27])
def test_a_packed_kernel_comes_unpacked(pack: Callable[[bytes], bytes], setup_sectors: int) -> None:
    assert initramfs.bootable(bz_image(pack(KERNEL), setup_sectors)) == KERNEL


def test_zstd_gets_what_it_can_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would refuse the size that follows; where it is not installed, the kernel unpacks itself."""
    monkeypatch.setenv("PATH", str(tmp_path))
    image = bz_image(with_size(lambda data: initramfs.ZSTD + data)(KERNEL))
    assert initramfs.bootable(image) == image
    program = tmp_path / "zstd"
    program.write_text(f"#!/bin/sh\n[ $1 = -dc ] && {shutil.which('tail', path=os.defpath)} -c +5\n")
    program.chmod(0o755)
    assert initramfs.bootable(image) == KERNEL
    program.write_text("#!/bin/sh\nexit 1\n")
    assert initramfs.bootable(image) == image


OTHERS = {
    "empty": b"",
    "short": made_up_kernels.image_of("6.1.0-9-amd64"),
    "without a kernel": bz_image(b""),
    "packed as nobody knows": bz_image(b"packed"),
    "cut off": bz_image(lzma.compress(KERNEL)[:-40]),
    "damaged": bz_image(lzma.compress(KERNEL)[:40] + os.urandom(400)),
    "damaged, gzip": bz_image(gzip.compress(KERNEL)[:12] + b"\xff" * 40),
    "without an entry": bz_image(lzma.compress(KERNEL.replace(NOTE, b""))),
    "a note of others": bz_image(lzma.compress(KERNEL.replace(b"Xen", b"GNU"))),
    "not packed": KERNEL,
}


@pytest.mark.parametrize("image", OTHERS.values(), ids=OTHERS.keys())
def test_other_images_are_left_as_they_are(image: bytes) -> None:
    assert initramfs.bootable(image) == image


def test_the_distribution_s_kernel_is_unpacked(cache: Path) -> None:
    image = kernels.find_kernel(guests.booted(cache)).image.read_bytes()
    kernel = initramfs.bootable(image)
    assert kernel.startswith(b"\x7fELF") and len(kernel) > 2 * len(image)
