"""Projects to which things happen: edits, renames, rules, branches. Each file holds one marker, and the disk, read with
git's own listing, says at any moment where each marker is to be found."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.support.repo import Repo

Markers = dict[str, set[str]]
"""Where each marker is: paths from the project's root."""
_MARKER = re.compile(r"def (mark\d+x)\(")
_FOLDERS = ("", "pkg/", "pkg/inner/", "lib/")


@dataclass(frozen=True)
class Place:
    """A project as a caller names it."""

    root: Path
    in_git: bool

    def markers(self) -> Markers:
        found: Markers = defaultdict(set)
        for path in self._listed():
            place = self.root / path
            if (
                path.endswith(".py")
                and place.is_file()
                and not _is_link(self.root, path)
                and not self._is_dropped(path)
            ):
                for name in _MARKER.findall(place.read_text()):
                    found[name].add(path)
        return found

    def _listed(self) -> list[str]:
        if not self.in_git:
            return [each.relative_to(self.root).as_posix() for each in self.root.rglob("*.py")]
        asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        return sorted({*subprocess.check_output(asked, cwd=self.root).decode().split("\0")} - {""})

    def _is_dropped(self, path: str) -> bool:
        """Whether a rule file that is ours to read names the path; each of their lines is a path from its folder."""
        names = (".cairnignore",) if self.in_git else (".cairnignore", ".gitignore")
        for up in range(path.count("/") + 1):
            folder = path.rsplit("/", up + 1)[0] if up < path.count("/") else ""
            inside = path.removeprefix(f"{folder}/") if folder else path
            if any(f"/{inside}" in _lines(self.root / folder / name) for name in names):
                return True
        return False


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except FileNotFoundError:
        return []


def _is_link(root: Path, path: str) -> bool:
    return any(each.is_symlink() for each in ((root / path), *(root / path).parents) if each.is_relative_to(root))


