"""Errors as the client sees them."""

import json


class HttpError(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.detail = detail


def render_problem(error: HttpError) -> tuple[int, dict, bytes]:
    """The error as application/problem+json."""
    body = json.dumps({"status": error.status, "detail": error.detail}).encode()
    return error.status, {"Content-Type": "application/problem+json"}, body
