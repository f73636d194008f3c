"""Drift: a discovery says whether the code it is about is what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from codecairn.cancel import Cancel
from codecairn.index.run import Options
from tests.support.memory import HOUSE, TOKENS, value_of
from tests.support.search import Asking

Own = Callable[..., Asking]
Bound = dict[str, Any]

LOCK = "Refreshing takes a lock, or two tabs sign each other out."


def remembered(asking: Asking, **about: Any) -> Bound:
    found: Bound = value_of(asking.answer("remember", type="issue", content=LOCK, **about))["discovery"]
    return found


def now(asking: Asking) -> Bound:
    """What a search says of it after the index has caught up."""
    asking.project.index.index(Options(), force=False, cancel=Cancel())
    (result,) = value_of(asking.answer("context_search", query="refreshing takes a lock", type="issue"))["results"]
    found: Bound = result
    return found


def write(asking: Asking, **files: str | None) -> None:
    for name, content in files.items():
        path = asking.root / name.replace("__", "/").replace("_py", ".py")
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="")


def test_a_changed_body_has_drifted_and_says_where_it_is(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py="# Above.\n" + TOKENS.replace("token[::-1]", "token"))
    found = now(asked)
    assert (found["status"], found["statusReason"]) == (
        "drifted",
        "app.auth.tokens.TokenStore.refresh has changed since",
    )
    assert (found["startLine"], found["endLine"]) == (8, 10)


def test_a_change_beside_it_is_no_drift(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py=TOKENS.replace('startswith("t-")', 'startswith("u-")'))
    assert now(asked)["status"] == "fresh"


def test_undoing_a_change_makes_it_fresh_again(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py=TOKENS.replace("token[::-1]", "token"))
    assert now(asked)["status"] == "drifted"
    write(asked, app__auth__tokens_py=TOKENS)
    assert now(asked)["status"] == "fresh"


@pytest.mark.parametrize("without", [TOKENS.replace("def refresh", "def renew"), None], ids=["renamed", "deleted"])
def test_what_is_gone_is_orphaned(own: Own, without: str | None) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py=without)
    found = now(asked)
    assert (found["status"], found["statusReason"]) == ("orphaned", "app.auth.tokens.TokenStore.refresh is gone")


def test_a_symbol_that_moved_with_its_text_is_not_orphaned(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py=None, app__keys__store_py=TOKENS)
    found = now(asked)
    assert (found["status"], found["path"]) == ("fresh", "app/keys/store.py")
    assert found["statusReason"] == "it stands in app/keys/store.py now"


def test_a_symbol_that_moved_under_its_qualified_name_has_drifted_at_most(own: Own) -> None:
    asked = own({"store/a.go": "package store\n\nfunc Lock() int {\n\treturn 1\n}\n", "store/b.go": "package store\n"})
    remembered(asked, symbol="store.Lock")
    (asked.root / "store/a.go").unlink()
    (asked.root / "store/b.go").write_text("package store\n\nfunc Lock() int {\n\treturn 2\n}\n", encoding="utf-8")
    found = now(asked)
    assert (found["status"], found["path"]) == ("drifted", "store/b.go")


def test_one_of_several_definitions_of_a_name_keeps_it_fresh(own: Own) -> None:
    first = "from typing import overload\n\n\n@overload\ndef at(x: int) -> int: ...\n"
    asked = own({"over.py": first})
    remembered(asked, symbol="over.at")
    (asked.root / "over.py").write_text(
        first.replace("@overload\n", "@overload\ndef at(x: str) -> str: ...\n@overload\n"), encoding="utf-8"
    )
    assert now(asked)["status"] == "fresh"


def test_a_file_drifts_with_its_text_and_not_with_its_line_ends(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, path="app/auth/tokens.py")
    write(asked, app__auth__tokens_py=TOKENS.replace("\n", "\r\n"))
    assert now(asked)["status"] == "fresh"
    write(asked, app__auth__tokens_py=TOKENS + "# more\n")
    assert now(asked)["status"] == "drifted"
    write(asked, app__auth__tokens_py=None)
    assert now(asked)["status"] == "orphaned"


def test_a_file_that_moved_is_fresh_where_it_is(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, path="app/auth/tokens.py")
    write(asked, app__auth__tokens_py=None, app__keys__tokens_py=TOKENS)
    found = now(asked)
    assert (found["status"], found["path"]) == ("fresh", "app/keys/tokens.py")


def test_what_the_index_does_not_hold_is_unknown(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py="# Code generated by a tool. DO NOT EDIT.\n" + TOKENS)
    found = now(asked)
    assert (found["status"], found["statusReason"]) == ("unknown", "app/auth/tokens.py is not indexed: generated")


def test_what_was_named_before_there_was_an_index_stays_unknown_or_is_gone(own: Own) -> None:
    asked = own(HOUSE, indexed=False)
    remembered(asked, symbol="TokenStore.refresh")
    found = now(asked)
    assert (found["status"], found["path"]) == ("unknown", "app/auth/tokens.py")
    assert "before the project was indexed" in found["statusReason"]
    write(asked, app__auth__tokens_py=None)
    assert now(asked)["status"] == "orphaned"


def test_saying_it_again_binds_it_to_the_code_as_it_is(own: Own) -> None:
    asked = own(HOUSE)
    remembered(asked, symbol="TokenStore.refresh")
    write(asked, app__auth__tokens_py=TOKENS.replace("token[::-1]", "token"))
    assert now(asked)["status"] == "drifted"
    assert remembered(asked, symbol="TokenStore.refresh")["status"] == "fresh"
    assert now(asked)["status"] == "fresh"
