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
    before_quoted: re.Pattern[str]
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
        re.compile(rules.first), _compile_given(rules.called), _compile_given(rules.variable),
        _compile_given(rules.passed_on), _compile_given(rules.hidden), _compile_given(rules.wrapped),
        _compile_given(rules.begins), re.compile(rules.bounds),
        re.compile(rules.narrowing) if rules.narrowing else None, re.compile(f"(?:{rules.quoted})$"),
        *map(_compile_marked, (rules.blocks, rules.parameters, rules.taken_apart, rules.expressions, rules.generics)),
    )  # fmt: skip


def _compile_given(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None


def _compile_marked(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each.replace("NAME", f"{MARK}+"), re.MULTILINE) for each in patterns)
