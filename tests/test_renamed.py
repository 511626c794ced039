"""Names of earlier releases: keys, options, arguments, kinds and columns still work, and a warning says the new name."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of
from unbloat.system.renamed import OldNameWarning


@pytest.fixture
def old(small: Path) -> Path:
    """Write the small scenario with a window controller under its old keys."""
    file = small.with_name("old.toml")
    file.write_text(f'{small.read_text()}receiver = "static"\nreceiver_params = {{ most = 20 }}\n')
    return file


def goodputs(results: ub.Results) -> list[float]:
    found: list[float] = results.flows["goodput_mbps"].tolist()
    return found


def test_an_old_key_of_a_file_works_with_a_sentence(cli: Cli, small: Path, old: Path) -> None:
    with pytest.warns(
        OldNameWarning, match=r"old.toml:\d+: flows.0.receiver: receiver is called window_controller now"
    ):
        renamed = ub.scenario(old).run()
    keys = {"flows.0.window_controller": "static", "flows.0.window_controller_params": {"most": 20}}
    assert goodputs(renamed) == goodputs(ub.scenario(small, keys).run())
    assert stderr_of(cli("run", old)) == snapshot("""\
unbloat: warning: TMP/old.toml:11: flows.0.receiver: receiver is called window_controller now; the next release refuses the old name
unbloat: warning: TMP/old.toml:12: flows.0.receiver_params: receiver_params is called window_controller_params now; the next release refuses the old name\
""")


def test_an_old_option_works_with_a_sentence(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--receiver", "static", "--json")
    assert (
        json.loads(done.stdout)["runs"]
        == json.loads(cli("run", small, "--window-controller=static", "--json").stdout)["runs"]
    )
    assert stderr_of(done) == snapshot(
        "unbloat: warning: --receiver is called --window-controller now; the next release refuses the old name"
    )
    assert stderr_of(cli("run", small, "--receiver=static", "--set", "flows.0.receiver_params.most=9")) == snapshot("""\
unbloat: warning: --receiver is called --window-controller now; the next release refuses the old name
unbloat: warning: flows.0.receiver_params: receiver_params is called window_controller_params now; the next release refuses the old name\
""")
    assert "--receiver" not in cli("run", "--help").stdout


def test_an_old_argument_works_with_a_warning(small: Path) -> None:
    with pytest.warns(OldNameWarning, match=r"^receiver is called window_controller now"):
        renamed = ub.scenario(small).run(receiver="static")  # type: ignore[call-arg]
    assert goodputs(renamed) == goodputs(ub.scenario(small).run(window_controller="static"))
    with pytest.warns(OldNameWarning):
        assert ub.scenario(small, receiver=["static", "drwa"]).axes == {  # type: ignore[call-arg]
            "flows.*.window_controller": ["static", "drwa"]
        }
    with pytest.warns(OldNameWarning), pytest.raises(TypeError, match="under its old name too"):
        ub.scenario(small).run(receiver="static", window_controller="drwa")  # type: ignore[call-arg]


def test_a_dictionary_has_no_lines(small: Path) -> None:
    link = {"rate": "10mbit", "delay": "10ms", "queue": {"limit": "1bdp"}}
    with pytest.warns(OldNameWarning) as found:
        ub.scenario({"duration": 1, "link": {"a": link}, "flows": [{"cc": "reno", "receiver": "static"}]})
    assert {str(each.message) for each in found} == snapshot(
        {"flows.0.receiver: receiver is called window_controller now; the next release refuses the old name"}
    )


def test_the_old_kind_of_the_catalogue_works(cli: Cli) -> None:
    done = cli("list", "receivers")
    assert done.stdout == cli("list", "window-controllers").stdout != ""
    assert stderr_of(done) == snapshot(
        "unbloat: warning: receivers is called window_controllers now; the next release refuses the old name"
    )
    with pytest.warns(OldNameWarning):
        assert ub.catalogue("receivers").equals(ub.catalogue("window_controllers"))


def test_results_of_an_earlier_release_can_be_read(cli: Cli, small: Path, tmp_path: Path) -> None:
    swept = ub.scenario(small).run(window_controller=["static", "drwa"])
    swept.save(tmp_path / "new")
    in_json = tmp_path / "runs.json"
    in_json.write_text(json.dumps(swept.as_dict()).replace("window_controller", "receiver"))
    (tmp_path / "old").mkdir()
    for file in (tmp_path / "new").iterdir():
        table = pq.read_table(file)
        names = ["receiver" if name == "window_controller" else name for name in table.schema.names]
        metadata = {key: text.replace(b"window_controller", b"receiver") for key, text in table.schema.metadata.items()}
        pq.write_table(table.rename_columns(names).replace_schema_metadata(metadata), tmp_path / "old" / file.name)
    for saved in (tmp_path / "old", in_json):
        read = ub.read(saved)
        assert read.axes == swept.axes == ["flows.*.window_controller"]
        assert goodputs(read) == goodputs(swept)
        with pytest.warns(OldNameWarning):
            assert len(read.only({"receiver": "drwa"})) == 1
    assert isinstance(pq.read_table(tmp_path / "old" / "runs.parquet"), pa.Table)
