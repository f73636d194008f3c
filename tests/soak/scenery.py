"""The repository of a soak: one that this module writes, or a clone of a given one, with refs that never move."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.repo import Repo

NAME = "project"
"""The folder's name is the project's, which answers carry: every copy has the same."""
AUTHORS = [("Ada Lovelace", "ada@example.org"), ("Alan Turing", "alan@example.org"), ("Grace Hopper", "g@example.org")]
VERBS = [
    "read",
    "write",
    "merge",
    "split",
    "bind",
    "rank",
    "fetch",
    "store",
    "prune",
    "count",
    "weigh",
    "route",
    "parse",
    "render",
    "resolve",
    "trim",
]
NOUNS = [
    "crate",
    "ledger",
    "basket",
    "token",
    "parcel",
    "shelf",
    "branch",
    "anchor",
    "harbour",
    "signal",
    "chapter",
    "recipe",
    "window",
    "vessel",
]
FOLDERS = ["core", "store", "web", "cmd", "tools", "lib/deep", "docs", "tests"]
_WORD = 4


@dataclass(frozen=True)
class Fixed:
    """A ref that never moves: a tag, or a commit by its id."""

    name: str
    commit: str


@dataclass(frozen=True)
class Scenery:
    root: Path
    """The checkout that is served."""
    pristine: Path
    """A bare copy that nobody changes."""
    fixed: tuple[Fixed, ...]

    @property
    def repo(self) -> Repo:
        return Repo(self.root)

    def copy_at(self, commit: str, place: Path, source: Path | None = None) -> Path:
        """A clone with one branch, which is this commit; tags stay."""
        root = place / NAME
        place.mkdir(parents=True)
        repo = Repo(place)
        repo.git("clone", "--quiet", "--shared", "--no-checkout", str(source or self.pristine), NAME)
        repo = Repo(root)
        repo.git("checkout", "--quiet", "-B", "main", commit)
        repo.git("remote", "remove", "origin")
        for branch in repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split():
            if branch != "main":
                repo.git("branch", "--quiet", "-D", branch)
        write_catalogue(root)
        return root


def make(place: Path, seed: int, *, files: int, commits: int, refs: int) -> Scenery:
    """A repository of our own writing: several languages, branches that part and merge, renames, deletions, tags."""
    source = place / "source"
    _History(Repo.create(source), random.Random(f"scenery {seed}"), files).write(commits)
    return clone(place, source, random.Random(f"refs {seed}"), refs=refs)


def clone(place: Path, source: Path, choice: random.Random, *, refs: int) -> Scenery:
    """A checkout of a repository, and some of its commits as fixed refs, half of them by a tag."""
    pristine = place / "pristine.git"
    Repo(place).git("clone", "--quiet", "--bare", str(source), str(pristine))
    names = Repo(pristine).git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    head = Repo(pristine).git("symbolic-ref", "--short", "HEAD")
    commits = Repo(pristine).git("rev-list", "--topo-order", "--max-count=400", "HEAD", *names[:20]).split()
    chosen = sorted(choice.sample(commits, min(refs, len(commits))), key=commits.index)
    fixed = []
    for number, commit in enumerate(chosen):
        tag = f"soak-{number}"
        Repo(pristine).git("tag", tag, commit)
        fixed.append(Fixed(tag if number % 2 else commit, commit))
    Repo(place).git("clone", "--quiet", "--shared", "--branch", head, str(pristine), NAME)
    root = place / NAME
    write_catalogue(root)
    return Scenery(root, pristine, tuple(fixed))


def write_catalogue(root: Path) -> None:
    """Rules of the team, which no branch holds and no storm touches."""
    folder = root / "instructions"
    if folder.exists():
        return
    folder.mkdir()
    exclude = root / ".git" / "info" / "exclude"
    exclude.parent.mkdir(parents=True, exist_ok=True)
    with exclude.open("a") as lines:
        lines.write("/instructions/\n")
    for number in range(12):
        entry = {
            "id": f"rule-{number}", "title": f"{VERBS[number]} with care",
            "body": f"Every {NOUNS[number]} is checked before one may {VERBS[number]} it.\n" * (number % 3 + 1),
            "rationale": "So that nothing is lost.", "priority": 10 + number * 7, "audience": "all",
            "requirement": ("mandatory", "critical", "recommended", "optional")[number % 4],
            "categories": [NOUNS[number % 3], "soak"], "source": "soak", "schemaVersion": "1",
            "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-01-02T00:00:00Z",
        }  # fmt: skip
        (folder / f"rule-{number}.json").write_text(json.dumps(entry))
    gate = {"id": "some", "type": "count", "where": {"requirement": "mandatory"}, "op": ">=", "value": 2}
    (folder / "gates.json").write_text(json.dumps({"gates": [{**gate, "severity": "error"}]}))


class _History:
    """Writes a history whose every commit is a function of the seed."""

    def __init__(self, repo: Repo, choice: random.Random, files: int) -> None:
        self._repo = repo
        self._choice = choice
        self._files = files
        self._hour = 0

    def write(self, commits: int) -> None:
        for number in range(self._files):
            self._repo.write(*source_file(self._choice, number, self._files))
        self._repo.write("go.mod", "module example.org/soak\n\ngo 1.22\n")
        self._repo.write(".cairnignore", "generated/\n")
        self._repo.write("generated/table.py", "ROWS = [1, 2, 3]\n")
        self._commit("The beginning")
        for number in range(commits):
            if number % 6 == 3:
                self._repo.git("checkout", "--quiet", "-b", f"feature/{number}")
            self._change()
            if number % 6 == 5:
                self._back(number, merge=number % 4 == 1)
        self._back(commits, merge=False)

    def _back(self, number: int, *, merge: bool) -> None:
        branch = self._repo.git("branch", "--show-current")
        self._repo.git("checkout", "--quiet", "main")
        if merge and branch != "main":
            self._hour += 1
            self._repo.git("merge", "--quiet", "--no-ff", "--no-edit", "-X", "theirs", branch, date=self._date())
            self._repo.git("tag", f"v{number}")

    def _change(self) -> None:
        listed = self._repo.git("ls-files").splitlines()
        sources = [path for path in listed if "/" in path and not path.startswith("generated")]
        for path in self._choice.sample(sources, min(6, len(sources))):
            place = self._repo.path / path
            what = self._choice.random()
            if what < 0.1:
                place.unlink()
            elif what < 0.2:
                place.rename(place.with_name(f"{self._choice.choice(VERBS)}_{place.name}"))
            else:
                number = int("".join(filter(str.isdigit, place.stem)) or 0)
                place.write_text(source_file(self._choice, number, self._files, place.suffix)[1], newline="")
        self._commit(f"{self._choice.choice(VERBS)} the {self._choice.choice(NOUNS)}")

    def _commit(self, message: str) -> None:
        self._hour += 1
        self._repo.commit(message, author=self._choice.choice(AUTHORS), date=self._date())

    def _date(self) -> str:
        return f"2025-{1 + self._hour // 600:02d}-{1 + self._hour // 24 % 25:02d}T{self._hour % 24:02d}:00:00+00:00"


def source_file(choice: random.Random, number: int, files: int, suffix: str | None = None) -> tuple[str, str]:
    """A file by its number: the path, and a content that refers to other files."""
    folder = FOLDERS[number % len(FOLDERS)]
    ending = suffix or (
        "md" if folder == "docs" else ("py", "py", "ts", "go", "py", "rs", "java", "c")[number // 8 % 8]
    )
    ending = ending.removeprefix(".")
    name = f"{NOUNS[number % len(NOUNS)]}{number}"
    path = f"{folder}/{'test_' if folder == 'tests' and ending == 'py' else ''}{name}.{ending}"
    return path, _WRITERS[ending](choice, number, files)


def _names(choice: random.Random, count: int) -> list[str]:
    return list(dict.fromkeys(f"{choice.choice(VERBS)}_{choice.choice(NOUNS)}" for _ in range(count)))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def _sentence(choice: random.Random) -> str:
    return f"{choice.choice(VERBS).capitalize()}s every {choice.choice(NOUNS)} of the {choice.choice(NOUNS)}."


def _python(choice: random.Random, number: int, files: int) -> str:
    other = choice.randrange(files // 8 + 1) * 8 + number % 3
    module = f"{FOLDERS[other % 8].replace('/', '.')}.{NOUNS[other % len(NOUNS)]}{other}"
    names = _names(choice, 5)
    lines = [f'"""{_sentence(choice)}"""', "", f"from {module} import {names[0]} as imported", "", "LIMIT = 3", "", ""]
    for name in names:
        lines += [
            f"def {name}(item, limit=LIMIT):", f'    """{_sentence(choice)}"""',
            f"    held = {choice.choice(names)}(item)",
            f"    return imported(held) if limit > {choice.randrange(9)} else held", "", "",
        ]  # fmt: skip
    lines += [f"class {choice.choice(NOUNS).capitalize()}{number}:", f'    """{_sentence(choice)}"""', ""]
    for name in _names(choice, 3):
        lines += [f"    def {name}(self, item):", f"        return {choice.choice(names)}(item)", ""]
    return "\n".join(lines)


def _typescript(choice: random.Random, number: int, files: int) -> str:
    names = [_camel(each) for each in _names(choice, 5)]
    parts = [f"export interface {choice.choice(NOUNS).capitalize()} {{ grams: number; }}\n"]
    parts += [
        f"/** {_sentence(choice)} */\nexport function {name}(item: number): number {{\n"
        f"  return {choice.choice(names)}(item + {choice.randrange(9)});\n}}\n"
        for name in names
    ]
    return "\n".join(parts)


def _go(choice: random.Random, number: int, files: int) -> str:
    names = [_camel(each).capitalize() for each in _names(choice, 5)]
    parts = [f"package soak\n\ntype {choice.choice(NOUNS).capitalize()}{number} struct {{\n\tGrams int\n}}\n"]
    parts += [
        f"// {name} {_sentence(choice)}\nfunc {name}{number}(item int) int {{\n"
        f"\treturn {choice.choice(names)}{number}(item)\n}}\n"
        for name in names
    ]
    return "\n".join(parts)


def _rust(choice: random.Random, number: int, files: int) -> str:
    names = _names(choice, 4)
    parts = [f"pub struct {choice.choice(NOUNS).capitalize()}{number} {{ grams: u32 }}\n"]
    parts += [f"pub fn {name}(item: u32) -> u32 {{\n    {choice.choice(names)}(item)\n}}\n" for name in names]
    return "\n".join(parts)


def _java(choice: random.Random, number: int, files: int) -> str:
    names = [_camel(each) for each in _names(choice, 4)]
    body = "\n".join(
        f"    int {name}(int item) {{\n        return {choice.choice(names)}(item);\n    }}" for name in names
    )
    return f"package soak;\n\n/** {_sentence(choice)} */\npublic class Parcel{number} {{\n{body}\n}}\n"


def _c(choice: random.Random, number: int, files: int) -> str:
    names = _names(choice, 4)
    return "\n".join(
        f"int {name}{number}(int item)\n{{\n    return {choice.choice(names)}{number}(item);\n}}\n" for name in names
    )


def _markdown(choice: random.Random, number: int, files: int) -> str:
    parts = [f"# {choice.choice(NOUNS).capitalize()} {number}"]
    parts += [f"## {choice.choice(VERBS)}\n\n{_sentence(choice)} See `{_names(choice, 1)[0]}`." for _ in range(_WORD)]
    return "\n\n".join(parts) + "\n"


_WRITERS: dict[str, Callable[[random.Random, int, int], str]] = {
    "py": _python, "ts": _typescript, "go": _go, "rs": _rust, "java": _java, "c": _c, "md": _markdown,
}  # fmt: skip
