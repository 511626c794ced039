"""What `import unbloat` gives: names, arguments that the command line has too, and sentences for slips."""

import inspect
import pickle
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import unbloat as ub
from unbloat.guest import guest, qemu
from unbloat.results.record import Outcome
from unbloat.scenario.keys import every_key


def test_exceptions_are_called_as_users_name_them() -> None:
    for name in ("Error", "InputError", "RunError"):
        kind = getattr(ub, name)
        assert (kind.__module__, kind.__qualname__) == ("unbloat", name)
        copy = pickle.loads(pickle.dumps(kind("why")))
        assert type(copy) is kind and str(copy) == "why"


def test_what_functions_return_is_exported() -> None:
    functions = [getattr(ub, name) for name in ub.__all__ if inspect.isfunction(getattr(ub, name))]
    returned: set[str] = set()
    for function in functions:
        names = inspect.get_annotations(function)["return"].split(" | ")
        returned |= {name for name in names if name[0].isupper() and "." not in name}
    assert {"Results", "Comparison", "Reproduction", "KernelResults"} <= returned <= set(ub.__all__)
    assert ub.Failure in typing.get_args(Outcome)


def test_backends_and_receivers_are_named_as_on_the_command_line(small: Path) -> None:
    named = ub.run(small, on="sim", receiver="static", cc="reno")
    assert named.runs["on"].tolist() == ["simulator"]
    set_by_key = ub.run(small, {"flows.*.receiver": "static", "flows.*.cc": "reno"})
    assert named.as_dict() == set_by_key.as_dict()
    swept = ub.sweep(small, on="sim", receiver=["static", "drwa"], repeat=2)
    assert swept.axes == ["flows.*.receiver"] and len(swept) == 4
    with pytest.raises(ub.InputError, match=r"^on: simulater is none of .*\(did you mean simulator\?\)"):
        ub.run(small, on="simulater")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"repeat": "x"}, "repeat: must be a whole number, not 'x'"),
        ({"repeat": 2.5}, "repeat: must be a whole number, not 2.5"),
        ({"jobs": "2"}, "jobs: must be a whole number, not '2'"),
        ({"seed": "one"}, "seed: must be a whole number, not 'one'"),
        ({"rtt": 40}, 'rtt: 40 without a unit is 40 seconds; write "40ms", or "40s" for that'),
    ],
)
def test_numbers_of_another_kind_are_a_sentence(small: Path, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.sweep(small, **arguments)
    assert str(error.value) == sentence
    assert len(ub.sweep(small, repeat=np.int64(2))) == 2


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("link.bottleneck.rate", 100, '100 without a unit is 100 bit/s; write "100mbit", or "100bit" for that'),
        ("link.bottleneck.rate", 2.5, '2.5 without a unit is 2.5 bit/s; write "2.5mbit", or "2.5bit" for that'),
        ("sweep.link.bottleneck.rate", [1e6, 10], '10 without a unit is 10 bit/s; write "10mbit"'),
        ("link.bottleneck.delay", 20, '20 without a unit is 20 seconds; write "20ms", or "20s" for that'),
    ],
)
def test_forgotten_units_are_asked_for(small: Path, key: str, value: object, sentence: str) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.run(small, {key: value})
    assert str(error.value).startswith(f"{key}: {sentence}")
    assert ub.check(small, {"link.bottleneck.rate": "100bit", "link.bottleneck.delay": 0.02}) is not None


@pytest.mark.parametrize("controls", [["cubic", "vegas"], ("cubic", "vegas"), np.array(["cubic", "vegas"])])
def test_a_list_of_controls_for_one_key_names_the_axis(small: Path, controls: object) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.run(small, {"flows.0.cc": controls})
    hint = "must be one name; to compare several, pass cc=[...], or set sweep.flows.0.cc to the list"
    assert str(error.value) == f"flows.0.cc: {hint}"


def test_a_list_for_any_key_names_the_sweep(small: Path) -> None:
    with pytest.raises(ub.InputError, match=r"not a list; to compare several values, write them under \[sweep\]$"):
        ub.run(small, {"link.bottleneck.rate": ["1mbit", "2mbit"]})


def test_series_are_completed(small: Path) -> None:
    with pytest.raises(ub.InputError, match=r"^series: link is none of .*\(did you mean links\?\)"):
        ub.run(small, series=True).series("link")  # type: ignore[arg-type]


def test_representations_are_one_short_line(sweep: Path) -> None:
    results = ub.sweep(sweep, repeat=2)
    record = repr(results[0])
    axis = next(iter(results[0].axes))
    labels = ", ".join(f"{name}={label}" for name, label in results[0].axes.items())
    assert record.startswith(f"<unbloat.Record of 'small': {labels}, repeat 1, ")
    comparison = repr(results.compare(between={axis: list(results.flows[axis].cat.categories[:2])}))
    assert comparison.startswith("<unbloat.Comparison of ") and " by intervals: " in comparison
    for text in (record, comparison, repr(results)):
        assert len(text) < 200 and "\n" not in text


def test_keys_are_a_table() -> None:
    assert len(ub.keys()) == len(every_key())
    (rate,) = ub.keys("link.bottleneck.rate").to_dict("records")
    assert (rate["section"], rate["key"]) == ("link.NAME", "rate") and rate["takes"].startswith("rate, ")
    assert set(ub.keys("codel")["key"]) > {"target", "interval"}
    with pytest.raises(ub.InputError, match=r"no key quue \(did you mean queue\?\)"):
        ub.keys("quue")


def test_scenarios_are_checked_without_running(small: Path, cache: Path) -> None:
    assert ub.check(small) == [] == ub.check(small, on="vm")
    with pytest.raises(ub.InputError, match=r"link\.bottleneck\.rate"):
        ub.check(small, {"link.bottleneck.rate": "1"})
    with pytest.raises(ub.InputError, match="drift"):
        ub.check(small, {"flows.0.clock.drift": "100ppm"}, on="vm")
    assert not (cache / "runs").exists()


def test_all_that_guests_lack_is_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    both = "guests \\(on = vm\\) need qemu-system-x86_64 and setpriv, which are not installed: apt-get install"
    with pytest.raises(ub.RunError, match=f"^{both} qemu-system-x86 util-linux$"):
        qemu.require_qemu()
    with pytest.raises(ub.InputError) as error:
        guest.kernel_named("9.9")
    start = "there is no kernel 9.9"
    end = ": name the file of an image; qemu-system-x86_64 and setpriv are missing too"
    assert str(error.value).startswith(start) and str(error.value).endswith(end)
