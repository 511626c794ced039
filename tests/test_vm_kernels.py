"""Which kernel a guest gets: found here, named, or fetched from a distribution that is made up."""

import subprocess
import tarfile
from collections.abc import Callable
from getpass import getuser
from io import BytesIO
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from made_up_kernels import image_of, kernel, module_that_needs, write
from sentences import plain, refused
from unbloat import InputError, RunError
from unbloat._core import LINUX
from unbloat.guest import kernels
from unbloat.guest.kernels import begins, find_kernel

DEBIAN, OLDER, NEWER = "6.1.0-9-amd64", "5.10.0-30-amd64", "6.12.1-1-amd64"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without kernels, and without a package manager."""
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.setattr(kernels, "BOOT", root / "boot")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    return root


# ---------------------------------------------------------------- Found here


def test_by_default_it_is_the_newest_of_the_modelled_version(root: Path) -> None:
    for release in (DEBIAN, "6.12.0-1-amd64", "6.13.2-1-amd64", NEWER, OLDER):
        kernel(root, release, "veth.ko")
    found = find_kernel(None)
    assert begins(NEWER, LINUX)
    assert (found.release, found.image) == (NEWER, root / "boot" / f"vmlinuz-{NEWER}")
    assert found.modules == root / "lib/modules" / NEWER


def test_where_the_modelled_version_is_not_the_newest_is_taken(root: Path) -> None:
    for release in (DEBIAN, "6.9.7-1-amd64", OLDER):
        kernel(root, release, "veth.ko")
    assert find_kernel(None).release == "6.9.7-1-amd64"


@pytest.mark.parametrize(
    ("wanted", "release"),
    [("6.1", "6.1.0-10-amd64"), ("6.1.0-9", "6.1.0-9-amd64"), ("6.12", NEWER), ("6", NEWER), (NEWER, NEWER)],
)
def test_a_release_may_be_named_by_how_it_begins(root: Path, wanted: str, release: str) -> None:
    for each in ("6.1.0-10-amd64", "6.1.0-9-amd64", NEWER):
        kernel(root, each, "veth.ko")
    assert find_kernel(wanted).release == release


def test_what_cannot_be_a_guest_s_is_passed_over(root: Path) -> None:
    """A cut image, an image whose modules are gone, one that is too old: none is in another's way."""
    kernel(root, DEBIAN, "veth.ko")
    write(root / f"boot/vmlinuz-{NEWER}", image_of(NEWER)[:0x200])
    kernel(root, "6.13.2-1-amd64")
    assert find_kernel(None).release == DEBIAN


def test_unpacked_packages_count_as_installed_ones_do(root: Path, cache: Path) -> None:
    kernel(root, DEBIAN, "veth.ko")
    kernel(cache / "kernels" / NEWER, NEWER, "veth.ko", lib="usr/lib")
    found = find_kernel(None)
    assert found.release == NEWER
    assert found.modules == cache / "kernels" / NEWER / "usr/lib/modules" / NEWER


# ---------------------------------------------------------------- An image is named


@pytest.mark.parametrize("name", ["./boot/vmlinuz", "image", "boot/vmlinuz"])
def test_an_image_is_known_by_what_it_says(tmp_path: Path, name: str) -> None:
    """Not by its name; its modules are looked for beside its folder, and then in this machine's own."""
    write(tmp_path / name, image_of(DEBIAN))
    found = find_kernel(name)
    assert (found.image, found.release) == (Path(name), DEBIAN)
    assert found.modules == Path("/lib/modules") / DEBIAN
    beside = (tmp_path / name).parent.parent / "lib/modules" / DEBIAN
    write(beside / "kernel/veth.ko", b"")
    assert find_kernel(name).modules == beside


