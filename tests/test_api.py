"""What `import unbloat` gives: names, arguments that the command line has too, and sentences for slips."""

import ast
import inspect
import pickle
import pydoc
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import unbloat as ub
from inline_snapshot import snapshot
from sentences import plain, refused
from unbloat import _core
from unbloat.cli.app import COMMANDS
from unbloat.guest import guest, qemu
from unbloat.results.record import Outcome


def test_exceptions_are_called_as_users_name_them() -> None:
    for name in ("Error", "InputError", "RunError"):
        kind = getattr(ub, name)
        assert (kind.__module__, kind.__qualname__) == ("unbloat", name)
        copy = pickle.loads(pickle.dumps(kind("why")))
        assert type(copy) is kind and str(copy) == "why"


def documented() -> Iterator[Callable[..., object]]:
    """Yield the functions and methods of the public names."""
    for name in dir(ub):
        value = getattr(ub, name)
        if inspect.isclass(value):
            yield from (each for method, each in inspect.getmembers(value, inspect.isfunction) if method[0] != "_")
        elif inspect.isfunction(value):
            yield value


def test_what_functions_return_is_exported() -> None:
    returned: set[str] = set()
    for function in documented():
        names = re.split(r" \| ", str(inspect.get_annotations(function)["return"]))
        returned |= {name for name in names if re.fullmatch(r"[A-Z]\w+", name)} - OWN_WORDS
    assert {"Results", "Scenario", "Comparison", "Paper", "Reproduction", "KernelResults"} <= returned
    assert returned <= set(dir(ub)), returned - set(dir(ub))
    assert ub.Failure in typing.get_args(Outcome)


OWN_WORDS = {"None", "Self", "Any", "Figure", "Path"}
"""Types that are no classes of ours."""


def test_the_stub_has_the_names() -> None:
    stub = ast.parse(Path(ub.__file__).with_suffix(".pyi").read_text())
    places = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name != "_core"
    }
    assert places == {name: f"unbloat.{module}" for name, module in ub._WHERE.items()}
    (listed,) = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert ast.literal_eval(listed) == dir(ub)


def options_of(command: str) -> set[str]:
    """List what the options of a command are called, as Python would have it."""
    entry = next(entry for entry in COMMANDS if entry.name == command)
    names = [max(each.opts, key=len) for each in entry.command().params if isinstance(each, click.Option)]
    return {name.lstrip("-").replace("-", "_") for name in names} - {"help"}


@pytest.mark.parametrize(
    ("command", "function", "on_screen", "in_python"),
    [
        ("run", ub.Scenario.run, {"metrics", "json", "output", "figure", "plot"}, {"progress"}),
        ("sweep", ub.Scenario.run, {"metrics", "json", "output", "figure", "plot"}, {"progress"}),
        ("reproduce", ub.Paper.reproduce, {"check", "json", "output", "page"}, set()),
        ("compare", ub.compare, {"packets", "fields", "check", "json", "page"}, {"a", "b", "c"}),
        ("plot", ub.Results.plot, {"output", "only", "against"}, {"kinds", "other"}),
        ("keys", ub.Scenario.keys, {"json"}, {"section"}),
    ],
)
def test_arguments_are_called_like_the_options(
    command: str, function: Callable[..., object], on_screen: set[str], in_python: set[str]
) -> None:
    arguments = set(inspect.signature(function).parameters) - {"self"}
    assert arguments - in_python == options_of(command) - on_screen


def test_backends_and_window_controllers_are_named_as_on_the_command_line(small: Path) -> None:
    named = ub.scenario(small).run(on="sim", window_controller="static", cc="reno")
    assert named.runs["on"].tolist() == ["simulator"]
    set_by_key = ub.scenario(small, {"flows.*.window_controller": "static", "flows.*.cc": "reno"}).run()
    assert named.as_dict() == set_by_key.as_dict()
    swept = ub.scenario(small).run(on="sim", window_controller=["static", "drwa"], repeat=2)
    assert swept.axes == ["flows.*.window_controller"] and len(swept) == 4
    with refused(
        ub.InputError, snapshot("on: unknown value simulater (did you mean simulator?); valid: simulator, kernel, vm")
    ):
        ub.scenario(small).run(on="simulater")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"repeat": "x"}, snapshot("repeat: must be a whole number, not 'x'")),
        ({"repeat": 2.5}, snapshot("repeat: must be a whole number, not 2.5")),
        ({"jobs": "2"}, snapshot("jobs: must be a whole number, not '2'")),
        ({"seed": "one"}, snapshot("seed: must be a whole number, not 'one'")),
        ({"rtt": 40}, snapshot('rtt: 40 without a unit is 40 seconds; write "40ms", or "40s" for that')),
    ],
)
def test_numbers_of_another_kind_are_a_sentence(small: Path, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.scenario(small).run(**arguments)
    assert plain(error.value) == sentence
    assert len(ub.scenario(small).run(repeat=np.int64(2))) == 2


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (
            "link.bottleneck.rate",
            100,
            snapshot('link.bottleneck.rate: 100 without a unit is 100 bit/s; write "100mbit", or "100bit" for that'),
        ),
        (
            "link.bottleneck.rate",
            2.5,
            snapshot('link.bottleneck.rate: 2.5 without a unit is 2.5 bit/s; write "2.5mbit", or "2.5bit" for that'),
        ),
        (
            "sweep.link.bottleneck.rate",
            [1e6, 10],
            snapshot('sweep.link.bottleneck.rate: 10 without a unit is 10 bit/s; write "10mbit", or "10bit" for that'),
        ),
        (
            "link.bottleneck.delay",
            20,
            snapshot('link.bottleneck.delay: 20 without a unit is 20 seconds; write "20ms", or "20s" for that'),
        ),
    ],
)
def test_forgotten_units_are_asked_for(small: Path, key: str, value: object, sentence: str) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.scenario(small, {key: value}).run()
    assert plain(error.value) == sentence
    assert ub.scenario(small, {"link.bottleneck.rate": "100bit", "link.bottleneck.delay": 0.02}).check() is not None


