"""Python, the packages, git and ripgrep."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from codecairn import __version__, config
from codecairn.cancel import Cancel
from codecairn.doctor import Finding, Patient, fault, good, warning
from codecairn.errors import CairnError
from codecairn.setup.plan import invocation, may_be_project
from codecairn.source import process

_OLDEST_GIT = (2, 31)
_OLDEST_RIPGREP = (13, 0)
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;\s*(.*))?$")
_BOUND = re.compile(r"(>=|<|==)\s*([\d.]+)")


def check_packages(patient: Patient) -> Iterator[Finding]:
    del patient
    wrong = list(_wrong_packages())
    if wrong:
        yield fault("Packages", "; ".join(wrong), f"{sys.executable} -m pip install --upgrade codecairn")
    else:
        yield good("Cairn", f"{__version__}, Python {platform.python_version()}, all packages there")


def _wrong_packages() -> Iterator[str]:
    try:
        requirements = metadata.requires("codecairn") or []
    except metadata.PackageNotFoundError:  # unpacked beside an interpreter, not installed
        return
    for each in requirements:
        found = _REQUIREMENT.match(each)
        if not found or "extra" in (found[3] or "") or ("sys_platform" in (found[3] or "") and sys.platform == "linux"):
            continue
        try:
            version = metadata.version(found[1])
        except metadata.PackageNotFoundError:
            yield f"{found[1]} is missing"
            continue
        if not all(_fits(version, sign, bound) for sign, bound in _BOUND.findall(found[2])):
            yield f"{found[1]} {version} is not {found[2].strip()}"


def _fits(version: str, sign: str, bound: str) -> bool:
    has, limit = _numbers(version), _numbers(bound)
    return has >= limit if sign == ">=" else has < limit if sign == "<" else has[: len(limit)] == limit


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def check_command(patient: Patient) -> Iterator[Finding]:
    """Whether the `cairn` that a shell finds is this one."""
    ours = Path(invocation()[0])
    del patient
    shell = shutil.which("cairn")
    if shell is None:
        yield warning("Command", "the shell finds no cairn", f"Add {ours.parent} to PATH. Clients do not need it.")
    elif ours.name.startswith("cairn") and not Path(shell).samefile(ours):
        yield warning("Command", f"the shell starts another installation, {shell}", f"Put {ours.parent} first on PATH.")


def check_git(patient: Patient) -> Iterator[Finding]:
    program = _find("git", patient)
    if program is None:
        yield fault("git", "not found: no history, no branches, no diff", "Install git 2.31 or newer.")
        return
    said = _say(program, patient.root)
    version = _numbers(said)
    if not version:
        yield fault("git", f"{program} does not run: {said or 'no output'}", "Repair it, or put another first on PATH.")
    elif version < _OLDEST_GIT:
        yield fault(
            "git", f"{said}: it obeys none of the settings that keep a repository's own programs from running",
            "Install git 2.31 or newer.",
        )  # fmt: skip
    else:
        yield good("git", said.removeprefix("git version "))


def check_ripgrep(patient: Patient) -> Iterator[Finding]:
    program = _find("rg", patient)
    remedy = "pip install 'codecairn[rg]', or install ripgrep."
    if program is None:
        instead = "`git grep`" if (patient.root / ".git").exists() else "reading every file"
        yield warning("ripgrep", f"not found: grep_codebase falls back to {instead}, which is slower", remedy)
        return
    said = _say(program, patient.root).splitlines()[:1]
    version = _numbers(said[0]) if said else ()
    if version < _OLDEST_RIPGREP:
        yield warning("ripgrep", f"{program} is of no use: {said[0] if said else 'it does not run'}", remedy)
    else:
        yield good("ripgrep", said[0].removeprefix("ripgrep ").split(" ")[0])


def _find(name: str, patient: Patient) -> str | None:
    """As the server finds it: never one that lies inside the project."""
    return process.find(name, outside=patient.root if may_be_project(patient.root) else patient.home)


def _say(program: str, folder: Path) -> str:
    try:
        ran = process.run(
            [program, "--version"], folder=folder, environment=config.child_environment(), timeout=10, cancel=Cancel()
        )
    except (OSError, CairnError) as error:
        return str(error)
    return ran.output.decode("utf-8", "replace").strip() if ran.status == 0 else ""
