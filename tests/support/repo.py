"""Real, tiny git repositories, built with the git program and fixed dates."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

AUTHOR = ("Ada Lovelace", "ada@example.org")


@dataclass
class Repo:
    path: Path
    day: int = 0

    @classmethod
    def create(cls, path: Path, *options: str) -> Repo:
        path.mkdir(parents=True, exist_ok=True)
        repo = cls(path)
        repo.git("init", "--quiet", "--initial-branch=main", *options)
        return repo

    def git(self, *arguments: str, author: tuple[str, str] = AUTHOR, date: str | None = None) -> str:
        when = date or f"2025-03-{max(self.day, 1):02d}T12:00:00+00:00"
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": author[0],
            "GIT_AUTHOR_EMAIL": author[1],
            "GIT_COMMITTER_NAME": author[0],
            "GIT_COMMITTER_EMAIL": author[1],
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
        }
        done = subprocess.run(["git", *arguments], cwd=self.path, env=env, capture_output=True, check=False)
        if done.returncode:
            raise AssertionError(f"git {arguments}: {done.stderr.decode()}")
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8", newline="")
        return path

    def commit(
        self,
        message: str,
        files: dict[str, str | bytes] | None = None,
        *,
        author: tuple[str, str] = AUTHOR,
        date: str | None = None,
    ) -> str:
        """Write files, stage everything, commit; one day later than the commit before unless a date is given."""
        self.day += 1
        for name, content in (files or {}).items():
            self.write(name, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message, author=author, date=date)
        return self.git("rev-parse", "HEAD")
