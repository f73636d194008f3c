"""What a caller may name inside a project, and what is never shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codecairn import config
from codecairn.errors import CairnError, Denied, InvalidInput
from codecairn.paths import Guard, printable
from tests.registry.samples import registry
from tests.support.doors import DOORS, Answer, Door, open_door, service
from tests.support.repo import Repo
from tests.support.wire import ServerProcess

Connect = Callable[..., Door]

SECRET = "the secret itself"
BLOCKED = [
    ".env", ".env.local", ".env.example", ".git/config", ".git", "node_modules/left-pad/index.js",
    "server.pem", "id_rsa", "id_ed25519", "id_ecdsa_sk", "tls.key", "store.p12",
]  # fmt: skip
READABLE = [
    ".github/workflows/ci.yml", ".gitignore", ".gitattributes", ".environment", "environment.py", "src/env/x", ".envrc",
    "id_rsa.pub", "my_id_rsa_notes.md", "node_modules.md", "src/git/x", "pem.txt", "keys.py", "a b.txt", "café.txt",
]  # fmt: skip
DISGUISES: list[Callable[[str], str]] = [
    str,
    str.upper,
    str.title,
    lambda name: name + ".",
    lambda name: name + "...",
    lambda name: name + " ",
    lambda name: name + " . .",
    lambda name: name + "::$DATA",
    lambda name: name + ":stream",
    lambda name: name[0] + "\u200c" + name[1:],
    lambda name: name + "\ufeff",
    lambda name: "\u202e" + name,
    lambda name: name.replace("s", "\u017f"),
]
ABSOLUTE = ["/etc/passwd", "//server/share/x", "\\\\server\\share\\x", "C:\\Windows\\x", "c:/x", "C:x", "\\x", "/"]
CLIMBING = ["..", "../x", "a/../../x", "a/..", "..\\x", "a\\..\\..\\x", "./../x", "a/b/../c"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with everything in it that may be named and all that may not, and links to both."""
    base = tmp_path_factory.mktemp("paths")
    (base / "outside").mkdir()
    (base / "outside" / "secret.txt").write_text(SECRET)
    root = base / "project"
    for name in (*READABLE, *BLOCKED, "sub/.env", "src/a.py"):
        if name != ".git":
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(SECRET if name in BLOCKED else "readable\n")
    links = {
        "out": "../outside", "out.txt": "../outside/secret.txt", "absolute": str(base / "outside"), "chain": "out.txt",
        "loop": "loop", "loop1": "loop2", "loop2": "loop1", "harmless.txt": ".env", "harmless": ".git",
        "modules": "node_modules", "inner": "src", "dangling": "../nowhere", "src/up": "../..",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


def refusal(guard: Guard, given_path: str) -> CairnError | None:
    try:
        guard.inside(given_path)
    except CairnError as error:
        return error
    return None


@pytest.fixture(scope="module", params=DOORS)
def everywhere(request: pytest.FixtureRequest, root: Path) -> Iterator[Door]:
    with open_door(request.param, service(root, registry=registry())) as door:
        yield door


def git_answers(door: Door, path: str) -> list[Answer]:
    return [door.call(name, {"filePath": path}) for name in ("git_log", "git_blame", "git_diff")]


@pytest.mark.requirement("ruling/paths/absolute-refused")
@pytest.mark.parametrize("path", ABSOLUTE)
def test_absolute_paths_are_refused(everywhere: Door, path: str) -> None:
    answer = everywhere.call("sample_read", {"path": path})
    assert answer.value["error"] == "Invalid parameters"
    assert "absolute" in answer.value["details"]


@pytest.mark.requirement("ruling/paths/parent-refused")
@pytest.mark.parametrize("path", CLIMBING)
def test_climbing_paths_are_refused(everywhere: Door, path: str) -> None:
    answer = everywhere.call("sample_read", {"path": path})
    assert answer.value["error"] == "Invalid parameters"
    assert "'..'" in answer.value["details"]


@pytest.mark.requirement("ruling/paths/absolute-refused", "ruling/paths/parent-refused")
def test_the_git_tools_refuse_absolute_and_climbing_paths(repo: Repo, door_name: str, connect: Connect) -> None:
    repo.commit("first", {"a.txt": "one\n"})
    door = connect(door_name, repo.path)
    for path in (*ABSOLUTE, *CLIMBING, str(repo.path / "a.txt")):
        for answer in git_answers(door, path):
            assert answer.value["error"]["type"] == "InvalidInputError"
            assert answer.value["error"]["data"]["param"] == "filePath"


@pytest.mark.requirement("ruling/paths/symlink-escape-refused")
@pytest.mark.parametrize("path", ["out/secret.txt", "out.txt", "absolute/secret.txt", "chain", "src/up", "inner/up"])
def test_links_that_lead_outside_are_refused(everywhere: Door, path: str) -> None:
    answer = everywhere.call("sample_read", {"path": path})
    assert answer.value["error"] == "Permission denied"
    assert SECRET not in answer.text


@pytest.mark.requirement("ruling/paths/symlink-escape-refused")
def test_the_git_tools_refuse_links_that_lead_outside(repo: Repo, door_name: str, connect: Connect) -> None:
    (repo.path.parent / "outside.txt").write_text(SECRET)
    (repo.path / "link").symlink_to("../outside.txt")
    repo.commit("a link")
    for answer in git_answers(connect(door_name, repo.path), "link"):
        assert answer.value["error"]["type"] == "PermissionError"
        assert SECRET not in answer.text


@pytest.mark.parametrize("path", ["loop", "loop1", "loop/x", "dangling"])
def test_links_that_lead_nowhere_are_an_answered_error(everywhere: Door, path: str) -> None:
    assert everywhere.call("sample_read", {"path": path}).is_error


@pytest.mark.parametrize("path", ["harmless.txt", "harmless/config", "modules/left-pad/index.js"])
def test_a_link_to_what_is_blocked_is_blocked(everywhere: Door, path: str) -> None:
    answer = everywhere.call("sample_read", {"path": path})
    assert answer.value["error"] == "Permission denied"
    assert SECRET not in answer.text


@pytest.mark.requirement(
    "ruling/paths/dotenv-blocked",
    "ruling/paths/git-folder-blocked",
    "ruling/paths/node-modules-blocked",
    "ruling/paths/private-keys-blocked",
    "ruling/paths/blocked-answer-form",
)
@pytest.mark.parametrize("path", BLOCKED)
def test_blocked_names_are_never_read(everywhere: Door, path: str) -> None:
    for given_path in (path, f"./{path}", f"src//{path}", f"a/b/{path}", path.upper()):
        answer = everywhere.call("sample_read", {"path": given_path})
        assert answer.is_error
        assert answer.value["error"] == "Permission denied"
        assert answer.value["path"]
        assert answer.value["details"]
        assert SECRET not in answer.text


@pytest.mark.requirement("ruling/paths/dotenv-blocked", "ruling/paths/private-keys-blocked")
def test_the_git_tools_neither_take_nor_show_blocked_names(repo: Repo, door_name: str, connect: Connect) -> None:
    repo.commit(
        "all of it", {".env": SECRET, "deep/.env.local": SECRET, "a.pem": SECRET, "id_rsa": SECRET, "a.py": "x"}
    )
    repo.write("a.pem", f"{SECRET} 2")
    door = connect(door_name, repo.path)
    for path in (".env", "deep/.env.local", "a.pem", "id_rsa", ".git/config", "node_modules/x"):
        for answer in git_answers(door, path):
            assert answer.value["error"]["type"] == "PermissionError"
    for whole in (door.call("git_log"), door.call("git_diff")):
        assert not whole.is_error
        assert SECRET not in whole.text
        assert "a.pem" not in str(whole.value)


@pytest.mark.requirement("ruling/paths/whole-components-only")
@pytest.mark.parametrize("path", READABLE)
def test_names_that_only_resemble_a_blocked_one_are_readable(everywhere: Door, path: str) -> None:
    assert everywhere.call("sample_read", {"path": path}).value == {"path": path, "content": "readable\n"}


@pytest.mark.requirement("ruling/paths/config-adds-blocked")
@pytest.mark.parametrize(
    ("patterns", "path"),
    [
        ("secrets.*", "deep/Secrets.yml"),
        ("*.kdbx, Vault", "vault/x"),
        ("deploy/keys", "deploy/keys/live"),
        ("deploy/keys", "region/deploy/KEYS/live"),
        ("deploy/keys/", "deploy/keys"),
        ("/deploy", "deploy/x"),
        ("deploy/**", "deploy/a/b"),
        ("**/private/*.txt", "private/a.txt"),
        ("deploy\\keys", "deploy/keys"),
        ("caf\u0065\u0301.txt", "café.txt"),
    ],
)
def test_what_the_configuration_adds_is_blocked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, patterns: str, path: str
) -> None:
    monkeypatch.setenv("CAIRN_BLOCK", patterns)
    guard = Guard(tmp_path, config.load().blocked)
    assert isinstance(refusal(guard, path), Denied)
    assert refusal(guard, "src/deploy.py") is None
    assert refusal(guard, "src/keys/a.py") is None


