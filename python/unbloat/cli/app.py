"""The command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import click
import typer

from unbloat._core import Error, InputError, __version__
from unbloat.cli import terminal
from unbloat.cli.help import CommandWithProgram, Entry, Group, sentence_of
from unbloat.cli.status import DONE, FAILED, INTERRUPTED, WRONG_INPUT
from unbloat.system import machine

COMPLETING = "_UNBLOAT_COMPLETE"
"""Set by a shell that asks for completions."""

EXAMPLES = """\
unbloat list scenarios
unbloat run home-dsl --cc cubic,vegas --figure queue.svg --plot queue
unbloat doctor"""

EXPERIMENTS, LOOKING, FILES, KERNEL = "Experiments", "Looking things up", "Files", "This machine's kernel"
COMMANDS = [
    Entry("run", EXPERIMENTS, "Run a scenario: simulated, on this kernel, or in a guest.", module="run"),
    Entry("sweep", EXPERIMENTS, "Run a grid, every cell repeated, with confidence intervals.", module="run"),
    Entry("reproduce", EXPERIMENTS, "Repeat a paper: its numbers and statements beside ours."),
    Entry("compare", EXPERIMENTS, "Compare two or three sets of results, or two packet traces."),
    Entry("shell", EXPERIMENTS, "Run a shell, or any program, behind an emulated link.", cls=CommandWithProgram),
    Entry(
        "list",
        LOOKING,
        "List scenarios, congestion controls, receivers, classifiers, queues, links, papers.",
        module="listing",
    ),
    Entry("show", LOOKING, "Show all about one thing: its file, parameters, flows.", module="listing"),
    Entry(
        "keys", LOOKING, "List the keys of a scenario file with their values, defaults and meaning.", module="listing"
    ),
    Entry("new", FILES, "Write a template of a scenario, a congestion control or a paper."),
    Entry("check", FILES, "Check a scenario, or a congestion control for simulator and kernels."),
    Entry("plot", FILES, "Draw saved results: over time, distributions, sweeps, two sets."),
    Entry("report", FILES, "Write results, or the reproduction of a paper, as one HTML page."),
    Entry("export", FILES, "Write results as CSV or LaTeX."),
    Entry("cache", FILES, "Show what is kept of earlier runs, or remove it."),
    Entry(
        "load",
        KERNEL,
        "Load a congestion control, a receiver or a classifier into the running kernel.",
        module="kernel",
    ),
    Entry(
        "unload",
        KERNEL,
        "Unload a congestion control, a receiver or a classifier from the running kernel.",
        module="kernel",
    ),
    Entry("attach", KERNEL, "Set the congestion control of a control group's new connections.", module="kernel"),
    Entry("detach", KERNEL, "Remove the congestion control of a control group.", module="kernel"),
    Entry("status", KERNEL, "Show what is loaded, who uses it, and what it costs.", module="kernel"),
    Entry("doctor", KERNEL, "Report what this machine can do, and what is missing.", module="kernel"),
    Entry("clean", KERNEL, "Remove what killed runs left in the kernel and on the disk."),
]


class Commands(Group):
    """All commands; the module of one is loaded when it is called."""

    entries = COMMANDS


app = typer.Typer(
    cls=Commands,
    help="A laboratory for end-host mechanisms against bufferbloat.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)


def show_version(is_wanted: bool) -> None:
    """Print the version and end."""
    if is_wanted:
        terminal.say(f"{terminal.PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Parse the options of the program itself."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status. An error is a sentence on stderr."""
    if COMPLETING in os.environ:
        app(prog_name=terminal.PROGRAM)
    terminal.show_what_can_be_shown()
    terminal.show_messages()
    try:
        status = invoke(meant(sys.argv[1:] if argv is None else list(argv))) or DONE
        sys.stdout.flush()  # Errors that wait in its buffer are errors of the command.
        return status
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return WRONG_INPUT
    except click.UsageError as error:
        return complain(sentence_of(error), WRONG_INPUT)
    except InputError as error:
        return complain(error, WRONG_INPUT)
    except Error as error:
        return complain(error, FAILED)
    except UnicodeEncodeError as error:
        return complain(f"{error.object!r} is no text: its bytes are not UTF-8", WRONG_INPUT)
    except BrokenPipeError:
        return DONE  # Whoever read the output has had enough.
    except OSError as error:
        return complain(said_by_system(error), FAILED)
    except KeyboardInterrupt as error:
        return complain(with_notes("interrupted", error), INTERRUPTED)
    except machine.Ended as ended:
        complain(with_notes(f"ended by {ended.name}", ended), FAILED)
        raise
    finally:
        drop_unwritable_output()


def drop_unwritable_output() -> None:
    """Send buffered output to /dev/null if stdout takes none; the interpreter would flush it again and fail."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def meant(words: list[str]) -> list[str]:
    """Take `help` and `version` as commands: `unbloat help run` is `unbloat run --help`."""
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return ["--version"] if words == ["version"] else words


def invoke(words: list[str]) -> int | None:
    """Run the command of a command line; return its exit status."""
    command = typer.main.get_command(app)
    try:
        with command.make_context(terminal.PROGRAM, words) as context:
            status: int | None = command.invoke(context)
            return status
    except click.exceptions.Exit as end:
        return end.exit_code


def said_by_system(error: OSError) -> str:
    """Write an error of the system as a sentence: without a number, and with the file if it tells one."""
    why = (error.strerror or str(error)).lower()
    return why if error.filename is None else f"{error.filename}: {why}"


def with_notes(sentence: str, error: BaseException) -> str:
    """Add the notes that an exception carries to its sentence."""
    return "; ".join([sentence, *getattr(error, "__notes__", [])])


def complain(sentence: object, status: int) -> int:
    """Report an error on stderr; return the exit status."""
    terminal.complain(sentence)
    return status
