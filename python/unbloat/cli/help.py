"""How commands look in their help: groups of options, examples, colours where a terminal is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

import click
import typer
from typer.core import TyperCommand, TyperGroup

from unbloat._core import InputError
from unbloat.scenarios.checks import did_you_mean

EXAMPLES = "Examples"
ARGUMENTS, OPTIONS = "Arguments", "Options"

Rows = list[tuple[str, str]]


class WithExamples(click.Command):
    """What the help pages of commands and of the whole program have in common."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, a line each."""
        write_examples(formatter, examples_of(self))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the line that says what goes where."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix=heading("Usage: "))


class Command(WithExamples, TyperCommand):
    """A command whose options stand under the headings that they were given."""

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
        """Read what stands before the dashes."""
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@dataclass(frozen=True)
class Entry:
    """A command in the list of commands; its function and its examples are in a module of `unbloat.cli`."""

    name: str
    panel: str
    """The heading that it stands under."""
    about: str
    """The first line of its function's docstring, so that the list does not load the module."""
    module: str = ""
    """The module's name; by default the command's. Where it has several commands, their names are parts of its own."""
    cls: type[Command] = Command

    def command(self) -> click.Command:
        """Load the module; return the command."""
        module = import_module(f"unbloat.cli.{self.module or self.name}")
        function = getattr(module, f"{self.name}_command" if self.module else "command")
        examples: str = getattr(module, f"{self.name.upper()}_EXAMPLES" if self.module else "EXAMPLES")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(self.name, cls=self.cls, epilog=examples, rich_help_panel=self.panel)(function)
        return typer.main.get_command(alone)


class Group(WithExamples, TyperGroup):
    """All commands, under the headings that they were given."""

    entries: ClassVar[Sequence[Entry]] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List their names."""
        return [entry.name for entry in self.entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        return next((entry.command() for entry in self.entries if entry.name == cmd_name), None)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, then the options of the program itself."""
        sections: dict[str, Rows] = {}
        for entry in self.entries:
            sections.setdefault(entry.panel, []).append((entry.name, entry.about))
        records = (parameter.get_help_record(ctx) for parameter in self.get_params(ctx))
        write_sections(formatter, {**sections, OPTIONS: [record for record in records if record]})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raises `InputError` if there is none of that name."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            near = did_you_mean(args[0], names)
            raise InputError(f"there is no command {args[0]}{near}; `unbloat --help` lists them")
        return super().resolve_command(ctx, args)


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
        with formatter.section(heading(EXAMPLES)):
            formatter.write("".join(f"  {line}\n" for line in examples))


def heading(text: str) -> str:
    """Write a heading."""
    return coloured(text, bold=True)


def coloured(text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """Colour a text; what prints it takes that out where no terminal is."""
    return text if "NO_COLOR" in os.environ else typer.style(text, fg=fg, bold=bold)


def sentence_of(error: click.UsageError) -> str:
    """Say in a sentence what is wrong with a command line, what would be right, and where its help is."""
    path = error.ctx.command_path if error.ctx else "unbloat"
    command = path.removeprefix("unbloat").strip() or "unbloat"
    match error:
        case click.NoSuchOption():
            near = did_you_mean(error.option_name, error.possibilities or [])
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
    return f"{said}; `{path} --help` has more"
