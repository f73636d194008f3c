"""The code in the markup of pages: every byte stays in its place, and markup that is broken swallows nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecairn.parse.extract import extract
from codecairn.parse.language import languages
from codecairn.parse.templates import template_code

_PIECES = (
    "{", "}", "{{", "}}", "(", ")", '"', "'", "`", "<Row", ">", "</p>", "<p ", ":size=", "@click=", "v-for=", "#if ",
    "#each ", " as ", ":else", "/if", "a", " in ", "\n", " ", "é", "<!--", "-->", "<style>", "</style>", "\\",
)  # fmt: skip
_MARKUP = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join)
_SCRIPT = "\n<script>\nfunction after() {}\n</script>\n"


@pytest.mark.parametrize("kind", ["vue", "svelte"])
@settings(deadline=None)
@given(markup=_MARKUP)
def test_every_line_stays_in_its_place(kind: str, markup: str) -> None:
    source = f"<template>{markup}</template>".encode()
    code = template_code(source, languages()[kind].data.template)
    assert len(code) == len(source)
    assert [at for at, sign in enumerate(code) if sign == 10] == [at for at, sign in enumerate(source) if sign == 10]


@pytest.mark.parametrize("kind", ["vue", "svelte"])
@settings(deadline=None)
@given(markup=_MARKUP.filter(lambda text: "<!--" not in text and "<style>" not in text))
def test_what_is_in_markup_never_hides_the_script_below_it(kind: str, markup: str) -> None:
    source = f"<template>\n{markup}\n</template>{_SCRIPT}".encode()
    symbols = extract(languages()[kind], source).symbols
    assert [each.name for each in symbols if each.name == "after"] == ["after"]
