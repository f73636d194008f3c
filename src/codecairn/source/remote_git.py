"""Repositories that a team server keeps: fetched from elsewhere, their refs and files set to given commits.

This is the one place where a git of ours opens a network connection. It runs in a repository that we made, so its
configuration is ours; hooks, filters and submodules stay off as everywhere (git.py). Only https, http, ssh, git and
file are spoken: a URL cannot name a program. Credentials are those of the account that runs the worker: its credential
helpers, its ssh configuration, GIT_SSH_COMMAND.

What is fetched goes to refs/incoming, and nobody sees it there. `set_refs` then moves the branches and tags that are
wanted, so that a clone shows one published state and never half of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from codecairn import config
from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.paths import printable
from codecairn.source import process
from codecairn.source.git import Git
from codecairn.source.git_settings import NEUTRAL, QUIET
from codecairn.source.refs import has_commit

FETCH_TIMEOUT_S = 1800.0
_INCOMING = "refs/incoming/"
_SPOKEN = "file:git:http:https:ssh"


class RemoteRefs(NamedTuple):
    """Branches and tags of a remote by their names, each with its commit, and the branch that HEAD is."""

    default: str
    branches: dict[str, str]
    tags: dict[str, str]


class RemoteFailed(CairnError):
    title = "Fetch failed"
    way_out = "Look whether the URL is right, the forge answers, and this account may read the repository."


def ensure_clone(folder: Path, url: str, cancel: Cancel) -> Git:
    """A repository without any commit, if there is none yet. Locks of a git that was killed are removed: the caller
    holds the lock of the folder, so nobody else's git is at work there."""
    folder.mkdir(parents=True, exist_ok=True)
    git = Git(folder)
    if not (folder / ".git/HEAD").exists():
        git.read("init", "--quiet", "--initial-branch=main", "--template=", cancel=cancel)
    for lock in (*(folder / ".git").glob("*.lock"), *(folder / ".git/refs").rglob("*.lock")):
        lock.unlink(missing_ok=True)
    git.read("config", "remote.origin.url", url, cancel=cancel)
    return git


def fetch(git: Git, url: str, cancel: Cancel) -> RemoteRefs:
    """Fetch every branch and tag; of a forge that has no whole history (--update-shallow), as much as it has."""
    _speak(
        git, "fetch", "--quiet", "--force", "--prune", "--no-tags", "--update-shallow", "--no-write-fetch-head",
        "--no-recurse-submodules", "--no-auto-maintenance", "--end-of-options", url,
        f"+refs/heads/*:{_INCOMING}heads/*", f"+refs/tags/*:{_INCOMING}tags/*", cancel=cancel,
    )  # fmt: skip
    return RemoteRefs(_default(git, url, cancel), _incoming(git, "heads/", cancel), _incoming(git, "tags/", cancel))


def lacks(git: Git, commits: Mapping[str, str], cancel: Cancel) -> bool:
    """Whether one of these commits is not here."""
    return not all(has_commit(git, commit, cancel) for commit in commits.values())


def set_refs(git: Git, default: str, branches: Mapping[str, str], tags: Mapping[str, str], cancel: Cancel) -> None:
    """Show these branches and tags, and no others; then bring the files to the default branch."""
    wanted = {f"refs/heads/{name}": commit for name, commit in branches.items()}
    wanted |= {f"refs/tags/{name}": commit for name, commit in tags.items()}
    listed = git.ask("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/", "refs/tags/", cancel=cancel)
    shown = dict(line.split(" ") for line in listed.splitlines())
    steps = [f"update {name}\0{commit}\0\0" for name, commit in wanted.items() if shown.get(name) != commit]
    steps += [f"delete {name}\0\0" for name in shown.keys() - wanted.keys()]
    head = f"refs/heads/{default}"
    if git.ask("symbolic-ref", "--quiet", "HEAD", cancel=cancel) != head:
        git.read("symbolic-ref", "HEAD", head, cancel=cancel)
    git.read("symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{default}", cancel=cancel)
    if steps:
        done = git.run("update-ref", "-z", "--stdin", cancel=cancel, stdin="".join(steps).encode())
        if done.status != 0:
            raise RemoteFailed(f"The refs cannot be set: {printable(done.complaint)}")
    git.read("reset", "--quiet", "--hard", head, "--", cancel=cancel, tree=git.writable_tree(cancel))


def _incoming(git: Git, kind: str, cancel: Cancel) -> dict[str, str]:
    form = "%(refname)%00%(objectname)%00%(*objectname)"
    found = {}
    for line in git.ask("for-each-ref", f"--format={form}", f"{_INCOMING}{kind}", cancel=cancel).splitlines():
        name, own, peeled = line.split("\0")
        found[name.removeprefix(f"{_INCOMING}{kind}")] = peeled or own
    return found


def _default(git: Git, url: str, cancel: Cancel) -> str:
    said = _speak(git, "ls-remote", "--symref", "--end-of-options", url, "HEAD", cancel=cancel)
    first = said.decode("utf-8", "replace").partition("\n")[0]
    is_branch = first.startswith("ref: refs/heads/") and "\t" in first
    return first.removeprefix("ref: refs/heads/").partition("\t")[0] if is_branch else ""


def _speak(git: Git, *arguments: str, cancel: Cancel) -> bytes:
    """Run a git that may open a connection."""
    program = process.find("git", outside=git.root)
    if program is None:
        raise RemoteFailed("git is not installed or not on PATH")
    finished = process.run(
        [program, "--no-pager", *arguments], folder=git.root, environment=_environment(), timeout=FETCH_TIMEOUT_S,
        cancel=cancel,
    )  # fmt: skip
    if finished.status != 0:
        lines = [line for line in finished.complaint.splitlines() if line.strip()] or ["git said nothing"]
        raise RemoteFailed(f"git {arguments[0]}: {printable(_without_credentials(lines[0]))}")
    return finished.output


def _environment() -> dict[str, str]:
    settings = {name: value for name, value in NEUTRAL.items() if name != "credential.helper"}
    env = {**config.child_environment(), **config.git_transport(), **QUIET, "GIT_ALLOW_PROTOCOL": _SPOKEN}
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        env[f"GIT_CONFIG_KEY_{number}"], env[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return env


def _without_credentials(text: str) -> str:
    """What stands before an `@` in a URL is nobody's to read."""
    head, separator, rest = text.partition("://")
    user, at, tail = rest.partition("@")
    return f"{head}://{tail}" if separator and at and "/" not in user else text