def test_a_folder_that_is_called_like_a_release_is_none(root: Path, tmp_path: Path) -> None:
    kernel(root, DEBIAN, "veth.ko")
    (tmp_path / "6.1").mkdir()
    assert find_kernel("6.1").release == DEBIAN


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", snapshot("kernel image: is not a kernel image for x86 (a bzImage, as /boot has them)")),
        (
            b"\x7fELF" + bytes(0x1000),
            snapshot("kernel image: is not a kernel image for x86 (a bzImage, as /boot has them)"),
        ),
        (image_of("nonsense"), snapshot("kernel image: is not a kernel image for x86 (a bzImage, as /boot has them)")),
        (image_of(OLDER), snapshot("kernel image: is Linux 5.10.0-30-amd64; guests need 6.1 or newer")),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "image").write_bytes(data)
    with refused(InputError, told):
        find_kernel("./image")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("./nothing", snapshot("kernel nothing: No such file or directory")),
        (".", snapshot("kernel .: Is a directory")),
        ("..", snapshot("kernel ..: Is a directory")),
    ],
)
def test_what_cannot_be_read_says_so(name: str, told: str) -> None:
    with refused(InputError, told):
        find_kernel(name)


# ---------------------------------------------------------------- Fetched from the distribution

UNSIGNED = "6.1.0-57-amd64"
"""A kernel of which the distribution has published the unsigned image only."""
NAMES = f"""
linux-image-{OLDER} - Linux 5.10 for 64-bit PCs (signed)
linux-image-{DEBIAN} - Linux 6.1 for 64-bit PCs (signed)
linux-image-{DEBIAN}-dbg - Debug symbols for linux-image-{DEBIAN}
linux-image-6.1.0-9-cloud-amd64 - Linux 6.1 for x86-64 cloud (signed)
linux-image-6.1.0-11-rt-amd64 - Linux 6.1 for 64-bit PCs, PREEMPT_RT (signed)
linux-image-{UNSIGNED}-dbg - Debug symbols for linux-image-{UNSIGNED}
linux-image-{UNSIGNED}-unsigned - Linux 6.1 for 64-bit PCs
linux-image-{NEWER} - Linux 6.12 for 64-bit PCs (signed)
linux-image-unsigned-6.13.0-1-generic - Linux kernel image for version 6.13.0 on 64 bit x86 SMP
"""

Distribution = Callable[..., Path]


@pytest.fixture
def distribution(tmp_path: Path) -> Distribution:
    """Make the programs of a package manager, which write down how they are called."""

    def make(packages: dict[str, bytes], *, names: str = NAMES, current: str = DEBIAN, says: str = "E: gone") -> Path:
        pool, calls = tmp_path / "pool", tmp_path / "calls"
        for name, data in packages.items():
            write(pool / f"{name}.deb", data)
        (tmp_path / "names").write_text(names)
        program(
            tmp_path / "bin/apt-cache",
            f"""case $1 in
            search) /bin/cat {tmp_path}/names ;;
            depends) [ $2 != linux-image-amd64 ] || echo "  Depends: linux-image-{current}" ;;
            show) [ ! -e {pool}/$2.deb ] || echo "Package: $2" ;;
            esac""",
        )
        program(
            tmp_path / "bin/apt-get",
            f"""echo $3 >>{calls}
            [ -e {pool}/$3.deb ] || {{ echo "W: first" >&2; echo "{says}" >&2; exit 100; }}
            /bin/cp {pool}/$3.deb .""",
        )
        program(tmp_path / "bin/dpkg-deb", '/bin/cat "$2"')
        return calls

    return make


def program(path: Path, script: str) -> None:
    write(path, f"#!/bin/sh\n{script}\n".encode())
    path.chmod(0o755)