@pytest.mark.requirement("ruling/paths/config-adds-blocked")
def test_a_server_reads_what_to_block_from_its_environment(repo: Repo) -> None:
    repo.commit("first", {"secrets.yml": "one\n", "a.txt": "one\n"})
    with ServerProcess(folder=repo.path, CAIRN_BLOCK="secrets.*") as server:
        asked = {"name": "git_blame", "arguments": {"filePath": "secrets.yml"}}
        assert "PermissionError" in str(server.request("tools/call", asked))
        asked = {"name": "git_log", "arguments": {}}
        files = server.request("tools/call", asked)["result"]["structuredContent"]["commits"][0]["files"]
        assert [each["path"] for each in files] == ["a.txt"]


@given(name=st.sampled_from(BLOCKED), disguise=st.sampled_from(DISGUISES), folders=st.sampled_from(["", "a/", "./a//"]))
def test_no_disguise_lets_a_blocked_name_through(
    root: Path, name: str, disguise: Callable[[str], str], folders: str
) -> None:
    path = folders + "/".join(disguise(part) for part in name.split("/"))
    assert isinstance(refusal(Guard(root), path), CairnError)
    assert Guard(root).blocks(path)


_fragments = st.sampled_from(
    ["..", ".", "", " ", "~", "-", "--", "a", "src", "sub", "out", "out.txt", "inner", "up", "loop", "harmless", "C:",
     "\\", "\\\\", "%2e%2e", "%2f", "..%2f", "%252e", "‥", "．．", "..;", "...", ".. ", ".env", ".GIT", "id_rsa", "NUL",
     "\0", "\n", "\x1b", "\x7f", "\ud800", "\udc80", "\u202e", "x" * 300, "x" * 255, "é" * 128, "a.py", "node_modules"]
)  # fmt: skip
_hostile = (
    st.lists(_fragments | st.text(max_size=6), max_size=8).flatmap(
        lambda parts: st.sampled_from(["/", "\\", "//", "/./", ""]).map(lambda separator: separator.join(parts))
    )
    | st.text()
    | st.text(st.characters(), max_size=20)
)