class Upheaval:
    """A repository with a project in a subfolder and one in a folder it ignores, a second and a linked repository, and
    a folder without git."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = count(1)
        self.main, self.second, self.linked = (Repo.create(folder / name) for name in ("main", "second", "linked"))
        self.plain = folder / "plain"
        self.scratch = self.main.path / "scratch"
        for repo in (self.main, self.second, self.linked):
            self._fill(repo.path)
            repo.write(".gitignore", "scratch/\nout/\n")
            repo.commit("start")
            repo.git("checkout", "--quiet", "-b", "other")
            self._fill(repo.path)
            repo.commit("other")
            repo.git("checkout", "--quiet", "main")
        self._fill(self.plain)
        self._fill(self.scratch)
        self.places = {
            "main": Place(self.main.path, True), "inner": Place(self.main.path / "pkg", True),
            "second": Place(self.second.path, True), "linked": Place(self.linked.path, True),
            "plain": Place(self.plain, False), "scratch": Place(self.scratch, False),
        }  # fmt: skip

    def happen(self) -> tuple[str, list[str]]:
        """One thing happens somewhere: what, and which projects it is about."""
        repo = self._chance.choice([self.main, self.main, self.second, self.linked])
        root = self._chance.choice([repo.path, repo.path, self.plain, self.scratch])
        deeds: list[Callable[[Path], None]] = [
            self._edit, self._edit, self._edit, self._save_by_renaming, self._add, self._add_folder, self._delete,
            self._rename, self._rename_folder, self._change_mode, self._become_link, self._drop_by_rule,
            self._forget_rules,
        ]  # fmt: skip
        deed = self._chance.choice(deeds)
        if root == repo.path and self._chance.random() < 0.4:
            of_git = [
                self._commit, self._amend, self._stash, self._switch, self._reset, self._stage, self._exclude,
                self._ignore_above, self._nest,
            ]  # fmt: skip
            told = self._chance.choice(of_git)
            told(repo)
            return told.__name__, self._about(repo.path)
        deed(root)
        return deed.__name__, self._about(root)

    def _about(self, root: Path) -> list[str]:
        return [name for name, place in self.places.items() if place.root == root or root / "pkg" == place.root]

    # Files.

    def _text(self) -> str:
        number = next(self._numbers)
        return f"def mark{number}x():\n    return {number}\n"

    def _fill(self, root: Path) -> None:
        for folder in _FOLDERS:
            for number in range(3):
                _write(root / f"{folder}f{number}.py", self._text())

    def _some_file(self, root: Path) -> Path:
        found = sorted(each for each in root.rglob("*.py") if each.is_file() and not _is_foreign(root, each))
        if not found:
            self._fill(root)
            return root / "f0.py"
        return self._chance.choice(found)

    def _new_file(self, root: Path) -> Path:
        return root / f"{self._chance.choice(_FOLDERS)}new{self._chance.randrange(8)}.py"

    def _edit(self, root: Path) -> None:
        _write(self._some_file(root), self._text())

    def _save_by_renaming(self, root: Path) -> None:
        target = self._some_file(root)
        aside = target.with_name(f".{target.name}.swp")
        _write(aside, self._text())
        aside.replace(target)

    def _add(self, root: Path) -> None:
        _write(self._new_file(root), self._text())

    def _add_folder(self, root: Path) -> None:
        _write(root / f"made{self._chance.randrange(4)}/deep/g.py", self._text())

    def _delete(self, root: Path) -> None:
        self._some_file(root).unlink()

    def _rename(self, root: Path) -> None:
        target = self._new_file(root)
        source = self._some_file(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)

    def _rename_folder(self, root: Path) -> None:
        made = [each for each in root.glob("made*") if each.is_dir()]
        target = root / f"made{self._chance.randrange(4)}"
        if made and not target.exists():
            self._chance.choice(made).rename(target)
        elif target.exists():
            shutil.rmtree(target)

    def _change_mode(self, root: Path) -> None:
        self._some_file(root).chmod(self._chance.choice([0o644, 0o755, 0o600]))

    def _become_link(self, root: Path) -> None:
        target = self._some_file(root)
        target.unlink()
        target.symlink_to("nowhere.py")

    def _drop_by_rule(self, root: Path) -> None:
        rules = root / self._chance.choice([".cairnignore", ".cairnignore", ".gitignore"])
        path = self._some_file(root).relative_to(root).as_posix()
        _write(rules, "".join(f"{line}\n" for line in [*_lines(rules)[-5:], f"/{path}"]))

    def _forget_rules(self, root: Path) -> None:
        (root / ".cairnignore").unlink(missing_ok=True)

    # Git.

    def _commit(self, repo: Repo) -> None:
        self._stage(repo)
        repo.git("commit", "--quiet", "--allow-empty", "--message", "more")

    def _amend(self, repo: Repo) -> None:
        repo.git("commit", "--quiet", "--all", "--amend", "--allow-empty", "--message", f"{next(self._numbers)}")

    def _stash(self, repo: Repo) -> None:
        repo.git("stash", "--quiet")
        if self._chance.random() < 0.5:
            repo.git("reset", "--quiet", "--hard")
            if repo.git("stash", "list"):
                repo.git("checkout", "--quiet", "stash@{0}", "--", ".")

    def _switch(self, repo: Repo) -> None:
        repo.git("checkout", "--quiet", "--force", self._chance.choice(["main", "other"]))

    def _reset(self, repo: Repo) -> None:
        repo.git("reset", "--quiet", "--hard")

    def _stage(self, repo: Repo) -> None:
        shutil.rmtree(repo.path / "nested", ignore_errors=True)  # which git cannot add without a commit in it
        repo.git("add", "--all")

    def _exclude(self, repo: Repo) -> None:
        path = self._new_file(repo.path).relative_to(repo.path).as_posix()
        repo.write(".git/info/exclude", f"/{path}\n" if self._chance.random() < 0.7 else "")

    def _ignore_above(self, repo: Repo) -> None:
        """By a file of the repository that lies above the project in the subfolder."""
        path = self._new_file(repo.path).relative_to(repo.path).as_posix()
        repo.write(".gitignore", f"scratch/\nout/\n/{path}\n")

    def _nest(self, repo: Repo) -> None:
        nested = repo.path / "nested"
        if nested.exists():
            shutil.rmtree(nested)
        else:
            _write(nested / "n.py", self._text())
            subprocess.run(["git", "init", "--quiet"], cwd=nested, check=True, env={**os.environ, "GIT_DIR": ".git"})


def _is_foreign(root: Path, path: Path) -> bool:
    """In a project of its own."""
    parts = path.relative_to(root).parts
    return parts[0] in ("scratch", "nested", ".git") or path.is_symlink()


def _write(path: Path, text: str) -> None:
    if path.is_symlink():
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
