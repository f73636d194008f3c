"""The names of a repository's commits: the default branch, the ref a caller means, the worktrees there are."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, InvalidInput, RefNotFound
from codecairn.paths import has_control
from codecairn.source.git import OBJECT_ID, Git, text_at
from codecairn.suggestions import nearest, suggestion

_HEADS = "refs/heads/"
_KINDS = (_HEADS, "refs/tags/", "refs/remotes/")
_GUESSES = ("main", "master")


class Tip(NamedTuple):
    name: str
    """A branch, a remote's branch or a tag, as people write it; a commit's id where it is none of them."""
    commit: str


def tip_of(git: Git, ref: str, cancel: Cancel, *, param: str = "ref") -> Tip:
    """The ref a caller means, under the name it is known by. A branch is meant before a tag of its name."""
    branch = _branch(git, ref, cancel)
    if branch is not None:
        return Tip(ref, branch)
    commit = resolve(git, ref, cancel, param=param, complaint="Unknown ref")
    full = _full_name(git, ref, cancel)
    short = _short(full)
    is_hidden = bool(short) and _branch(git, short, cancel) not in (None, commit)
    return Tip((full if is_hidden else short) or commit, commit)


def resolve(git: Git, ref: str, cancel: Cancel, *, param: str, complaint: str) -> str:
    """The commit that a caller's ref stands for. The error about an unknown one names the nearest."""
    try:
        return git.resolve(ref, cancel, param=param, complaint=complaint)
    except RefNotFound as error:
        near = nearest(ref, tips(git, cancel))
        error.data["near"] = near
        error.remedy = suggestion(near, error.remedy)
        raise


def _full_name(git: Git, ref: str, cancel: Cancel) -> str:
    """Empty for what moves with another ref, such as `main~2`, and for a bare commit."""
    asked = ("rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", ref)
    return next((each for each in git.ask(*asked, cancel=cancel).split() if each.startswith("refs/")), "")


def _short(full: str) -> str:
    kind = next((each for each in _KINDS if full.startswith(each)), "")
    return full.removeprefix(kind)


def commit_of(git: Git, name: str, cancel: Cancel) -> str | None:
    """The commit of a ref by the name it is known by; None where there is no such ref (any more)."""
    if OBJECT_ID.fullmatch(name):
        return name
    return _branch(git, name, cancel) or _resolve_or_none(git, name, cancel)


def _branch(git: Git, name: str, cancel: Cancel) -> str | None:
    return _on_disk(git, name, cancel) or _resolve_or_none(git, f"{_HEADS}{name}", cancel)


def _resolve_or_none(git: Git, name: str, cancel: Cancel) -> str | None:
    try:
        return git.resolve(name, cancel, param="ref", complaint="Unknown ref")
    except (InvalidInput, RefNotFound):
        return None


def _on_disk(git: Git, name: str, cancel: Cancel) -> str | None:
    """A branch without a process, where it is a plain file; git itself knows the other ways."""
    if has_control(name) or ".." in name or name.startswith(("/", "-")):
        return None
    said = text_at(git.common(cancel) / _HEADS / name)
    return said if OBJECT_ID.fullmatch(said) else None


def default_branch(git: Git, cancel: Cancel) -> Tip | None:
    """The branch that others are compared with; None where nothing was ever committed."""
    for name in _candidates(git, cancel):
        commit = commit_of(git, name, cancel)
        if commit is not None:
            return Tip(name, commit)
    head = git.head(cancel)
    return Tip(git.branch(cancel) or head, head) if head else None


def _candidates(git: Git, cancel: Cancel) -> list[str]:
    remote = git.ask("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD", cancel=cancel)
    remote = remote.removeprefix("refs/remotes/")
    set_up = git.ask("config", "--get", "init.defaultBranch", cancel=cancel)
    named = [remote.removeprefix("origin/"), remote, set_up, *_GUESSES]
    return [name for name in named if name and not name.startswith("-") and not has_control(name)]


def tips(git: Git, cancel: Cancel) -> dict[str, str]:
    """Every branch, remote's branch and tag, as people write it, and its commit; a tag of a branch's name in full."""
    form = "%(refname)%00%(objectname)%00%(*objectname)"
    found: dict[str, str] = {}
    for line in git.ask("for-each-ref", f"--format={form}", *_KINDS, cancel=cancel).splitlines():
        name, own, peeled = line.split("\0")
        short = _short(name)
        found[short if short not in found else name] = peeled or own  # refs/heads/ comes first
    return found


def first_commits(git: Git, tip: str, cancel: Cancel) -> list[str]:
    """The commits a history begins with; in a shallow clone, those at which it is cut."""
    return git.ask("rev-list", "--max-parents=0", tip, cancel=cancel).split()


def has_commit(git: Git, commit: str, cancel: Cancel) -> bool:
    asked = ("cat-file", "-e", "--end-of-options", f"{commit}^{{commit}}")
    return bool(OBJECT_ID.fullmatch(commit)) and git.run(*asked, cancel=cancel).status == 0


def remote_of(git: Git, cancel: Cancel) -> str:
    """Where the repository was cloned from, as it was written; nothing where nowhere."""
    return git.ask("config", "--get", "remote.origin.url", cancel=cancel)


class Worktree(NamedTuple):
    path: Path
    branch: str | None
    commit: str | None


def worktrees(git: Git, cancel: Cancel) -> list[Worktree]:
    """Every folder in which the repository is checked out, but for those that are gone."""
    listed = git.run("worktree", "list", "--porcelain", "-z", cancel=cancel).output.decode("utf-8", "surrogateescape")
    found = []
    for block in listed.split("\0\0"):
        facts = {name: value for name, _, value in (line.partition(" ") for line in block.split("\0"))}
        if "worktree" in facts and "prunable" not in facts and "bare" not in facts:
            branch = facts.get("branch", "").removeprefix(_HEADS) or None
            found.append(Worktree(Path(facts["worktree"]), branch, facts.get("HEAD")))
    return found


def is_repository(git: Git, cancel: Cancel) -> bool:
    try:
        git.layout(cancel)
    except CairnError:
        return False
    return True
