"""diff_context for reading: by file, a line a symbol, its nearest callers by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, takewhile

from codecairn.budget import DEFAULT_CHARACTERS
from codecairn.reading import Fields, InkRole, PrintContext, clip, fit, lines, more, one_of, share, state_lines
from codecairn.reading.code import code_line
from codecairn.reading.rules import rule_lines
from codecairn.text import one_line

_SIGNS: dict[str, tuple[str, InkRole]] = {
    "added": ("+", "added"), "modified": ("~", "mark"), "deleted": ("-", "removed"),
}  # fmt: skip
_WIDEST = 110
_PARTING = 30
"""Characters shown before the place where two signatures part."""
_ORDINARY = 4_000
"""Characters for who asked for nothing special: of a large change the first page tells where to look."""


def print_changes(answer: Fields, reading: PrintContext) -> str:
    rows, total = answer["changes"], answer["total_changes"]
    state, blocks = state_lines(answer["metadata"]), list(_blocks(answer, reading))
    room = min(reading.room, _ORDINARY) if reading.room == DEFAULT_CHARACTERS else reading.room
    rules = list(rule_lines(answer.get("rules")))
    shown = fit(blocks, room - sum(map(len, (*state, *rules))) - 400)
    counted = share(reading.offset + min(shown, len(rows)), total, "changed symbol")
    refs = f"{one_line(answer['base_ref'])} → {one_line(answer['head_ref'])}"
    head = f"{refs} (since {answer['merge_base_commit'][:9]}): {counted} in {one_of(answer['affected_files'], 'file')}"
    return lines([head, *state, *rules, *blocks[:shown], *_closing(answer, reading, shown)])


def _blocks(answer: Fields, reading: PrintContext) -> Iterator[str]:
    files = {each["path"]: each for each in answer["file_changes"]}
    for path, rows in groupby(answer["changes"], key=lambda row: row["path"]):
        head = _heading(files.pop(path, {"path": path}), reading)
        for row in rows:
            yield f"{head}{_row(row, reading)}"
            head = ""
    yield from (_heading(each, reading).rstrip("\n") for each in files.values())


def _heading(file: Fields, reading: PrintContext) -> str:
    was = f"renamed from {one_line(file['old_path'])}" if file.get("old_path") else file.get("change_type", "")
    why = f"not compared: {one_line(file['not_indexed'])}" if file.get("not_indexed") else ""
    said = ", ".join(each for each in (was, why) if each and each != "modified")
    return f"{reading.paint(one_line(file['path']), 'path')}{f'  {said}' if said else ''}\n"


def _row(row: Fields, reading: PrintContext) -> str:
    sign, role = _SIGNS[row["change_type"]]
    record = row["after"] or row["before"]
    said = "; ".join(_remark(row))
    text = f"{reading.paint(format(row['lines']['start'], '>5'), 'dim')} {reading.paint(sign, role)} "
    text += f"{clip(one_line(record['signature']) or record['qualified_name'], _WIDEST)}"
    text += f"  ({said})" if said else ""
    text += f" ← {', '.join(map(_short, row['callers']))}" if row.get("callers") else ""
    if row.get("signature_changed") and row["before"]:
        text += "".join(f"\n        {line}" for line in _signatures(row["before"], record))
    return text + "".join(f"\n        {code_line(line)}" for line in row.get("hunk", ()))


def _signatures(before: Fields, after: Fields) -> Iterator[str]:
    """The signature before; where both begin alike, each from shortly before they part."""
    was, now = one_line(before["signature"]), one_line(after["signature"])
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    if was == now:
        return
    if alike < _WIDEST - _PARTING:
        yield f"was {clip(was, _WIDEST)}"
        return
    start = alike - _PARTING
    yield f"was …{clip(was[start:], _WIDEST)}"
    yield f"now …{clip(now[start:], _WIDEST)}"


def _short(name: str) -> str:
    """The last two parts of a qualified name, without folders."""
    return clip(".".join(one_line(name).rpartition("/")[2].replace("::", ".").rsplit(".", 2)[-2:]), 50)


def _remark(row: Fields) -> list[str]:
    """Remarks on a change: its origin, the parts that changed, its callers."""
    origins = [name for name in ("moved_from", "renamed_from") if row.get(name)]
    was = [f"{name.replace('_', ' ')} {one_line(row[name])}" for name in origins]
    flags = {"whitespace_or_comments_only": "layout or comments only", "only_members": "members only"}
    parts = [name for name in ("signature", "body") if row.get(f"{name}_changed")]
    what = [" and ".join(parts)] if parts and row["change_type"] == "modified" and not row.get("only_members") else []
    return [*was, *what, *(text for flag, text in flags.items() if row.get(flag)), *_callers(row)]


def _callers(row: Fields) -> Iterator[str]:
    before, after = row.get("callers_at_base"), row.get("callers_at_head")
    if before is None and after is None:
        return
    unbound = {side: row.get(f"unbound_at_{side}", 0) for side in ("base", "head")}
    if before is None or after is None or before == after:
        least = "at least " if unbound["head" if after is not None else "base"] else ""
        yield least + one_of(after if after is not None else before or 0, "caller")
    else:
        least = "at least " if any(unbound.values()) else ""
        yield f"callers {least}{before} → {after}"


def _closing(answer: Fields, reading: PrintContext, shown: int) -> Iterator[str]:
    rows = len(answer["changes"])
    silent = answer.get("files_without_symbols", 0) if not reading.offset else 0
    listed = max(0, shown - rows)
    if silent > listed:
        yield f"{one_of(silent - listed, 'more file')} changed without a changed symbol: git_diff with summary"
    yield from filter(None, [more(answer, reading, shown, rows)])
