"""Characters that a client's model is shown for a developer's questions, beside those of a shell for the same.

    python benchmarks/seen.py --repo django=DIR --repo redis=DIR --repo zod=DIR [--home DIR] [--markdown] [--json FILE]
        [--driver SCRIPT --client claude=PATH --client codex=PATH]

The questions, the calls and the shell commands are in `seen.toml`; those of a repository that is not named are left
out. Each call goes through stdio to a server that takes the benchmark for Claude Code, so the answer is text alone.
The shell commands run as they stand, their output cut nowhere; `rg` is the one beside this Python. An index is made
first in `--home` (default: a temporary folder), of every ref that a call names too.

With clients the driver is run for each of them: a script that takes `CLIENT --client PATH --server COMMAND --root DIR
--plan FILE --json FILE --timeout SECONDS`, lets the client's model make the calls of the plan, and writes a row with
the `text` that came back for each.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, cairn, markdown, table

PLAN = Path(__file__).with_suffix(".toml")
CLAUDE_CODE = {"name": "claude-code", "version": "2.1"}
OWN = "Cairn"
_REFS = ("base_ref", "head_ref", "ref")
_MORE = re.compile(
    r"(?:cursor|startLine)\b:? `?[\w-]+`?_?$|give a larger `limit`|^Left out: |include_unresolved\.$", re.M
)
_MARK, _ENDING = "+", 1_500
_DRIVER_S = 600
_IDLE_CALLS = (0, 40, 160)
"""Calls before the first question, tried in turn."""
_NOT_UP, _NOT_UP_WITHIN = "unsupported call", 60
"""Codex's answer for a tool of a server that is not up, and the characters it stands within."""


@dataclass
class Question:
    repository: str
    asked: str
    call: tuple[str, dict[str, Any]]
    shell: list[str]
    fails: bool = False
    by_shell: str = ""
    shown: dict[str, str] = field(default_factory=dict)
    """The text that each reader was shown, by its name."""

    @property
    def tool(self) -> str:
        return self.call[0]

    @property
    def ratio(self) -> float:
        return len(self.shown[OWN]) / len(self.by_shell)

    @property
    def is_whole(self) -> bool:
        """Whether the answer says of nothing that it was left out."""
        return not _MORE.search(self.shown[OWN][-_ENDING:])

    def row(self, readers: Sequence[str]) -> list[str]:
        counts = [f"{len(text):,}" for text in (*(self.shown[each] for each in readers), self.by_shell)]
        ratio = f"{self.ratio:.2f}" if self.is_whole else f"{_MARK} {self.ratio:.2f}"
        return [f"{self.repository}: {self.asked}", self.tool, *counts, ratio]

    def as_json(self) -> dict[str, Any]:
        return {
            "repository": self.repository, "asked": self.asked, "call": self.call, "shell": self.shell,
            "ratio": round(self.ratio, 3), "is_whole": self.is_whole, "shown": self.shown, "by_shell": self.by_shell,
        }  # fmt: skip


def questions_of(repositories: dict[str, Path]) -> list[Question]:
    planned = tomllib.loads(PLAN.read_text(encoding="utf-8"))["question"]
    return [Question(**each) for each in planned if each["repository"] in repositories]


def ask_server(questions: Sequence[Question], root: Path, home: Path) -> None:
    with cairn(root, home) as server:
        server.initialize(CLAUDE_CODE)
        for arguments in ({}, *({"ref": ref} for ref in refs_of(questions))):
            text_of(server, "index_codebase", arguments, fails=False)
        for each in questions:
            each.shown[OWN] = text_of(server, *each.call, fails=each.fails)


def refs_of(questions: Sequence[Question]) -> list[str]:
    """The refs whose index an answer needs."""
    named = (each.call[1].get(name) for each in questions for name in _REFS if not each.fails)
    return sorted({ref for ref in named if ref})


