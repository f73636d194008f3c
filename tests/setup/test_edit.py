"""Configuration files keep every byte that is not ours, whatever they look like."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from codecairn.clients import known_clients
from codecairn.setup import edit, jsonc
from codecairn.setup.edit import ConfigEntry
from codecairn.setup.splice import NotEditable

FILES = 500
VALUE = {"type": "stdio", "command": "/opt/cairn é/bin/cairn", "args": ["serve", "--root", "/a b"]}
JSON_KEYS = sorted({client.keys for client in known_clients().values() if client.keys != ("mcp_servers",)})


class Writer:
    """Writes a random document the way people do: comments, commas at the end, tabs, CRLF, a BOM, one long line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nl = self.random.choice(["\n", "\n", "\r\n"])
        self.unit = self.random.choice(["  ", "    ", "\t"])
        self.is_one_line = self.random.random() < 0.15
        self.has_comments = not self.is_one_line and self.random.random() < 0.5
        self.has_trailing = self.random.random() < 0.3
        self.keys = self.random.choice(JSON_KEYS)

    def json(self) -> str:
        if self.random.random() < 0.05:
            return self.random.choice(["", " \n", "{}", "{ }\n", "// nothing yet\n", "{\n}\n", "\ufeff"])
        body = self.value(self.document(), "")
        head = self.random.choice(["", "", "", "\ufeff"]) + (self.comment("") + self.nl if self.has_comments else "")
        return head + body + self.random.choice(["", self.nl, self.nl * 2])

    def document(self) -> dict[str, Any]:
        document = {self.word(): self.plain(2) for _ in range(self.random.randrange(4))}
        if self.random.random() < 0.7:
            servers: dict[str, Any] = {
                self.word(): {"command": self.word(), "args": [self.word()]} for _ in range(self.random.randrange(3))
            }
            if self.random.random() < 0.2:
                servers["cairn"] = {"command": "cairn", "env": {"A": "1"}}
            document[self.keys[0]] = servers
        items = list(document.items())
        self.random.shuffle(items)
        return dict(items)

    def plain(self, depth: int) -> Any:
        if depth and self.random.random() < 0.4:
            return {self.word(): self.plain(depth - 1) for _ in range(self.random.randrange(3))}
        return self.random.choice(
            [1, -2.5, True, None, "a // b", "/* no */", '"}', "é\\", [], [1, "x"], ["{", "]"], ""]
        )

    def word(self) -> str:
        return self.random.choice(["alpha", "b-c", "ünï", "$schema", "a.b", "mcp", "x y", "//"]) + str(
            self.random.randrange(99)
        )

    def value(self, value: Any, indent: str) -> str:
        if not isinstance(value, dict) or (not value and self.random.random() < 0.7):
            return json.dumps(value, ensure_ascii=False)
        inner = "" if self.is_one_line else indent + self.unit
        gap = self.random.choice(["", " "]) if self.is_one_line else self.nl
        rows = []
        for place, (name, each) in enumerate(value.items()):
            lead = f"{inner}{self.comment(inner)}{self.nl}" if self.has_comments and self.random.random() < 0.3 else ""
            comma = "," if place < len(value) - 1 or self.has_trailing else ""
            beside = f" {self.comment('')}" if self.has_comments and self.random.random() < 0.3 else ""
            rows.append(
                f"{lead}{inner}{json.dumps(name, ensure_ascii=False)}: {self.value(each, inner)}{comma}{beside}"
            )
        if not rows and self.has_comments:
            rows = [inner + self.comment(inner)]
        return "{" + gap + gap.join(rows) + gap + ("" if self.is_one_line else indent) + "}"

    def comment(self, indent: str) -> str:
        return self.random.choice(['// a "b": {', "/* one */", f"/* two{self.nl}{indent}lines, }} */"])

    def toml(self) -> str:
        rows = [
            self.random.choice(["# a comment [mcp_servers.cairn]", 'model = "x"', "n = 1 # [b]", ""]) for _ in range(2)
        ]
        rows = list(dict.fromkeys(rows))
        names = self.random.sample(
            ["mcp_servers.one", 'mcp_servers."t.w"', "tools", 'projects."/a [b]"', "mcp_servers.cairn"], 3
        )
        for name in names:
            rows += ["", f"[{name}]{self.random.choice(['', ' # why'])}", 'command = "run"']
            rows += self.random.choice(
                [[], ["args = [", '  "a", # [x]', "]"], ['text = """', "[mcp_servers.cairn]", '"""'], ["# end"]]
            )
            if self.random.random() < 0.3:
                rows += [f"[{name}.env]", 'A = "]"']
        return self.random.choice(["", "\ufeff"]) + self.nl.join(rows) + self.random.choice(["", self.nl])


