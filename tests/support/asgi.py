"""An ASGI application called without a server in between."""

from __future__ import annotations

import json
from typing import Any

import anyio
from starlette.types import ASGIApp, Message


def posted(application: ASGIApp, path: str, message: Any) -> Any:
    """POST a JSON value as a server without peer addresses would; returns the JSON that comes back."""
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "client": None,
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")], "scheme": "http",
        "server": ("localhost", None), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    body = bytearray()
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await anyio.sleep_forever()
        sent = True
        return {"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}

    async def send(event: Message) -> None:
        body.extend(event.get("body", b""))

    anyio.run(application, scope, receive, send)
    return json.loads(body)
