"""The symbol diff: which symbol became which, and in what it differs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from codecairn.cancel import Cancel
from codecairn.diff.symbol_changes import symbol_changes
from codecairn.diff.symbol_tokens import TokenTable
from codecairn.diff.values import FileStatus, SymbolChange, SymbolPlace, Version, VersionChange
from codecairn.errors import Cancelled
from codecairn.index.digest import version_of
from codecairn.parse.language import language_of


def version(path: str, text: str) -> Version:
    source = text.encode()
    return Version.of(version_of(0, path, b"", source, language_of(path, source)))


def change(path: str, before: str | None, after: str | None, *, old_path: str | None = None) -> VersionChange:
    status: FileStatus = "added" if before is None else "deleted" if after is None else "modified"
    return VersionChange(
        "renamed" if old_path else status,
        path,
        old_path or path,
        None if before is None else version(old_path or path, before),
        None if after is None else version(path, after),
    )


def rows(*files: VersionChange) -> dict[str, SymbolChange]:
    """By the symbol's path in its file; of two with one path the later stands."""
    return {each.place.symbol.path: each for each in symbol_changes(files, Cancel())}


def said(*files: VersionChange) -> dict[str, str]:
    return {path: each.change_type for path, each in rows(*files).items()}


LONG = """
    total = 0
    for item in items:
        if item.price > limit:
            total += item.price * item.count
        else:
            log.debug("skipped %s", item.name)
    return total
"""


def test_what_is_new_gone_changed_and_the_same() -> None:
    before = "def kept():\n    return 1\n\ndef changed():\n    return 1\n\ndef gone(a, b):\n    return a @ b\n"
    after = "import os\n\ndef kept():\n    return 1\n\ndef changed():\n    return 2\n\ndef fresh():\n    os.abort()\n"
    assert said(change("a.py", before, after)) == {"changed": "modified", "gone": "deleted", "fresh": "added"}


def test_whole_files_come_and_go() -> None:
    text = "class A:\n    def m(self):\n        return 1\n"
    assert said(change("a.py", None, text)) == {"A": "added", "A.m": "added"}
    assert said(change("a.py", text, None)) == {"A": "deleted", "A.m": "deleted"}


def test_signature_and_body_are_told_apart() -> None:
    before = "def f(a):\n    return a\n\ndef g(a):\n    return a\n\n@cache\ndef h(a):\n    return a\n"
    after = "def f(a, b=1):\n    return a\n\ndef g(a):\n    return -a\n\ndef h(a):\n    return a\n"
    found = rows(change("a.py", before, after))
    flags = {name: (each.difference.signature_changed, each.difference.body_changed) for name, each in found.items()}
    assert flags == {"f": (True, False), "g": (False, True), "h": (False, True)}
    assert not any(each.difference.whitespace_or_comments_only for each in found.values())


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "def f(a):\n    return a+1\n", "def f(a):\n    # adds one\n    return a + 1  # so\n"),
        (
            "a.go",
            "package a\nfunc f() {\n\tx := []int{1,2}\n}\n",
            "package a\nfunc f() {\n\tx := []int{1, 2} // two\n}\n",
        ),
        ("a.js", "function f() { return g(1,2); }\n", "function f() {\n  /* both */\n  return g(1, 2);\n}\n"),
        ("A.java", "class A { void m() { a(); b(); } }\n", "class A {\n  void m() {\n    a();\n    b();\n  }\n}\n"),
        ("a.rs", "fn f() -> u8 { 1+1 }\n", "fn f() -> u8 {\n    // two\n    1 + 1\n}\n"),
        ("a.ts", "class A { m(): void { f(`a b`) } }\n", "class A {\n  m(): void { f(`a b`) }\n}\n"),
        ("a.rb", "def f\n  [1,2]\nend\n", "def f\n  # both\n  [1, 2]\nend\n"),
    ],
)
def test_layout_and_comments_alone(path: str, before: str, after: str) -> None:
    found = rows(change(path, before, after))
    assert found
    for each in found.values():
        assert each.change_type == "modified"
        assert each.difference.whitespace_or_comments_only
        assert (each.difference.signature_changed, each.difference.body_changed, each.difference.only_members) == (
            False,
            False,
            False,
        )


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "def f():\n    if a:\n        b()\n    c()\n", "def f():\n    if a:\n        b()\n        c()\n"),
        ("a.py", 'def f():\n    return "a  b"\n', 'def f():\n    return "a b"\n'),
        ("a.js", "function f() { return `a  b` }\n", "function f() { return `a b` }\n"),
        ("a.js", "function f() { return g() }\n", "function f() { return\n g() }\n"),
        ("a.go", 'package a\nfunc f() { g(" ") }\n', 'package a\nfunc f() { g("  ") }\n'),
        ("a.tsx", "function F() { return <b>a  b</b> }\n", "function F() { return <b>a c</b> }\n"),
        ("a.sh", 'f() {\n  echo "a  b"\n}\n', 'f() {\n  echo "a b"\n}\n'),
    ],
)
def test_layout_that_means_something_is_a_change(path: str, before: str, after: str) -> None:
    (found,) = rows(change(path, before, after)).values()
    assert found.difference.body_changed
    assert not found.difference.whitespace_or_comments_only


