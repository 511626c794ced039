"""`unbloat shell` and `unbloat clean` as far as they need no root."""

from pathlib import Path

import pytest
from conftest import Cli
from unbloat.cli import parser
from unbloat.shell import split


def test_what_stands_behind_the_dashes_is_the_program_s() -> None:
    words, program = split(["shell", "home-dsl", "--at", "receiver", "--", "iperf3", "-s", "--", "--at"])
    assert words == ["shell", "home-dsl", "--at", "receiver"]
    assert program == ["iperf3", "-s", "--", "--at"]


def test_other_commands_keep_their_dashes() -> None:
    assert split(["run", "--", "-odd-name.toml"]) == (["run", "--", "-odd-name.toml"], [])
    assert split(["shell", "home-dsl"]) == (["shell", "home-dsl"], [])


def test_its_arguments() -> None:
    words = ["shell", "home-dsl", "--far", "iperf3 -s", "--set", "link.bottleneck.rate=1mbit", "--cc", "bbr"]
    args = parser().parse_args(words)
    assert (args.scenario, args.at, args.far, args.cc) == ("home-dsl", "sender", "iperf3 -s", "bbr")
    assert args.set == [("link.bottleneck.rate", "1mbit")]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.toml"], ["nowhere.toml"]),
        (["small.toml", "--at", "middle"], ["middle", "sender", "receiver"]),
        (["sweep.toml"], ["sweep over flows.0.cc, link.bottleneck.queue.limit", "--set AXIS=VALUE"]),
    ],
)
def test_wrong_input_is_a_sentence_and_status_2(
    cli: Cli, small: Path, sweep: Path, args: list[str], words: list[str]
) -> None:
    done = cli("shell", *args, "--", "true")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
