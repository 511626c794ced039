"""What looks like kernels and their modules, for tests that start no guest."""

from pathlib import Path

HEADER = 0x200


def image_of(release: str) -> bytes:
    """Give a bzImage's first kilobytes, as far as the boot protocol says where its release stands."""
    header = bytearray(0x1000)
    header[0x202:0x206] = b"HdrS"
    header[0x20E:0x210] = HEADER.to_bytes(2, "little")
    said = f"{release} (builder@host) #1 SMP\0".encode()
    header[HEADER + 0x200 : HEADER + 0x200 + len(said)] = said
    return bytes(header)


def module_that_needs(*names: str) -> bytes:
    """Give a module of which only the part `.modinfo` is there."""
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(names).encode() + b"\0retpoline=Y\0"


def kernel(root: Path, release: str, *modules: str, lib: str = "lib") -> Path:
    """Put a kernel with empty modules under `root`, as a package would; give its image."""
    image = root / "boot" / f"vmlinuz-{release}"
    write(image, image_of(release))
    for name in modules:
        write(root / lib / "modules" / release / "kernel/net" / name, module_that_needs())
    return image


def write(file: Path, data: bytes) -> None:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
