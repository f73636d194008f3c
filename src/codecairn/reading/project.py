"""index_codebase, get_status, list_refs, switch_ref for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codecairn.reading import Fields, PrintContext, lines, one_of, state_lines
from codecairn.text import one_line


def print_indexed(answer: Fields, reading: PrintContext) -> str:
    del reading
    made = answer["statistics"]
    counts = (
        f"{one_of(made['symbols_extracted'], 'symbol')}, {one_of(made['chunks_created'], 'chunk')}, "
        f"{one_of(made['files_removed'], 'file')} removed, index {made['index_size_mb']:.1f} MB"
    )
    failed = [f"{one_line(each['file'])}: {one_line(each['error'])}" for each in answer["errors"]]
    return lines([answer["message"], counts, *_left_out(answer["skipped"]), *failed, *state_lines(answer["metadata"])])


def print_status(answer: Fields, reading: PrintContext) -> str:
    del reading
    about, counted = answer["project"], answer["statistics"]
    parts = [answer["message"]]
    if about and counted:
        parts += [f"{one_line(about['root_path'])} at {one_line(answer['metadata']['ref'])}", *_counts(about, counted)]
    progress = answer.get("progress")
    if progress:
        parts.append(f"Indexing: {progress['files_done']:,} of {progress['files_total']:,} files")
    freshness = answer["metadata"]["freshness_status"]
    return lines([*parts, f"freshness: {freshness}", *state_lines(answer["metadata"])])


def _counts(about: Fields, counted: Fields) -> Iterator[str]:
    yield (
        f"{one_of(counted['total_lines'], 'line')}, {one_of(counted['total_symbols'], 'symbol')}, "
        f"{one_of(counted['total_chunks'], 'chunk')}, {one_of(counted['total_embeddings'], 'vector')}, "
        f"{counted['index_size_mb']:.1f} MB; {', '.join(about['languages'])}"
    )
    yield from _left_out(counted["skipped"])
    if counted["files_with_errors"]:
        yield f"{one_of(counted['files_with_errors'], 'file')} could be read only in part"


def _left_out(skipped: Sequence[Fields]) -> list[str]:
    said = ", ".join(f"{each['count']:,} {one_line(each['reason'])}" for each in skipped)
    return [f"left out: {said}"] if said else []


def print_refs(answer: Fields, reading: PrintContext) -> str:
    rows = []
    for each in answer["refs"]:
        commit = (each["last_indexed_commit"] or "")[:9]
        facts = [commit, "default" if each["is_default"] else "", "" if each["status"] == "active" else each["status"]]
        counts = f"{one_of(each['file_count'], 'file')}, {one_of(each['symbol_count'], 'symbol')}"
        name = reading.paint(one_line(each["ref"]), "strong")
        rows.append(f"{name}  {', '.join(filter(None, [*facts, counts]))}")
    head = (
        f"{one_of(answer['total_refs'], 'ref')} indexed; any other that git knows is indexed by the call that names it"
    )
    return lines([head, *state_lines(answer["metadata"]), *rows])


def print_switched(answer: Fields, reading: PrintContext) -> str:
    del reading
    place = f" ({one_line(answer['worktree_path'])})" if answer["worktree_path"] else ""
    commit = f" at {answer['last_indexed_commit'][:9]}" if answer["last_indexed_commit"] else ""
    said = f"Now on {one_line(answer['ref'])}{commit}{place}; before: {one_line(answer['previous_ref'])}"
    return lines([said, *state_lines(answer["metadata"])])
