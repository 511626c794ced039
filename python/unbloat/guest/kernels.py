"""The kernel that a guest runs: found here, or taken from the distribution's package without installing it."""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from unbloat._core import LINUX, InputError, RunError
from unbloat.system.paths import cache_folder
from unbloat.system.scratch import remove_from

log = logging.getLogger(__name__)

BOOT = Path("/boot")
OLDEST = (6, 1)
NEEDED = re.compile(
    r"(?!.*/\.\.?/)(\./)?(usr/)?(boot/vmlinuz-[^/]+|lib/modules/[^/]+/kernel/"
    r"(net|lib|crypto|drivers/net|drivers/virtio|fs/(9p|netfs|fscache|overlayfs))/.+)"
)
"""Parts of a package to unpack: the image, and the folders with the guest's modules and those that they need."""
META_PACKAGES = ("linux-image-amd64", "linux-image-generic", "linux-image-virtual")
"""The package that depends on the distribution's current kernel: Debian's, Ubuntu's."""
PACKAGE = re.compile(r"linux-image-(\d+\.\d+\.\d+\S*-(?:amd64|generic|virtual))")
"""The whole name of a kernel's package, with its release.

Packages that only accompany it have other names: Debian's `-unsigned` and `-dbg`, Ubuntu's `linux-image-unsigned-`.
"""


@dataclass(frozen=True)
class Kernel:
    """A kernel with its modules."""

    image: Path
    modules: Path
    """The folder of its modules, `/lib/modules/RELEASE`. It may be absent if everything is built in."""
    release: str


def find_kernel(wanted: str | None) -> Kernel:
    """Find the kernel that `wanted` names: an image's path, a release or how it begins (`6.1`); None takes the default.

    Looks in /boot, among the packages that were unpacked before, and in those that the distribution offers, the newest
    first. Raises `InputError` if none fits, `RunError` if apt cannot fetch the package.
    """
    if wanted and ("/" in wanted or wanted in (".", "..") or Path(wanted).is_file()):
        named = kernel_of(Path(wanted))
        if numbers(named.release)[:2] < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise InputError(f"kernel {named.image}: is Linux {named.release}; guests need {oldest} or newer")
        return named
    found = choose(wanted)
    return found if isinstance(found, Kernel) else unpack(found, unpacked())


def choose(wanted: str | None) -> Kernel | str:
    """Choose a kernel that is here, or else one of the distribution's: then return the release to fetch.

    By default it is the version that the simulator models, also where /boot has another; a distribution without that
    version gives its own.
    """
    there = kernels_here()
    if wanted is None and (modelled := newest(there, LINUX) or newest_offered(LINUX)):
        return modelled
    return newest(there, wanted) or package_for(wanted, [kernel.release for kernel in there])


def unpacked() -> Path:
    """Return the folder for unpacked packages."""
    return cache_folder("kernels")


def kernels_here() -> list[Kernel]:
    """List the kernels that need not be fetched: installed ones that this user may read, and unpacked ones."""
    images = [*seen(BOOT, "vmlinuz-*"), *seen(unpacked(), "*/boot/vmlinuz-*")]
    return [kernel for image in images if (kernel := usable(image))]


def seen(folder: Path, pattern: str) -> list[Path]:
    """List what this user may see there."""
    return list(folder.glob(pattern)) if os.access(folder, os.R_OK | os.X_OK) else []


def newest(kernels: Iterable[Kernel], wanted: str | None) -> Kernel | None:
    """Return the newest kernel that fits `wanted` and is recent enough, or None."""
    fits = [kernel for kernel in kernels if begins(kernel.release, wanted) and numbers(kernel.release)[:2] >= OLDEST]
    return max(fits, key=lambda kernel: numbers(kernel.release), default=None)


def kernel_of(image: Path) -> Kernel:
    """Describe an image; its modules are beside it, as in an unpacked package, or those of this machine."""
    release = release_of(image)
    root = image.resolve().parent.parent
    places = [root / "lib/modules", root / "usr/lib/modules", Path("/lib/modules")]
    modules = next((place / release for place in places if (place / release).is_dir()), places[-1] / release)
    return Kernel(image, modules, release)


def release_of(image: Path) -> str:
    """Read the release out of a bzImage: the kernel's `Documentation/arch/x86/boot.rst`, field `kernel_version`."""
    try:
        with image.open("rb") as file:
            header = file.read(0x10000)
    except OSError as error:
        raise InputError(f"kernel {image}: {error.strerror}") from None
    if header[0x202:0x206] == b"HdrS":
        (offset,) = struct.unpack_from("<H", header, 0x20E)
        version = re.match(rb"[0-9]+\.[0-9]+[!-~]*", header[offset + 0x200 :])
        if version:
            return version[0].decode()
    raise InputError(f"kernel {image}: is not a kernel image for x86 (a bzImage, as /boot has them)")


def usable(image: Path) -> Kernel | None:
    """Describe an image, if it is one, this user may read it, and its modules are there.

    Some distributions keep their kernels to root.
    """
    try:
        kernel = kernel_of(image)
    except InputError:
        return None
    return kernel if kernel.modules.is_dir() else None


def begins(release: str, wanted: str | None) -> bool:
    """Return whether a release is what was asked for: 6.1 is 6.1.0-9, and not 6.12."""
    return wanted is None or re.match(re.escape(wanted) + r"(?![0-9])", release) is not None


def numbers(release: str) -> tuple[int, ...]:
    """Return the key by which kernel releases are sorted."""
    return tuple(map(int, re.findall(r"\d+", release)))


