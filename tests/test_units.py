"""Rates, times and sizes as users write them: each text gives the value that it says, or a refusal that names the key."""

import json
from decimal import Context, Decimal
from typing import Any

import pytest
import unbloat as ub
from hypothesis import assume, given
from hypothesis import strategies as st
from unbloat import _core
from unbloat.scenarios.source import source_of

BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
PREFIXES = BINARY | DECIMAL
RATES = {f"{prefix}bit": size for prefix, size in PREFIXES.items()}
RATES |= {f"{prefix}bps": 8 * size for prefix, size in PREFIXES.items()}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "msec": 10**6}
SIZES = {f"{prefix}b": size for prefix, size in PREFIXES.items()}
KEYS: dict[str, tuple[dict[str, int], str, int, int]] = {
    "link.bottleneck.rate": (RATES, "bps", 1000, 10**12),
    "link.bottleneck.delay": (TIMES, "s", 0, 3600 * 10**9),
    "link.bottleneck.queue.limit": (SIZES, "bytes", 2000, 10**9),
}
"""The units of a key, what `quantity` counts it in, the least and the greatest value that is drawn, in steps."""


def read(key: str, text: str) -> int:
    """Give what a scenario with this value has: bits a second, nanoseconds or bytes."""
    (cell,) = source_of(
        {"duration": "1s", "link": {"bottleneck": BASE}, "flows": [{"cc": "reno"}]}, {key: text}
    ).points()
    link: dict[str, Any] = json.loads(cell.json())["links"][0]["forward"]
    value = {"rate": link["service"]["Rate"], "delay": link["delay"], "limit": link["queue"]["limit"].get("Bytes")}
    return int(value[key.rpartition(".")[2]])


BASE = {"rate": "4mbit", "delay": "10ms", "queue": {"limit": "30kb"}}


def written(steps: int, unit: int) -> str:
    """Write a number of steps in a unit, exactly: every unit is made of twos and fives."""
    return f"{Context(prec=100).divide(Decimal(steps), Decimal(unit)):f}"


@pytest.mark.parametrize("key", KEYS)
@given(draw=st.data())
def test_every_spelling_of_a_value_is_that_value(key: str, draw: st.DataObject) -> None:
    units, base, least, most = KEYS[key]
    steps = draw.draw(st.integers(least, most))
    unit = draw.draw(st.sampled_from(sorted(units)))
    text = f"{written(steps, units[unit])}{unit}"
    assume(len(text.partition(".")[2]) <= 30)  # More decimal places are not read.
    assert read(key, text) == steps
    with pytest.raises(ub.InputError) as refusal:
        read(key, text.replace(unit, f" {unit}"))
    assert (refusal.value.key, refusal.value.hint) == (key, f"did you mean {text}?")
    assert _core.quantity(text) == (base, pytest.approx(steps / 1e9 if base == "s" else steps))


@pytest.mark.parametrize("key", KEYS)
@given(draw=st.data())
def test_what_is_no_whole_number_of_steps_is_refused_and_never_rounded(key: str, draw: st.DataObject) -> None:
    units, _, least, most = KEYS[key]
    tenths = draw.draw(st.integers(10 * least, 10 * most).filter(lambda tenths: tenths % 10))
    unit = draw.draw(st.sampled_from(sorted(units)))
    with pytest.raises(ub.InputError) as refusal:
        read(key, f"{written(tenths, 10 * units[unit])}{unit}")
    assert refusal.value.key == key


@pytest.mark.parametrize("key", KEYS)
@given(text=st.text() | st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{0,30})?(e[0-9]{1,3})? ?[a-z/%]{0,5}", fullmatch=True))
def test_any_text_is_a_value_or_a_refusal_that_names_the_key(key: str, text: str) -> None:
    assume("#" not in text)
    try:
        ub.scenario({"duration": "1s", "link": {"bottleneck": BASE}, "flows": [{"cc": "reno"}]}, {key: text})
    except ub.InputError as error:
        assert error.key is None or error.key.startswith(key), error


@pytest.mark.parametrize(
    ("argument", "key"), [("rate", "link.bottleneck.rate"), ("rtt", "link.bottleneck.delay"), ("buffer", "queue.limit")]
)
def test_a_unit_that_there_is_not_is_refused_with_those_there_are(argument: str, key: str) -> None:
    with pytest.raises(ub.InputError) as refusal:
        ub.scenario(**{"rate": "20mbit", "rtt": "40ms", argument: "5 furlongs"})
    assert refusal.value.hint, refusal.value