@given(path=_hostile)
@example("x/" * 3000)
@example("/".join(["x" * 200] * 30))
@example("loop/" * 50)
@example("\ud800")
@example(".env\ud800")
def test_no_path_escapes_or_breaks_the_guard(root: Path, path: str) -> None:
    refused = refusal(Guard(root), path)
    if refused is not None:
        assert isinstance(refused, InvalidInput | Denied)
        assert refused.message.encode()
        return
    inside = Guard(root).inside(path)
    target = (root / inside).resolve()
    assert target.is_relative_to(root.resolve())
    assert not {part.casefold() for part in target.relative_to(root.resolve()).parts} & {".git", ".env", "node_modules"}
    assert not Guard(root).blocks(inside)
    assert ".." not in inside.split("/")
    assert not Path(inside).is_absolute()
    (root / inside).is_dir()  # neither raises nor finds the name too long


@given(path=st.text())
def test_asking_whether_a_path_is_blocked_never_fails(path: str) -> None:
    assert Guard(Path("/")).blocks(path) in (True, False)
    assert Guard(Path("/"), ("*.x", "a/b", "[", "")).blocks(path) in (True, False)


@pytest.mark.parametrize(
    ("given_path", "meant"), [("./src/a.py", "src/a.py"), ("src//a.py", "src/a.py"), ("src/", "src"), (".", ".")]
)
def test_a_path_is_tidied(root: Path, given_path: str, meant: str) -> None:
    assert Guard(root).inside(given_path) == meant


def test_a_project_behind_a_link_is_still_a_project(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert Guard(tmp_path / "link").inside("inner/a.py") == "inner/a.py"
    assert isinstance(refusal(Guard(tmp_path / "link"), "out.txt"), Denied)


def test_a_project_inside_a_blocked_folder_can_be_read(tmp_path: Path) -> None:
    assert Guard(tmp_path / "node_modules" / "left-pad").inside("index.js") == "index.js"


@given(value=st.text(st.characters(), max_size=300))
def test_what_is_repeated_to_the_caller_is_fit_to_print(value: str) -> None:
    shown = printable(value)
    assert shown.encode().decode() == shown
    assert len(shown) <= 201
    assert not any(ord(character) < 32 or ord(character) == 127 for character in shown)
