"""A language's rules for names (parse/language.py), with what does not depend on a name compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from codecairn.parse.language import languages
from codecairn.parse.name_rules import NameRules
from codecairn.resolve.source import MARK

_NAME = "(?P<n>NAME)"


class DeclaringPattern(NamedTuple):
    """An expression for the declaration of a name, and the part of it that follows the name: most uses fail that
    already, and it is tried at the name alone, not at each letter before it."""

    whole: re.Pattern[str]
    after: re.Pattern[str]


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
    declares: re.Pattern[str] | None
    typed: re.Pattern[str] | None
    bounds: re.Pattern[str]
    narrowing: re.Pattern[str] | None
    returned: re.Pattern[str] | None
    fixture: re.Pattern[str] | None
    extended: re.Pattern[str] | None
    partial: re.Pattern[str] | None
    virtual: re.Pattern[str] | None
    library_members: frozenset[str]
    before_quoted: re.Pattern[str]
    doc_result: re.Pattern[str] | None
    doc_type: re.Pattern[str] | None
    blocks: tuple[DeclaringPattern, ...]
    arrays: tuple[DeclaringPattern, ...]
    made: tuple[DeclaringPattern, ...]
    parameters: tuple[DeclaringPattern, ...]
    taken_apart: tuple[DeclaringPattern, ...]
    expressions: tuple[DeclaringPattern, ...]
    generics: tuple[DeclaringPattern, ...]

    def extended_type(self, signature: str) -> str:
        """The type of what a function is called on, where that is its first argument; else nothing."""
        head = self.extended.search(signature) if self.extended is not None else None
        return head[1] if head is not None else ""


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
        declares=_compile_given(rules.declares),
        typed=_compile_given(rules.typed),
        bounds=re.compile(rules.bounds),
        narrowing=_compile_given(rules.narrowing),
        returned=re.compile(rules.returned, re.MULTILINE) if rules.returned else None,
        fixture=_compile_given(rules.fixture),
        extended=_compile_given(rules.extended),
        partial=_compile_given(rules.partial),
        virtual=_compile_given(rules.virtual),
        library_members=frozenset(rules.library_members.split()),
        before_quoted=re.compile(f"(?:{rules.quoted})$"),
        doc_result=_compile_given(rules.doc_result),
        doc_type=_compile_given(rules.doc_type),
        blocks=_compile_marked(rules.blocks),
        arrays=_compile_marked(rules.arrays),
        made=_compile_marked(rules.made),
        parameters=_compile_marked(rules.parameters),
        taken_apart=_compile_marked(rules.taken_apart),
        expressions=_compile_marked(rules.expressions),
        generics=_compile_marked(rules.generics),
    )


def _compile_given(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None


def _compile_marked(patterns: tuple[str, ...]) -> tuple[DeclaringPattern, ...]:
    return tuple(map(_declaring, patterns))


def _declaring(pattern: str) -> DeclaringPattern:
    whole = re.compile(pattern.replace("NAME", f"{MARK}+"), re.MULTILINE)
    return DeclaringPattern(whole, re.compile(pattern.partition(_NAME)[2], re.MULTILINE))
