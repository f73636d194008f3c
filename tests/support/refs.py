"""Shared by the tests of refs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.repo import Repo
from tests.support.search import Asking

AUTH = """\
def validate_token(token):
    return bool(token)


def legacy(token):
    return validate_token(token)
"""
APP = """\
from pkg.auth import validate_token


def login(request):
    return validate_token(request.token)
"""
REFRESH = "\n\ndef refresh(request):\n    return validate_token(request.refresh)\n"


def gate(folder: Path) -> Repo:
    """main with a gate; feature refreshes tokens; bare has no app, and something new."""
    repo = Repo.create(folder / "gate")
    repo.commit("start", {"pkg/__init__.py": "", "pkg/auth.py": AUTH, "pkg/app.py": APP, "README.md": "# Gate\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("refresh", {"pkg/app.py": APP + REFRESH})
    repo.git("checkout", "--quiet", "-b", "bare", "main")
    (repo.path / "pkg/app.py").unlink()
    repo.commit("no app", {"pkg/lean.py": "def lean():\n    return 1\n"})
    repo.git("checkout", "--quiet", "main")
    repo.git("tag", "v1")
    return repo


@dataclass
class Gate:
    """A repository with branches, a server of it, and a connection to that."""

    repo: Repo
    asking: Asking

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.asking.answer(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer.value

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.asking.answer(tool, **arguments)
        assert answer.is_error, answer.text
        error: dict[str, Any] = answer.value["error"]
        return error

    def index(self, ref: str | None = None) -> dict[str, Any]:
        return self.call("index_codebase", path=str(self.repo.path), **({"ref": ref} if ref else {}))

    def uses(self, symbol: str, ref: str | None = None) -> list[tuple[str, int, str]]:
        found = self.call("find_references", symbol_name=symbol, **({"ref": ref} if ref else {}))
        return sorted((each["path"], each["line_start"], each["source_layer"]) for each in found["references"])

    def refs(self) -> dict[str, dict[str, Any]]:
        return {each["ref"]: each for each in self.call("list_refs")["refs"]}