def test_a_class_that_only_its_members_change() -> None:
    before = "class A:\n    x = 1\n\n    def m(self):\n        return 1\n\n    def n(self):\n        return 1\n"
    after = "class A:\n    x = 1\n\n    def m(self):\n        return 2\n\n    def o(self, a):\n        yield a\n"
    found = rows(change("a.py", before, after))
    assert {path: each.change_type for path, each in found.items()} == {
        "A": "modified", "A.m": "modified", "A.n": "deleted", "A.o": "added",
    }  # fmt: skip
    assert found["A"].difference.only_members
    assert not found["A.m"].difference.only_members


def test_a_class_that_is_itself_other() -> None:
    before = "class A(B):\n    def m(self):\n        return 1\n"
    assert not rows(change("a.py", before, before.replace("(B)", "(C)")))["A"].difference.only_members
    assert not rows(change("a.py", before, before.replace("(B):", "(B):\n    setup()")))["A"].difference.only_members


def test_an_enumeration_that_gains_a_member_changes_only_by_it() -> None:
    found = rows(change("A.java", "enum A { X, Y }\n", "enum A { X, Y, Z }\n"))
    assert {path: each.change_type for path, each in found.items()} == {"A": "modified", "A.Z": "added"}
    assert found["A"].difference.only_members


JAVA = "class A {{\n{}}}\n"
ONE = "  int f(int a) {\n    return a + 1;\n  }\n"
TWO = "  int f(String a) {\n    return a.length();\n  }\n"
THREE = "  int f(long a) {\n    return Long.bitCount(a);\n  }\n"


def test_an_inserted_overload_leaves_the_others_alone() -> None:
    """Their numbers among siblings move, they do not."""
    found = symbol_changes([change("A.java", JAVA.format(ONE + TWO), JAVA.format(THREE + ONE + TWO))], Cancel())
    assert [(each.change_type, each.place.symbol.signature) for each in found] == [
        ("modified", "class A"), ("added", "int f(long a)"),
    ]  # fmt: skip


def test_the_overload_that_changed_is_told_from_the_one_that_came() -> None:
    after = JAVA.format(THREE + ONE.replace("+ 1", "+ 2") + TWO)
    found = symbol_changes([change("A.java", JAVA.format(ONE + TWO), after)], Cancel())
    assert [(each.change_type, each.place.symbol.signature) for each in found] == [
        ("modified", "class A"), ("added", "int f(long a)"), ("modified", "int f(int a)"),
    ]  # fmt: skip


def test_a_renamed_function_is_one_row() -> None:
    before, after = f"def price(items, limit):{LONG}", f"def total_price(items, limit):{LONG}"
    (found,) = symbol_changes([change("a.py", before, after)], Cancel())
    assert (found.change_type, found.renamed_from, found.moved_from) == ("modified", "price", None)
    assert (
        found.difference.signature_changed,
        found.difference.body_changed,
        found.difference.whitespace_or_comments_only,
    ) == (False, False, False)


