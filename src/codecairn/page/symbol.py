"""The page of a symbol, and the page of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from codecairn.file_roles import is_test
from codecairn.page.asking import FIRST_LINES, PageAnswer, PageRequest
from codecairn.page.highlight import code_line, code_lines, mark_name
from codecairn.page.memory import with_places
from codecairn.page.visible import make_visible
from codecairn.parse.language import language_of
from codecairn.reading.graph_svg import draw_picture

TABS = {"": "References", "graph": "Calls", "history": "History", "tests": "Tests"}
_MOST_REFERENCES = 500
_SURE = 0.9
_MOST_EDGES = 100
_MOST_BLAMED = 280
"""Lines, as many as one answer of git_blame has."""
_PAGE_LINES = 2 * FIRST_LINES


def symbol(asked: PageRequest) -> PageAnswer:
    name, tab = asked.text("name"), asked.text("tab")
    path, line, ref = asked.text("path"), asked.number("line"), asked.text("ref")
    answer = asked.tool("find_symbol", symbol_name=name, path=path, limit=20, ref=ref)
    found = answer["symbols"]
    # A definition begins with its decorators; its name stands some lines below.
    one = min(found, key=lambda each: abs(each["line_start"] - line)) if line else found[0]
    values = {
        "title": one["name"], "name": name, "symbol": one, "tab": tab, "ref": ref,
        "others_total": answer["total_symbols"] - 1,
        "others": [{**each, "page": page_of(asked, each)} for each in found if each is not one],
        "tabs": [(key, said, page_of(asked, one, tab=key)) for key, said in TABS.items()],
        "lines": _definition(asked, one), "remembered": _find_discoveries(asked, one),
        "file_page": asked.file_link(one["path"], one["line_start"]),
        "remember_page": asked.link("/memory/new", symbol=one["qualified_name"], path=one["path"]),
    }  # fmt: skip
    return PageAnswer("symbol.html", {**values, **_PARTS.get(tab, _references)(asked, one)})


def page_of(asked: PageRequest, each: dict[str, Any], **more: Any) -> str:
    return asked.link("/symbol", name=each["qualified_name"], path=each["path"], line=each["line_start"], **more)


def _definition(asked: PageRequest, one: dict[str, Any]) -> list[Any]:
    if one.get("body"):
        return code_lines(one["body"], one["language"], one["body_start_line"])
    last = min(one["line_end"], one["line_start"] + 80)
    read = asked.try_tool(
        "read_file", path=one["path"], startLine=one["line_start"], endLine=last, ref=asked.text("ref")
    )
    return code_lines(read["file"]["content"], one["language"], one["line_start"]) if read else []


def _find_discoveries(asked: PageRequest, one: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked.fact("discoveries_on", paths=[one["path"]], ref=asked.text("ref") or None)
    return with_places(asked, [each for each in found if each["symbol"] in (None, one["qualified_name"])])


def _references(asked: PageRequest, one: dict[str, Any]) -> dict[str, Any]:
    """The uses by file, the product's own before those in tests, then the unresolved."""
    found = asked.try_tool(
        "find_references", symbol_name=one["qualified_name"], path=one["path"], line=one["line_start"],
        limit=_MOST_REFERENCES, include_unresolved=True, cursor=asked.text("cursor"), ref=asked.text("ref"),
    )  # fmt: skip
    if found is None:
        return {"references": None}
    cursor, listed = found["next_cursor"], len(found["references"])
    return {
        "references": found, "files": _by_file(asked, found["references"], one["name"]),
        "listed": listed if listed < found["total_references"] else 0,
        "unresolved": _by_file(asked, found["unresolved"] or [], one["name"]),
        "next": page_of(asked, one, cursor=cursor) if cursor else "",
    }  # fmt: skip


class Use(NamedTuple):
    """A line that uses a symbol."""

    line: int
    page: str
    html: Markup
    around: str
    """The page of the symbol that it stands in."""
    inside: str
    edges: str
    evidence: str


