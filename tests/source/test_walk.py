"""Which files of a project are listed, why others are not, and what reading one gives."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecairn.cancel import Cancel
from codecairn.errors import Cancelled
from codecairn.paths import Guard
from codecairn.source import file_content, file_listing, safe_open
from codecairn.source.file_content import Content, Skip, classify, read_text
from codecairn.source.file_listing import Listing, git_ignored_paths, list_files
from codecairn.source.git import Git
from tests.support.repo import Repo

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links, pipes or modes as POSIX has them")


def listing(root: Path, *, vendor: bool = False, blocked: tuple[str, ...] = ()) -> Listing:
    return list_files(root, Git(root), Guard(root, blocked), Cancel(), vendor=vendor)


def names(root: Path, *, vendor: bool = False) -> list[str]:
    return [found.path for found in listing(root, vendor=vendor).files]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"the text of {path}\n")


def ignore(root: Path, name: str, *lines: str) -> None:
    place = root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture(params=["git", "no git"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An empty project: what is listed should not depend on whether git lists it."""
    if request.param == "git":
        return Repo.create(tmp_path / "project").path
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    (tmp_path / "plain").mkdir()
    return tmp_path / "plain"


def test_files_come_sorted_with_the_stamp_of_each(root: Path) -> None:
    write(root, "b.py", "a/z.py", "a.py")
    files = listing(root).files
    assert [found.path for found in files] == ["a.py", "a/z.py", "b.py"]
    info = (root / "a.py").stat()
    assert files[0] == ("a.py", info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns)


def test_a_git_ignored_file_is_not_listed(root: Path) -> None:
    ignore(root, ".gitignore", "*.log", "/build/", "!keep.log", "docs/*.tmp")
    ignore(root, "sub/.gitignore", "local.py", "!trace.log", "/only-here")
    write(root, "a.log", "keep.log", "build/x.py", "sub/build/x.py", "docs/a.tmp", "docs/b/a.tmp")
    write(root, "sub/local.py", "sub/deep/local.py", "sub/trace.log", "sub/only-here", "sub/deep/only-here")
    assert names(root) == [
        ".gitignore", "docs/b/a.tmp", "keep.log", "sub/.gitignore", "sub/build/x.py", "sub/deep/only-here",
        "sub/trace.log",
    ]  # fmt: skip


def test_a_folder_below_an_ignored_one_cannot_be_taken_back(root: Path) -> None:
    ignore(root, ".gitignore", "out/", "!out/keep.py")
    write(root, "out/keep.py", "main.py")
    assert names(root) == [".gitignore", "main.py"]


def test_taking_a_folder_back_does_not_take_back_what_a_pattern_leaves_out_in_it(root: Path) -> None:
    ignore(root, ".gitignore", "*.log")
    ignore(root, "src/.gitignore", "!build/")
    write(root, "src/build/x.log", "src/build/x.py")
    assert "src/build/x.log" not in names(root)
    assert "src/build/x.py" in names(root)


def test_lines_that_git_cannot_read_are_passed_over(root: Path) -> None:
    ignore(root, ".gitignore", "!", "\\", "[z-a]", "# a comment", "", "   ", "\\#real", "gone.py")
    write(root, "kept.py", "gone.py", "#real")
    assert names(root) == [".gitignore", "kept.py"]