def test_a_function_renamed_and_changed_is_still_one_row() -> None:
    after = f"def total_price(items, limit, log):{LONG}".replace("item.count", "item.number")
    (found,) = symbol_changes([change("a.py", f"def price(items, limit):{LONG}", after)], Cancel())
    assert (found.renamed_from, found.difference.signature_changed, found.difference.body_changed) == (
        "price",
        True,
        True,
    )


def test_one_that_calls_itself_is_known_under_its_new_name() -> None:
    body = "def {0}(tree):\n    return [tree.value, *(leaf for child in tree.children for leaf in {0}(child))]\n"
    (found,) = symbol_changes([change("a.py", body.format("walk"), body.format("leaves"))], Cancel())
    assert (found.renamed_from, found.difference.body_changed) == ("walk", False)


def test_a_function_that_moved_to_another_file_is_one_row() -> None:
    text = f"def price(items, limit):{LONG}"
    other = "def other():\n    return 1\n"
    files = change("a.py", text + other, other), change("b/c.py", None, text)
    (found,) = symbol_changes(files, Cancel())
    assert (found.change_type, found.path, found.moved_from) == ("modified", "b/c.py", "a.py")
    assert (found.renamed_from, found.difference.body_changed) == (None, False)


def test_a_method_that_moved_to_another_class_of_the_file() -> None:
    method = "    def price(self, items, limit):" + LONG.replace("\n    ", "\n        ")
    before = f"class A:\n{method}\nclass B:\n    pass\n"
    after = f"class A:\n    pass\n\nclass B:\n{method}\n"
    assert rows(change("a.py", before, after))["B.price"].moved_from == "A.price"


def test_the_members_of_a_renamed_class_go_with_it() -> None:
    before = (
        f"class Cart:\n    limit = 1\n\n    def price(self, items, limit):{LONG.replace(chr(10), chr(10) + '    ')}"
    )
    found = rows(change("a.py", before, before.replace("Cart", "Basket")))
    assert {path: (each.change_type, each.renamed_from, each.moved_from) for path, each in found.items()} == {
        "Basket": ("modified", "Cart", None),
        "Basket.limit": ("modified", None, "Cart.limit"),
        "Basket.price": ("modified", None, "Cart.price"),
    }


def test_a_constructor_is_renamed_with_its_class() -> None:
    body = "class {0} {{\n  {0}(int a) {{ this.a = a; }}\n\n  int twice() {{ return a * 2 + offset(a, limit); }}\n}}\n"
    found = symbol_changes([change("A.java", body.format("Old"), body.format("Fresh"))], Cancel())
    assert [(each.change_type, each.place.symbol.path, each.renamed_from) for each in found] == [
        ("modified", "Fresh", "Old"), ("modified", "Fresh.Fresh", "Old"), ("modified", "Fresh.twice", None),
    ]  # fmt: skip


def test_every_symbol_of_a_renamed_file_says_where_it_was() -> None:
    text = f"X = 1\n\ndef price(items, limit):{LONG}"
    found = rows(change("new.py", text, text.replace("= 1", "= 2"), old_path="old.py"))
    assert {path: (each.moved_from, each.difference.signature_changed) for path, each in found.items()} == {
        "X": ("old.py", True), "price": ("old.py", False),
    }  # fmt: skip


def test_small_things_of_unlike_names_are_not_taken_for_each_other() -> None:
    before = "class A:\n    def close(self):\n        pass\n"
    after = "class B:\n    def render(self):\n        pass\n"
    assert said(change("a.py", before, None), change("b.py", None, after)) == {
        "A": "deleted", "A.close": "deleted", "B": "added", "B.render": "added",
    }  # fmt: skip


def test_a_variable_that_became_a_constant_is_modified() -> None:
    found = rows(change("a.js", "let limit = compute(1)\n", "const limit = compute(1)\n"))
    assert {path: each.change_type for path, each in found.items()} == {"limit": "modified"}


