"""The command line: its commands, how their help looks, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated

import click
import typer
from typer.core import TyperCommand, TyperGroup

from unbloat._core import Error, InputError, __version__
from unbloat.cli import DONE, FAILED, INTERRUPTED, WRONG_INPUT, terminal
from unbloat.scenarios.checks import did_you_mean
from unbloat.system import machine, renamed

COMPLETING = "_UNBLOAT_COMPLETE"
"""Set by a shell that asks for completions."""

EXAMPLES = """\
unbloat list scenarios
unbloat run home-dsl --cc cubic,vegas --figure queue.svg --plot queue
unbloat doctor"""
ARGUMENTS, OPTIONS = "Arguments", "Options"

Rows = list[tuple[str, str]]


class WithExamples(click.Command):
    """A help page, of a command or of the whole program, that ends in examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, a line each."""
        write_examples(formatter, examples_of(self))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the line that says what goes where."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix=heading("Usage: "))


class Command(WithExamples, TyperCommand):
    """A command with its options under their headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line, among them options under old names."""
        known = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        return super().parse_args(ctx, [of_today(word, known) for word in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List arguments and options."""
        sections: dict[str, Rows] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                default = ARGUMENTS if isinstance(parameter, click.Argument) else OPTIONS
                heading = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(heading, []).append(record)
        # What every command has comes last.
        sections[OPTIONS] = sections.pop(OPTIONS)
        write_sections(formatter, sections)


class CommandWithProgram(Command):
    """A command line that ends in a program's own, behind `--`, which is left unparsed in the context's `obj`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words before the dashes."""
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@dataclass(frozen=True)
class Entry:
    """A command in the list of commands; its function and its examples are in a module of `unbloat.cli`."""

    name: str
    panel: str
    """The heading of the command."""
    module: str
    about: str
    """The first line of the function's docstring; with it here, the list of commands loads no module."""
    cls: type[Command] = Command

    def command(self) -> click.Command:
        """Load the module; return the command."""
        module = import_module(f"unbloat.cli.{self.module}")
        examples: str = getattr(module, f"{self.name.upper()}_EXAMPLES")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(self.name, cls=self.cls, epilog=examples)(getattr(module, f"{self.name}_command"))
        return typer.main.get_command(alone)


EXPERIMENTS, LOOKING, FILES, LINE = "Experiments", "Looking things up", "Files", "Your line"
KERNEL = "This machine's kernel"
COMMANDS = [
    Entry("run", EXPERIMENTS, "run", "Run a scenario: in the simulator, on this kernel, or in a guest."),
    Entry("sweep", EXPERIMENTS, "run", "Run every grid point several times, with confidence intervals."),
    Entry("test", EXPERIMENTS, "test", "Run scenarios as tests: each statement of their [expect] is one."),
    Entry("reproduce", EXPERIMENTS, "reproduce", "Repeat a paper's experiments and compare its numbers with ours."),
    Entry("judge", EXPERIMENTS, "judge", "Judge by a suite's criteria whether a mechanism is safe to use."),
    Entry("compare", EXPERIMENTS, "compare", "Compare two or three sets of results, or two packet traces."),
    Entry("shell", EXPERIMENTS, "shell", "Run a shell, or any program, behind an emulated link.", CommandWithProgram),
    Entry(
        "list",
        LOOKING,
        "listing",
        "List scenarios, congestion controls, window controllers, classifiers, queues, links, papers, suites.",
    ),
    Entry("show", LOOKING, "listing", "Show one of them: its file, its parameters, its flows."),
    Entry("keys", LOOKING, "listing", "List the keys of a scenario file: values, defaults, meanings."),
    Entry("new", FILES, "own", "Write a template for a scenario, a congestion control or a paper."),
    Entry("check", FILES, "own", "Check a scenario, or a congestion control for simulator and kernels."),
    Entry("plot", FILES, "saved", "Draw saved results: time series, distributions, sweeps, two sets."),
    Entry("report", FILES, "saved", "Write results or a paper's reproduction as one HTML page."),
    Entry("export", FILES, "saved", "Write results as CSV or LaTeX."),
    Entry("cache", FILES, "upkeep", "Show or remove the stored runs, kernels and guests."),
    Entry("line", LINE, "line", "Measure your own line: rates, delays under load, the queue, and what would help."),
    Entry("serve", LINE, "serve", "Serve the far end of a line for `unbloat line` and other clients."),
    Entry(
        "load",
        KERNEL,
        "kernel",
        "Load a congestion control, a window controller or a classifier into the running kernel.",
    ),
    Entry(
        "unload",
        KERNEL,
        "kernel",
        "Unload a congestion control, a window controller or a classifier from the running kernel.",
    ),
    Entry("attach", KERNEL, "kernel", "Set the congestion control for new connections of a control group."),
    Entry("detach", KERNEL, "kernel", "Remove the congestion control of a control group."),
    Entry("status", KERNEL, "kernel", "Show loaded mechanisms, their users and their cost."),
    Entry("doctor", KERNEL, "upkeep", "Report what this machine can do and what is missing."),
    Entry("clean", KERNEL, "upkeep", "Remove leftovers of killed runs from the kernel and the disk."),
]


