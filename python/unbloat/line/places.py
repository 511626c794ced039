"""The place where packets wait, in words, and what helps at the first hop, which no cure of a line reaches."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat.line.fitted import Where

DEVICES = Path("/sys/class/net")
PLACES: dict[Where, str] = {
    "host": "in this computer",
    "first_hop": "on the way to the first router",
    "beyond": "behind the first router",
}
WIFI_ADVICE = (
    "{device} is Wi-Fi: the wait is in its radio, or in that of the access point",
    "Come nearer, use 5 GHz instead of 2.4 GHz, or use a cable",
    "An access point with fq_codel and airtime fairness in its driver, such as OpenWrt's, keeps the queue short",
    "A cure of this computer helps partly: a shaper must stay below the radio's rate, which varies",
)
CABLE_ADVICE = (
    "{device} is not Wi-Fi: the wait is in a slower link before the first router, such as powerline or a repeater",
)


def is_wireless(device: str, devices: Path = DEVICES) -> bool:
    """Return whether a network device is a radio (cfg80211, or wireless extensions)."""
    return bool(device) and any((devices / device / name).exists() for name in ("phy80211", "wireless"))


NO_LINK_LAYER = "65534"
"""ARPHRD_NONE (linux/if_arp.h): a device whose packets have no link layer, as TUN devices and WireGuard's have."""


def is_tunnel(device: str, devices: Path = DEVICES) -> bool:
    """Return whether a network device is a tunnel, such as a VPN's."""
    with suppress(OSError):
        return bool(device) and (devices / device / "type").read_text().strip() == NO_LINK_LAYER
    return False


def advice(where: Where, device: str, *, is_radio: bool) -> list[str]:
    """Say what helps if packets wait on the way to the first router, a sentence each."""
    if where != "first_hop" or not device:
        return []
    return [sentence.format(device=device) for sentence in (WIFI_ADVICE if is_radio else CABLE_ADVICE)]
