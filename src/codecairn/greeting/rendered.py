"""What the door answers to a handshake and to `tools/list`, as it was rendered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codecairn import __version__
from codecairn.greeting.answer_form import Client, answers_for

FILE = "greeting.json"


@dataclass(frozen=True)
class Rendered:
    versions: list[str]
    """The protocol versions of the handshake, the newest last."""
    initialize: dict[str, Any]
    """The result, less the versions of the protocol and of this package."""
    tools: list[tuple[str, dict[str, Any]]]
    """Each with its family, as `tools/list` shows it."""
    methods: list[str]
    """Of requests that clients may send by any version of the protocol."""

    @classmethod
    def load(cls) -> Rendered:
        text = Path(__file__).with_name(FILE).read_text(encoding="utf-8")
        return cls(**json.loads(text))

    def select(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """The tools of a selection by name or family; all where nothing is selected."""
        chosen = set(names)
        return [tool for family, tool in self.tools if not chosen or {family, tool["name"]} & chosen]

    def handshake(self, wanted: str) -> dict[str, Any]:
        """The result for a client that wants this version of the protocol."""
        version = wanted if wanted in self.versions else self.versions[-1]
        info = self.initialize["serverInfo"] | {"version": __version__}
        return self.initialize | {"protocolVersion": version, "serverInfo": info}


@dataclass(frozen=True)
class Greeting:
    """The constants as one server says them."""

    rendered: Rendered
    tools: list[dict[str, Any]]
    answers: str
    """The form of answers that the server was told to give: `auto`, `text` or `both`."""

    def tools_for(self, protocol: str, client: Client) -> dict[str, Any]:
        if answers_for(protocol, client, self.answers) != "text":
            return {"tools": self.tools}
        return {"tools": [{key: tool[key] for key in tool if key != "outputSchema"} for tool in self.tools]}