def test_rules_in_a_folder_with_wildcards_in_its_name_reach_no_other(root: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("no such names")
    ignore(root, "[ab]*/.cairnignore", "x.py")
    write(root, "[ab]*/x.py", "a-folder/x.py", "b/x.py")
    assert names(root) == ["[ab]*/.cairnignore", "a-folder/x.py", "b/x.py"]


def test_a_cairnignore_leaves_more_out_at_any_depth(root: Path) -> None:
    ignore(root, ".cairnignore", "*.gen.py", "!good.gen.py", "/data/")
    ignore(root, "pkg/.cairnignore", "!also.gen.py", "inner/")
    write(root, "a.gen.py", "good.gen.py", "data/x.py", "pkg/data/x.py", "pkg/also.gen.py", "pkg/inner/x.py")
    found = listing(root)
    assert [each.path for each in found.files] == [
        ".cairnignore", "good.gen.py", "pkg/.cairnignore", "pkg/also.gen.py", "pkg/data/x.py",
    ]  # fmt: skip
    assert sum(count for reason, count in found.excluded.items() if reason.startswith(file_listing.IGNORED)) == 3


def test_a_cairnignore_cannot_take_back_what_git_ignores(root: Path) -> None:
    ignore(root, ".gitignore", "secret.py")
    ignore(root, ".cairnignore", "!secret.py")
    write(root, "secret.py")
    assert "secret.py" not in names(root)


def test_a_cairnignore_that_git_ignores_counts_nevertheless(root: Path) -> None:
    ignore(root, ".gitignore", ".cairnignore")
    ignore(root, "pkg/.cairnignore", "x.py")
    write(root, "pkg/x.py", "pkg/y.py")
    assert names(root) == [".gitignore", "pkg/y.py"]


def test_a_hostile_pattern_costs_no_time(root: Path) -> None:
    ignore(root, ".cairnignore", "*a" * 60 + "b")
    write(root, "a" * 200)
    assert len(names(root)) == 2


def test_secret_and_internal_files_are_counted_and_never_listed(root: Path) -> None:
    write(root, ".env", "keys/server.pem", "node_modules/x/index.js", "main.py", "infra/prod/a.tf")
    found = listing(root, vendor=True, blocked=("infra/prod",))
    assert [each.path for each in found.files] == ["main.py"]
    secret = sum(count for reason, count in found.excluded.items() if reason.startswith(file_listing.SECRET))
    assert secret == 4


def test_other_peoples_code_is_listed_only_when_asked_for(root: Path) -> None:
    write(root, "vendor/lib/a.go", "src/third_party/b.c", "node_modules/c.js", "main.go")
    assert names(root) == ["main.go"]
    assert names(root, vendor=True) == ["main.go", "src/third_party/b.c", "vendor/lib/a.go"]


def test_what_tools_write_is_left_out_by_name_or_mark(root: Path) -> None:
    write(root, "pkg/__pycache__/a.pyc", ".tox/x.py", "env/pyvenv.cfg", "env/lib/os.py", "target/CACHEDIR.TAG")
    write(root, "target/debug/gen.rs", "build/script.py", "dist/a.js", "venv/tool.py")
    assert names(root, vendor=True) == ["build/script.py", "dist/a.js", "venv/tool.py"]


@posix
def test_links_are_skipped_and_never_followed(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/private.py")
    write(root, "real/a.py")
    (root / "inside.py").symlink_to("real/a.py")
    (root / "out.py").symlink_to(tmp_path / "outside/private.py")
    (root / "folder").symlink_to("real")
    (root / "loop").symlink_to(".")
    (root / "broken").symlink_to("nowhere")
    found = listing(root)
    assert [each.path for each in found.files] == ["real/a.py"]
    assert found.excluded[file_listing.LINK] == 5


@posix
def test_names_that_are_no_utf8_or_hold_control_characters_are_counted(root: Path) -> None:
    write(root, "fine.py", "naïve 文.py", "new\nline.py")
    try:
        (root / os.fsdecode(b"caf\xe9.py")).touch()
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    found = listing(root)
    assert [each.path for each in found.files] == ["fine.py", "naïve 文.py"]
    assert found.excluded == {file_listing.UNNAMEABLE: 2}


@posix
def test_a_pipe_is_no_file(root: Path) -> None:
    os.mkfifo(root / "pipe")
    write(root, "a.py")
    assert names(root) == ["a.py"]


@posix
def test_a_tree_deeper_than_the_interpreters_stack_is_listed(root: Path) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("leaf.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        assert names(root) == ["d/" * 1500 + "leaf.py"]
    finally:
        _flatten(root / "d")


def _flatten(deep: Path) -> None:
    """Take the levels out one by one: removing the tree whole would recurse as deep."""
    while (deep / "d").exists():
        (deep / "d").rename(deep.parent / "below")
        deep.rmdir()
        (deep.parent / "below").rename(deep)


def test_a_cancelled_listing_ends(root: Path) -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        list_files(root, Git(root), Guard(root), cancel)


class TestInGit:
    def test_tracked_and_untracked_files_are_listed_and_deleted_ones_are_not(self, repo: Repo) -> None:
        repo.commit("files", {"kept.py": "a", "deleted.py": "b"})
        repo.write("new.py", "c")
        (repo.path / "deleted.py").unlink()
        found = listing(repo.path)
        assert [each.path for each in found.files] == ["kept.py", "new.py"]
        assert found.excluded == {file_listing.ABSENT: 1}

    def test_a_tracked_file_is_listed_even_if_a_rule_would_ignore_it(self, repo: Repo) -> None:
        repo.write("a.log", "x")
        repo.git("add", "a.log")
        repo.commit("log", {".gitignore": "*.log\n"})
        assert names(repo.path) == [".gitignore", "a.log"]

    def test_a_root_in_a_subfolder_lists_only_it(self, repo: Repo) -> None:
        repo.commit("files", {"a.py": "", "sub/b.py": "", "sub/c/d.py": "", ".gitignore": "*.log\n"})
        repo.write("sub/x.log", "ignored by the rule above the root")
        assert names(repo.path / "sub") == ["b.py", "c/d.py"]

    def test_a_conflicted_file_is_listed_once(self, repo: Repo) -> None:
        repo.commit("base", {"a.py": "base\n"})
        repo.git("checkout", "--quiet", "-b", "side")
        repo.commit("side", {"a.py": "side\n"})
        repo.git("checkout", "--quiet", "main")
        repo.commit("main", {"a.py": "main\n"})
        with pytest.raises(AssertionError):
            repo.git("merge", "side")
        assert names(repo.path) == ["a.py"]

    def test_submodules_and_nested_repositories_are_left_out(self, repo: Repo, tmp_path: Path) -> None:
        other = Repo.create(tmp_path / "other")
        other.commit("lib", {"lib.py": "x"})
        repo.commit("main", {"a.py": "x"})
        repo.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(other.path), "lib")
        Repo.create(repo.path / "nested").commit("n", {"n.py": "x"})
        found = listing(repo.path)
        assert [each.path for each in found.files] == [".gitmodules", "a.py"]
        assert found.excluded == {file_listing.SUBMODULE: 1, file_listing.NESTED: 1}

    def test_a_sparse_checkout_lists_what_is_checked_out(self, repo: Repo) -> None:
        repo.commit("files", {"a/x.py": "", "b/y.py": ""})
        repo.git("sparse-checkout", "set", "a")
        assert names(repo.path) == ["a/x.py"]

    def test_a_file_that_became_a_folder_is_listed_by_what_is_in_it(self, repo: Repo) -> None:
        repo.commit("file", {"thing": "x"})
        (repo.path / "thing").unlink()
        repo.write("thing/inner.py", "x")
        found = listing(repo.path)
        assert [each.path for each in found.files] == ["thing/inner.py"]
        assert found.excluded == {file_listing.ABSENT: 1}

    @posix
    def test_a_tracked_folder_that_became_a_link_lists_nothing_outside(self, repo: Repo, tmp_path: Path) -> None:
        repo.commit("file", {"pkg/a.py": "x", "b.py": "x"})
        write(tmp_path, "outside/a.py")
        shutil.rmtree(repo.path / "pkg")
        (repo.path / "pkg").symlink_to(tmp_path / "outside")
        found = listing(repo.path)
        assert [each.path for each in found.files] == ["b.py"]
        assert found.excluded == {file_listing.LINK: 2}

    def test_a_worktree_lists_its_own_files(self, repo: Repo, tmp_path: Path) -> None:
        repo.commit("file", {"a.py": "x"})
        repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
        write(tmp_path / "tree", "new.py")
        assert names(tmp_path / "tree") == ["a.py", "new.py"]

    def test_a_bare_repository_has_no_files(self, tmp_path: Path) -> None:
        bare = Repo.create(tmp_path / "bare.git", "--bare")
        found = listing(bare.path)
        assert found.files == []
        assert len(found.warnings) == 1

    @posix
    def test_a_repository_that_git_refuses_is_walked_with_a_warning(self, repo: Repo) -> None:
        repo.commit("file", {"a.py": "x", ".gitignore": "*.log\n"})
        repo.write("b.log", "x")
        if os.geteuid() == 0:
            os.chown(repo.path, 65534, -1)
        else:
            (repo.path / ".git/config").chmod(0)
        found = listing(repo.path)
        assert [each.path for each in found.files] == [".gitignore", "a.py"]
        assert len(found.warnings) == 1

    def test_ignored_folders_are_told_as_one_path_each(self, repo: Repo) -> None:
        repo.commit("files", {".gitignore": "out/\n*.log\n", "sub/.gitignore": "gen/\n", "sub/a.py": "x"})
        for name in ("out/deep/x", "sub/gen/y", "sub/b.log", "sub/kept/c.py"):
            repo.write(name, "x")
        assert git_ignored_paths(Git(repo.path), Cancel()) == {"out", "sub/gen", "sub/b.log"}
        assert git_ignored_paths(Git(repo.path / "sub"), Cancel()) == {"gen", "b.log"}

    def test_a_project_without_a_commit_is_listed(self, repo: Repo) -> None:
        repo.write("a.py", "x")
        assert names(repo.path) == ["a.py"]


class TestWithoutGit:
    def test_pruned_folders_are_counted_as_folders(self, plain: Path) -> None:
        ignore(plain, ".gitignore", "out/")
        write(plain, "out/a", "out/b", "vendor/a", "vendor/b", "__pycache__/a", "main.py")
        assert listing(plain).excluded == {
            f"{file_listing.UNTRACKED} (folders)": 1, f"{file_listing.VENDORED} (folders)": 1,
            f"{file_listing.CACHE} (folders)": 1,
        }  # fmt: skip

    def test_a_folder_of_repositories_lists_them_all(self, plain: Path) -> None:
        for name in ("one", "two"):
            Repo.create(plain / name).commit("c", {"a.py": "x", ".gitignore": "*.log\n"})
            write(plain, f"{name}/x.log")
        assert names(plain) == ["one/.gitignore", "one/a.py", "two/.gitignore", "two/a.py"]

    @posix
    @pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
    def test_an_unreadable_folder_is_a_warning(self, plain: Path) -> None:
        write(plain, "closed/a.py", "b.py")
        (plain / "closed").chmod(0)
        found = listing(plain)
        (plain / "closed").chmod(0o700)
        assert [each.path for each in found.files] == ["b.py"]
        assert len(found.warnings) == 1

    def test_a_folder_that_cannot_be_listed_is_a_warning(self, plain: Path) -> None:
        found = listing(plain / "never-there")
        assert found.files == []
        assert found.warnings == [". was not listed: No such file or directory"]

    @posix
    def test_a_rule_file_that_is_a_link_is_not_followed(self, plain: Path, tmp_path: Path) -> None:
        ignore(tmp_path, "rules", "*.py")
        (plain / ".cairnignore").symlink_to(tmp_path / "rules")
        write(plain, "a.py")
        found = listing(plain)
        assert [each.path for each in found.files] == ["a.py"]
        assert found.warnings == [".cairnignore was not read: link"]


SEGMENTS = st.sampled_from(["a", "b", "ab", "a.b", "c d"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
PATTERNS = st.builds(
    lambda negation, head, body, tail: f"{negation}{head}{body}{tail}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/", "**/"]),
    st.lists(st.sampled_from(["a", "b", "*", "a*", "?", "**", "a.b", "[ab]"]), min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "/", "/**", "/*"]),
)
RULE_FILES = st.dictionaries(st.sampled_from(["", "a/", "a/b/"]), st.lists(PATTERNS, max_size=4), max_size=3)


@given(paths=st.sets(PATHS, max_size=8), rules=RULE_FILES)
def test_the_walk_without_git_reads_ignore_files_as_git_does(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], rules: dict[str, list[str]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for path in sorted(paths, key=len, reverse=True):
        if not (root / path).exists():
            write(root, path)
    for folder, lines in rules.items():
        if not any((root / above).is_file() for above in ("a", "a/b")):
            ignore(root, f"{folder}.gitignore", *lines)
    ours = names(root)
    Repo.create(root)
    assert ours == names(root)


def read(root: Path, path: str, most: int = 1 << 20) -> Content | Skip:
    return read_text(root, path, most)


def reason(root: Path, path: str, most: int = 1 << 20) -> str:
    skip = read_text(root, path, most)
    assert isinstance(skip, Skip)
    return skip.reason


def text(root: Path, path: str) -> bytes:
    found = read_text(root, path, 1 << 20)
    assert isinstance(found, Content)
    return found.text


class TestReading:
    def test_a_file_comes_with_the_stamp_it_is_listed_under(self, plain: Path) -> None:
        write(plain, "pkg/a.py")
        got = read(plain, "pkg/a.py")
        assert isinstance(got, Content)
        assert [got.found] == listing(plain).files
        assert got.raw == got.text == b"the text of pkg/a.py\n"

    def test_an_empty_file_is_text(self, plain: Path) -> None:
        (plain / "empty").touch()
        assert text(plain, "empty") == b""

    def test_size_is_bounded_to_the_byte(self, plain: Path) -> None:
        (plain / "a").write_bytes(b"x" * 100)
        assert isinstance(read(plain, "a", 100), Content)
        assert reason(plain, "a", 99) == Skip.TOO_LARGE

    @pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
    def test_marked_encodings_become_utf8(self, plain: Path, codec: str) -> None:
        mark = "" if codec in ("utf-16", "utf-32", "utf-8-sig") else "\N{ZERO WIDTH NO-BREAK SPACE}"
        (plain / "a.cs").write_bytes((mark + "class Ä {}\n").encode(codec))
        assert text(plain, "a.cs") == "class Ä {}\n".encode()

    @pytest.mark.parametrize(
        "raw", [b"a\0b", b"%PDF-1.7 text", b"\x89PNG\r\n", b"\xff\xfe\x00\xd8", b"x" * 8000 + b"\0"]
    )
    def test_binary_files_are_skipped(self, plain: Path, raw: bytes) -> None:
        (plain / "a").write_bytes(raw)
        assert reason(plain, "a") == Skip.BINARY

    def test_bytes_in_an_unknown_encoding_stay_as_they_are(self, plain: Path) -> None:
        (plain / "a.c").write_bytes(b"/* caf\xe9 */")
        assert text(plain, "a.c") == b"/* caf\xe9 */"

    def test_what_is_not_there_is_gone(self, plain: Path) -> None:
        write(plain, "file")
        assert {reason(plain, "nothing"), reason(plain, "no/where"), reason(plain, "file/below")} == {Skip.GONE}

    @posix
    def test_no_link_is_followed_on_the_way_or_at_the_end(self, plain: Path, tmp_path: Path) -> None:
        write(tmp_path, "outside/a.py")
        write(plain, "real.py")
        (plain / "folder").symlink_to(tmp_path / "outside")
        (plain / "a.py").symlink_to(tmp_path / "outside/a.py")
        (plain / "inner.py").symlink_to("real.py")
        assert isinstance(read(plain, "folder/a.py"), Skip)
        assert (reason(plain, "a.py"), reason(plain, "inner.py")) == (Skip.LINK, Skip.LINK)

    @posix
    def test_pipes_folders_and_devices_are_no_files(self, plain: Path) -> None:
        os.mkfifo(plain / "pipe")
        (plain / "folder").mkdir()
        assert {reason(plain, "pipe"), reason(Path("/dev"), "null")} == {Skip.SPECIAL}
        assert reason(plain, "folder") == Skip.FOLDER

    @posix
    @pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
    def test_a_file_without_the_right_to_read_it_is_unreadable(self, plain: Path) -> None:
        write(plain, "a")
        (plain / "a").chmod(0)
        assert reason(plain, "a") == Skip.UNREADABLE

    def test_a_file_that_is_being_rewritten_gives_one_of_its_states(self, plain: Path) -> None:
        states = [bytes([letter]) * size for letter, size in ((97, 300_000), (98, 200_000))]
        place, done = plain / "a", threading.Event()
        place.write_bytes(states[0])

        def rewrite() -> None:
            while not done.is_set():
                for state in states:
                    (plain / "new").write_bytes(state)
                    (plain / "new").replace(place)

        writer = threading.Thread(target=rewrite)
        writer.start()
        try:
            got = [each.raw for _ in range(200) if isinstance(each := read(plain, "a"), Content)]
        finally:
            done.set()
            writer.join()
        assert got
        assert set(got) <= set(states)

    def test_a_file_that_grows_without_end_is_given_up(self, plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = plain / "log"
        place.write_bytes(b"line\n")
        real = os.lseek

        def grown(descriptor: int, position: int, how: int) -> int:
            with place.open("ab") as file:
                file.write(b"line\n")
            return real(descriptor, position, how)

        monkeypatch.setattr(os, "lseek", grown)
        assert reason(plain, "log") == Skip.CHANGING

    def test_where_files_cannot_be_opened_from_a_folder_links_are_refused_too(
        self, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(file_content, "open_plain", safe_open.open_resolved)
        write(plain, "pkg/a.py")
        write(tmp_path, "outside/a.py")
        assert text(plain, "pkg/a.py") == b"the text of pkg/a.py\n"
        if sys.platform != "win32":
            (plain / "link").symlink_to(tmp_path / "outside")
            assert reason(plain, "link/a.py") == Skip.LINK


@pytest.mark.parametrize(
    ("path", "head", "kind"),
    [
        ("a.py", "import os\n", None),
        ("x.go", "// Code generated by mockgen. DO NOT EDIT.\n\npackage x\n", "generated"),
        ("a.js", "/**\n * @generated SignedSource<<x>>\n */\n", "generated"),
        ("a.cs", "// <auto-generated>\n//  x\n// </auto-generated>\n", "generated"),
        ("a.py", "# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", "generated"),
        ("schema.rb", "# This file is auto-generated from the current state of the database.\n", "generated"),
        ("Parser.java", "// This file was automatically generated by ANTLR\n", "generated"),
        ("parser.c", "/* Automatically @generated by tree-sitter v0.25 */\n", "generated"),
        ("svc/user_pb2.py", "x = 1\n", "generated"),
        ("user.pb.go", "package x\n", "generated"),
        ("model.g.dart", "part of x;\n", "generated"),
        ("Form1.Designer.cs", "class X {}\n", "generated"),
        ("0001_initial.py", "# Generated by Django 4.2 on 2024-01-01\n", None),
        ("walk.py", 'MARK = "@generated"  # as in Code generated by x. DO NOT EDIT.\n', None),
        ("docs/tools.md", "<!-- Generated by `make docs`; do not edit -->\n", None),
        ("jquery.min.js", "x\n", "minified"),
        ("locale/de.po", 'msgid ""\n', "data"),
        ("icon.svg", "<svg/>\n", "data"),
        ("Cargo.lock", "[[package]]\n", "data"),
        ("package-lock.json", "{}\n", "data"),
        ("go.sum", "x h1:\n", "data"),
        ("app.js.map", "{}\n", "data"),
        ("a/__snapshots__/b.js", "x\n", "data"),
        ("model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "data"),
        ("package.json", "{}\n", None),
        ("map.py", "x\n", None),
    ],
)  # fmt: skip
def test_text_that_nobody_wrote_is_told_from_text_that_somebody_did(path: str, head: str, kind: str | None) -> None:
    assert classify(path, head.encode()) == kind


def test_dense_text_is_minified_and_long_paragraphs_are_not() -> None:
    dense = b"function a(){" + b"var b=1;" * 2000 + b"}\n"
    assert classify("a.js", b"/* licence */\n" * 5 + dense) == "minified"
    assert classify("notes.md", b"A long paragraph. " * 500) is None
    assert classify("short.js", b"x" * 900) is None
    assert classify("code.py", b"value = compute(first, second)\n" * 1000) is None


def test_large_structured_files_are_data() -> None:
    row = b'{"key": "value"},\n'
    assert classify("fixture.json", row * 4000) == "data"
    assert classify("config.json", row * 100) is None
    assert classify("long.py", b"value = 1\n" * 10_000) is None
