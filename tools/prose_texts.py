"""The sentences of the project's texts and their places: pages, help, errors, messages, keys, docstrings, comments."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from unbloat import _core

MARKDOWN = MarkdownIt().enable("table")
GENERATED = re.compile(r"<!-- begin (.*?) -->.*?<!-- end (?:.*?) -->", re.DOTALL)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|al|Fig|Sec|Eq|No|approx|etc)\.$")
END = re.compile(r"""(?:[.!?]["')\]]*\s+|\s·\s+)(?=["'(\[]\w|[A-Z0-9`]|unbloat\b)""")
FOREIGN = ("algorithms/include/linux/", "algorithms/include/bpf/", "algorithms/include/libbpf/")
"""Folders of headers that come from elsewhere."""
WORDS_OF_A_SENTENCE = 3
"""Shorter texts are names and labels."""
NAMES = re.compile(r"(?:[\w.:*-]+(?: \([^()]*\))?, ){4,}[\w.:*-]+(?: \([^()]*\))?")
"""A list of single names, such as the valid keys of a section."""
RUST = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|'(?:[^'\\]|\\.)'|(?P<tests>\#\[cfg\(test\)\]\s*mod\ \w+\ \{)
    |"(?P<literal>(?:[^"\\]|\\.)*)\"""",
    re.DOTALL | re.VERBOSE,
)
FOR_DEVELOPERS = re.compile(r"(?:expect|panic!|unreachable!|assert\w*!)\s*\([^;]{0,60}$")
"""What precedes a literal that only a bug shows."""


class Sentence(NamedTuple):
    """A sentence and its place."""

    file: str
    line: int
    area: str
    """What the counts are by: a folder of pages, or a kind of text with its folder."""
    text: str
    begins: bool = False
    """It is the first of a doc comment or a docstring."""

    @property
    def words(self) -> int:
        """The number of words; signs between them do not count, and a list of names is one."""
        return sum(any(letter.isalnum() for letter in word) for word in NAMES.sub("names", self.text).split())


class Checkout(NamedTuple):
    """A checkout of the project."""

    root: Path

    def files(self, *patterns: str) -> list[str]:
        """List the tracked files that match."""
        command = ["git", "ls-files", "-z", *patterns]
        listing = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return [file for file in listing.stdout.split("\0") if file]

    def read(self, file: str) -> str:
        """Return the text of a file."""
        return (self.root / file).read_text()

    def sentences(self) -> Iterator[Sentence]:
        """Give every sentence of the project."""
        meanings = frozenset(key["meaning"] for key in _core.scenario_keys())
        for file in self.files("*.md"):
            folder = str(Path(file).parent)
            yield from page(self.read(file), file, file if folder == "." else folder)
        for file in self.files("python/*.py", "python/*.pyi"):
            module = Module(self.read(file), file)
            yield from module.docstrings()
            yield from module.errors()
            if "/cli/" in file:
                yield from module.help()
        for file in self.files("tests/*.py"):
            yield from Module(self.read(file), file).snapshots()
        for file in self.files("crates/*.rs"):
            yield from doc_comments(self.read(file), file, meanings)
        for file in self.files("crates/*/src/*.rs"):
            if Path(file).stem not in {"tests", "testing"}:
                yield from messages(self.read(file), file, meanings)
        for file in self.files("algorithms/*.c", "algorithms/*.h"):
            if not file.startswith(FOREIGN):
                yield from opening_comment(self.read(file), file)


def split(text: str, file: str, line: int, area: str, *, begins: bool = False) -> Iterator[Sentence]:
    """Give the sentences of a text whose line breaks are the file's."""
    start = 0
    for end in [*(found.end() for found in END.finditer(text)), len(text)]:
        part = text[start:end]
        if end < len(text) and ABBREVIATION.search(part.rstrip()):
            continue
        number = line + text.count("\n", 0, start + len(part) - len(part.lstrip()))
        sentence = Sentence(file, number, area, " ".join(part.split()), begins and start == 0)
        if sentence.words >= WORDS_OF_A_SENTENCE or (sentence.begins and sentence.words):
            yield sentence
        start = end


def page(text: str, file: str, area: str, *, line: int = 1, begins: bool = False) -> Iterator[Sentence]:
    """Give the sentences of Markdown, without code, HTML and what commands write between marks."""
    text = GENERATED.sub(lambda found: "\n" * found[0].count("\n"), text)
    for token in MARKDOWN.parse(text):
        if token.type == "inline" and token.map:
            written = "".join(_written(child.type, child.content) for child in token.children or ())
            yield from split(written, file, line + token.map[0], area, begins=begins)
        begins = begins and token.type == "paragraph_open"