def _by_file(asked: PageRequest, rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    ordered = sorted(rows, key=lambda each: (is_test(each["path"]), each["path"], each["line_start"]))
    by_path = [(path, list(of_file)) for path, of_file in groupby(ordered, key=lambda each: each["path"])]
    mark, known = mark_name(name), dict[tuple[str, str], Markup]()

    def show(context: str, language: str) -> Markup:
        """Imports read alike in many files."""
        key = context, language
        if key not in known:
            known[key] = code_line(context, language, mark)
        return known[key]

    return [
        {
            "path": path, "page": asked.link("/file", path=path), "is_test": is_test(path), "count": len(of_file),
            "rows": list(_uses(asked, path, of_file, show)),
        }
        for path, of_file in by_path
    ]  # fmt: skip


def _uses(
    asked: PageRequest, path: str, rows: list[dict[str, Any]], show: Callable[[str, str], Markup]
) -> Iterator[Use]:
    """The lines of one file that use a symbol; the symbol around them is named where it is another than that of the
    line before. Links to tests would be a fifth of a page of 500."""
    known = language_of(path)
    language, before, has_links = known.data.name if known else "", "", not is_test(path)
    page = asked.link("/file", path=path)
    for (line, evidence), same in groupby(rows, key=lambda each: (each["line_start"], _evidence(each))):
        of_line = list(same)
        around, edges = of_line[0]["from_symbol"], dict.fromkeys(each["edge_type"] for each in of_line)
        is_same, before = around["qualified_name"] == before, around["qualified_name"]
        is_named = not is_same and around["kind"] != "module"
        yield Use(
            line, f"{page}#L{line}" if line <= FIRST_LINES else asked.file_link(path, line),
            show(of_line[0]["context"], language),
            asked.link("/symbol", name=around["qualified_name"]) if is_named and has_links else "",
            around["name"] if is_named else "", ", ".join(edges), evidence,
        )  # fmt: skip


def _evidence(row: dict[str, Any]) -> str:
    sure = f" {row['confidence']:.1f}" if row.get("confidence", 1.0) < _SURE else ""
    return f"{row.get('resolver') or row.get('reason') or ''}{sure}"


def _graph(asked: PageRequest, one: dict[str, Any]) -> dict[str, Any]:
    found = asked.try_tool(
        "get_call_graph", symbol_name=one["qualified_name"], depth=asked.number("depth") or 2, limit=_MOST_EDGES,
        ref=asked.text("ref"),
    )  # fmt: skip
    if found is None:
        return {"graph": None, "picture": ""}
    depths = [(depth, page_of(asked, one, tab="graph", depth=depth)) for depth in (1, 2, 3)]
    picture = make_visible(draw_picture(found, lambda node: page_of(asked, node, tab="graph")))
    sides = [
        (said, [{**each, "page": page_of(asked, each)} for each in found["nodes"] if each["depth"] * sign > 0])
        for said, sign in (("Callers", -1), ("Callees", 1))
    ]
    return {"graph": found, "picture": picture, "depths": depths, "depth": asked.number("depth") or 2, "sides": sides}


def _history(asked: PageRequest, one: dict[str, Any]) -> dict[str, Any]:
    """The commits that wrote the lines of the symbol as it is, with its decorators, the latest first."""
    first = one.get("body_start_line") or one["line_start"]
    last = min(one["line_end"], first + _MOST_BLAMED - 1)
    blame = asked.try_tool(
        "git_blame", filePath=one["path"], startLine=first, endLine=last, ref=asked.text("ref"),
        format="json",
    )  # fmt: skip
    if blame is None:
        return {"blame": None}
    written = Counter(each["hash"] for each in blame["lines"])
    commits = sorted(blame["commits"], key=lambda each: each["date"], reverse=True)
    return {
        "blame": blame, "most": max(written.values(), default=1),
        "commits": [{**each, "lines": written[each["hash"]], "page": _commit_page(asked, each)} for each in commits],
    }  # fmt: skip


def _commit_page(asked: PageRequest, commit: dict[str, Any]) -> str:
    if not commit["hash"].strip("0"):
        return asked.link("/branch", base="HEAD", head="live", ref="")
    return asked.link("/branch", base=f"{commit['hash']}^", head=commit["hash"], ref="")


def _tests(asked: PageRequest, one: dict[str, Any]) -> dict[str, Any]:
    """The tests among its callers, up to five calls away."""
    found = asked.try_tool(
        "get_call_graph", symbol_name=one["qualified_name"], direction="callers", depth=5, limit=300,
        ref=asked.text("ref"),
    )  # fmt: skip
    if found is None:
        return {"tests": None}
    reaching = sorted(
        (each for each in found["nodes"] if each["depth"] and is_test(each["path"])),
        key=lambda each: (abs(each["depth"]), each["path"], each["line_start"]),
    )
    return {
        "tests": [{**each, "page": page_of(asked, each)} for each in reaching],
        "is_cut": found["next_cursor"] is not None, "metadata": found["metadata"],
    }  # fmt: skip


_PARTS = {"graph": _graph, "history": _history, "tests": _tests}


def file(asked: PageRequest) -> PageAnswer:
    """A file, from about the line that is asked for on."""
    path, line, end = asked.text("path"), asked.number("line"), asked.number("end")
    start = max(1, line - 60) if line and line > FIRST_LINES else 1
    read = asked.tool(
        "read_file", path=path, startLine=start, endLine=start + _PAGE_LINES - 1, ref=asked.text("ref")
    )["file"]  # fmt: skip
    language = language_of(path)
    shown = code_lines(read["content"], language.data.name if language else "", start)
    last = start + len(shown) - 1
    outline = asked.try_tool("get_file_outline", path=path, ref=asked.text("ref"))
    values = {
        "title": path, "path": path, "lines": shown, "file": read, "first": start, "last": last,
        "changes_page": asked.link("/branch", head="live" if asked.has_working_tree else "", path=path, ref=""),
        "chosen": range(line or 0, (end or line or 0) + 1) if line else (),
        "before": asked.file_link(path, max(1, start - FIRST_LINES)) if start > 1 else "",
        "after": asked.file_link(path, last + 60) if last < read["lines"] else "",
        "outline": list(_flatten(asked, path, outline)) if outline else [],
    }  # fmt: skip
    return PageAnswer("file.html", values)


def _flatten(asked: PageRequest, path: str, outline: dict[str, Any]) -> list[dict[str, Any]]:
    rows = list[dict[str, Any]]()

    def walk(symbols: list[dict[str, Any]], depth: int) -> None:
        for each in symbols:
            line = each["line_start"]
            rows.append({"name": each["name"], "kind": each["kind"], "line": line, "depth": min(depth, 3),
                         "page": asked.file_link(path, line)})  # fmt: skip
            walk(each.get("children") or [], depth + 1)

    for each in outline["files"]:
        walk(each["symbols"], 0)
    return rows
