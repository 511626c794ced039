"""Cures of a line: their commands, what they need, and the scenarios that they make."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from unbloat.line import computer as module
from unbloat.line.applications import APPS
from unbloat.line.computer import NEEDS, Computer, this_computer
from unbloat.line.cures import Cure, cures
from unbloat.line.home import LOADS, draw, home_of
from unbloat.line.trials import placed_keys
from unbloat.scenarios.source import source_of

ALL = dict.fromkeys(NEEDS, True)
COMPUTER = Computer("eth0", "cubic", ("cubic", "reno", "bbr", "nv"), ALL)
LINE = {
    "rate": "5mbit",
    "delay": "20ms",
    "queue": {"limit": "256kb"},
    "reverse": {"rate": "20mbit", "queue": {"limit": "512kb"}},
}


def by_name(computer: Computer = COMPUTER, cgroup: str | None = None) -> dict[str, Cure]:
    return {cure.name: cure for cure in cures(computer, 5e6, 20e6, cgroup)}


def test_commands_load_and_undo() -> None:
    found = by_name(replace(COMPUTER, discipline="fq_codel", notsent_lowat=16384))
    names = ("bbr", "clpc", "vegas", "rtac_auto", "sorpc", "cake", "tcp_notsent_lowat")
    assert [(found[name].command, found[name].undo) for name in names] == snapshot(
        [
            (
                "sudo sysctl -w net.ipv4.tcp_congestion_control=bbr",
                "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic",
            ),
            ("sudo unbloat load clpc --default", "sudo unbloat unload clpc"),
            ("sudo unbloat load vegas --default", "sudo unbloat unload ub_vegas"),
            ("sudo unbloat load rtac_auto --dev eth0", "sudo unbloat unload rtac_auto --dev eth0"),
            ("sudo unbloat load sorpc --dev eth0 --rate 4750kbit", "sudo unbloat unload sorpc --dev eth0"),
            (
                "sudo tc qdisc replace dev eth0 root cake bandwidth 4750kbit",
                "sudo tc qdisc replace dev eth0 root fq_codel",
            ),
            (
                "sudo sysctl -w net.ipv4.tcp_notsent_lowat=131072",
                "sudo sysctl -w net.ipv4.tcp_notsent_lowat=16384",
            ),
        ]
    )


def test_a_program_gets_its_own_congestion_control() -> None:
    found = by_name(cgroup="system.slice/backup.service")
    assert [(found[name].command, found[name].undo) for name in ("bbr", "vegas")] == snapshot(
        [
            (
                "sudo unbloat attach bbr system.slice/backup.service",
                "sudo unbloat detach system.slice/backup.service",
            ),
            (
                "sudo unbloat load vegas && sudo unbloat attach ub_vegas system.slice/backup.service",
                "sudo unbloat unload ub_vegas",
            ),
        ]
    )


def test_root_needs_no_sudo_and_no_placeholder_stays() -> None:
    for cure in cures(replace(COMPUTER, is_root=True), 5e6, 20e6):
        assert "sudo" not in cure.command + cure.undo
        assert "{" not in cure.command + cure.undo + cure.openwrt + repr(cure.keys).replace("{'", "")


def test_the_router_has_commands_for_tc_and_openwrt() -> None:
    cake = by_name()["cake on the router"]
    assert cake.can_load and cake.command.startswith("tc qdisc replace dev $WAN root cake bandwidth 4750kbit && ")
    assert "cake bandwidth 18000kbit ingress" in cake.command
    assert "uci set sqm.wan.download=18000 && uci set sqm.wan.upload=4750" in cake.openwrt


def test_what_is_missing_has_words() -> None:
    has = {**ALL, "sch_cake": False, "load --dev": None, "loading": False}
    found = by_name(replace(COMPUTER, has=has, lacks={"loading": "kernel types (BTF)"}))
    assert (found["cake"].can_load, found["cake"].missing) == (False, ("the kernel's queue discipline cake",))
    assert (found["clpc"].can_load, found["clpc"].missing) == (False, ("kernel types (BTF)",))
    found = by_name(replace(COMPUTER, has={**ALL, "load --dev": None}))
    assert (found["sorpc"].can_load, found["sorpc"].unknown) == (None, ("what `unbloat load --dev` needs",))
    assert found["tcp_notsent_lowat"].can_load
    with_htb = by_name(replace(COMPUTER, discipline="htb"))
    for name in ("cake", "fq_codel", "sorpc"):
        assert with_htb[name].missing == ("a queue discipline at the device that can be restored",)
    without_device = by_name(replace(COMPUTER, device=None))
    assert without_device["rtac_auto"].missing == ("the device that leads to the far end",)


def test_what_the_simulator_lacks_is_not_simulated() -> None:
    assert by_name()["nv"].keys is None
    varying = {cure.name: cure for cure in cures(COMPUTER, "it varies", 20e6)}
    for name in ("cake", "sorpc", "cake on the router"):
        assert (varying[name].keys, varying[name].why_not) == (None, "it varies")
    assert varying["clpc"].keys == {"uploads.cc": "clpc"}
    assert varying["cake for downloads"].keys


def test_every_cure_makes_scenarios() -> None:
    home = home_of({"link": {"line": LINE}}, (), "cubic")
    simulated = [cure for cure in by_name().values() if cure.keys is not None]
    assert len(simulated) > 15
    for cure in (*simulated, by_name()["cake for downloads"].beside(by_name()["sorpc"])):
        for load in LOADS:
            scenario = home.scenario(load, list(APPS.values()), draw(home, {}, 0))
            (point,) = source_of(scenario, placed_keys(cure.keys or {}, scenario["flows"])).points()
            point.check("simulator")


def test_two_cures_are_undone_in_the_reverse_order() -> None:
    found = by_name()
    both = found["rtac_auto"].beside(found["sorpc"])
    assert (both.name, both.reaches) == ("rtac_auto + sorpc", "everybody")
    assert both.command == f"{found['rtac_auto'].command} && {found['sorpc'].command}"
    assert both.undo == f"{found['sorpc'].undo}; {found['rtac_auto'].undo}"


def test_this_computer_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "tcp_congestion_control": "bbr\n",
        "tcp_available_congestion_control": "reno cubic bbr clpc ub_vegas ub.0123456789ab\n",
        "tcp_notsent_lowat": "4294967295\n",
    }.items():
        (tmp_path / name).write_text(text)
    release = tmp_path / "modules" / "6.12.0"
    release.mkdir(parents=True)
    (release / "modules.dep").write_text(
        "kernel/net/sched/sch_cake.ko.xz:\nkernel/net/ipv4/tcp_westwood.ko.xz:\nkernel/net/ipv4/tcp_diag.ko.xz: inet_diag.ko\n"
    )
    monkeypatch.setattr(module, "SYSCTL", tmp_path)
    monkeypatch.setattr(module, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(module, "LOADED", tmp_path)
    monkeypatch.setattr(module, "PROC_CONFIG", tmp_path / "config.gz")
    monkeypatch.setattr(module.platform, "release", lambda: "6.12.0")
    computer = this_computer(None)
    assert (computer.cc, computer.available) == ("bbr", ("reno", "cubic", "bbr", "westwood"))
    assert computer.has["sch_cake"] is True and computer.has["sch_htb"] is False
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_NET_SCH_HTB=y\n# CONFIG_IFB is not set\n"))
    assert this_computer(None).has["sch_htb"] is True and this_computer(None).has["ifb"] is False


def test_a_kernel_that_tells_nothing_leaves_it_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SYSCTL", "MODULES", "LOADED", "PROC_CONFIG"):
        monkeypatch.setattr(module, name, tmp_path / "nothing")
    computer = this_computer(None)
    assert (computer.cc, computer.available, computer.has["sch_cake"]) == ("", (), None)