def package(*files: str, release: str = DEBIAN) -> bytes:
    """Give a package's files as `dpkg-deb --fsys-tarfile` does."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in files:
            data = image_of(release) if "vmlinuz" in name else module_that_needs()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, BytesIO(data))
    return packed.getvalue()


IMAGE, VETH = f"./boot/vmlinuz-{DEBIAN}", f"./lib/modules/{DEBIAN}/kernel/drivers/net/veth.ko"
SOUND = f"./lib/modules/{DEBIAN}/kernel/sound/soundcore.ko"


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "kernels").iterdir())


def test_a_package_is_fetched_once_and_unpacked_as_far_as_needed(
    distribution: Distribution, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "unbloat")
    calls = distribution({f"linux-image-{DEBIAN}": package(IMAGE, VETH, SOUND, "./usr/share/doc/copyright")})
    first = find_kernel("6.1")
    assert caplog.messages == snapshot(["fetches the distribution's package linux-image-6.1.0-9-amd64, once"])
    caplog.clear()
    assert first.release == DEBIAN and first.modules.is_dir()
    unpacked = cache / "kernels" / DEBIAN
    assert sorted(path.name for path in unpacked.rglob("*") if path.is_file()) == ["veth.ko", f"vmlinuz-{DEBIAN}"]
    assert find_kernel("6.1") == find_kernel(DEBIAN) == first
    assert calls.read_text().splitlines() == [f"linux-image-{DEBIAN}"]
    assert left_in(cache) == [DEBIAN] and not caplog.text


def test_modules_in_packages_of_their_own_come_along(distribution: Distribution) -> None:
    """As Ubuntu has them; the image's package is then without."""
    calls = distribution({f"linux-image-{DEBIAN}": package(IMAGE), f"linux-modules-{DEBIAN}": package(VETH)})
    assert [file.name for file in find_kernel(DEBIAN).modules.rglob("*.ko")] == ["veth.ko"]
    assert calls.read_text().splitlines() == [f"linux-image-{DEBIAN}", f"linux-modules-{DEBIAN}"]


def test_by_default_the_modelled_version_is_fetched_though_another_is_here(
    distribution: Distribution, root: Path, cache: Path
) -> None:
    kernel(root, DEBIAN, "veth.ko")
    kernel(cache / "kernels" / "6.1.0-10-amd64", "6.1.0-10-amd64", "veth.ko")
    image = package(f"./boot/vmlinuz-{NEWER}", f"./lib/modules/{NEWER}/kernel/net/veth.ko", release=NEWER)
    calls = distribution({f"linux-image-{NEWER}": image})
    assert kernels.choose(None) == NEWER
    assert find_kernel(None).release == find_kernel(None).release == NEWER
    assert calls.read_text().splitlines() == [f"linux-image-{NEWER}"]


@pytest.mark.parametrize(
    ("current", "release"),
    [
        ("6.8.0-1-generic", "6.8.0-1-generic"),
        (UNSIGNED, "6.9.0-1-generic"),
        (f"{UNSIGNED}-unsigned", "6.9.0-1-generic"),
    ],
)
def test_a_distribution_without_the_modelled_version(
    distribution: Distribution, root: Path, current: str, release: str
) -> None:
    """It gives its current kernel, and its newest as long as the current one is not published."""
    distribution({}, names="linux-image-6.8.0-1-generic - 6.8\nlinux-image-6.9.0-1-generic - 6.9", current=current)
    assert kernels.choose(None) == release
    kernel(root, DEBIAN, "veth.ko")
    assert find_kernel(None).release == DEBIAN


def test_the_newest_of_a_series_is_fetched(distribution: Distribution) -> None:
    newest = "6.1.0-10-amd64"
    names = f"linux-image-{newest} - Linux 6.1\n{NAMES}"
    image = package(f"./boot/vmlinuz-{newest}", f"./lib/modules/{newest}/kernel/net/veth.ko", release=newest)
    calls = distribution({f"linux-image-{newest}": image}, names=names)
    assert find_kernel("6.1").release == newest
    assert calls.read_text().splitlines() == [f"linux-image-{newest}"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            None,
            snapshot(
                "the kernel's package linux-image-6.1.0-9-amd64 cannot be fetched: E: gone (try apt-get update, or another --kernel)"
            ),
        ),
        (
            package(IMAGE, VETH)[:700],
            snapshot("the kernel's package linux-image-6.1.0-9-amd64.deb cannot be unpacked: it is not whole"),
        ),
        (b"", snapshot("the kernel's package linux-image-6.1.0-9-amd64.deb cannot be unpacked: it is not whole")),
        (package(VETH), snapshot("the distribution's package linux-image-6.1.0-9-amd64 has no kernel in /boot")),
    ],
)
def test_what_cannot_be_had_is_a_sentence_and_leaves_nothing(
    distribution: Distribution, cache: Path, content: bytes | None, words: str
) -> None:
    distribution({} if content is None else {f"linux-image-{DEBIAN}": content})
    with refused(RunError, words) as refusal:
        find_kernel("6.1")
    assert "\n" not in str(refusal.value)
    assert left_in(cache) == []


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("6.5", snapshot("the distribution has no kernel 6.5; it has 6.1, 6.12")),
        ("5.10", snapshot("the distribution has no kernel 5.10; it has 6.1, 6.12")),
        ("6.1.0-11", snapshot("the distribution has no kernel 6.1.0-11; it has 6.1, 6.12")),
        ("six", snapshot("the distribution has no kernel six; it has 6.1, 6.12")),
    ],
)
def test_an_unknown_release_is_told_which_there_are(distribution: Distribution, wanted: str, told: str) -> None:
    """Kernels for clouds and real time are none of these, nor are those that are too old."""
    distribution({})
    with refused(InputError, told):
        find_kernel(wanted)


