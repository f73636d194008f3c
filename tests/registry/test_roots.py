"""Which folder is the project, and which folders a caller may name instead."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codecairn import config
from codecairn.config import Settings
from codecairn.errors import CairnError, Denied, InvalidInput, ProjectNotFound
from codecairn.project import Projects
from tests.registry.samples import folder, registry
from tests.support.doors import Answer, Door
from tests.support.repo import Repo
from tests.support.wire import ServerProcess

Connect = Callable[..., Door]


def repository(path: Path) -> Path:
    folder(path / ".git")
    return path


def settings(base: Path, **given_: Any) -> Settings:
    """As if started in an empty folder by a user whose home is elsewhere."""
    return Settings(**{"working_dir": folder(base / "empty"), "home": folder(base / "home"), **given_})


class TestWhichFolderIsTheProject:
    @pytest.fixture
    def places(self, tmp_path: Path) -> dict[str, Path]:
        names = ("argument", "environment", "claude", "client")
        return {
            **{name: folder(tmp_path / name) for name in names},
            "working": folder(repository(tmp_path / "repo") / "deep"),
        }

    def test_the_first_that_is_named_wins(self, tmp_path: Path, places: dict[str, Path]) -> None:
        ranked = ["argument", "environment", "claude", "client", "working"]
        for rank, expected in enumerate([*ranked[:-1], "repo"]):
            known = {name: places[name] if ranked.index(name) >= rank else None for name in ranked}
            projects = Projects(
                settings(
                    tmp_path,
                    roots=(known["argument"],) if known["argument"] else (),
                    env_root=known["environment"],
                    client_dir=known["claude"],
                    working_dir=places["working"],
                )
            )
            roots = [known["client"]] if known["client"] else []
            assert projects.current(roots).root == tmp_path / expected

    def test_a_working_directory_outside_git_is_the_project_itself(self, tmp_path: Path) -> None:
        assert Projects(settings(tmp_path)).current().root == tmp_path / "empty"

    def test_the_environment_names_them(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CAIRN_ROOT", str(folder(tmp_path / "a")))
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder(tmp_path / "b")))
        assert Projects(config.load()).current().root == tmp_path / "a"
        monkeypatch.setenv("CAIRN_ROOT", "")
        assert Projects(config.load()).current().root == tmp_path / "b"
        assert Projects(config.load((str(folder(tmp_path / "c")),))).current().root == tmp_path / "c"

    def test_a_tilde_is_the_home_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("CAIRN_ROOT", "~/project")
        folder(tmp_path / "project")
        assert Projects(config.load()).current().root == tmp_path / "project"

    @pytest.mark.parametrize("bad", ["missing", "file", "home", "/", "~nobody-of-this-name/x", "x" * 5000, "loop"])
    def test_a_bad_order_is_an_error(self, tmp_path: Path, bad: str) -> None:
        path = self.bad_path(tmp_path, bad)
        for order in ({"roots": (path,)}, {"env_root": path}):
            with pytest.raises((InvalidInput, Denied)):
                Projects(settings(tmp_path, **order))

    @pytest.mark.parametrize(
        "bad", ["missing", "file", "home", "/", "~nobody-of-this-name/x", "x" * 5000, "loop", "src"]
    )
    def test_a_bad_hint_is_passed_over(self, tmp_path: Path, bad: str) -> None:
        path = self.bad_path(tmp_path, bad)
        projects = Projects(settings(tmp_path, client_dir=path))
        assert projects.current([path]).root == tmp_path / "empty"
        assert projects.wants_client_roots

    @staticmethod
    def bad_path(base: Path, bad: str) -> Path:
        (base / "file").write_text("")
        (base / "loop").symlink_to("loop")
        folder(base / "home")
        repository(base / "src" / "one")
        repository(base / "src" / "two")
        return Path(bad) if bad.startswith(("/", "~")) else base / bad

    def test_a_folder_of_repositories_is_a_project_only_when_ordered(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            repository(tmp_path / "src" / name)
        ordered = settings(tmp_path, roots=(tmp_path / "src",))
        assert Projects(ordered).current().root == tmp_path / "src"
        with pytest.raises(ProjectNotFound):
            Projects(settings(tmp_path, working_dir=tmp_path / "src")).current()

    def test_a_repository_with_repositories_inside_is_a_project(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "top")
        for name in ("one", "two"):
            repository(top / name)
        assert Projects(settings(tmp_path, working_dir=top)).current().root == top

    @pytest.mark.parametrize("where", ["home", "/"])
    def test_home_and_the_file_system_root_are_no_project_to_be_found_in(self, tmp_path: Path, where: str) -> None:
        working = folder(tmp_path / "home") if where == "home" else Path("/")
        with pytest.raises(ProjectNotFound) as refusal:
            Projects(settings(tmp_path, working_dir=working)).current()
        assert "--root" in refusal.value.remedy

    def test_a_repository_that_is_the_home_directory_is_passed_over(self, tmp_path: Path) -> None:
        home = repository(tmp_path / "home")
        working = folder(home / "notes")
        assert Projects(settings(tmp_path, working_dir=working)).current().root == working

    def test_over_http_a_client_cannot_choose_the_project(self, tmp_path: Path) -> None:
        projects = Projects(settings(tmp_path, local=False))
        assert not projects.wants_client_roots
        assert projects.current([folder(tmp_path / "elsewhere")]).root == tmp_path / "empty"

    def test_the_same_folder_is_opened_once(self, tmp_path: Path) -> None:
        projects = Projects(settings(tmp_path))
        (tmp_path / "link").symlink_to("empty")
        assert projects.current() is projects.project_at(str(tmp_path / "link"), param="path")

    def test_a_server_started_in_a_folder_that_is_gone_serves_the_one_it_is_given(self, repo: Repo) -> None:
        repo.commit("first", {"a.txt": "one\n"})
        script = "import os, pathlib; os.mkdir('gone'); os.chdir('gone'); os.rmdir(pathlib.Path.cwd());"
        script += f"from codecairn.cli import main; main(['call', 'git_log', '--root', {str(repo.path)!r}])"
        ran = subprocess.run([sys.executable, "-c", script], cwd=repo.path.parent, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert b"first" in ran.stdout

    def test_a_user_without_a_home_can_still_be_served(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless() -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", homeless)
        assert Projects(Settings(working_dir=folder(tmp_path / "project"))).current().root == tmp_path / "project"


class TestWhichFolderACallerMayName:
    """Through the sample tools of the two families that take a root."""

    @staticmethod
    def asked(door: Door, root: str) -> tuple[Answer, Answer]:
        return door.call("sample_index_root", {"path": root}), door.call("sample_refs_root", {"workspace": root})

    def assert_opens(self, door: Door, root: Path) -> None:
        for answer in self.asked(door, str(root)):
            assert answer.value["root"] == str(root.resolve())

    def assert_refused(self, door: Door, root: str, code: str = "workspace_not_allowed") -> None:
        index, refs = self.asked(door, root)
        fault = index.rpc_error or index.value["error"]
        assert fault["code"] == -32602
        assert fault["data"]["reason"]
        assert fault["data"]["param"] == "path"
        assert refs.value["error"]["code"] == code
        assert refs.value["error"]["data"]["param"] == "workspace"

    @pytest.mark.requirement("ruling/paths/root-must-be-absolute")
    def test_relative_paths_are_refused(self, door_name: str, tmp_path: Path, connect: Connect) -> None:
        door = connect(door_name, None, registry=registry(), working_dir=tmp_path)
        for path in ("relative", "./x", "..", "", " ", "~", "~/x", "file:///tmp", "\x00", "/tmp/\n"):
            self.assert_refused(door, path, "invalid_input")

    @pytest.mark.requirement("ruling/paths/stdio-any-readable-root")
    @pytest.mark.parametrize("door_name", ["memory", "stdio", "modern", "bare"])
    def test_a_local_caller_may_name_any_folder(self, door_name: str, tmp_path: Path, connect: Connect) -> None:
        folder(tmp_path / "env")
        given_ = {"working_dir": folder(tmp_path / "here"), "env_root": tmp_path / "env"}
        door = connect(door_name, None, registry=registry(), **given_)
        self.assert_opens(door, folder(tmp_path / "elsewhere" / "deep"))
        self.assert_opens(door, Path("/usr"))

    @pytest.mark.requirement("ruling/paths/stdio-any-readable-root")
    @pytest.mark.parametrize("missing", ["missing", "file", "loop", "x" * 5000])
    def test_what_is_no_readable_folder_is_refused(self, tmp_path: Path, connect: Connect, missing: str) -> None:
        (tmp_path / "file").write_text("")
        (tmp_path / "loop").symlink_to("loop")
        door = connect("stdio", None, registry=registry(), working_dir=tmp_path)
        self.assert_refused(door, str(tmp_path / missing), "invalid_input")

    @pytest.mark.requirement(
        "ruling/paths/root-option-limits", "ruling/paths/root-refused-002", "ruling/paths/root-refused-004"
    )
    def test_the_root_option_limits_every_caller(self, door_name: str, tmp_path: Path, connect: Connect) -> None:
        served, outside = folder(tmp_path / "served"), folder(tmp_path / "served-not")
        (served / "way-out").symlink_to(outside)
        door = connect(door_name, served, registry=registry())
        self.assert_opens(door, served)
        self.assert_opens(door, folder(served / "part"))
        for refused in (outside, tmp_path, served / "way-out", served / ".." / "served-not", tmp_path / "missing"):
            self.assert_refused(door, str(refused))

    @pytest.mark.requirement("ruling/paths/http-listed-roots-only")
    @pytest.mark.parametrize("door_name", ["http", "rpc"])
    def test_over_http_only_what_is_served_may_be_named(self, door_name: str, tmp_path: Path, connect: Connect) -> None:
        here, elsewhere = folder(tmp_path / "here"), folder(tmp_path / "elsewhere")
        listed = connect(door_name, here, registry=registry(), local=False)
        unlisted = connect(door_name, None, registry=registry(), local=False, working_dir=here)
        for door in (listed, unlisted):
            self.assert_opens(door, here)
            self.assert_refused(door, str(elsewhere))
            self.assert_refused(door, str(tmp_path / "missing"))

    def test_several_roots_may_be_listed(self, tmp_path: Path) -> None:
        one, two = folder(tmp_path / "one"), folder(tmp_path / "two")
        projects = Projects(settings(tmp_path, roots=(one, two), local=False))
        assert [projects.project_at(str(each), param="path").root for each in (one, two)] == [one, two]
        with pytest.raises(Denied):
            projects.project_at(str(tmp_path), param="path")

    @pytest.mark.requirement("ruling/paths/home-never-root", "ruling/paths/filesystem-root-never")
    def test_home_and_the_file_system_root_are_never_accepted(
        self, door_name: str, tmp_path: Path, connect: Connect
    ) -> None:
        home = folder(tmp_path / "home")
        (tmp_path / "link").symlink_to(home)
        door = connect(door_name, None, registry=registry(), home=home, working_dir=folder(tmp_path / "here"))
        for refused in (home, tmp_path / "link", f"{home}/.", "/", "//", "/usr/.."):
            self.assert_refused(door, str(refused))
        self.assert_opens(door, folder(home / "project"))

    @pytest.mark.requirement("ruling/paths/home-never-root")
    def test_home_is_refused_even_inside_a_listed_root(self, tmp_path: Path, connect: Connect) -> None:
        home = folder(tmp_path / "home")
        door = connect("stdio", tmp_path, registry=registry(), home=home)
        self.assert_refused(door, str(home))

    @given(path=st.text(st.characters(), max_size=30) | st.text(max_size=30).map(lambda text: f"/{text}"))
    @example("/\ud800")
    @example("/" + "x" * 300)
    @example("/x" * 4000)
    def test_no_text_breaks_the_rule(self, path: str) -> None:
        for local in (True, False):
            projects = Projects(Settings(working_dir=Path(__file__).parent, local=local))
            try:
                root = projects.project_at(path, param="path").root
            except CairnError as refusal:
                refusal.message.encode()
            else:
                assert local
                assert root.is_dir()
                assert root != root.parent


@pytest.mark.requirement("ruling/paths/root-option-limits")
def test_a_server_given_a_home_directory_says_so_and_ends(tmp_path: Path) -> None:
    with ServerProcess("--root", str(tmp_path), folder=tmp_path, HOME=str(tmp_path)) as server:
        assert server.close() == 2
        assert "Never a project" in "".join(server.stderr)


class TestSettings:
    @pytest.mark.parametrize(
        ("given_", "seconds"),
        [("5", 5), ("0.5", 0.5), ("0", 0.1), ("-3", 0.1), ("nan", 30), ("inf", 86_400), ("soon", 30), ("", 30)],
    )
    def test_the_time_git_may_take_is_always_a_time(
        self, monkeypatch: pytest.MonkeyPatch, given_: str, seconds: float
    ) -> None:
        monkeypatch.setenv("CAIRN_GIT_TIMEOUT", given_)
        assert config.load().git_timeout == seconds

    def test_an_empty_token_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CAIRN_TOKEN", "")
        assert config.load().token is None

    def test_a_child_sees_no_variable_that_steers_git(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GIT_DIR", "/elsewhere")
        monkeypatch.setenv("GIT_EXTERNAL_DIFF", "touch owned")
        seen = {name for name in config.child_environment() if name.startswith("GIT_")}
        assert seen <= {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}
        assert config.child_environment()["PATH"] == os.environ["PATH"]
