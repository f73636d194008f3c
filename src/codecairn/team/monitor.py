"""How a worker stands, for monitors: `GET /health` and `GET /metrics`. They name no repository and take no token."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from codecairn import __version__
from codecairn.team.database import RecordUnavailable
from codecairn.team.directory import GRACE_S
from codecairn.team.record import Record
from codecairn.team.worker import TeamWorker


def serve_monitor(worker: TeamWorker, record: Record, host: str, port: int) -> int:
    """Answer in the background until the process ends; returns the port, for 0 means any."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/health":
                value = _health(worker)
                self._send(200 if value["ready"] else 503, "application/json", json.dumps(value))
            elif self.path == "/metrics":
                self._send(200, "text/plain; version=0.0.4", _metrics(worker, record))
            else:
                self._send(404, "text/plain", "Not Found")

        def _send(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """A monitor asks every few seconds."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="cairn-monitor", daemon=True).start()
    return int(server.server_address[1])


def _silent_s(worker: TeamWorker) -> float:
    return 0.0 if worker.is_busy else time.monotonic() - worker.heard_at


def _health(worker: TeamWorker) -> dict[str, Any]:
    is_ready = _silent_s(worker) < GRACE_S
    return {"status": "ok" if is_ready else "degraded", "version": __version__, "live": True, "ready": is_ready}


def _metrics(worker: TeamWorker, record: Record) -> str:
    lines = [
        f"cairn_team_jobs_done_total {worker.done}", f"cairn_team_jobs_failed_total {worker.failed}",
        f"cairn_team_worker_busy {int(worker.is_busy)}", f"cairn_team_push_to_publication_seconds {worker.lag_s:.3f}",
        f"cairn_team_record_silent_seconds {_silent_s(worker):.1f}",
    ]  # fmt: skip
    with suppress(RecordUnavailable):
        lines.append(f"cairn_team_jobs_due {record.jobs.depth()}")
    return "\n".join([*lines, ""])