def package_for(wanted: str | None, there: Iterable[str]) -> str:
    """Find the package of the kernel that was asked for, or of the distribution's current one; return its release.

    Raises `InputError` if there is none, naming what there is; `there` are the kernels that need no package.
    """
    if not has_packages():
        found = f" (found: {', '.join(there)})" if there else ""
        raise InputError(f"no kernel {wanted or 'that can be read in /boot'}{found}: name the file of an image")
    current = current_package() if wanted is None else None
    if release := current or newest_offered(wanted):
        return release
    series = offered_series()
    if not series:
        raise RunError("the distribution's package lists name no kernel for a guest: run apt-get update")
    raise InputError(f"the distribution has no kernel {wanted}; it has {', '.join(series)}")


def current_package() -> str | None:
    """Return the release of the distribution's current kernel, once apt can fetch that."""
    there = packages()
    named = releases_among(apt_cache("depends", *META_PACKAGES).split())
    return latest(release for release in named if release in there)


def has_packages() -> bool:
    """Return whether this is Debian or one of its kind."""
    return all(map(shutil.which, ("apt-cache", "apt-get", "dpkg-deb")))


def newest_offered(wanted: str | None) -> str | None:
    """Return the newest release that fits `wanted` among the distribution's packages."""
    return latest(release for release in packages() if begins(release, wanted))


def latest(releases: Iterable[str]) -> str | None:
    """Return the highest of some releases."""
    return max(releases, key=numbers, default=None)


def packages() -> list[str]:
    """List the releases of the kernel packages that apt can fetch, without those that suit no guest.

    `search` leaves out the names that have no candidate. `pkgnames` has them too, as soon as another package depends on
    them: Debian publishes an unsigned image some days before the signed one.
    """
    found = apt_cache("search", "--names-only", "^linux-image-[0-9]").splitlines() if has_packages() else []
    return [release for release in releases_among(line.partition(" ")[0] for line in found) if is_plain(release)]


def releases_among(names: Iterable[str]) -> list[str]:
    """Return the releases of the kernel packages among these names."""
    return [match[1] for name in names if (match := PACKAGE.fullmatch(name))]


def offered_series() -> list[str]:
    """List what the distribution's kernels begin with, such as 6.1, the oldest first."""
    return sorted({".".join(release.split(".")[:2]) for release in packages()}, key=numbers)


def modelled_series() -> str:
    """Return the version of Linux that the simulator models, or the distribution's oldest if it does not have that."""
    series = offered_series()
    return LINUX if LINUX in series else series[0]


def is_plain(release: str) -> bool:
    """Leave out the kernels for clouds and real time, and those that are too old."""
    return not re.search(r"-(cloud|rt)-", release) and numbers(release)[:2] >= OLDEST


def apt_cache(*words: str) -> str:
    """Ask the package lists."""
    return subprocess.run(["apt-cache", *words], capture_output=True, text=True, check=False).stdout


def unpack(release: str, folder: Path) -> Kernel:
    """Fetch a kernel's packages and unpack what a guest needs of them into `folder`; nothing is installed."""
    log.info("fetches the distribution's package linux-image-%s, once", release)
    place = folder / release
    with made(place) as root:
        packages = root.parent
        fetch(f"linux-image-{release}", packages)
        for modules in (f"linux-modules-{release}", f"linux-modules-extra-{release}"):
            if apt_cache("show", modules):
                fetch(modules, packages)
        for package in packages.glob("*.deb"):
            unpack_package(package, root)
        image_in(root, release)
    return kernel_of(image_in(place, release))


def image_in(root: Path, release: str) -> Path:
    """Find the image among what was unpacked."""
    for image in root.glob("boot/vmlinuz-*"):
        return image
    raise RunError(f"the distribution's package linux-image-{release} has no kernel in /boot")


def fetch(package: str, folder: Path) -> None:
    """Download a package, as any user may."""
    done = subprocess.run(
        ["apt-get", "download", "-q", package], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise RunError(
            f"the kernel's package {package} cannot be fetched: {said[-1]} (try apt-get update, or another --kernel)"
        )


def unpack_package(package: Path, root: Path) -> None:
    """Take the needed files out of a package."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as files:
                for member in files:
                    if member.isfile() and NEEDED.fullmatch(member.name):
                        keep(files.extractfile(member), root / member.name.removeprefix("./"))
        except tarfile.TarError:
            raise RunError(f"the kernel's package {package.name} cannot be unpacked: it is not whole") from None


def keep(data: IO[bytes] | None, path: Path) -> None:
    """Write a file of a package."""
    assert data is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(data, file)


def require_this_machine() -> None:
    """Refuse machines that the guests do not run on."""
    if platform.machine() != "x86_64":
        raise RunError(f"guests (on = vm) have x86-64 kernels and need such a machine; this is {platform.machine()}")


ASIDE = ".new-"
ABANDONED_S = 3600
"""A folder in the making that is older than this belongs to a killed process."""


@contextmanager
def made(place: Path) -> Iterator[Path]:
    """Yield a folder to fill, which then becomes `place`; temporary files have room beside it.

    Raises `RunError` if there is no room on the disk, or no right to write there.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        forget_abandoned(place.parent)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=ASIDE) as aside:
            folder = Path(aside) / "made"
            folder.mkdir()
            yield folder
            publish(folder, place)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        raise RunError(f"{place.parent}: files for guests cannot be written there: {what}") from None


def publish(folder: Path, place: Path) -> None:
    """Put a finished folder in its place, unless another process has been quicker."""
    try:
        folder.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def forget_abandoned(parent: Path) -> None:
    """Remove what processes have left that were killed at work."""
    for folder in parent.glob(f"{ASIDE}*"):
        if time.time() - last_use(folder) > ABANDONED_S:
            remove_from(parent, folder.name)


def last_use(folder: Path) -> float:
    """Return when a folder was touched last; long ago if another process has just removed it."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0