def sample(seed: int) -> tuple[str, ConfigEntry]:
    writer = Writer(seed)
    if seed % 4 == 3:
        value = {name: each for name, each in VALUE.items() if name != "type"}
        return writer.toml(), ConfigEntry(Path("config.toml"), ("mcp_servers",), "cairn", value)
    return writer.json(), ConfigEntry(Path("mcp.json"), writer.keys, "cairn", VALUE)


@pytest.mark.parametrize("batch", range(10))
def test_an_entry_comes_and_goes_without_a_trace(batch: int) -> None:
    for seed in range(batch, FILES, 10):
        comes_and_goes(*sample(seed))


def comes_and_goes(text: str, entry: ConfigEntry) -> None:
    after, receipt = edit.add(text, entry, None)
    assert edit.current(after, entry) == entry.value
    assert edit.add(after, entry, receipt)[0] == after
    assert edit.remove(after, entry.path, receipt) == text
    is_strict = entry.path.suffix == ".json" and is_json(text)
    assert not is_strict or is_json(after)
    newer, again = edit.add(
        after, ConfigEntry(entry.path, entry.keys, "cairn", {"command": "/new", "args": []}), receipt
    )
    assert edit.remove(newer, entry.path, again) == text


@pytest.mark.parametrize("batch", range(10))
def test_edits_made_in_between_stay(batch: int) -> None:
    for seed in range(batch, FILES, 10):
        keeps_other_edits(*sample(seed))


def keeps_other_edits(text: str, entry: ConfigEntry) -> None:
    after, receipt = edit.add(text, entry, None)
    other = ConfigEntry(entry.path, entry.keys, "other", {"command": "/other"})
    edited = edit.add(after, other, None)[0]
    left = edit.remove(edited, entry.path, receipt)
    assert edit.current(left, other) == other.value
    assert edit.current(left, entry) == edit.current(text, entry)
    if entry.path.suffix == ".json":
        formatted = json.dumps(jsonc.value_of(after), indent=3)
        assert edit.format_of(entry.path).value_of(edit.remove(formatted, entry.path, receipt)) == jsonc.value_of(text)
        assert is_json(left) or not is_json(edited)


def is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", '{"a": 1', "line 1, column 8"),
        ("a.json", '{"a": 1}\n{', "line 2, column 1"),
        ("a.json", "{'a': 1}", "line 1, column 2"),
        ("a.json", "[1]", "is no object"),
        ("a.json", '{"mcpServers": []}', "mcpServers is no object"),
        ("a.json", '{"a":' * 100_000, "nested too deep"),
        ("a.toml", "a = ", "it is no TOML"),
        ("a.toml", 'mcpServers = { x = { command = "y" } }', "no TOML"),
        ("a.toml", 'mcpServers.cairn.command = "y"', "not written as a table"),
        ("a.toml", "[mcpServers.cairn]\na=1\n[b]\n[mcpServers.cairn.env]\n", "two places"),
    ],
)
def test_a_text_that_cannot_be_edited_says_why(name: str, text: str, why: str) -> None:
    with pytest.raises(NotEditable, match=why):
        edit.add(text, ConfigEntry(Path(name), ("mcpServers",), "cairn", {"command": "x"}), None)


def test_an_entry_of_our_name_that_somebody_wrote_comes_back() -> None:
    text = '[mcp_servers.cairn]\ncommand = "mine" # my own\n\n[b]\n'
    entry = ConfigEntry(Path("a.toml"), ("mcp_servers",), "cairn", {"command": "ours"})
    after, receipt = edit.add(text, entry, None)
    assert tomllib.loads(after)["mcp_servers"]["cairn"] == {"command": "ours"}
    assert edit.remove(after, entry.path, receipt) == text
    assert edit.remove(after + "c = 1\n", entry.path, receipt) == text + "c = 1\n"


def test_an_entry_goes_without_a_receipt_too() -> None:
    entry = ConfigEntry(Path("a.json"), ("mcpServers",), "cairn", None)
    text = '{\n  "mcpServers": {\n    "cairn": {"command": "x"}, // ours\n    "b": {}\n  }\n}\n'
    assert edit.remove_unreceipted(text, entry) == '{\n  "mcpServers": { // ours\n    "b": {}\n  }\n}\n'


def test_a_section_of_markdown_comes_and_goes() -> None:
    entry = ConfigEntry(Path("AGENTS.md"), (), "cairn", "Use it.")
    for text in ("", "# Rules", "# Rules\r\n", "a\n\n"):
        after, receipt = edit.add(text, entry, None)
        assert "Use it." in after
        assert edit.remove(after, entry.path, receipt) == text
        assert edit.remove(f"{after}more\n", entry.path, receipt).split() == f"{text}\nmore\n".split()
