"""Pages of which a part is made by a command: it stands between `<!-- begin NAME ... -->` and `<!-- end NAME -->`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from unbloat._core import InputError
from unbloat.system.files import write_text


def write_parts(page: Path, parts: Mapping[str, str]) -> None:
    """Replace the parts of a page by their names; raises `InputError` if the page has no such part."""
    text = page.read_text(encoding="utf-8")
    for name, content in parts.items():
        text = replace_part(page, text, name, content)
    write_text(page, text)


def require_part(page: Path, name: str) -> None:
    """Refuse a page without such a part before long runs are made for it; raises `InputError`."""
    if not page.is_file():
        raise InputError(f"{page}: there is no such page to write to")
    replace_part(page, page.read_text(encoding="utf-8"), name, "")


def replace_part(page: Path, text: str, name: str, content: str) -> str:
    """Put `content` between the marks of a part."""
    marks = re.compile(rf"(<!-- begin {re.escape(name)}\b[^>]*-->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
    if not marks.search(text):
        raise InputError(f"{page}: has no part marked `<!-- begin {name} -->` to `<!-- end {name} -->`")
    return marks.sub(lambda found: f"{found[1]}\n{content}\n{found[2]}", text)
