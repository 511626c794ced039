"""What `unbloat run` and `unbloat sweep` share: what is run, where and how."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from unbloat.cli.options import (
    CacheOption,
    ControlOption,
    DefineOption,
    DurationOption,
    IncludeOption,
    JobsOption,
    KernelOption,
    OnOption,
    ReceiverOption,
    RttOption,
    SeedOption,
    SetOption,
    compile_keys,
    overrides_of,
)


@dataclass(frozen=True)
class RunOptions:
    """What is run, where and how: each field is an option of `run` and of `sweep`."""

    cc: ControlOption = None
    receiver: ReceiverOption = None
    rtt: RttOption = None
    duration: DurationOption = None
    assignments: SetOption = None
    include: IncludeOption = None
    define: DefineOption = None
    seed: SeedOption = None
    on: OnOption = "simulator"
    kernel: KernelOption = None
    jobs: JobsOption = None
    cache: CacheOption = None

    def arguments(self, scenario: str) -> dict[str, Any]:
        """Return the arguments of `unbloat.run` and `unbloat.sweep` that the options stand for."""
        return {
            "overrides": overrides_of(
                scenario,
                self.assignments,
                controls=self.cc,
                receivers=self.receiver,
                rtts=self.rtt,
                duration=self.duration,
            )
            | compile_keys(self.include, self.define),
            "seed": self.seed,
            "on": self.on,
            "kernel": self.kernel,
            "jobs": self.jobs,
            "cache": self.cache,
        }


USUAL = RunOptions()
Status = TypeVar("Status")


def with_run_options(command: Callable[..., Status]) -> Callable[..., Status]:
    """Add the fields of `RunOptions` to a command as options, in place of its parameter `given`.

    Typer reads the options off the signature, and knows no parameter that stands for several.
    """
    own = inspect.signature(command, eval_str=True)
    shared = inspect.signature(RunOptions, eval_str=True).parameters

    @wraps(command)
    def called(**values: Any) -> Status:
        return command(given=RunOptions(**{name: values.pop(name) for name in shared}), **values)

    parameters = [each for p in own.parameters.values() for each in (shared.values() if p.name == "given" else [p])]
    called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called
