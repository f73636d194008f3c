"""Types in the order in which Python itself looks members up, for any classes that it accepts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecairn.resolve.linearisation import last_ways, merge

_HIERARCHIES = st.lists(st.lists(st.integers(0, 9), max_size=3, unique=True), min_size=1, max_size=10)


@given(hierarchy=_HIERARCHIES)
def test_the_order_is_that_of_python(hierarchy: list[list[int]]) -> None:
    classes, orders = list[type](), list[list[int]]()
    for number, extended in enumerate(hierarchy):
        bases = [each for each in extended if each < number]
        merged = merge([*([each, *orders[each]] for each in bases), bases])
        try:
            made = type(f"C{number}", tuple(classes[each] for each in bases), {})
        except TypeError:
            assert merged is None
            return
        classes.append(made)
        assert merged is not None
        orders.append(merged)
        assert [classes[each] for each in merged] == [each for each in made.__mro__[1:] if each is not object]


def test_without_an_order_the_last_way_to_each_type_counts() -> None:
    above = {"refused": ["top", "first"], "first": ["top"], "top": []}
    assert merge([["top"], ["first", "top"], ["top", "first"]]) is None
    assert last_ways("refused", lambda each: above[each]) == ["first", "top"]
