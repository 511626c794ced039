"""Pages of the documentation that are not files of docs/: a hook of MkDocs.

Some are made from the code: the keys of a scenario, the metrics, the command line, the mechanisms. Notebooks are
executed. Other pages are files beside what they describe, such as papers/README.md. Links of all pages work in the
checkout; the hook turns them into links of the site.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from traitlets.config import Config

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from site_reference import classifiers, command_line, controls, metrics, scenario_keys, window_controllers  # noqa: E402

GENERATED = {
    "reference/command-line.md": command_line,
    "reference/controls.md": controls,
    "reference/window-controllers.md": window_controllers,
    "reference/classifiers.md": classifiers,
    "reference/metrics.md": metrics,
    "reference/scenario-keys.md": scenario_keys,
}
BESIDE = ["CHANGELOG.md", "CONTRIBUTING.md", "*/README.md", "papers/*/*.md", "papers/*/figures/*.svg"]
"""Files outside of docs/ that belong to the site."""
MERMAID = "assets/mermaid.js"
"""Where the site has the library that draws diagrams."""
NOTEBOOKS = sorted(file.relative_to(ROOT / "docs") for file in (ROOT / "docs").glob("*/*.ipynb"))
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
CODE = re.compile(r"^(```.*?^```|~~~.*?^~~~)$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def beside() -> list[str]:
    """List those files, as the checkout and the site both call them."""
    files = {file for pattern in BESIDE for file in ROOT.glob(pattern)}
    names = sorted(file.relative_to(ROOT).as_posix() for file in files)
    return [name for name in names if not name.startswith("docs/")]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give each paper its place among the pages: to add one is to add a folder."""
    pages = [name for name in beside() if name.startswith("papers/") and name.endswith(".md")]
    folders = sorted({name.split("/")[1] for name in pages if name.count("/") == 2})
    papers: list[Any] = ["papers/README.md"]
    for folder in folders:
        own = [f"papers/{folder}/{name}.md" for name in ("README", "setup", "ns2", "kernel")]
        papers.append({folder: [page for page in own if page in pages]})
    for part in config.nav or []:
        if isinstance(part, dict) and "Papers" in part:
            part["Papers"] = papers
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and those from elsewhere."""
    for place, page in GENERATED.items():
        files.append(File.generated(config, place, content=page()))
    for notebook in NOTEBOOKS:
        for place, content in executed(notebook):
            files.append(File.generated(config, place, content=content))
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    drawing = resources.files("mermaidx") / "assets/mermaid.js"
    files.append(File.generated(config, MERMAID, abs_src_path=str(drawing)))
    for name in beside():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for file in files:
        if file.src_uri.endswith((".toml", ".ipynb")):
            file.inclusion = InclusionLevel.EXCLUDED
    return files


def executed(file: Path) -> Iterator[tuple[str, str | bytes]]:
    """Execute a notebook in an empty folder; yield its page and its pictures."""
    notebook = nbformat.read(ROOT / "docs" / file, as_version=4)
    with TemporaryDirectory() as folder:
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        NotebookClient(notebook, resources={"metadata": {"path": folder}}, config=sockets).execute()
    # Pictures of notebooks in one folder need names of their own.
    page, made = MarkdownExporter().from_notebook_node(notebook, resources={"unique_key": file.stem})
    yield file.with_suffix(".md").as_posix(), page
    for name, picture in made["outputs"].items():
        yield (file.parent / name).as_posix(), picture


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of the checkout to the site's."""
    here = page.file.src_uri
    known = {file.src_uri for file in files if file.inclusion is not InclusionLevel.EXCLUDED}
    return "".join(
        text if is_code else LINK.sub(lambda link: turned(link, here, known), text) for is_code, text in split(markdown)
    )


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Take along what draws diagrams, on pages that have one; the theme would fetch it from elsewhere."""
    if 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath(MERMAID, posixpath.dirname(page.url) or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)


def split(markdown: str) -> Iterator[tuple[bool, str]]:
    """Tell code from prose."""
    end = 0
    for code in CODE.finditer(markdown):
        yield False, markdown[end : code.start()]
        yield True, code[0]
        end = code.end()
    yield False, markdown[end:]


def turned(link: re.Match[str], here: str, known: set[str]) -> str:
    """Give a link as it is on the site; one to a file that is no page there becomes its text."""
    target, anchor = link["target"], link["anchor"] or ""
    if ":" in target or target.startswith("/"):
        return link[0]
    in_checkout = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(here)), target))
    on_site = re.sub(r"\.ipynb$", ".md", in_checkout.removeprefix("docs/"))
    for place in (on_site, f"{on_site}/README.md"):
        if place in known:
            relative = posixpath.relpath(place, posixpath.dirname(here) or ".")
            return f"{link['image']}[{link['text']}]({relative}{anchor})"
    if (ROOT / in_checkout).exists():
        return link["text"]
    return link[0]


def repository_path(here: str) -> str:
    """Tell where a page lies in the checkout."""
    if here == "index.md":
        return "README.md"
    return here if (ROOT / here).exists() and here not in GENERATED else f"docs/{here}"
