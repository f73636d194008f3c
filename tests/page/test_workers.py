"""The pages of a server in several processes: one of them has them, and the front leads there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.page.conftest import shop_in
from tests.support.page import Visitor

CAIRN = [sys.executable, "-m", "codecairn"]


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The port of a server with two workers, and the address that logs in to it."""
    folder = tmp_path_factory.mktemp("workers")
    root, env = str(shop_in(folder / "shop").path), {**os.environ, "CAIRN_HOME": str(folder), "CAIRN_TOKEN": "horse"}
    command = [*CAIRN, "serve", "--http", "127.0.0.1:0", "--workers", "2", "--root", root, "--log-level", "warning"]
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if "the page is" in line)
            found = re.search(r":(\d+)/;", said)
            assert found
            asked = [*CAIRN, "open", "--print", "--root", root]
            opened = subprocess.run(asked, env=env, capture_output=True, text=True, check=True)
            yield int(found[1]), opened.stdout.strip()
        finally:
            process.terminate()
            process.wait(30)
    assert list((folder / "pages").glob("*.json")) == []


@pytest.mark.requirement("ruling/page/workers")
def test_a_server_in_several_processes_has_its_pages(front: tuple[int, str]) -> None:
    port, login = front
    origin = f"http://127.0.0.1:{port}"
    visitor = Visitor(port)
    assert visitor.get("/?q=discount").status == 401
    assert login.startswith(origin)
    assert visitor.get(login.removeprefix(origin)).status == 303
    for _ in range(3):
        assert visitor.get("/?q=discount").status == 200
    assert b"several processes" in visitor.get("/server").body
    form = {"form_key": visitor.form_key(), "type": "decision", "content": "Discounts are never negative."}
    assert visitor.post("/memory/save", form, Origin="http://127.0.0.1:1").status == 403
    assert visitor.post("/memory/save", form, Origin="null").status == 403
    assert visitor.post("/memory/save", {**form, "form_key": "x"}, Origin=origin).status == 403
    assert b"never negative" not in visitor.get("/memory").body
    assert visitor.post("/memory/save", form, Origin=origin).status == 303
    assert b"never negative" in visitor.get("/memory").body
    assert visitor.get("/", Host="evil.example").status == 403
    assert visitor.get("/metrics").status == 401


def test_the_token_of_a_server_in_several_processes_logs_in(front: tuple[int, str]) -> None:
    port, _ = front
    visitor, origin = Visitor(port), {"Origin": f"http://127.0.0.1:{port}"}
    assert visitor.post("/login", {"token": "cow"}, **origin).status == 403
    assert visitor.post("/login", {"token": "horse", "next": "/memory"}, **origin).headers["location"] == "/memory"
    assert visitor.get("/memory").status == 200
