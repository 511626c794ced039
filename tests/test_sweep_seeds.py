"""Seeds of a sweep's repeats: a run is the same whatever else is in the grid, and all controls meet the same luck."""

from pathlib import Path

import pytest
import unbloat as ub
from conftest import SMALL
from hypothesis import given
from hypothesis import strategies as st
from unbloat import _core
from unbloat.runs.seeds import BITS, seed_of
from unbloat.runs.store import key_of
from unbloat.scenarios.identity import code_hash
from unbloat.system.paths import ALGORITHMS

CODE = code_hash()
LIMITS = st.lists(st.integers(2, 10_000), min_size=1, max_size=6, unique=True)
DELAYS = st.lists(st.integers(0, 500), min_size=1, max_size=4, unique=True)


def cells(axes: dict[str, list[str]], more: str = "") -> dict[tuple[str, ...], _core.GridPoint]:
    """The grid points of a grid by their labels."""
    sweep = "\n".join(f'"{axis}" = {values}' for axis, values in axes.items())
    found = _core.parse(f"{SMALL}\n{more}\n[sweep]\n{sweep}\n", Path.cwd(), [])
    return {tuple(label for _, label in cell.axes): cell for cell in found}


def grid(limits: list[int], delays: list[int]) -> dict[tuple[str, ...], _core.GridPoint]:
    return cells(
        {
            "link.bottleneck.queue.limit": [f"{limit}p" for limit in limits],
            "link.bottleneck.delay": [f"{delay}ms" for delay in delays],
        }
    )


@given(LIMITS, DELAYS, st.integers(1, 10_000), st.integers(0, 500), st.integers(1, 1000))
def test_another_value_on_an_axis_changes_no_other_run(
    limits: list[int], delays: list[int], limit: int, delay: int, repeat: int
) -> None:
    small, large = grid(limits, delays), grid(sorted({*limits, limit}), [*delays, *({delay} - set(delays))])
    for labels, cell in small.items():
        seed = seed_of(cell, repeat)
        assert seed == seed_of(large[labels], repeat)
        assert key_of(cell.seeded(seed), code=CODE) == key_of(large[labels].seeded(seed), code=CODE)


@given(LIMITS, DELAYS, st.integers(1, 20))
def test_no_two_grid_points_and_no_two_repeats_share_a_seed(limits: list[int], delays: list[int], repeats: int) -> None:
    found = grid(limits, delays).values()
    seeds = {seed_of(cell, repeat) for cell in found for repeat in range(1, repeats + 1)}
    assert len(seeds) == len(found) * repeats
    assert all(0 <= seed < 2**BITS for seed in seeds)


@given(LIMITS, st.integers(1, 100))
def test_controls_and_their_parameters_share_seeds(limits: list[int], repeat: int) -> None:
    axes = {"link.bottleneck.queue.limit": [f"{limit}p" for limit in limits], "flows.0.cc": ["reno", "cubic"]}
    for labels, cell in cells(axes).items():
        (plain,) = cells({"link.bottleneck.queue.limit": [labels[0]]}).values()
        (tuned,) = cells({"link.bottleneck.queue.limit": [labels[0]]}, "params = { x = 3 }").values()
        assert seed_of(cell, repeat) == seed_of(plain, repeat) == seed_of(tuned, repeat)


def test_the_scenario_s_own_seed_leads_to_other_ones() -> None:
    first, second = (_core.parse(SMALL, Path.cwd(), [("seed", seed)])[0] for seed in ("1", "2"))
    assert seed_of(first, 1) != seed_of(second, 1)


def test_what_a_scenario_is_called_changes_no_seed() -> None:
    first, second = (_core.parse(SMALL, Path.cwd(), [("name", name)])[0] for name in ("a", "b"))
    assert seed_of(first, 1) == seed_of(second, 1)


@pytest.mark.parametrize(
    ("file", "seed"),
    [
        ("papers/elastic-tcp/single.toml", 193963052598460),
        ("papers/rtac/upload.toml", 201114987135527),
        ("papers/sorpc/today.toml", 271204172424641),
        ("papers/sorpc/video.toml", 259811218918586),
        ("papers/sorpc/web.toml", 77720200605708),
        ("scenarios/home-cake.toml", 212434682073180),
    ],
)
def test_published_runs_keep_their_seeds(file: str, seed: int) -> None:
    """The last grid point's first repeat: with another seed the page would show other numbers."""
    last = _core.load(str(Path(__file__).parents[1] / file), [])[-1]
    assert seed_of(last, 1) == seed


def test_a_copy_of_a_control_meets_the_same_losses(tmp_path: Path) -> None:
    """Common luck, end to end: the same code under another name gives the same figures, repeat by repeat."""
    copy = tmp_path / "copy.bpf.c"
    copy.write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    swept = ub.scenario(SMALL, {"link.bottleneck.loss": "1%", "sweep.flows.0.cc": ["reno", str(copy)]}).run(repeat=3)
    goodputs = [cell.records for cell in swept.points]
    own, copied = ([record.run["flows"][0]["goodput_mbps"] for record in records] for records in goodputs)
    assert own == copied and len(set(own)) == 3


def test_a_larger_sweep_takes_what_a_smaller_one_has_run(sweep: Path, cache: Path) -> None:
    ub.scenario(sweep).run(repeat=2)
    before = {file: file.stat().st_mtime_ns for file in cache.rglob("*.json")}
    ub.scenario(sweep, {"sweep.link.bottleneck.queue.limit": ["15kb", "30kb", "60kb"]}).run(repeat=3)
    after = {file: file.stat().st_mtime_ns for file in cache.rglob("*.json")}
    assert len(before) == 8 and len(after) == 18 and before.items() <= after.items()