def test_apt_itself_offers_only_what_it_can_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signed image that others depend on is not published yet; another is pinned away."""
    apt = made_up_apt(
        tmp_path / "apt",
        "linux-image-6.1.0-56-amd64",
        "linux-image-6.1.0-57-amd64-unsigned",
        "linux-image-6.1.0-58-amd64",
        "linux-image-unsigned-6.8.0-60-generic",
        "linux-image-6.8.0-59-generic",
        depends="linux-image-6.1.0-57-amd64",
        pinned_away="linux-image-6.1.0-58-amd64",
    )
    monkeypatch.setenv("APT_CONFIG", str(apt))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    subprocess.run(["apt-get", "update"], capture_output=True, check=True)
    assert kernels.offered_series() == ["6.1", "6.8"]
    assert kernels.package_for("6.1", []) == "6.1.0-56-amd64"
    assert kernels.package_for("6.8", []) == "6.8.0-59-generic"


def made_up_apt(root: Path, *names: str, depends: str, pinned_away: str) -> Path:
    """Make the configuration of an apt that knows only these packages, one of which depends on another name."""
    for folder in ("repository", "lists/partial", "cache/archives/partial", "etc"):
        (root / folder).mkdir(parents=True)
    said = "Package: {}\nVersion: 1\nArchitecture: amd64\nFilename: a.deb\nSize: 1\nDescription: Linux\n"
    listed = [said.format(name) for name in names] + [f"{said.format('headers')}Depends: {depends}\n"]
    write(root / "repository/Packages", "\n".join(listed).encode())
    write(root / "etc/sources.list", f"deb [trusted=yes] file:{root}/repository ./\n".encode())
    write(root / "etc/preferences", f"Package: {pinned_away}\nPin: version *\nPin-Priority: -1\n".encode())
    write(root / "status", b"")
    configuration = f"""
        Dir::State "{root}"; Dir::State::status "{root}/status"; Dir::Cache "{root}/cache"; Dir::Etc "{root}/etc";
        APT::Architecture "amd64"; APT::Sandbox::User "{getuser()}"; APT::Update::Post-Invoke {{}};
        """
    write(root / "apt.conf", configuration.encode())
    return root / "apt.conf"


def test_package_lists_that_were_never_fetched(distribution: Distribution) -> None:
    distribution({}, names="", current="")
    with refused(
        RunError,
        snapshot("the distribution's package lists name no kernel for a guest: run apt-get update"),
    ):
        find_kernel(None)


def test_another_distribution(root: Path) -> None:
    """It has no apt-get: then what there is can be named."""
    with refused(InputError, snapshot("no kernel that can be read in /boot: name the file of an image")):
        find_kernel(None)
    kernel(root, DEBIAN, "veth.ko")
    with refused(InputError, snapshot("no kernel 6.12 (found: 6.1.0-9-amd64): name the file of an image")):
        find_kernel("6.12")


def test_a_cache_that_cannot_be_written_to(distribution: Distribution, cache: Path) -> None:
    distribution({f"linux-image-{DEBIAN}": package(IMAGE, VETH)})
    (cache / "kernels").write_text("no folder")
    with pytest.raises(RunError) as refusal:
        find_kernel("6.1")
    assert plain(refusal.value) == snapshot(
        "TMP/cache/kernels: files for guests cannot be written there: TMP/cache/kernels: File exists"
    )