@pytest.mark.parametrize("controls", [["cubic", "vegas"], ("cubic", "vegas"), np.array(["cubic", "vegas"])])
def test_a_list_of_controls_for_one_key_names_the_axis(small: Path, controls: object) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.scenario(small, {"flows.0.cc": controls}).run()
    assert plain(error.value) == snapshot(
        "flows.0.cc: must be one name; to compare several, pass cc=[...], or set sweep.flows.0.cc to the list"
    )


def test_a_list_for_any_key_names_the_sweep(small: Path) -> None:
    with refused(
        ub.InputError,
        snapshot(
            'link.bottleneck.rate: must be a rate such as "2mbit", not a list; to compare several values, write them under [sweep]'
        ),
    ):
        ub.scenario(small, {"link.bottleneck.rate": ["1mbit", "2mbit"]}).run()


def test_series_are_completed(small: Path) -> None:
    with refused(
        ub.InputError,
        snapshot("series: unknown value link (did you mean links?); valid: flows, links, rtt, queue_delay"),
    ):
        ub.scenario(small).run(series=True).series("link")  # type: ignore[arg-type]


def test_representations_are_one_short_line(sweep: Path) -> None:
    results = ub.scenario(sweep).run(repeat=2)
    record = repr(results[0])
    axis = next(iter(results[0].axes))
    labels = ", ".join(f"{name}={label}" for name, label in results[0].axes.items())
    assert record.startswith(f"<unbloat.Record of 'small': {labels}, repeat 1, ")
    comparison = repr(results.compare(between={axis: list(results.runs["cc"].cat.categories[:2])}))
    assert re.sub(r"\d+", "#", comparison) == snapshot(
        "<unbloat.Comparison of small with flows.#.cc = reno and small with flows.#.cc = cubic by intervals: # metrics, # exceed, # within, # open, # fixed>"
    )
    for text in (record, comparison, repr(results)):
        assert len(text) < 200 and "\n" not in text


def test_keys_are_a_table() -> None:
    assert len(ub.scenario("home-dsl").keys()) == len(_core.scenario_keys())
    (rate,) = ub.scenario("home-dsl").keys("link.bottleneck.rate").to_dict("records")
    assert (rate["section"], rate["key"]) == ("link.NAME", "rate") and rate["takes"].startswith("rate, ")
    assert set(ub.scenario("home-dsl").keys("codel")["key"]) > {"target", "interval"}
    with refused(
        ub.InputError,
        snapshot(
            "keys: unknown section or key quue (did you mean queue?); sections: compile, wifi, wifi.NAME, link, link.NAME, link.NAME.reverse, rates, delays, outages, handover, slot, script, policer, loss, lte, lte.NAME, mesh, mesh.NAME, mesh.NAME.nodes, mesh.NAME.nodes.NAME, down, queue, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, host, host.NAME, tcp_wmem, flows, arrivals, pareto, lognormal, exponential, access, tcp_rmem, clock, profile, writes, messenger, game, upload, writer, web, video, voice, ping, udp"
        ),
    ):
        ub.scenario("home-dsl").keys("quue")


def test_scenarios_are_checked_without_running(small: Path, cache: Path) -> None:
    assert ub.scenario(small).check() == [] == ub.scenario(small).check(on="vm")
    with refused(ub.InputError, snapshot('link.bottleneck.rate: must be a rate such as "2mbit", not 1')):
        ub.scenario(small, {"link.bottleneck.rate": "1"}).check()
    with refused(
        ub.InputError,
        snapshot(
            "flows.0.clock.drift: 100ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate"
        ),
    ):
        ub.scenario(small, {"flows.0.clock.drift": "100ppm"}).check(on="vm")
    assert not (cache / "runs").exists()


