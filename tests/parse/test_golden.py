"""Each language by a readable golden: a source file, and beside it what is extracted from it, one fact a line.

`CAIRN_GOLDEN=write pytest tests/parse` writes the expectations anew, to be read as a diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codecairn.parse.extract import extract
from codecairn.parse.facts import FileFacts
from codecairn.parse.language import language_of, languages

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = sorted(path for path in GOLDEN.glob("*/*") if path.suffix != ".facts")


def described(facts: FileFacts, path: str) -> str:
    """The facts as a person reads them: an outline, then what is imported, bound and referred to."""
    language = languages()[facts.language]
    lines = [f"module {language.module_path(path, facts.package)}"]
    depth: list[int] = []
    for symbol in facts.symbols:
        depth.append(depth[symbol.parent] + 1 if symbol.parent >= 0 else 0)
        doc = f"  « {symbol.doc.splitlines()[0]}" if symbol.doc else ""
        again = f" #{symbol.ordinal}" if symbol.ordinal else ""
        returns = f" → {symbol.returns}" if symbol.returns else ""
        place = f"{symbol.start_line}-{symbol.end_line}"
        lines.append(
            f"{'  ' * depth[-1]}{symbol.kind} {symbol.path}{again} [{place}]{returns} | {symbol.signature}{doc}"
        )
    lines += ["", "imports"]
    for each in facts.imports:
        alias, mark = f" as {each.alias}" if each.alias else "", " (exported)" if each.exported else ""
        lines.append(f"{each.line}: {each.module} : {each.name or '.'}{alias}{mark}")
    lines += ["", "bindings"]
    lines += [f"{each.line}: {each.name} is {each.type}" for each in facts.bindings]
    lines += ["", "sites"]
    for site in facts.sites:
        around = site.owner or (facts.symbols[site.symbol].path if site.symbol >= 0 else "(file)")
        name = f"{site.qualifier} . {site.name}" if site.qualifier else site.name
        if site.kind != "references":
            lines.append(f"{site.line}:{site.column} {site.kind} {name} in {around}")
    lines.append(f"and {sum(site.kind == 'references' for site in facts.sites)} plain references")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_extraction_matches_its_golden(sample: Path) -> None:
    language = language_of(sample.name)
    assert language is not None
    facts = extract(language, sample.read_bytes())
    told = described(facts, f"src/{sample.parent.name}/{sample.name}")
    expected = sample.parent / f"{sample.stem}.facts"
    if os.environ.get("CAIRN_GOLDEN") == "write":
        expected.write_text(told, encoding="utf-8")
    assert told == expected.read_text(encoding="utf-8")
    assert facts.error_nodes == 0, "the sample must be valid in its language"


def test_every_language_has_a_golden_of_a_hundred_lines() -> None:
    assert {path.parent.name for path in SAMPLES} == set(languages())
    short = [path.name for path in SAMPLES if len(path.read_text(encoding="utf-8").splitlines()) < 100]
    assert short == []
