"""`tools/judged`: rows of some mechanisms on a page that has others."""

import runpy
from pathlib import Path

import pytest
from unbloat import InputError

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools/judged"))
HEAD = "| candidate | met | delay |\n| --- | --- | --- |"
PAGE = f"""Before.

<!-- begin suite s: tools/judged writes it -->


{HEAD}
| `bbr` | 1 of 1 |  |
| `cubic` | 0 of 1 | 1 of 1 |

Not judged: `rtac`.

<!-- end suite s -->

After.
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    monkeypatch.setitem(TOOL["replace_rows"].__globals__, "PAGE", page)
    return page


def test_rows_are_replaced_and_added_in_order(page: Path) -> None:
    rows = ("| `copa` | 1 of 1 |  |", "| `cubic` | 1 of 1 |  |")
    TOOL["replace_rows"]("suite s", "\n".join([HEAD, *rows]))
    assert page.read_text() == PAGE.replace("| `cubic` | 0 of 1 | 1 of 1 |", "\n".join(rows))


def test_a_table_with_other_columns_is_refused(page: Path) -> None:
    with pytest.raises(InputError, match="the table of suite s has other columns"):
        TOOL["replace_rows"]("suite s", "| candidate | met | loss |\n| --- | --- | --- |\n| `copa` | 1 of 1 |  |")
    assert page.read_text() == PAGE