def test_all_that_guests_lack_is_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused(
        ub.RunError,
        snapshot(
            "guests (on = vm) need qemu-system-x86_64 and setpriv, which are not installed: apt-get install qemu-system-x86 util-linux"
        ),
    ):
        qemu.require_qemu()
    with pytest.raises(ub.InputError) as error:
        guest.kernel_named("9.9")
    start = "no kernel 9.9"
    end = ": name the file of an image; qemu-system-x86_64 and setpriv are missing too"
    assert str(error.value).startswith(start) and str(error.value).endswith(end)


def test_help_fits_on_a_screen() -> None:
    shown = pydoc.render_doc(ub, renderer=pydoc.plaintext)
    assert len(shown.splitlines()) <= 60 and max(map(len, shown.splitlines())) <= 124
    assert all(name in shown for name in dir(ub) if name[0].islower())


# ---------------------------------------------------------------- Scenarios


def test_the_smallest_scenario_is_a_rate_and_a_round_trip(small: Path) -> None:
    s = ub.scenario(rate="20mbit", rtt="40ms", buffer="2bdp", cc="cubic")
    assert repr(s) == snapshot("<unbloat.Scenario '20mbit, 40ms': 1 grid point, 30 s, 1 flow>") and s.axes == {}
    r = s.run(duration=2)
    (flow,), (link, _) = r.flows.to_dict("records"), r.links.to_dict("records")
    assert flow["cc"] == "cubic" and flow["base_rtt_ms"] == pytest.approx(40)
    assert (link["rate_mbps"], link["queue_kind"], link["limit_bytes"]) == (20, "droptail", 2 * 100_000)
    assert s.check() == []


def test_several_values_are_a_grid() -> None:
    s = ub.scenario(rate=[1e6, "2mbit"], rtt="40ms", buffer=["10p", "20p"], queue=["droptail", "codel"], cc="reno,bbr")
    assert list(s.axes.values()) == [["1mbit", "2mbit"], ["10p", "20p"], ["droptail", "codel"], ["reno", "bbr"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {},
            snapshot(
                'scenario: rate and rtt are missing: name a scenario, such as "home-dsl", or give rate and rtt, such as rate="20mbit", rtt="40ms"'
            ),
        ),
        (
            {"rate": "1mbit"},
            snapshot(
                'scenario: rtt is missing: name a scenario, such as "home-dsl", or give rate and rtt, such as rate="20mbit", rtt="40ms"'
            ),
        ),
        (
            {"source": "home-dsl", "rate": "1mbit"},
            snapshot("rate: makes a new scenario; in an existing one set link.NAME.rate"),
        ),
        (
            {"rate": "1mbit", "rtt": "10ms", "queue": "coddel"},
            snapshot(
                'link.bottleneck.queue.kind: must be one of droptail, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, kernel:fq_codel, kernel:codel, kernel:pie, kernel:fq_pie, kernel:red, kernel:prio, kernel:pfifo_fast, kernel:cake, kernel:pfifo, kernel:bfifo, not "coddel" (did you mean codel?)'
            ),
        ),
        (
            {"source": "home-dls"},
            snapshot("home-dls: no such file, and no such scenario in `unbloat list` (did you mean home-dsl?)"),
        ),
    ],
)
def test_what_a_scenario_lacks_is_a_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.scenario(**arguments)
    assert plain(error.value) == sentence


def test_keys_are_set_anew_one_after_the_other(small: Path) -> None:
    s = ub.scenario(small).set({"link.bottleneck.rate": "1mbit"}).set({"link.bottleneck.rate": "2mbit"})
    assert s.run({"flows.0.cc": "vegas"}).links["rate_mbps"].tolist()[0] == 2
    assert str(s) == small.read_text() and s.name == "small"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dask": "local"}, snapshot("dask: a cluster does repeats; say how many with repeat, such as repeat = 10")),
        (
            {"dask": "local", "repeat": 2, "series": True},
            snapshot("series: runs on a cluster record none; leave dask or series out"),
        ),
        ({"live": True, "repeat": 2}, snapshot("live: shows each grid point once; leave repeat out")),
        (
            {"pcap": "x.pcapng", "repeat": 2},
            snapshot("pcap: holds the packets of each grid point's one run; leave repeat out"),
        ),
    ],
)
def test_what_does_not_go_together_is_a_sentence(small: Path, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ub.InputError) as error:
        ub.scenario(small).run(**arguments)
    assert plain(error.value) == sentence


