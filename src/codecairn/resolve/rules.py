"""A language's rules for names (parse/language.py), with what does not depend on a name compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from codecairn.parse.language import languages
from codecairn.parse.name_rules import NameRules
from codecairn.resolve.source import MARK


@dataclass(frozen=True)
class CompiledRules:
    rules: NameRules
    opaque: re.Pattern[str]
    word: re.Pattern[str]
    head: re.Pattern[str] | None
    keys: re.Pattern[str]
    narrowing: re.Pattern[str] | None
    returned: re.Pattern[str] | None
    fixture: re.Pattern[str] | None
    library_members: frozenset[str]
    before_quoted: re.Pattern[str]
    doc_result: re.Pattern[str] | None
    doc_type: re.Pattern[str] | None
    blocks: tuple[re.Pattern[str], ...]
    parameters: tuple[re.Pattern[str], ...]
    taken_apart: tuple[re.Pattern[str], ...]
    expressions: tuple[re.Pattern[str], ...]
    generics: tuple[re.Pattern[str], ...]


@cache
def rules_of(language: str) -> CompiledRules:
    known = languages().get(language)
    rules = known.data.resolve if known else NameRules()
    return CompiledRules(
        rules, re.compile("|".join(rules.opaque)), re.compile(rules.word),
        re.compile(rules.head) if rules.head else None, re.compile(rules.keys),
        re.compile(rules.narrowing) if rules.narrowing else None,
        re.compile(rules.returned, re.MULTILINE) if rules.returned else None,
        re.compile(rules.fixture) if rules.fixture else None, frozenset(rules.library_members.split()), re.compile(f"(?:{rules.quoted})$"),
        re.compile(rules.doc_result) if rules.doc_result else None,
        re.compile(rules.doc_type) if rules.doc_type else None,
        *map(_compile_marked, (rules.blocks, rules.parameters, rules.taken_apart, rules.expressions, rules.generics)),
    )  # fmt: skip


def _compile_marked(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each.replace("NAME", f"{MARK}+"), re.MULTILINE) for each in patterns)
