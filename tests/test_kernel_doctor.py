"""`unbloat doctor`: what this kernel and machine have, and what is missing; with root."""

import json

from inline_snapshot import snapshot
from kernel_sandbox import Sandbox, as_nobody

pytest_plugins = ["kernel_sandbox"]


def checks(unbloat: Sandbox, **environment: str) -> dict[str, dict[str, str | bool | None]]:
    done = unbloat("doctor", "--json", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, dict[str, str | bool | None]] = {
        check["what"]: check for check in json.loads(done.stdout)["checks"]
    }
    assert all((check["there"] is True) == (check["remedy"] is None) for check in found.values())
    return found


def test_the_doctor_on_this_machine(unbloat: Sandbox) -> None:
    found = checks(unbloat)
    needed = [
        "root's rights",
        "kernel types (BTF)",
        "BPF congestion controls",
        "clang",
        "network namespaces",
        "TUN devices",
    ]
    assert all(found[what]["there"] for what in needed)
    assert found["BPF file system"]["there"] is False
    assert found["BPF file system"]["remedy"] == snapshot("mount -t bpf bpf /sys/fs/bpf (unbloat load does it)")
    # Every kernel has these two disciplines.
    assert found["qdisc pfifo"]["there"] and found["qdisc bfifo"]["there"]
    assert {
        f"qdisc {kind}" for kind in ("htb", "tbf", "clsact", "netem", "fq", "fq_codel", "pie", "red", "prio")
    } <= found.keys()
    assert found["the kernel's reno"]["there"]
    table = unbloat("doctor").stdout
    assert "what to do" in table and "mount -t bpf bpf /sys/fs/bpf" in table


def test_the_doctor_where_things_are_missing(unbloat: Sandbox) -> None:
    found = checks(unbloat, UNBLOAT_BTF="/nonexistent")
    assert (found["kernel types (BTF)"]["there"], found["BPF congestion controls"]["there"]) == (False, None)
    assert found["kernel types (BTF)"]["found"] == snapshot("UNBLOAT_BTF names /nonexistent, which contains none")


def test_the_doctor_without_root_and_programs() -> None:
    report = {check["what"]: check for check in json.loads(as_nobody("doctor", "--json").stdout)["checks"]}
    assert (report["root's rights"]["there"], report["root's rights"]["remedy"]) == (False, "run it with sudo")
    assert (report["network namespaces"]["there"], report["qdisc netem"]["there"]) == (False, None)
    assert (report["clang"]["there"], report["clang"]["remedy"]) == (False, "apt-get install clang")