def test_repeats_have_series(small: Path) -> None:
    r = ub.scenario(small, {"link.bottleneck.loss": "1%"}).run(repeat=3, series="100ms")
    series = r.series("links")
    assert sorted(series["run"].unique()) == [0, 1, 2] and set(series["repeat"]) == {1, 2, 3}
    (panel,) = r.plot("queue_delay", over="time").axes
    assert len(panel.collections) == 1


def test_what_there_is_is_a_frame() -> None:
    found = ub.catalogue()
    assert found["kind"].iloc[0] == "scenarios" and set(found["kind"]) == {
        *(
            "scenarios",
            "congestion_controls",
            "window_controllers",
            "classifiers",
            "queues",
            "links",
            "papers",
            "suites",
        )
    }
    with refused(
        ub.InputError,
        snapshot(
            "kind: unknown value congestion_control (did you mean congestion_controls?); valid: scenarios, congestion_controls, window_controllers, classifiers, queues, links, papers, suites"
        ),
    ):
        ub.catalogue("congestion_control")


def test_completion_of_results_has_what_is_meant_for_users(small: Path) -> None:
    names = [name for name in dir(ub.scenario(small).run()) if name[0] != "_"]
    assert {"flows", "stats", "plot", "save"} <= {*names} and not {"by_number", "part", "cells", "warn"} & {*names}


def test_errors_tell_file_line_and_key(small: Path) -> None:
    def first(what: Any, keys: dict[str, Any] | None = None) -> tuple[str | None, int | None, str | None]:
        with pytest.raises(ub.InputError) as refusal:
            ub.scenario(what, keys)
        error = pickle.loads(pickle.dumps(refusal.value))
        return error.file, error.line, error.key

    text = small.read_text().replace("rate ", "rat  ")
    line = text.splitlines().index('rat   = "4mbit"') + 1
    assert first(text) == ("<text>", line, "link.bottleneck.rat")
    small.write_text(text)
    assert first(small) == (str(small), line, "link.bottleneck.rat")
    assert first("home-dsl", {"link.bottleneck.rate": "fast"}) == (None, None, "link.bottleneck.rate")
    assert first({"duration": "1s", "flows": []}) == (None, None, "link")
    assert ub.InputError("no place").key is None


def test_errors_have_a_hint_of_what_to_try_next() -> None:
    def hint(call: Callable[[], object]) -> str | None:
        with pytest.raises(ub.InputError) as refusal:
            call()
        return pickle.loads(pickle.dumps(refusal.value)).hint

    scenario = ub.scenario("home-dsl")
    link = "link.bottleneck"
    assert hint(lambda: scenario.run({f"{link}.queue.limt": "64kb"})) == "did you mean limit?"
    assert hint(lambda: scenario.run({f"{link}.rate": "5 kmh"})) == snapshot(
        "units: bit, kbit, mbit, gbit, tbit (kibit and so on for 1024), and bps to tbps for bytes a second"
    )
    assert hint(lambda: scenario.run({f"{link}.queue.kind": "heap"})) == snapshot(
        "must be one of droptail, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, kernel:fq_codel, kernel:codel, kernel:pie, kernel:fq_pie, kernel:red, kernel:prio, kernel:pfifo_fast, kernel:cake, kernel:pfifo, kernel:bfifo"
    )
    assert hint(lambda: scenario.run(cc="cubik")) == "did you mean cubic?"
    assert hint(lambda: ub.scenario("home-dls")) == "did you mean home-dsl?"
    assert hint(lambda: scenario.run(on="moon")) == snapshot("valid: simulator, kernel, vm")
    assert ub.InputError("no place").hint is None


def test_a_check_refuses_what_only_a_kernel_has() -> None:
    scenario = ub.scenario("home-dsl", {"flows.0.cc": "kernel:cubic"})
    with refused(
        ub.InputError,
        snapshot("flows.0.cc: kernel:cubic belongs to a kernel and runs with --on kernel or --on vm only"),
    ):
        scenario.check()
    assert scenario.check(on="kernel") == []


def test_frames_say_what_their_columns_mean(small: Path) -> None:
    results = ub.scenario(small).run(repeat=2, series="100ms")
    frames = {"runs": results.runs, "flows": results.flows, "links": results.links, "stats": results.stats}
    for name, frame in frames.items():
        assert set(frame.attrs["columns"]) == set(map(str, frame)), name
    assert results.flows.attrs["columns"]["rtt_ms_mean"]["unit"] == "ms"
    assert results.series("links").attrs["columns"]["queue_bytes"]["definition"]
    assert ub.evaluate(small).attrs["columns"]["goodput_mbps"]["unit"] == "Mbit/s"


def test_a_notebook_shows_a_picture_without_a_magic_command(small: Path) -> None:
    assert "<svg" in ub.scenario(small).run(series="100ms").plot("cwnd")._repr_svg_()  # type: ignore[attr-defined]
