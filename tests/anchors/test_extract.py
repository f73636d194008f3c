"""What a text of rules names: anchors, and what only looks like one."""

from __future__ import annotations

import time

import pytest

from codecairn.anchors.extract import read_anchors


def anchors(text: str, *, imports: bool = False) -> list[tuple[str, str, int]]:
    return [(each.kind, each.text, each.line) for each in read_anchors(text, imports=imports).anchors]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See `src/app.py`.", [("path", "src/app.py", 1)]),
        ("See `src/app.py:12-20` and `docs/`", [("path", "src/app.py", 1), ("path", "docs/", 1)]),
        ("`./tests/unit/test_a.py::test_b`", [("path", "tests/unit/test_a.py", 1)]),
        ("`src/**/*.ts` and `*.ts`", []),
        ("`packages/api/**/*.ts`", [("path", "packages/api/", 1)]),
        ("`pyproject.toml`", [("path", "pyproject.toml", 1)]),
        ("[guide](docs/guide.md#part 'x') [web](https://x.y/z.md) [top](#a)", [("link", "docs/guide.md", 1)]),
        ("[a b](<docs/a b.md>) [c](docs/c%20d.md)", [("link", "docs/a b.md", 1), ("link", "docs/c d.md", 1)]),
        ("[x](mdc:src/a.ts)", [("link", "src/a.ts", 1)]),
        ("[ref]: ./docs/r.md", [("link", "./docs/r.md", 1)]),
        ("`parse_config()` `Config.load` `MAX_SIZE` `useThing`", [
            ("symbol", "parse_config", 1), ("symbol", "Config.load", 1), ("symbol", "MAX_SIZE", 1),
            ("symbol", "useThing", 1),
        ]),
        ("`main` `true` `x` `None` `feature`", []),
        ("`make test lint`", [("command", "make test", 1), ("command", "make lint", 1)]),
        ("`make -C sub test` `make -j4 build`", [("command", "make build", 1)]),
        ("`npm run build:web` `pnpm --filter api run dev` `yarn run x.ts`", [
            ("command", "npm run build:web", 1), ("command", "npm run dev", 1),
        ]),
        ("`cairn search parse`", [("command", "cairn search", 1)]),
        ("`path/to/file.py` `<name>/x.py` `$HOME/x.py` `/etc/passwd` `../up.py` `https://a.b/c`", []),
        ("```sh\n$ python scripts/run.py --x\nmake test\n```", [
            ("path", "scripts/run.py", 2), ("command", "make test", 3),
        ]),
        ("```python\nopen('a/b.txt')\n```\n`a/b.py`", [("path", "a/b.py", 4)]),
        ("```\nsrc/\n├── app/\n│   └── main.py  # entry\n└── lib.py\n```", [
            ("path", "src/app/", 3), ("path", "src/app/main.py", 4), ("path", "src/lib.py", 5),
        ]),
        ("`` `x` `` and `a/b.py`", [("path", "a/b.py", 1)]),
        ("a ` b `` c", []),
    ],
)  # fmt: skip
def test_anchors_are_found(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert anchors(text) == expected


def test_imports_are_links_where_the_tool_reads_them() -> None:
    text = "@docs/a.md and @user and @scope/pkg `@docs/b.md`"
    assert anchors(text, imports=True) == [("link", "docs/a.md", 1)]
    assert anchors(text) == []


def test_a_line_that_speaks_of_absence_says_so() -> None:
    found = read_anchors("Do not create `src/a.py`\nSee `src/b.py`").anchors
    assert [each.is_negated for each in found] == [True, False]


@pytest.mark.parametrize(
    "line",
    ["`" * 50_000, "` `` ``` " * 5_000, "[" * 50_000, "](" * 50_000, "a/" * 50_000, "`a/b` " * 3_000, "@a." * 30_000,
     "│ " * 20_000 + "├── x", "make " * 10_000, "npm run " * 8_000],
    ids=lambda line: line[:8],
)  # fmt: skip
@pytest.mark.requirement("003/anchors/linear")
def test_hostile_lines_take_linear_time(line: str) -> None:
    began = time.process_time()
    text = "\n".join([line[:19_999]] * 20 + [line * 2] + ["`src/app.py`"])
    found = read_anchors(text, imports=True)
    assert ("path", "src/app.py") in {(each.kind, each.text) for each in found.anchors}
    assert time.process_time() - began < 10


@pytest.mark.requirement("003/anchors/linear")
def test_ten_megabytes_of_markdown_are_read() -> None:
    text = "Some words about `src/app.py` and [a link](docs/a.md) in a sentence.\n" * 150_000
    began = time.process_time()
    found = read_anchors(text)
    assert len(text) > 10_000_000
    assert len(found.anchors) == 300_000
    assert time.process_time() - began < 60


def test_a_line_too_long_to_look_through_is_counted() -> None:
    found = read_anchors(f"`src/a.py`\n{'x' * 30_000}\n`src/b.py`")
    assert [each.text for each in found.anchors] == ["src/a.py", "src/b.py"]
    assert found.long_lines == 1