class Commands(WithExamples, TyperGroup):
    """All commands under their headings; a command's module is loaded when somebody calls it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List their names."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        return next((entry.command() for entry in COMMANDS if entry.name == cmd_name), None)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, then the options of the program itself."""
        sections: dict[str, Rows] = {}
        for entry in COMMANDS:
            sections.setdefault(entry.panel, []).append((entry.name, entry.about))
        records = (parameter.get_help_record(ctx) for parameter in self.get_params(ctx))
        write_sections(formatter, {**sections, OPTIONS: [record for record in records if record]})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raises `InputError` for an unknown name."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            near = did_you_mean(args[0], names)
            raise InputError(f"unknown command {args[0]}{near}; `unbloat --help` lists the commands")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Write a congestion control once: simulate it, run it with real Linux TCP, load it into the kernel.",
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
    """Take the options of the program itself."""


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
        return complain(f"{error.object!r} is not text: its bytes are not UTF-8", WRONG_INPUT)
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


def of_today(word: str, known: Collection[str]) -> str:
    """Return a word of a command line, or the option of `known` that has it as its old name."""
    option, equals, value = word.partition("=")
    new = renamed.option_of_today(option)
    if not option.startswith("--") or option in known or new not in known:
        return word
    renamed.warn(renamed.say(option, new))
    return f"{new}{equals}{value}"


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


# ---------------------------------------------------------------- Help


def examples_of(command: click.Command) -> list[str]:
    """List the examples that a command was described with."""
    return (command.epilog or "").splitlines()


def write_sections(formatter: click.HelpFormatter, sections: dict[str, Rows]) -> None:
    """Write each under its heading, all with their descriptions in the same column."""
    for name, rows in sections.items():
        with formatter.section(heading(name)):
            formatter.write_dl([(coloured(term, fg="cyan"), about) for term, about in rows], col_max=22)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write them as they are typed."""
    if examples:
        with formatter.section(heading("Examples")):
            formatter.write("".join(f"  {line}\n" for line in examples))


def heading(text: str) -> str:
    """Write a heading."""
    return coloured(text, bold=True)


def coloured(text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """Colour a text; what prints it takes that out where no terminal is."""
    return text if "NO_COLOR" in os.environ else typer.style(text, fg=fg, bold=bold)


def _with_one_dash(error: click.NoSuchOption) -> str:
    """Return a hint if a word such as `-cc` has one dash of an option's two."""
    params = error.ctx.command.params if error.ctx else []
    options = {option for param in params for option in param.opts}
    meant = [f"-{word}" for word in sys.argv[1:] if word.startswith(error.option_name) and f"-{word}" in options]
    return f" (did you mean {meant[0]}?)" if meant else ""


def sentence_of(error: click.UsageError) -> str:
    """Say in a sentence what is wrong with a command line, what would be right, and where its help is."""
    path = error.ctx.command_path if error.ctx else "unbloat"
    command = path.removeprefix("unbloat").strip() or "unbloat"
    match error:
        case click.NoSuchOption():
            near = _with_one_dash(error) or did_you_mean(error.option_name, error.possibilities or [])
            said = f"{command} has no option {error.option_name}{near}"
        case click.MissingParameter() if error.param:
            needed = error.param.make_metavar(error.ctx or click.Context(click.Command("unbloat")))
            examples = examples_of(error.ctx.command) if error.ctx else []
            said = f"{command} needs {needed}{f', such as `{examples[0]}`' if examples else ''}"
        case click.BadParameter() if error.param and error.param.opts:
            name = error.param.opts[-1] if isinstance(error.param, click.Option) else error.param.human_readable_name
            said = f"{name}: {error.message.rstrip('.')}"
        case _:
            said = f"{command}: {error.format_message().rstrip('.')}"
    return f"{said}; see `{path} --help`"
