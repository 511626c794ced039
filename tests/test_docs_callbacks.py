"""The reference of callbacks, helpers and members names all that the headers have, and what may be written."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
INCLUDE = ROOT / "algorithms/include"
PAGE = (ROOT / "docs/reference/callbacks.md").read_text()
TYPES = "".join((INCLUDE / name).read_text() for name in ("vmlinux.h", "unbloat/congestion_ops.h"))

MEMBER = re.compile(
    r"""
    (?P<bits>UNBLOAT_BITS\()?
    (?P<const>const\s)? (?:volatile\s)? (?:unsigned\s|struct\s)? \w+ ,?\s*
    (?P<name>\w+) (?:\[\d+\])?
    (?(bits), \s* \d+ \s* \)) ;
    """,
    re.VERBOSE,
)
PARTS = {"rack": "tcp_rack", "rx_opt": "tcp_options_received"}
INNER = re.compile(r"struct \{(?P<body>[^{}]*)\} (?P<name>\w+);")
NOT_THE_KERNELS = {"unbloat_guard"}


def body_of(structure: str) -> str:
    """Give what stands between the braces of a structure, without comments."""
    text = re.sub(r"/\*.*?\*/", "", TYPES, flags=re.DOTALL)
    text = re.sub(r"#ifndef __bpf__.*?#endif", "", text, flags=re.DOTALL)
    found = re.search(rf"^struct {structure} \{{\n(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
    assert found, structure
    return found[1]


def members(body: str, prefix: str = "", *, constant: bool = False) -> dict[str, tuple[bool, bool]]:
    """Give each member with whether it may be written, and whether it is a bit-field."""
    found = {}
    for inner in INNER.finditer(body):
        found |= members(inner["body"], f"{prefix}{inner['name']}.")
    for member in MEMBER.finditer(INNER.sub("", body)):
        name = member["name"]
        if name in PARTS:
            found |= members(body_of(PARTS[name]), f"{name}.", constant=True)
        elif name not in {"inet_conn", "icsk_inet", "__sk_common", *NOT_THE_KERNELS}:
            found[prefix + name] = (not member["const"] and not constant, bool(member["bits"]))
    return found


def test_every_member_that_a_control_may_read_is_named_and_those_that_it_may_write() -> None:
    structures = ("sock", "inet_connection_sock", "tcp_sock")
    wanted = {name: kind for structure in structures for name, kind in members(body_of(structure)).items()}
    common = members(body_of("sock_common"))
    wanted |= {name.replace("skc_", "sk_"): kind for name, kind in common.items()}
    rows = re.findall(r"^\| `([\w.]+)` \| (w?) ?\| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == len({name for name, _, _ in rows}) > 100
    assert {name: (may == "w", meaning.startswith("bit-field")) for name, may, meaning in rows} == wanted


def test_every_callback_is_named() -> None:
    callbacks = re.findall(r"\(\*(\w+)\)\(struct sock", body_of("tcp_congestion_ops"))
    rows = re.findall(r"^\| `(\w+)` \|", section("Callbacks"), re.MULTILINE)
    assert sorted([*rows, "get_info"]) == sorted(callbacks)
    assert "`get_info`" in section("Callbacks")


def test_every_member_of_the_samples_is_named() -> None:
    named = re.findall(r"`(\w+)`", section("Samples"))
    for structure in ("ack_sample", "rate_sample"):
        assert set(members(body_of(structure))) <= set(named)


def test_every_helper_and_function_is_named() -> None:
    native = (INCLUDE / "unbloat/helpers_native.h").read_text()
    helpers = set(re.findall(r"\b(bpf_\w+)\(", native)) - {"bpf_ksym_exists"}
    functions = {
        name
        for file in (INCLUDE / "unbloat").glob("kernel_*.c")
        for name in re.findall(r"^KERNEL_FUNCTION \w+ (\w+)\(", file.read_text(), re.MULTILINE)
    }
    assert len(helpers) > 20 and len(functions) > 20
    assert helpers | functions <= set(re.findall(r"`(\w+)[`(]", section("Helper functions")))


def section(heading: str) -> str:
    """Give the part of the page under a heading."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
