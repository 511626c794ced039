"""The place where packets wait, and the advice for it."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot
from unbloat.line.answer import Answer
from unbloat.line.fitted import Fit, Where
from unbloat.line.measurement import About, measurement_of
from unbloat.line.model import Line
from unbloat.line.places import advice, is_tunnel, is_wireless
from unbloat.line.summary import Summary


def test_a_radio_is_known_by_its_folder(tmp_path: Path) -> None:
    for folder in ("wlan0/phy80211", "wlan1/wireless", "eth0/queues"):
        (tmp_path / folder).mkdir(parents=True)
    devices = ("wlan0", "wlan1", "eth0", "gone", "")
    assert [is_wireless(device, tmp_path) for device in devices] == [True, True, False, False, False]


def test_a_tunnel_is_known_by_its_type(tmp_path: Path) -> None:
    for device, kind in (("tun0", 65534), ("eth0", 1), ("ppp0", 512)):
        (tmp_path / device).mkdir()
        (tmp_path / device / "type").write_text(f"{kind}\n")
    assert [is_tunnel(device, tmp_path) for device in ("tun0", "eth0", "ppp0", "gone", "")] == [True, *[False] * 4]


@pytest.mark.parametrize("where", ["host", "beyond"])
def test_no_advice_behind_the_first_hop(where: Where) -> None:
    assert not advice(where, "wlan0", is_radio=True)


@pytest.mark.parametrize(
    "about, text",
    [
        (
            About("far", device="wlan0", is_wireless=True),
            snapshot("""\
Packets wait on the way to the first router. Up: one queue for all; down: one queue for all.
* wlan0 is Wi-Fi: the wait is in its radio, or in that of the access point.
* Come nearer, use 5 GHz instead of 2.4 GHz, or use a cable.
* An access point with fq_codel and airtime fairness in its driver, such as OpenWrt's, keeps the queue short.
* A cure of this computer helps partly: a shaper must stay below the radio's rate, which varies.\
"""),
        ),
        (
            About("far", device="eth0"),
            snapshot("""\
Packets wait on the way to the first router. Up: one queue for all; down: one queue for all.
* eth0 is not Wi-Fi: the wait is in a slower link before the first router, such as powerline or a repeater.\
"""),
        ),
        (
            About("far"),
            snapshot("Packets wait on the way to the first router. Up: one queue for all; down: one queue for all."),
        ),
    ],
)
def test_the_answer_says_what_helps_at_the_first_hop(about: About, text: str) -> None:
    fit = Fit(Line.__new__(Line), {}, {"up": "fifo", "down": "fifo"}, "first_hop", 1.0, True)
    answer = Answer(measurement_of(about, {}), Summary(None, None, {}), fit)
    assert answer.judged_text() == text
