"""The project's own files agree: versions, licences, metadata, and what continuous integration runs."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
import yaml

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = runpy.run_path(str(ROOT / "tools/version"))
SPDX = "GPL-2.0-only OR BSD-2-Clause"


# ---------------------------------------------------------------- Version


def test_every_file_states_the_version_of_cargo() -> None:
    stated = {name: set(VERSION["stated"](name)) for name in VERSION["PLACES"]}
    assert stated == {name: {VERSION["current"]()} for name in VERSION["PLACES"]}
    assert len(VERSION["stated"]("Cargo.toml")) == 1 + (ROOT / "Cargo.toml").read_text().count('", path = "crates/')


def test_the_package_has_the_version_of_cargo() -> None:
    assert "version" in PROJECT["dynamic"] and ub.__version__ == VERSION["current"]()
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        assert tomllib.loads(manifest.read_text())["package"]["version"] == {"workspace": True}


def test_one_command_writes_a_new_version_everywhere(tmp_path: Path) -> None:
    for name in ("tools/version", "CHANGELOG.md", *VERSION["PLACES"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for new in ("7.8.9", "7.8.10"):
        subprocess.run([tmp_path / "tools/version", new], check=True)
        copied = runpy.run_path(str(tmp_path / "tools/version"))
        assert {version for name in copied["PLACES"] for version in copied["stated"](name)} == {new}
    assert subprocess.run([tmp_path / "tools/version"], capture_output=True, text=True).stdout == "7.8.10\n"
    changelog = (tmp_path / "CHANGELOG.md").read_text()
    assert re.search(r"^## Unreleased\n\n## 7\.8\.10 \(\d{4}-\d\d-\d\d\)\n\n## 7\.8\.9 ", changelog, re.MULTILINE)
    assert len(re.findall(r"^date-released: \d{4}-\d\d-\d\d$", (tmp_path / "CITATION.cff").read_text(), re.M)) == 1
    assert (tmp_path / "fuzz/Cargo.lock").read_text().count('"0.0.0"') == 1


def test_a_version_has_three_numbers() -> None:
    assert subprocess.run([ROOT / "tools/version", "v1"], capture_output=True).returncode == 1


# ---------------------------------------------------------------- Licences and metadata


def test_all_say_the_same_licence() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    reuse = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
    assert PROJECT["license"] == cargo["workspace"]["package"]["license"] == SPDX
    assert " OR ".join(citation["license"]) == SPDX
    assert reuse[0]["path"] == "**" and reuse[0]["SPDX-License-Identifier"] == SPDX
    assert f"-License-Identifier: {SPDX}\n" in (ROOT / "LICENSE").read_text()


def test_every_licence_has_its_text_and_every_text_is_used() -> None:
    annotations = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
    used = {name for each in annotations for name in re.split(r" OR | WITH ", each["SPDX-License-Identifier"])}
    assert used == {file.stem for file in (ROOT / "LICENSES").iterdir()}
    patterns = [each["path"] for each in annotations]
    paths = [path for each in patterns for path in ([each] if isinstance(each, str) else each)]
    assert not [path for path in paths if not list(ROOT.glob(path))]


def test_the_package_says_whose_it_is_and_what_it_needs() -> None:
    assert PROJECT["authors"] == yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"]
    assert PROJECT["keywords"] == sorted(PROJECT["keywords"], key=str.lower)
    assert all(list(ROOT.glob(pattern)) for pattern in PROJECT["license-files"])
    minors = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PROJECT["requires-python"] == f">=3.{minors[0]}"
    # PEP 639: a licence stands in its own key alone.
    assert not [line for line in PROJECT["classifiers"] if line.startswith("License")]


def test_users_are_not_offered_what_developers_need() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(PROJECT["optional-dependencies"]) == {"dask"}
    groups = settings["dependency-groups"]
    printed = subprocess.run([ROOT / "tools/libraries", *groups], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [*PROJECT["dependencies"], *groups["docs"], *groups["test"]]


# ---------------------------------------------------------------- Joining in


@pytest.mark.parametrize("name", ["LICENSE", "SECURITY.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_a_forge_finds_what_it_looks_for(name: str) -> None:
    assert len((ROOT / name).read_text()) > 100


def test_documents_for_contributors_give_no_address_that_nobody_reads() -> None:
    pages = [ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *(ROOT / ".github").rglob("*.*")]
    assert not [page for page in pages if re.search(r"\w@[\w-]+\.\w", page.read_text())]


def test_links_of_root_pages_lead_to_files() -> None:
    for page in ROOT.glob("*.md"):
        targets = re.findall(r"\]\(([^)#\s]+)", re.sub(r"`[^`\n]+`", "", page.read_text()))
        assert not [target for target in targets if ":" not in target and not (ROOT / target).exists()], page


@pytest.mark.parametrize(
    "file", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda file: file.stem
)
def test_a_form_asks_for_something(file: Path) -> None:
    form = yaml.safe_load(file.read_text())
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)
    assert len({field["id"] for field in fields}) == len(fields)


# ---------------------------------------------------------------- What a newcomer meets


def recipe(*words: str, **variables: str) -> str:
    """Return what make would do, though everything is built; the tests themselves may run under a make."""
    settings = [f"{name}={value}" for name, value in variables.items()]
    command = ["make", "--dry-run", "--no-print-directory", *words, *settings]
    alone = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=True).stdout


def test_make_shows_a_first_experiment_and_a_part_of_a_paper() -> None:
    shown = re.findall(r"^\.venv/bin/(unbloat .*)", recipe(), re.MULTILINE)
    assert [line.split()[1] for line in shown] == ["run", "reproduce"]
    assert "--table" in shown[1]


def test_a_whole_paper_has_a_target_of_its_own() -> None:
    assert recipe("paper", PAPER="rtac").rstrip().endswith("unbloat reproduce rtac")


def test_the_setup_says_what_it_installs_and_with_which_rights(tmp_path: Path) -> None:
    for name in ("apt-get", "sudo"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    search = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [ROOT / "tools/setup-debian", "no-such-program"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=search).stdout
    rights = "as root" if os.geteuid() == 0 else "as root, by sudo"
    assert said.splitlines()[0] == f"unbloat: make installs with apt-get, {rights}: no-such-program"


def test_no_page_promises_a_package_that_no_registry_has() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.py")]
    assert not [
        page for page in pages if re.search(r"(?:pip|uvx?) (?:install )?['\"]?unbloat\b(?!-)", page.read_text())
    ]


def test_numbers_of_the_readme_are_those_of_their_pages() -> None:
    def page(name: str) -> str:
        return " ".join((ROOT / name).read_text().split())

    bold = re.findall(r"^\| \*\*(.*?)\*\* \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    share, packets, claims = bold[:3]
    assert f"**{share}** of random scenarios with one flow (800 of 805)" in page("docs/agreement/README.md")
    assert f"**{packets.removesuffix(' million')}." in page("docs/speed.md")
    counts = re.findall(r"Of the (\d+) that can be decided, (\d+) are reproduced", page("papers/README.md"))
    decided, reproduced = (sum(map(int, column)) for column in zip(*counts, strict=True))
    assert claims == f"{reproduced} of {decided}"


# ---------------------------------------------------------------- Continuous integration

WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
COMMANDS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
HOOKS = [
    hook for each in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"] for hook in each["hooks"]
]


def targets() -> set[str]:
    """List the targets of the Makefile that are called by name."""
    (listed,) = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(listed.split())


def test_every_step_names_targets_and_tools_that_exist() -> None:
    made = [line.split()[1:] for run in COMMANDS for line in run.splitlines() if line.split()[0] == "make"]
    assert {target for line in made for target in line} <= targets()
    tools = [word for run in COMMANDS for word in run.split() if word.startswith((".ci/", "tools/"))]
    assert tools and all(os.access(ROOT / tool, os.X_OK) for tool in tools)


def test_all_checks_run_there() -> None:
    (test,) = re.findall(r"^test:\n\t\$\(MAKE\) -j2 (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert (ROOT / ".ci/run").read_text().splitlines()[-1] == "make test" and "sudo .ci/run" in COMMANDS
    assert {target for target in targets() if target.startswith("check-")} <= {*test.split(), "check-lint"}


def test_every_python_that_the_package_names_is_tried() -> None:
    tried = WORKFLOW["jobs"]["python"]["strategy"]["matrix"]["python"]
    assert tried == re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))


def test_wheels_are_made_for_two_machines_where_the_c_library_is_old() -> None:
    job = WORKFLOW["jobs"]["package"]
    assert {each["machine"] for each in job["strategy"]["matrix"]["include"]} == {"x86-64", "aarch64"}
    assert job["container"]["image"] == "debian:12"


def test_a_release_is_one_command() -> None:
    assert recipe("release").splitlines()[-1] == "tools/release"
    subprocess.run(["bash", "-n", ROOT / "tools/release"], check=True)


def test_git_s_hooks_are_programs_of_the_checkout() -> None:
    checks = recipe("check-style")
    for hook in HOOKS:
        assert hook["language"] == "system"
        program = next(word for word in hook["entry"].split() if word != "env" and "=" not in word)
        assert program in checks, hook["id"]
        folders = re.match(r"\^\(?([\w/|]+?)\)?/", hook.get("files", "^tests/"))
        assert folders and all((ROOT / folder).is_dir() for folder in folders[1].split("|"))
