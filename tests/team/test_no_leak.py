"""Tokens × repositories × everything that answers: nothing of a repository appears to who may not read it.

Each repository has a canary of its own in its name, paths, symbols, texts, branches, authors, rules and memory. Callers
ask with words near the canaries, never with one. A soak makes 10,000 calls."""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.soak import SOAK
from tests.support.team import Team, TeamDoor, open_team
from tests.team.conftest import fresh_database
from tests.team.test_authorisation import fill, mcp, some_arguments

CANARIES = {"one/quixotry-repo": "quixotry", "two/zephyrine-repo": "zephyrine", "three/obsidianly-repo": "obsidianly"}
NEAR = ["quixot", "zephyr", "obsidian", "one/quixot-repo", "two/*", "three/obsidian", "one", "../two", "**", "", "repo"]
TOKENS: dict[str, tuple[tuple[str, ...], str]] = {
    "first": (("one/*",), "reader"), "second": (("two/*",), "writer"), "both": (("one/*", "two/*"), "reader"),
    "third": (("three/**",), "writer"), "nobody": (("four/*",), "admin"),
}  # fmt: skip
CALLS = 10_000 if SOAK else 250


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("leak")) as opened:
        for name, word in CANARIES.items():
            rule = {"id": word, "title": word, "body": f"Mind the {word}.", "priority": 5, "audience": "all",
                    "requirement": "optional", "categories": [word], "schemaVersion": "1",
                    "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}  # fmt: skip
            files: dict[str, str | bytes] = {
                f"{word}/part.py": f"def {word}_function(value):\n    return value  # {word} text\n",
                f"{word}/use.py": f"from {word}.part import {word}_function\n\n{word}_function(1)\n",
                "shared.py": f"def shared_function():\n    return '{word}'\n",
                f"instructions/{word}.json": json.dumps(rule), "README.md": f"# {word}\n\nAbout {word}.\n",
            }  # fmt: skip
            fill(opened.repository(name, files, ("**",)), word)
        opened.work("worker")
        opened.start_node("node")
        opened.await_ready()
        owner = opened.door(opened.token("owner"))
        for name, word in CANARIES.items():
            said = {"type": "rule", "content": f"The {word} rule of the house, number one.", "project": name}
            assert not owner.call("remember", said).is_error
            assert owner.call("instructions_get", {"id": word, "project": name}).value["item"]["title"] == word
        yield opened


class Lines(logging.Handler):
    """What is logged, a line each."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {getattr(record, 'call', '')}")


class Asker:
    """Asks in every way there is, by chance."""

    def __init__(self, team: Team, chance: random.Random) -> None:
        self._team, self._chance = team, chance
        self._tools = list(team.nodes[0].service.registry.tools.values())
        self.doors = {name: team.door(team.token(name, *globs, role=role)) for name, (globs, role) in TOKENS.items()}
        self._cursors = self._take_cursors()
        others = [self._page, self._page, self._prompt, self._completion, self._list, self._get, self._cursor]
        self.ways = [self._tool] * 12 + others

    def _take_cursors(self) -> list[str]:
        """Of pages of each repository, as who may read it gets them."""
        owner = self._team.door(self._team.token("reader of all"))
        asked = [owner.call("search_code", {"query": "function", "limit": 1, "project": name}) for name in CANARIES]
        return [each.value["next_cursor"] for each in asked]

    def _somewhere(self) -> dict[str, Any]:
        way = self._chance.choice(["project", "workspace", "path", "repositories", "none", "none"])
        return {} if way == "none" else {way: self._chance.choice(NEAR)}

    def _tool(self, door: TeamDoor) -> str:
        tool = self._chance.choice(self._tools)
        given = {name: self._nearly(value) for name, value in some_arguments(tool, self._chance).items()}
        asked = {"name": tool.name, "arguments": {**given, **self._somewhere()}}
        return door.post("/rpc", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}))[1]

    def _nearly(self, value: Any) -> Any:
        return self._chance.choice([value, *NEAR, "shared_function", "README.md"]) if isinstance(value, str) else value

    def _page(self, door: TeamDoor) -> str:
        page = self._chance.choice(["project/overview", "module/shared", "module/quixot", "memory", "session/last"])
        return mcp(door, "resources/read", {"uri": f"context://{page}?project={quote(self._chance.choice(NEAR))}"})

    def _prompt(self, door: TeamDoor) -> str:
        given = {"project": self._chance.choice(NEAR), "topic": self._chance.choice(NEAR)}
        return mcp(door, "prompts/get", {"name": self._chance.choice(["onboard", "nothing"]), "arguments": given})

    def _completion(self, door: TeamDoor) -> str:
        given = {
            "name": self._chance.choice(["project", "topic"]),
            "value": self._chance.choice(["", "o", "t", "two/"]),
        }
        prompt = {"type": "ref/prompt", "name": "onboard"}
        return mcp(door, "completion/complete", {"ref": prompt, "argument": given})

    def _list(self, door: TeamDoor) -> str:
        kind = self._chance.choice(["resources/list", "resources/templates/list", "prompts/list", "tools/list"])
        return mcp(door, kind, {})

    def _get(self, door: TeamDoor) -> str:
        remote = quote(str(self._team.folder / "forge" / self._chance.choice(NEAR)))
        paths = ["/metrics", "/health", f"/state?remote={remote}", "/state?project=one/quixot", "/x"]
        path = self._chance.choice(paths)
        return door.ask("GET", path, None, {})[1]

    def _cursor(self, door: TeamDoor) -> str:
        given = {"query": "function", "limit": 1, "cursor": self._chance.choice(self._cursors), **self._somewhere()}
        return json.dumps(door.send("tools/call", {"name": "search_code", "arguments": given}))


@pytest.mark.timeout(7200)
def test_nothing_of_a_repository_appears_to_who_may_not_read_it(team: Team, seeded: random.Random) -> None:
    asker, lines, told, shown = Asker(team, seeded), Lines(), Counter[str](), Counter[str]()
    logging.getLogger("codecairn").addHandler(lines)
    logging.getLogger("codecairn").setLevel(logging.INFO)
    try:
        for _ in range(CALLS):
            name = seeded.choice(list(TOKENS))
            way = seeded.choice(asker.ways)
            lines.lines.clear()
            said = way(asker.doors[name])
            readable = {word for repository, word in CANARIES.items() if _opens(name, repository)}
            everything = "\n".join([said, *lines.lines]).lower()
            leaked = [word for word in CANARIES.values() if word in everything and word not in readable]
            assert not leaked, (name, way.__name__, leaked, everything[:2000])
            told[way.__name__] += 1
            shown[name] += any(word in said for word in readable)
    finally:
        logging.getLogger("codecairn").removeHandler(lines)
        logging.getLogger("codecairn").setLevel(logging.NOTSET)
    print(dict(told), dict(shown))
    assert all(shown[name] for name in TOKENS if name != "nobody"), "nobody was told anything, so nothing was tried"


def _opens(token: str, repository: str) -> bool:
    return any(repository.startswith(glob.rstrip("*")) for glob in TOKENS[token][0])