def _written(kind: str, content: str) -> str:
    """Return what a part of a paragraph counts as: a piece of code is a word."""
    return {"softbreak": "\n", "hardbreak": "\n", "code_inline": "`code`"}.get(kind, content if kind == "text" else "")


class Module:
    """A module in Python."""

    def __init__(self, text: str, file: str) -> None:
        self.tree = ast.parse(text)
        self.file = file
        self.folder = "/".join(file.split("/")[:3]).removesuffix(f"/{Path(file).name}")

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """The module's own values, such as help that several options share."""
        return {
            target.id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def docstrings(self) -> Iterator[Sentence]:
        """Give what documents modules, classes, functions and attributes."""
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                text = re.sub(r"(?m)^( *)(?:>>>|\.\.\.) .*$", r"\1", node.value.value)
                text = re.sub(
                    r"(?m)^(?: *(?:Returns|Yields)\n *-+\n.*|.*\n *-{3,}| *[\w,* ]+ : .*| *\w+Error|.*\S {3,}\S.*)$",
                    lambda found: "\n" * found[0].count("\n"),
                    text,
                )
                text = re.sub(r"(?m)^ +", "", text)
                yield from page(text, self.file, f"docstrings {self.folder}", line=node.lineno, begins=True)

    def errors(self) -> Iterator[Sentence]:
        """Give the sentences of exceptions."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                yield from self._said(node.exc, "errors")

    def help(self) -> Iterator[Sentence]:
        """Give what `--help` prints of options and arguments; of commands it is their docstring."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.keyword) and node.arg == "help":
                yield from self._said(node.value, "help")

    def snapshots(self) -> Iterator[Sentence]:
        """Give the sentences in snapshots of what commands and exceptions say."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "snapshot":
                for text, line in _texts(node):
                    for number, each in enumerate(text.splitlines()):
                        if "  " not in each.strip() and not each.startswith(("|", "#", "<")):
                            yield from split(each, self.file, line + number, "snapshots")

    def _said(self, node: ast.expr, area: str) -> Iterator[Sentence]:
        if isinstance(node, ast.Name):
            node = self.constants.get(node.id, node)
        for text, line in _texts(node):
            yield from split(text, self.file, line, area)


def _texts(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Give the texts in an expression, with a name in place of each value that is put in."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(_piece(value) for value in node.values), node.lineno
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value, node.lineno
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _piece(value: ast.expr) -> str:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else "value"


def doc_comments(text: str, file: str, meanings: Container[str] = ()) -> Iterator[Sentence]:
    """Give the sentences of `///` and `//!`; those that are meanings of keys are also what `unbloat keys` prints."""
    area = "doc comments " + "/".join(file.split("/")[:2])
    for line, comment in _blocks(text.splitlines(), re.compile(r"\s*//[/!](?!/) ?(.*)")):
        own = "keys" if " ".join(comment.split()) in meanings else area
        yield from page(comment, file, own, line=line, begins=True)


def messages(text: str, file: str, meanings: Container[str] = ()) -> Iterator[Sentence]:
    """Give the sentences in a file's string literals: what errors, warnings and the tables of `unbloat keys` say."""
    for found in RUST.finditer(text):
        if found["tests"]:
            return
        if found["literal"] and not FOR_DEVELOPERS.search(text, max(0, found.start() - 100), found.start()):
            said = re.sub(
                r"\\(?:\n\s*|(.))", lambda sign: {None: "", "n": "\n"}.get(sign[1], sign[1]), found["literal"]
            )
            line = text.count("\n", 0, found.start()) + 1
            if " ".join(said.split()) not in meanings and not said.startswith("#"):
                yield from split(re.sub(r"\{[^{}]*\}", "value", said), file, line, "messages")


def _blocks(lines: Iterable[str], pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Give what stands in lines of a kind that follow each other, with the number of the first."""
    block: list[str] = []
    number = 0
    for number, line in enumerate([*lines, ""], 1):
        if found := pattern.fullmatch(line):
            block.append(found[1])
        elif block:
            yield number - len(block), "\n".join(block)
            block = []


def opening_comment(text: str, file: str) -> Iterator[Sentence]:
    """Give the sentences of the comment that a file in C opens with, after the licence."""
    for found in re.finditer(r"/\*(.*?)\*/", text, re.DOTALL):
        if "SPDX" in found[1]:
            continue
        if text[: found.start()].count("\n") < 3:
            comment = re.sub(r"(?m)^ \*(?: |$)", "", found[1])
            area = "comments " + "/".join(file.split("/")[:2])
            yield from page(comment, file, area, line=text.count("\n", 0, found.start()) + 1, begins=False)
        return
