"""Finds the handler for a request."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kiosk.http.errors import HttpError


@dataclass(frozen=True)
class Route:
    method: str
    pattern: re.Pattern
    handler: Callable


class Router:
    def __init__(self) -> None:
        self._routes: list[Route] = []

    def add(self, method: str, path: str, handler: Callable) -> None:
        """`/orders/{id}` takes one segment under the name `id`."""
        self._routes.append(Route(method, compile_path(path), handler))

    def dispatch(self, method: str, path: str):
        allowed = set()
        for route in self._routes:
            found = route.pattern.fullmatch(path)
            if found and route.method == method:
                return route.handler(**found.groupdict())
            if found:
                allowed.add(route.method)
        if allowed:
            raise HttpError(405, f"use one of {', '.join(sorted(allowed))}")
        raise HttpError(404, "no such page")

    def serve(self, host: str, port: int) -> None:
        """Listen until the process is told to stop."""
        from wsgiref.simple_server import make_server

        make_server(host, port, self.dispatch).serve_forever()


def compile_path(path: str) -> re.Pattern:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
