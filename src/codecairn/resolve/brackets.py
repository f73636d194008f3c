"""Brackets in a text, and what stands between them: where one closes, where one opens, and the parts that separators
make."""

from __future__ import annotations

OPENS = {"(": ")", "[": "]", "{": "}"}


def split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[at - 1] not in "=-"):
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def back_over_space(text: str, at: int) -> int:
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return at


def separator_before(text: str, position: int, separators: tuple[str, ...]) -> int:
    """Where the separator starts that stands before a position, -1 where none does."""
    at = back_over_space(text, position)
    for separator in separators:
        if text.endswith(separator, 0, at):
            start = at - len(separator)
            if separator == "." and text[start - 1 : start] == ".":
                return -1
            return start
    return -1


_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}


def opening_bracket(text: str, closing: int, limit: int) -> int:
    close, opened = text[closing], _CLOSES[text[closing]]
    depth, at = 0, closing
    while at >= limit:
        if text[at] == close and not (close == ">" and text[at - 1] in "-="):
            depth += 1
        elif text[at] == opened:
            depth -= 1
            if not depth:
                return at
        elif close == ">" and text[at] in ";{}":
            return -1
        at -= 1
    return -1


def closing_bracket(text: str, opening: int, end: int) -> int:
    opened, close = text[opening], OPENS[text[opening]]
    depth = 0
    for at in range(opening, end):
        if text[at] == opened:
            depth += 1
        elif text[at] == close:
            depth -= 1
            if not depth:
                return at
    return end


def closing_angle(text: str, opening: int, end: int) -> int:
    depth = 0
    for at in range(opening, end):
        if text[at] == "<":
            depth += 1
        elif text[at] == ">" and text[at - 1] not in "-=":
            depth -= 1
            if not depth:
                return at
        elif text[at] in ";\n" and depth == 0:
            break
    return end


def trait_start(text: str, start: int, end: int) -> int:
    """Where the type begins whose member is meant in `<Type as Trait>::member`: the trait, else the type."""
    trait = text.rfind(" as ", start, end)
    return trait + 4 if trait >= 0 else start
