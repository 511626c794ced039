"""A candidate: the mechanism that a suite judges, and how it takes its place in the suite's scenarios."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from unbloat import _core
from unbloat._core import InputError
from unbloat.scenarios.catalogue import queues
from unbloat.scenarios.checks import did_you_mean
from unbloat.system.paths import kind_of_file, mechanism_names

Kind = Literal["congestion control", "window controller", "queue"]
"""The sort of mechanism that a suite judges."""
KINDS: tuple[Kind, ...] = get_args(Kind)

OF_FILES: dict[str, Kind] = {"congestion": "congestion control", "window": "window controller"}
"""The kinds that a file may hold, by the folder of the shipped ones."""

WORD = "candidate"
"""The word that stands for the candidate in a suite's scenarios, and the label of its runs."""
CONTROL = re.compile(rf'(?P<quote>"?)(?P<path>[\w.*]*\.|)cc(?P=quote)(?P<equals>\s*=\s*)"{WORD}"')
"""A key that names a congestion control: `cc` of a flow group, or `"flows.0.cc"` of a case."""
QUEUE = re.compile(rf'(?P<key>\bkind\s*=\s*)"{WORD}"')
LIMITS = {"droptail": "1000p", "drophead": "1000p", "red": "1500000b"}
"""The limits of disciplines that have no default, as large as Linux's usual transmit queue."""
BESIDE_A_WINDOW_CONTROLLER = "cubic"
"""The congestion control of senders to a candidate that controls receivers' windows."""


@dataclass(frozen=True)
class Candidate:
    """A mechanism, by its name or file."""

    name: str
    """The name as the user gave it."""
    kind: Kind

    @property
    def title(self) -> str:
        """The name without the folders of a file."""
        return Path(self.name).name.removesuffix(".bpf.c") if _is_file(self.name) else self.name

    def put_into(self, scenario: str) -> str:
        """Return the text of a scenario in which the candidate takes its place."""
        name = json.dumps(str(Path(self.name).resolve()) if _is_file(self.name) else self.name)
        if self.kind == "queue":
            limit = f', limit = "{LIMITS[self.name]}"' if self.name in LIMITS else ""
            return QUEUE.sub(lambda found: f"{found['key']}{name}{limit}", scenario)
        if self.kind == "congestion control":
            return CONTROL.sub(lambda found: f"{_key(found, 'cc')} = {name}", scenario)

        def both(found: re.Match[str]) -> str:
            # A key has a line of its own, or is one of several in an inline table.
            before = scenario[scenario.rfind("\n", 0, found.start()) + 1 : found.start()]
            between = ", " if before.strip() else "\n"
            control = f'{_key(found, "cc")} = "{BESIDE_A_WINDOW_CONTROLLER}"'
            return f"{control}{between}{_key(found, 'window_controller')} = {name}"

        return CONTROL.sub(both, scenario)


def _key(found: re.Match[str], name: str) -> str:
    return f"{found['quote']}{found['path']}{name}{found['quote']}"


def _is_file(name: str) -> bool:
    return name.partition("#")[0].endswith(".c")


def candidate_of(name: str, kinds: tuple[Kind, ...] = KINDS) -> Candidate:
    """Find a mechanism of one of these kinds by its name, its file or `kernel:NAME`.

    Raises
    ------
    InputError
        No shipped mechanism has the name, or it is of another kind.

    """
    if _is_file(name):
        if not Path(name.partition("#")[0]).exists():
            raise InputError(f"candidate {name}: no such file")
        kind = OF_FILES.get(kind_of_file(Path(name.partition("#")[0])))
        if kind is None:
            raise InputError(f"candidate {name}: is a classifier; this suite judges {_plural(kinds)}")
        return _of_kind(name, kind, kinds)
    known = known_names()
    if name.startswith("kernel:"):
        known |= {name: "congestion control"}
    if name not in known:
        near = did_you_mean(name, known)
        raise InputError(f"candidate {name}: unknown{near}; valid: a file, kernel:NAME, or a name of `unbloat list`")
    return _of_kind(name, known[name], kinds)


def _of_kind(name: str, kind: Kind, kinds: tuple[Kind, ...]) -> Candidate:
    if kind not in kinds:
        raise InputError(f"candidate {name}: is a {kind}; this suite judges {_plural(kinds)}")
    return Candidate(name, kind)


def _plural(kinds: tuple[Kind, ...]) -> str:
    return " or ".join(f"{kind}s" for kind in kinds)


def known_names() -> dict[str, Kind]:
    """Return the shipped mechanisms and the queue disciplines with their kinds."""
    return {
        **dict.fromkeys((each["name"] for each in queues(_core.scenario_keys())), "queue"),
        **dict.fromkeys(mechanism_names("window"), "window controller"),
        **dict.fromkeys(mechanism_names("congestion"), "congestion control"),
    }
