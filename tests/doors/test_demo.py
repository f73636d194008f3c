"""`cairn demo`, on a repository of every kind: real, in a process of its own, through the server that it starts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.cli.demo_subjects import first_sentence, misspelling
from tests.support.repo import Repo

LEDGER = '''"""A ledger."""


def post_entry(account, amount):
    """Post an amount to an account. It is never rounded."""
    account.append(amount)
    return account


def settle(accounts):
    return [post_entry(each, 0) for each in accounts]


def close_year(accounts):
    return post_entry(settle(accounts), 1)
'''
Started = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Started:
    """Starts a command with a data directory and a folder for temporary files of its own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    places = {name: str(temporary) for name in ("TMPDIR", "TEMP", "TMP")}
    environment = {**os.environ, **places, "CAIRN_HOME": str(home), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}

    def started(folder: Path, *arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-u", "-m", "codecairn", *arguments]
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
        return subprocess.Popen(command, cwd=folder, env=environment, **given)

    return started


@pytest.fixture
def demo(start: Started) -> Callable[..., str]:
    """What a demo prints that ends well: plain text, and nothing beside it."""

    def printed(folder: Path, *arguments: str) -> str:
        out, err = start(folder, "demo", *arguments).communicate(timeout=60)
        said = out.decode()
        assert err == b""
        assert "\x1b" not in said
        return said

    return printed


def calls(said: str) -> list[str]:
    return re.findall(r"^→ (\w+)", said, re.MULTILINE)


def answer(said: str, tool: str) -> str:
    """The first answer of a tool, as it is shown."""
    found = re.search(rf"^→ {tool} .*\n((?:  │.*\n)*)", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def test_the_demo_asks_about_what_the_repository_holds(repo: Repo, home: Path, tmp_path: Path, demo: Any) -> None:
    repo.commit("ledger: begin", {"ledger.py": LEDGER, "tests/test_ledger.py": "import ledger\n"})
    repo.git("checkout", "--quiet", "-b", "yearly")
    repo.commit("ledger: close the year twice", {"ledger.py": LEDGER.replace("accounts), 1", "accounts), 2")})
    repo.git("checkout", "--quiet", "main")
    repo.commit("docs: say what it is", {"README.md": "# Ledger\n"})
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "yearly")
    said = demo(repo.path)
    assert calls(said) == [
        "search_code", "find_symbol", "find_references", "get_call_graph", "git_log", "git_blame", "diff_context",
        "build_context_pack", "remember", "context_search", "forget", "find_references",
    ]  # fmt: skip
    assert '→ search_code {"query": "Post an amount to an account"' in said
    assert "ledger.py:4-7" in answer(said, "search_code")
    assert "2 references to ledger.post_entry" in answer(said, "find_references")
    assert "settle  ledger.py:11" in answer(said, "get_call_graph")
    assert "ledger: begin" in answer(said, "git_blame")
    assert "close_year" in answer(said, "diff_context")
    assert '"task": "ledger: close the year twice"' in said
    assert "Whoever changes post_entry" in answer(said, "context_search")
    assert "Forgotten" in answer(said, "forget")
    assert "Did you mean ledger.post_entry?" in said
    shown = sum(int(each.replace(",", "")) for each in re.findall(r"ms, ([\d,]+) characters\)", said))
    assert f"An agent would have read {shown:,} characters in 12 answers" in said
    assert "cairn setup" in said
    assert sorted(each.name for each in home.iterdir()) == ["indexes"], "something was remembered"
    assert list((tmp_path / "temporary").glob("cairn-demo-*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_demo_of_one_commit_compares_nothing_and_draws_progress_on_a_terminal(repo: Repo, start: Started) -> None:
    repo.commit("ledger: begin", {"ledger.py": LEDGER})
    drawn, out = with_terminal(lambda terminal: start(repo.path, "demo", stderr=terminal))
    said = out.decode()
    assert "━" in drawn
    assert "There is one commit, so there is nothing to compare." in said
    assert "diff_context" not in calls(said)
    assert {"find_references", "git_blame", "forget"} <= {*calls(said)}


def test_the_demo_of_an_empty_repository_says_that_nothing_is_there(repo: Repo, demo: Any) -> None:
    said = demo(repo.path)
    assert "nothing is searched" in said
    assert "no commits" in said
    assert calls(said) == ["remember", "context_search", "forget", "read_file"]


def test_the_demo_of_documents_asks_about_their_history(repo: Repo, demo: Any) -> None:
    repo.commit("guide: how to climb", {"guide.md": "# Climbing\n\nTake a rope.\n"})
    repo.commit("guide: take water along", {"guide.md": "# Climbing\n\nTake a rope, and water.\n"})
    said = demo(repo.path)
    assert '→ search_code {"query": "guide: take water along"' in said
    assert "0 symbols in 1 file" in answer(said, "get_file_outline")
    assert "guide.md" in answer(said, "diff_context")
    assert "Did you mean guide.md?" in answer(said, "read_file")
    assert "find_references" not in calls(said)


def test_the_demo_of_a_folder_without_git_asks_about_code_alone(tmp_path: Path, demo: Any) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "ledger.py").write_text(LEDGER, encoding="utf-8")
    said = demo(tmp_path, "--root", "plain")
    assert "chose what to ask about: post_entry of ledger.py, 2 uses." in said
    assert "There are no commits here" in said
    assert not {"git_log", "git_blame", "diff_context"} & {*calls(said)}


def test_the_demo_of_an_empty_folder_says_why_it_asks_nothing(tmp_path: Path, demo: Any) -> None:
    (tmp_path / "plain").mkdir()
    said = demo(tmp_path, "--root", "plain")
    assert "it is empty" in said
    assert calls(said) == ["read_file"]


def test_the_demo_waits_for_the_index_no_longer_than_it_says(repo: Repo, demo: Any) -> None:
    repo.commit("ledger: begin it all", {"ledger.py": LEDGER})
    said = demo(repo.path, "--wait", "0")
    assert "at most 0 s" in said
    assert "It takes longer" in said
    assert not {"find_references", "diff_context", "build_context_pack"} & {*calls(said)}
    assert {"search_code", "git_blame", "forget"} <= {*calls(said)}


def test_the_demo_of_no_folder_is_refused(tmp_path: Path, start: Started) -> None:
    demo = start(tmp_path, "demo", "--root", "nowhere")
    _, err = demo.communicate(timeout=60)
    assert demo.returncode == 2
    assert b"nowhere" in err
    assert b"Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="a console's Ctrl-C reaches every process of it there")
def test_an_interrupted_demo_leaves_nothing_behind(repo: Repo, home: Path, tmp_path: Path, start: Started) -> None:
    repo.commit("ledger: begin", {"ledger.py": LEDGER})
    ignoring = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        demo = start(repo.path, "demo")
    finally:
        signal.signal(signal.SIGINT, ignoring)
    assert demo.stdout is not None
    for line in demo.stdout:
        if line.startswith("→ search_code".encode()):
            break
    demo.send_signal(signal.SIGINT)
    _, err = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert b"Traceback" not in err
    assert sorted(each.name for each in home.iterdir()) == ["indexes"]
    assert list((tmp_path / "temporary").glob("cairn-demo-*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_server_on_a_terminal_says_what_it_waits_for(repo: Repo, start: Started) -> None:
    import pty

    typed, terminal = pty.openpty()
    server = start(repo.path, "serve", "--log-level", "error", "--no-index", stdin=terminal)
    os.close(terminal)
    assert server.stderr is not None
    assert b"waiting for an MCP client on stdin. Ctrl-C ends it." in server.stderr.readline()
    os.write(typed, b"\x04")
    out, _ = server.communicate(timeout=60)
    os.close(typed)
    assert out == b""


def test_a_server_that_a_client_starts_says_nothing(repo: Repo, start: Started) -> None:
    out, err = start(repo.path, "serve", "--log-level", "error", "--no-index").communicate(timeout=60)
    assert (out, err) == (b"", b"")


def with_terminal(begin: Callable[[int], subprocess.Popen[bytes]]) -> tuple[str, bytes]:
    """What a command draws on a terminal, and what it prints."""
    import pty

    seen, terminal = pty.openpty()
    drawn = bytearray()
    running = begin(terminal)
    os.close(terminal)
    watcher = threading.Thread(target=_watch, args=(seen, drawn), daemon=True)
    watcher.start()
    out, _ = running.communicate(timeout=60)
    watcher.join(30)
    os.close(seen)
    return drawn.decode("utf-8", "replace"), out


def _watch(terminal: int, drawn: bytearray) -> None:
    """Keep what is drawn on a terminal until nobody draws any more."""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 12):
            drawn += part


@pytest.mark.parametrize(
    ("documentation", "sentence"),
    [
        ("Post an amount. It is never rounded.", "Post an amount"),
        ("/// Reads v1.2 files.\n///\n/// Slowly.", "Reads v1.2 files"),
        ("Send a file using\n:func:`~flask.send_file`.", "Send a file using flask.send_file"),
        ("Without an end", "Without an end"),
        ("////////////////////", ""),
        ("", ""),
    ],
)
def test_a_question_is_the_first_sentence_of_the_documentation(documentation: str, sentence: str) -> None:
    assert first_sentence(documentation) == sentence


@pytest.mark.parametrize(("name", "wrong"), [("post_entry", "post_ntry"), ("add", "addd"), ("README.md", "READE.md")])
def test_a_misspelling_is_another_name(name: str, wrong: str) -> None:
    assert misspelling(name) == wrong
