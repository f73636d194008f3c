"""A C function asked for by its place: the uses of its prototypes, and of a macro before it, are its own."""

from __future__ import annotations

from pathlib import Path

from codecairn.resolve.pick import meanings
from codecairn.resolve.same_definition import references_to_all
from tests.resolve.test_projects import lines, read, resolving

PROJECT = Path(__file__).parent / "projects" / "c.txt"


def test_the_uses_of_a_prototype_are_those_of_its_definition(tmp_path: Path) -> None:
    with resolving(tmp_path / "project", tmp_path / "home", read(PROJECT).files) as engine:
        places = {
            (name, path): lines(engine, references_to_all(engine, meanings(engine, name, path)[0].every))
            for name, path in (
                ("price", "src/price.c"), ("price", "include/shop.h"), ("weigh", "src/weigh.c"),
                ("later", "src/later.c"),
            )
        }  # fmt: skip
    assert places["price", "src/price.c"] == {("include/shop.h", 3), ("src/main.c", 6)}
    assert places["price", "include/shop.h"] == {("src/price.c", 7), ("src/main.c", 6)}
    assert {("include/shop.h", 4), ("include/shop.h", 5), ("src/main.c", 22)} <= places["weigh", "src/weigh.c"]
    assert places["later", "src/later.c"] == {("src/main.c", 3), ("src/main.c", 22)}
