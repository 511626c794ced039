"""The sentences that `tools/prose` reads, and the lines where it finds them."""

from __future__ import annotations

from prose_texts import Module, doc_comments, messages, opening_comment, page, split


def places(sentences) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in sentences]


def test_a_page_is_read_without_code_and_generated_parts() -> None:
    text = """# A title of words

One sentence about `a b c`. Another
sentence, which [links](there).

<!-- begin table: unbloat list -->
A generated sentence here.
<!-- end table -->

```sh
unbloat run home-dsl
```

- Packets wait in queues, e.g. FIFOs.
"""
    assert places(page(text, "a.md", "docs")) == [
        (1, "A title of words"),
        (3, "One sentence about `code`."),
        (3, "Another sentence, which links."),
        (14, "Packets wait in queues, e.g. FIFOs."),
    ]


def test_a_piece_of_code_is_a_word() -> None:
    (sentence,) = page("Give `--set KEY=VALUE` to the run.", "a.md", "docs")
    assert sentence.words == 5


def test_abbreviations_end_no_sentence() -> None:
    assert len(list(split("See Fig. 3 and cf. RFC 8033 there.", "a", 1, "docs"))) == 1


def test_modules_give_docstrings_help_errors_and_snapshots() -> None:
    module = Module(
        '''HELP = "Print it as JSON."
def run(a):
    """Run a scenario.

    Parameters
    ----------
    a : int
        How many of them.

    >>> run(1)
    """
    raise InputError(f"queue: unknown {a} here")
option(help=HELP)
snapshot("unbloat: no such thing")
''',
        "python/unbloat/cli/run.py",
    )
    assert places(module.docstrings()) == [(3, "Run a scenario."), (8, "How many of them.")]
    assert places(module.help()) == [(1, "Print it as JSON.")]
    assert places(module.errors()) == [(12, "queue: unknown value here")]
    assert places(module.snapshots()) == [(14, "unbloat: no such thing")]


def test_doc_comments_are_read_as_blocks() -> None:
    text = "/// The time of a frame\n/// on the air.\npub fn airtime() {}\n//// a line\n"
    (sentence,) = doc_comments(text, "crates/path/src/a.rs")
    assert (sentence.line, sentence.text, sentence.begins) == (1, "The time of a frame on the air.", True)


def test_messages_are_literals_that_a_user_can_see() -> None:
    text = """let why = format!("{name} is not a rate; \\
        units: kbit, mbit");
/// "Not a comment at all."
let quote = '"';
let pattern = r"no message at all";
let there = found.expect("BUG: it was put there");
assert_eq!(a, b, "only tests see this");
complain("must be \\"linear\\" or more");
#[cfg(test)]
mod tests {
    let case = "no test is read";
}
"""
    assert places(messages(text, "crates/model/src/a.rs")) == [
        (1, "value is not a rate; units: kbit, mbit"),
        (8, 'must be "linear" or more'),
    ]


def test_a_list_of_names_is_a_word() -> None:
    (sentence,) = split("unknown key; valid keys: a, b (1 to 2; 3), c-d, e, f", "a", 1, "messages")
    assert sentence.words == 5


def test_a_file_in_c_opens_with_prose_after_its_licence() -> None:
    text = "/* SPDX-License-Identifier: X */\n/*\n * Reno halves its window.\n */\nint x; /* Not this one here. */\n"
    assert places(opening_comment(text, "algorithms/a.c")) == [(3, "Reno halves its window.")]
