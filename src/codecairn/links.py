"""Linked projects: others that a search may cover along with this one.

At most ten, one step deep: what a linked project links to is not followed, so projects that link each other are each
searched once. A link is a path and a name. Whether the path may be opened is asked each time it is used, by the rule
for any path a caller names: what has gone since, or lies outside the roots that this server may show, is passed over
with a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from codecairn.clock import timestamp
from codecairn.errors import CairnError, Denied, InvalidInput, NotFound, WorkspaceLimitExceeded
from codecairn.paths import has_control, printable
from codecairn.project import Project, Projects
from codecairn.store.project_links import MOST_LINKS, Link
from codecairn.suggestions import nearest, suggestion

_LONGEST_NAME = 100


@dataclass(frozen=True)
class LinkedProjects:
    """The linked projects that can be searched now."""

    projects: list[Project] = field(default_factory=list)
    names: dict[Path, str] = field(default_factory=dict)
    """The name of each in results, by its root."""
    warnings: list[str] = field(default_factory=list)


def linked_projects(project: Project, projects: Projects) -> LinkedProjects:
    """In the order in which they were linked; the project itself is none of them."""
    found = LinkedProjects()
    for link in project.links.all():
        try:
            other = projects.project_at(link.root, param="projectScope")
        except CairnError as error:
            found.warnings.append(_skip_note(link, error, is_local=projects.settings.local))
            continue
        if other.root != project.root and other.root not in found.names:
            found.projects.append(other)
            found.names[other.root] = link.name
    return found


def propose_link(project: Project, projects: Projects, path: Path, name: str | None = None) -> Link:
    """The link that would be made; raises where it may not be."""
    other = projects.project_at(str(path), param="path")
    if other.root == project.root:
        raise InvalidInput("A project is not linked to itself", param="path", reason="it is this project")
    others = [each for each in project.links.all() if each.root != str(other.root)]
    if len(others) >= MOST_LINKS:
        raise _too_many()
    return Link(str(other.root), _name(other.root, name, {each.name for each in others} | {project.name}), timestamp())


def link(project: Project, made: Link) -> None:
    """Store a link; one to a project that is linked already gives it another name."""
    if not project.links.add(made):
        raise _too_many()


def _too_many() -> WorkspaceLimitExceeded:
    return WorkspaceLimitExceeded(
        f"{MOST_LINKS} projects are linked already", param="path", limit=MOST_LINKS,
        remedy="Unlink one first: cairn unlink NAME.",
    )  # fmt: skip


def unlink(project: Project, given: str) -> Link:
    """By name, or by path, be the project there or not."""
    links = project.links.all()
    paths = {given, _resolve(given)}
    found = next((each for each in links if each.name == given), None) or next(
        (each for each in links if each.root in paths), None
    )
    if found is None:
        near = nearest(given, [each.name for each in links], 1)
        raise NotFound(f"Not linked: {printable(given)}", remedy=suggestion(near, "cairn links shows what is linked."))
    project.links.remove(found.root)
    return found


def _resolve(given: str) -> str:
    try:
        return str(Path(given).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):  # no such user, a loop of links, a NUL: then it is no path of a link
        return given


def _name(root: Path, given: str | None, taken: set[str]) -> str:
    """The name asked for, which must be free; else the folder's, with as much of its path before it as tells it from
    the others."""
    if given is not None:
        name = given.strip()
        if not name or len(name) > _LONGEST_NAME or has_control(name):
            raise InvalidInput(
                f"Not a name: {printable(given)}", param="name", reason="one line, at most 100 characters"
            )
        if name in taken:
            raise InvalidInput(f"The name {printable(name)} is taken", param="name", reason="another project has it")
        return name
    parts = root.parts[1:] or (root.name,)
    names = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
    return next((each for each in names if each not in taken), str(root))


def _skip_note(link: Link, error: CairnError, *, is_local: bool) -> str:
    """Why a link is passed over; to a caller elsewhere, the folders of this machine are nothing to learn."""
    where = f" ({link.root})" if is_local else ""
    if isinstance(error, Denied):
        return f"Linked project {link.name}{where} was skipped: outside the roots this server may show"
    return f"Linked project {link.name}{where} was skipped: it is gone, or cannot be read"
