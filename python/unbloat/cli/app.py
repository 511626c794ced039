"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from unbloat._core import Error, InputError, __version__
from unbloat.cli import clean, compare, kernel, listing, plot, reproduce, run, shell, sweep, terminal
from unbloat.system import interrupts

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say; give the exit status. Errors are a sentence on stderr."""
    terminal.show_messages()
    words, program = shell.split(sys.argv[1:] if argv is None else argv)
    args = parser().parse_args(words, argparse.Namespace(program=program))
    command: Callable[[argparse.Namespace], int | None] = args.command
    try:
        return command(args) or DONE
    except InputError as error:
        return complain(error, WRONG_INPUT)
    except Error as error:
        return complain(error, FAILED)
    except UnicodeEncodeError as error:
        return complain(f"{error.object!r} is no text: its bytes are not UTF-8", WRONG_INPUT)
    except BrokenPipeError:
        sys.stderr.close()  # Whoever read our output has had enough; the interpreter need not say so again.
        return DONE
    except OSError as error:
        return complain(error, FAILED)
    except KeyboardInterrupt:
        are_kept = "cache" in args and args.cache is not False
        return complain(f"interrupted{'; the runs that were finished are kept' * are_kept}", INTERRUPTED)
    except interrupts.Ended as ended:
        are_kept = "cache" in args and args.cache is not False
        complain(f"ended by {ended.name}{'; the runs that were finished are kept' * are_kept}", FAILED)
        raise


def complain(sentence: object, status: int) -> int:
    """Say on stderr what went wrong; give the exit status."""
    terminal.complain(sentence)
    return status


def parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    top = argparse.ArgumentParser(
        prog="unbloat", description="A laboratory for end-host mechanisms against bufferbloat."
    )
    top.add_argument("--version", action="version", version=f"unbloat {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    listing.add_arguments(
        commands.add_parser("list", help="what there is: mechanisms, queues, link models, scenarios, papers")
    )
    run.add_arguments(
        commands.add_parser("run", help="run a scenario: simulated, on the running kernel, or in a guest")
    )
    sweep.add_arguments(commands.add_parser("sweep", help="a grid, every cell repeated, with confidence intervals"))
    reproduce.add_arguments(commands.add_parser("reproduce", help="a paper's tables: published beside measured"))
    compare.add_arguments(commands.add_parser("compare", help="two or three sets of results against each other"))
    plot.add_arguments(commands.add_parser("plot", help="pictures of saved results"))
    kernel.add(commands)
    shell.add(commands)
    clean.add(commands)
    return top