def test_a_class_emptied_into_a_new_one_is_that_one() -> None:
    """Its own text is no longer alike, but what it held is there."""
    methods = "".join(
        f"    def step_{n}(self, items, limit):{LONG.replace(chr(10), chr(10) + '    ')}\n".replace("total", f"sum_{n}")
        for n in range(3)
    )
    extra = "".join(f"    def more_{n}(self):\n        return self.log.of({n}, {n} + 1, key={n})\n\n" for n in range(2))
    before, after = f"class Old:\n{methods}", f"class Fresh(Base):\n{extra}{methods}"
    found = rows(change("a.py", before, None), change("b.py", None, after))
    assert (found["Fresh"].change_type, found["Fresh"].renamed_from) == ("modified", "Old")


def test_a_file_without_a_grammar_or_symbols_has_no_rows() -> None:
    assert symbol_changes([change("a.md", "# One\n", "# Two\n")], Cancel()) == []


def test_what_cannot_be_parsed_is_compared_as_text() -> None:
    found = rows(change("a.py", "def f():\n    return 1\n\n) ( ] [\n", "def f():\n    return 2\n\n) ( ] [\n"))
    assert found["f"].change_type == "modified"


def test_a_withdrawn_comparison_stops() -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        symbol_changes([change("a.py", "x = 1\n", "x = 2\n")], cancel)


def _account(files: list[VersionChange], side: str) -> Counter[tuple[str, str, str, bytes]]:
    versions = [getattr(each, side) for each in files]
    return Counter(
        (each.path, row.kind, row.path, row.content_hash)
        for each in versions
        if each is not None
        for row in each.symbols
    )


def _entry(place: SymbolPlace) -> tuple[str, str, str, bytes]:
    return place.version.path, place.symbol.kind, place.symbol.path, place.symbol.content_hash


def test_no_symbol_is_missed_and_none_is_invented(seeded: random.Random, trials: Callable[[int], int]) -> None:
    """On random edits of random files: the rows are just what the two accounts do not share."""
    for _ in range(trials(300)):
        files = [_edited(seeded, f"f{number}.py") for number in range(seeded.randint(1, 4))]
        found = symbol_changes(files, Cancel())
        before, after = _account(files, "before"), _account(files, "after")
        assert Counter(_entry(each.before) for each in found if each.before) == before - after
        assert Counter(_entry(each.after) for each in found if each.after) == after - before


def _edited(chance: random.Random, path: str) -> VersionChange:
    parts = [_part(chance) for _ in range(chance.randint(0, 6))]
    kept = [each if chance.random() < 0.6 else _part(chance) for each in parts if chance.random() < 0.8]
    kept += [_part(chance) for _ in range(chance.randint(0, 2))]
    if chance.random() < 0.3:
        chance.shuffle(kept)
    before = None if chance.random() < 0.1 else "\n".join(parts)
    after = None if before is not None and chance.random() < 0.1 else "\n".join(kept)
    renamed = f"old_{path}" if before is not None and after is not None and chance.random() < 0.2 else None
    return change(path, before, after, old_path=renamed)


def _part(chance: random.Random) -> str:
    name = chance.choice("abcde")
    if chance.random() < 0.3:
        inner = "\n".join(f"    {line}" for line in _function(chance).split("\n"))
        return f"class {name.upper()}:\n    x = {chance.randint(0, 2)}\n\n{inner}\n"
    return _function(chance)


def _function(chance: random.Random) -> str:
    name, value = chance.choice("abcde"), chance.randint(0, 3)
    body = chance.choice(
        [f"return {value}", f"total = sum(items, {value})\n    return total if total > limit else limit"]
    )
    return f"def {name}(items, limit):\n    {body}\n"


def test_what_a_change_is_asked_after_its_tokens_were_forgotten_is_read_again() -> None:
    tokens = TokenTable()
    body = "def price(items):\n    return {}\n"
    with tokens.forgetting():
        (found,) = symbol_changes([change("a.py", body.format("1"), body.format("2"))], Cancel(), tokens)
    assert not tokens._read
    assert found.difference.body_changed
    with tokens.forgetting():
        assert found.look() == found.difference
    assert not tokens._read
