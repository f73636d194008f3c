from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codecairn.team.database import Database
from codecairn.team.embedded import embedded_url, stop_embedded
from tests.support.team import Team, open_team


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A real PostgreSQL of this session's own. It does not lie in pytest's folder: run by root it is another user's,
    and every pytest that starts takes that folder away from others again."""
    home = Path(tempfile.mkdtemp(prefix="cairn-postgres-"))
    url = embedded_url(home)
    server = Database(url)
    server.execute("ALTER SYSTEM SET fsync = off")  # power cuts are not tried here, and a database takes half a second
    server.execute("SELECT pg_reload_conf()")
    server.close()
    yield url
    stop_embedded(home)
    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def fresh_database(postgres: str, template: str = "") -> Iterator[str]:
    """An empty database, or a copy of another."""
    name = f"t{secrets.token_hex(6)}"
    server = Database(postgres)
    if template:
        old = template.partition("?")[0].rpartition("/")[2]
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", old)
        server.execute(f"CREATE DATABASE {name} TEMPLATE {old}")
    else:
        server.execute(f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    server.close()


@pytest.fixture
def database_url(postgres: str) -> Iterator[str]:
    with fresh_database(postgres) as url:
        yield url


@pytest.fixture
def team(database_url: str, tmp_path: Path) -> Iterator[Team]:
    with open_team(database_url, tmp_path) as opened:
        yield opened