def text_of(server: Server, tool: str, arguments: dict[str, Any], *, fails: bool) -> str:
    """An error where none is planned ends the benchmark: it must not pass for a short answer."""
    result = json.loads(server.call(tool, arguments))["result"]
    text: str = result["content"][0]["text"]
    if bool(result.get("isError")) is not fails or "structuredContent" in result:
        sys.exit(f"{tool} {arguments}: {text[:500]}")
    return text


def ask_shell(question: Question, root: Path) -> str:
    """All that the commands print, their complaints included."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8"}
    outputs = (
        subprocess.run(
            ["sh", "-c", command], cwd=root, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        ).stdout.decode("utf-8", "replace")
        for command in question.shell
    )  # fmt: skip
    return "".join(outputs)


def ask_client(client: str, program: str, driver: Path, questions: Sequence[Question], root: Path, home: Path) -> None:
    """The first calls are repeated until the server is up: some clients let their model begin before."""
    for idle in _IDLE_CALLS:
        calls = [*[("get_status", {})] * idle, *(each.call for each in questions)]
        texts = texts_of(client, program, driver, calls, root, home)[idle:]
        if not any(_NOT_UP in text[:_NOT_UP_WITHIN] for text in texts):
            break
    else:
        sys.exit(f"{client} never waits for the server")
    for question, text in zip(questions, texts, strict=True):
        question.shown[client] = text


def texts_of(
    client: str, program: str, driver: Path, calls: Sequence[tuple[str, dict[str, Any]]], root: Path, home: Path
) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        plan, rows = Path(scratch, "plan.json"), Path(scratch, "rows.json")
        plan.write_text(json.dumps(calls), encoding="utf-8")
        subprocess.run(
            [
                sys.executable, str(driver), client, "--client", program, "--root", str(root), "--plan", str(plan),
                "--json", str(rows), "--server", f"{sys.executable} -P -m codecairn serve", "--timeout", str(_DRIVER_S),
            ],
            env={**os.environ, "CAIRN_HOME": str(home)}, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return [row["text"] for row in json.loads(rows.read_text(encoding="utf-8"))]


def report(questions: Sequence[Question], readers: Sequence[str], *, is_markdown: bool) -> Iterator[str]:
    head = ["question", "tool", *readers, "shell", "ratio"]
    totals = [sum(len(each.shown[reader]) for each in questions) for reader in readers]
    totals.append(sum(len(each.by_shell) for each in questions))
    median = statistics.median(each.ratio for each in questions)
    whole = [each.ratio for each in questions if each.is_whole]
    last = [f"{len(questions)} questions", "", *(f"{total:,}" for total in totals), f"median {median:.2f}"]
    yield (markdown if is_markdown else table)(head, [*(each.row(readers) for each in questions), last])
    yield f"\n{_MARK} more can be had of it. The median of the {len(whole)} others is {statistics.median(whole):.2f}."
    losses = sorted((each for each in questions if each.ratio > 1), key=lambda each: -each.ratio)
    yield f"The shell needs less in {len(losses)}:"
    for each in losses:
        yield f"- {each.repository}: {each.asked} ({each.tool} {each.ratio:.2f} ×)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", action="append", required=True, metavar="NAME=DIR")
    parser.add_argument("--client", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--driver", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    if given.client and not given.driver:
        parser.error("--client needs a --driver")
    repositories = {name: Path(path).resolve() for name, _, path in (each.partition("=") for each in given.repo)}
    clients = dict(each.split("=", 1) for each in given.client)
    questions = questions_of(repositories)
    with tempfile.TemporaryDirectory() as scratch:
        home = given.home or Path(scratch)
        for name, root in repositories.items():
            here = [each for each in questions if each.repository == name]
            ask_server(here, root, home)
            for each in here:
                each.by_shell = ask_shell(each, root)
            for client, program in clients.items():
                ask_client(client, program, given.driver, here, root, home)
    print("\n".join(report(questions, [OWN, *clients], is_markdown=given.markdown)))
    if given.json:
        given.json.write_text(json.dumps([each.as_json() for each in questions], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
