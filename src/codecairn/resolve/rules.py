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
    first: re.Pattern[str]
    called: re.Pattern[str] | None
    variable: re.Pattern[str] | None
    passed_on: re.Pattern[str] | None
    hidden: re.Pattern[str] | None
    wrapped: re.Pattern[str] | None
    begins: re.Pattern[str] | None
    bounds: re.Pattern[str]
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
        rules=rules,
        opaque=re.compile("|".join(rules.opaque)),
        word=re.compile(rules.word),
        head=_compile_given(rules.head),
        keys=re.compile(rules.keys),
        first=re.compile(rules.first),
        called=_compile_given(rules.called),
        variable=_compile_given(rules.variable),
        passed_on=_compile_given(rules.passed_on),
        hidden=_compile_given(rules.hidden),
        wrapped=_compile_given(rules.wrapped),
        begins=_compile_given(rules.begins),
        bounds=re.compile(rules.bounds),
        narrowing=_compile_given(rules.narrowing),
        returned=re.compile(rules.returned, re.MULTILINE) if rules.returned else None,
        fixture=_compile_given(rules.fixture),
        library_members=frozenset(rules.library_members.split()),
        before_quoted=re.compile(f"(?:{rules.quoted})$"),
        doc_result=_compile_given(rules.doc_result),
        doc_type=_compile_given(rules.doc_type),
        blocks=_compile_marked(rules.blocks),
        parameters=_compile_marked(rules.parameters),
        taken_apart=_compile_marked(rules.taken_apart),
        expressions=_compile_marked(rules.expressions),
        generics=_compile_marked(rules.generics),
    )


def _compile_given(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None


def _compile_marked(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each.replace("NAME", f"{MARK}+"), re.MULTILINE) for each in patterns)
