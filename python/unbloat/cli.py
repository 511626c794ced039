"""The command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from unbloat import Error, InputError, __version__, clean, interrupts, kernel_commands, shell, sweep_command, terminal
from unbloat.arguments import JOBS, assignment, backend_argument, cache_arguments
from unbloat.terminal import say

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say; give the exit status. Errors are a sentence on stderr."""
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
    _list_arguments(
        commands.add_parser("list", help="what there is: mechanisms, queues, link models, scenarios, papers")
    )
    _run_arguments(commands.add_parser("run", help="run a scenario: simulated, on the running kernel, or in a guest"))
    sweep_command.add_arguments(
        commands.add_parser("sweep", help="a grid, every cell repeated, with confidence intervals")
    )
    _reproduce_arguments(commands.add_parser("reproduce", help="a paper's tables: published beside measured"))
    _compare_arguments(commands.add_parser("compare", help="two or three sets of results against each other"))
    kernel_commands.add(commands)
    shell.add(commands)
    clean.add(commands)
    return top


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=list_command)
    parser.add_argument("name", metavar="NAME", nargs="?", help="tell all about one thing, such as cubic_plus")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=run_command)
    add = parser.add_argument
    add("scenario", metavar="FILE", help="a scenario file, or the name of one from `unbloat list`")
    add("--cc", metavar="NAME|FILE", help="congestion control of every flow: a name, or a .bpf.c file of your own")
    add("--set", metavar="KEY=VALUE", action="append", default=[], type=assignment, help="set a key of the scenario")
    add("--seed", metavar="N", type=int, help="seed of the run's draws")
    backend_argument(add)
    add("--json", action="store_true", help="print the records as JSON")
    cache_arguments(parser)
    add("-o", "--output", metavar="DIR", type=Path, help="write records and series as Parquet files")
    add("--figure", metavar="FILE", type=Path, help="draw a figure: .svg, .png or .pdf")
    add("--plot", metavar="KIND,...", help="what to draw: cwnd, rtt, queue, goodput, rtt_cdf, queue_delay_cdf, cdf")
    add("--pcap", metavar="FILE", type=Path, help="write every packet at the senders as pcapng")
    add("--pcap-links", action="store_true", help="and at the far end of each link, an interface for each direction")
    add("--series", metavar="STEP", help="step of the series, such as 10ms (default: about a thousandth of the run)")
    add("-j", "--jobs", metavar="N", type=int, help=JOBS)


def _reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=reproduce_command)
    add = parser.add_argument
    add("paper", metavar="PAPER", help="a paper from `unbloat list`, or a folder with a published.toml")
    add("--table", metavar="ID", help="only the numbers and statements whose id begins so: table2, fig6")
    backend_argument(add)
    add("--full", action="store_true", help="as many repeats as the paper itself; says first how long that takes")
    add("--choices", action="store_true", help="what the paper's open choices change, instead of its tables")
    add("--json", action="store_true", help="print the claims as JSON")
    add("--page", action="store_true", help="write tables and figures into the README.md of the paper's folder")
    add("-o", "--output", metavar="DIR", type=Path, help="where figures go (default: results/PAPER)")
    cache_arguments(parser)
    add("-j", "--jobs", metavar="N", type=int, help=JOBS)


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=compare_command)
    add = parser.add_argument
    results = "a folder that `unbloat run -o` wrote (or one above several), or what `unbloat run --json` printed"
    add("a", metavar="A", type=Path, help=f"results: {results}")
    add("b", metavar="B", type=Path, nargs="?", help="results to hold against A (default: A's own, with --between)")
    add("c", metavar="C", type=Path, nargs="?", help="results to hold against B, in the same table")
    add(
        "--between",
        metavar="AXIS=LABEL_A,LABEL_B",
        help="compare A's cells with one label of an axis with B's with another: cc=kernel:cubic,cubic",
    )
    add(
        "--spread",
        metavar="RESULTS",
        type=Path,
        help="A's or B's cells once more, along an axis that should make no difference: as much may lie between them",
    )
    add("--packets", action="store_true", help="A and B are packet traces: the first packet in which they differ")
    add(
        "--fields",
        metavar="FIELD,...",
        help="with --packets: what is compared, of seq, ack, sack, window, flags (default: all)",
    )
    add("--reasons", metavar="FILE", type=Path, help="reasons to put beside what lies outside the goal (TOML)")
    add("--page", metavar="FILE", type=Path, help="write the table into a Markdown page")
    add("--json", action="store_true", help="print JSON")


def list_command(args: argparse.Namespace) -> None:
    """Print what there is."""
    from unbloat.listing import catalogue, page, screen

    found = catalogue()
    if args.json:
        say(json.dumps(found, indent=2))
    else:
        say(page(found, args.name) if args.name else screen(found))


def run_command(args: argparse.Namespace) -> None:
    """Run; print, write and draw what was asked for."""
    from unbloat.runner import run
    from unbloat.screen import screen

    check_figure(args)
    results = run(
        args.scenario,
        dict(args.set),
        on=args.on,
        kernel=args.kernel,
        cc=args.cc,
        seed=args.seed,
        series=args.series or bool(args.output or args.figure),
        pcap=args.pcap,
        pcap_links=args.pcap_links,
        cache=args.cache,
        jobs=args.jobs,
    )
    if args.output:
        results.save(args.output)
    if args.figure:
        from unbloat.figures import save

        save(results.plot(*kinds(args)), args.figure)
    say(json.dumps(results.as_dict(), indent=2) if args.json else screen(results))


def check_figure(args: argparse.Namespace) -> None:
    """Refuse what cannot be drawn before anything is simulated."""
    if args.plot and not args.figure:
        raise InputError("--plot says what to draw, and --figure where to: name a file that ends in .svg, .png or .pdf")
    if args.figure:
        from unbloat.figures import check

        check(kinds(args), args.figure)


def kinds(args: argparse.Namespace) -> list[str]:
    """Split the list of --plot."""
    return [kind.strip() for kind in args.plot.split(",")] if args.plot else []


def reproduce_command(args: argparse.Namespace) -> int | None:
    """Repeat a paper."""
    from unbloat.reproduce import main as reproduce

    return reproduce(args)


def compare_command(args: argparse.Namespace) -> int | None:
    """Hold two sets of results against each other, or two packet traces."""
    if args.packets:
        from unbloat.compare_packets_command import main as compare_packets

        return compare_packets(args)
    from unbloat.compare_command import main as compare

    compare(args)
    return None
