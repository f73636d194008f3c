"""Log lines on stderr, where they cannot disturb a protocol on stdout: one line a call, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from codecairn import redact
from codecairn.clock import timestamp


def configure(level: str, style: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if style == "json" else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # The SDK and the HTTP server narrate each connection at INFO; a call's own line says more.
    for noisy in ("mcp", "uvicorn", "httpx2", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLogger().level))


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {"time": timestamp(), "level": record.levelname.lower()}
        call = getattr(record, "call", None)
        entry |= call if call is not None else {"logger": record.name, "message": redact.mask(record.getMessage())}
        entry |= getattr(record, "facts", {})
        if record.exc_info:
            entry["traceback"] = redact.mask(self.formatException(record.exc_info))
        return json.dumps(entry, default=str)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        call = getattr(record, "call", None)
        if call is None:
            message = redact.mask(record.getMessage())
        else:
            outcome = call["error"] or "ok"
            arguments = json.dumps(call["arguments"], default=str)
            message = f"{call['tool']} {outcome} {call['duration']} ms {call['size']} chars {call['door']} {arguments}"
        line = f"{timestamp()} {record.levelname.lower()} {message}"
        return f"{line}\n{redact.mask(self.formatException(record.exc_info))}" if record.exc_info else line
