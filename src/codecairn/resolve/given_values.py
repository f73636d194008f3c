"""How a variable is given its value: as a whole, as one of several, or out of a wrapper."""

from __future__ import annotations


def is_part(code: str, position: int, after: str) -> bool:
    """Whether a name is one of several that are assigned together."""
    before = code[code.rfind("\n", 0, position) + 1 : position].rstrip()
    return before.endswith(",") or after.lstrip().startswith(",")


def part_start(code: str, start: int, number: int) -> int:
    """Where the expression of a number begins of several that are assigned together on a line; -1 where one is."""
    at, depth, commas, found = start, 0, 0, start if number == 0 else -1
    while at < len(code) and (depth or code[at] not in "\n;"):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if code[at] == "," and not depth:
            commas += 1
            found = at + 1 if commas == number else found
        at += 1
    return found if commas else -1


def is_variadic(code: str, name: str, position: int) -> bool:
    """Whether a parameter takes any number of arguments."""
    before, after = code[max(0, position - 5) : position], code[position + len(name) :][:5]
    return before.endswith("*") or before.rstrip().endswith("...") or after.lstrip().startswith("...")
