"""Proposals for discoveries, from what a project has already written down.

    adr       architecture decision records: the title, and what was decided
    rules     files of instructions to agents: every point of theirs
    commits   messages that give a reason: a fix as an issue, anything else as a decision
    todo      TODO, FIXME and HACK in comments, with their age

Nothing is stored before somebody has said yes to it. What is stored already is not proposed again, and what holds a
secret never is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

from codecairn import redact
from codecairn.cancel import Cancel
from codecairn.index.run import Progress, unheard
from codecairn.memory import discoveries, gleanings
from codecairn.memory.discoveries import LONGEST, SHORTEST, UNBOUND, Draft, Recorded, said_already
from codecairn.memory.drift import bound_to_file
from codecairn.memory.gleanings import Gleaned
from codecairn.paths import module_name
from codecairn.project import Project

SOURCES: dict[str, Callable[[Project, Cancel], Iterator[Gleaned]]] = {
    "adr": gleanings.decisions, "rules": gleanings.rules, "commits": gleanings.commits, "todo": gleanings.todos,
}  # fmt: skip


def proposals(
    project: Project, cancel: Cancel, sources: Sequence[str] = tuple(SOURCES), progress: Progress = unheard
) -> dict[str, Gleaned]:
    """What could be stored, by an id that stays the same while the source says the same."""
    origins = project.discoveries.origins()
    found: dict[str, Gleaned] = {}
    for done, source in enumerate(sources):
        progress(done, len(sources), f"Reading {source}")
        for each in SOURCES[source](project, cancel):
            identity = _identity(each)
            if identity not in found and _origin(each) not in origins and _is_worth_it(project, each):
                found[identity] = each
    return found


def accept(project: Project, each: Gleaned) -> Recorded:
    binding = (bound_to_file(project.root, each.path) if each.path else None) or UNBOUND
    module = each.module or (module_name(each.path, project.name) if each.path else None)
    draft = Draft(each.type, each.content, module, binding, _origin(each))
    return discoveries.remember(project.discoveries, draft)


def _is_worth_it(project: Project, each: Gleaned) -> bool:
    if not SHORTEST <= len(each.content) <= LONGEST or redact.secret_in(each.content):
        return False
    binding = (bound_to_file(project.root, each.path) if each.path else None) or UNBOUND
    return said_already(project.discoveries, each.type, each.content, binding) is None


def _identity(each: Gleaned) -> str:
    said = "\0".join((each.where, each.type, each.content))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:8]


def _origin(each: Gleaned) -> str:
    return f"{each.where}#{_identity(each)}"
