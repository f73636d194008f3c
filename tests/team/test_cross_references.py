"""find_references over many repositories: uses in one of what another defines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.team import Team, TeamDoor, open_team
from tests.team.conftest import fresh_database

REPOSITORIES: dict[str, dict[str, str | bytes]] = {
    "lib/shop": {
        "pyproject.toml": '[build-system]\nrequires = []\n\n[project]\nname = "shop"\nversion = "1"\n',
        "shop/__init__.py": "from shop.cart import Cart\n",
        "shop/cart.py": "class Cart:\n    pass\n\n\ndef empty(cart):\n    return Cart()\n",
    },
    "lib/unpublished": {"utils/__init__.py": "", "utils/text.py": "def slugify(text):\n    return text\n"},
    "lib/engine": {
        "go.mod": "module example.org/engine\n\ngo 1.22\n",
        "engine.go": "package engine\n\n// Start starts.\nfunc Start() int {\n\treturn 1\n}\n",
    },
    "lib/widgets": {
        "package.json": '{"name": "@acme/widgets", "version": "1.0.0", "main": "src/index.ts"}\n',
        "src/index.ts": "export { drawBox } from './box';\n",
        "src/box.ts": "export function drawBox(): number {\n  return 1;\n}\n",
    },
    "lib/gear": {
        "Cargo.toml": '[package]\nname = "gear-box"\nversion = "0.1.0"\n', "src/lib.rs": "pub mod shift;\n",
        "src/shift.rs": "pub fn shift_up() -> i32 {\n    1\n}\n",
    },
    "lib/bolt": {
        "src/main/java/org/acme/bolt/Bolt.java": (
            "package org.acme.bolt;\n\npublic class Bolt {\n    int turn() {\n        return 1;\n    }\n}\n"
        ),
    },
    "app/all": {
        "site_app.py": (
            "import shop.cart as basket\nfrom shop import Cart\nfrom shop.cart import empty as clear\n\n\n"
            "def visit():\n    clear(Cart())\n    return basket.empty(None)\n\n\n"
            "def other(Cart, empty):\n    return Cart, empty\n"
        ),
        "own.py": "def empty():\n    return 1\n\n\nempty()\n",
        "lookalike.py": "from shopping import Cart\nfrom other.cart import empty\n\n\nCart()\nempty(1)\n",
        "borrow.py": "from utils.text import slugify\n\n\nslugify('a')\n",
        "car/car.go": 'package car\n\nimport "example.org/engine"\n\nfunc Drive() int {\n\treturn engine.Start()\n}\n',
        "src/page.ts": "import { drawBox } from '@acme/widgets';\n\nexport const page = () => drawBox();\n",
        "src/main.rs": "use gear_box::shift::shift_up;\n\nfn main() {\n    shift_up();\n}\n",
        "Door.java": (
            "package org.acme.door;\n\nimport org.acme.bolt.Bolt;\n\npublic class Door {\n"
            "    Bolt bolt = new Bolt();\n}\n"
        ),
    },
    "app/hidden": {"src/secret.ts": "import { drawBox } from '@acme/widgets';\n\ndrawBox();\n"},
}  # fmt: skip


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("across")) as opened:
        for name, files in REPOSITORIES.items():
            opened.repository(name, files)
        opened.work()
        opened.start_node("node")
        opened.await_ready()
        yield opened


@pytest.fixture(scope="module")
def door(team: Team) -> TeamDoor:
    return team.door(team.token("all", "lib/*", "app/all", role="reader"))


def places(answer: Any, definition: str) -> set[tuple[str, str, int, str]]:
    """Repository, path, line and kind of the uses of what one repository defines."""
    found = [answer.value, *(answer.value.get("candidates") or ())]
    (own,) = [each for each in found if each["symbol"]["repository"] == definition]
    return {(row["repository"], row["path"], row["line_start"], row["edge_type"]) for row in own["references"]}


def test_a_name_that_another_repository_imports_is_bound_to_its_definition(door: TeamDoor) -> None:
    answer = door.call("find_references", {"symbol_name": "Cart", "repositories": "**", "limit": 100})
    assert ("app/all", "site_app.py", 2, "imports") in places(answer, "lib/shop")
    assert ("app/all", "site_app.py", 7, "calls") in places(answer, "lib/shop")
    rows = [row for row in answer.value["references"] if row["repository"] == "app/all"]
    assert {(row["resolver"], row["confidence"]) for row in rows} == {("import", 0.9)}


def test_what_looks_alike_is_nobodys(door: TeamDoor) -> None:
    """A parameter, a module of another name, and a package that no manifest names."""
    cart = places(door.call("find_references", {"symbol_name": "Cart", "repositories": "**", "limit": 100}), "lib/shop")
    assert not [each for each in cart if each[0] == "app/all" and (each[1] == "lookalike.py" or each[2] > 10)]
    found = door.call("find_references", {"symbol_name": "slugify", "repositories": "**", "limit": 100})
    assert not [each for each in places(found, "lib/unpublished") if each[1] == "borrow.py"]


def test_an_alias_and_a_module_before_the_dot_are_followed(door: TeamDoor) -> None:
    answer = door.call("find_references", {"symbol_name": "empty", "repositories": "**", "limit": 100})
    found = places(answer, "lib/shop")
    assert ("app/all", "site_app.py", 7, "calls") in found
    assert ("app/all", "site_app.py", 8, "calls") in found
    assert not [each for each in found if each[1] in ("own.py", "lookalike.py")]


def test_go_modules_and_packages_of_scripts_are_known_by_their_manifests(door: TeamDoor) -> None:
    go = door.call("find_references", {"symbol_name": "Start", "repositories": "**"})
    assert ("app/all", "car/car.go", 6, "calls") in places(go, "lib/engine")
    script = door.call("find_references", {"symbol_name": "drawBox", "repositories": "**"})
    assert ("app/all", "src/page.ts", 3, "calls") in places(script, "lib/widgets")


def test_crates_and_declared_packages_are_known_by_their_names(door: TeamDoor) -> None:
    rust = door.call("find_references", {"symbol_name": "shift_up", "repositories": "**"})
    assert ("app/all", "src/main.rs", 4, "calls") in places(rust, "lib/gear")
    java = door.call("find_references", {"symbol_name": "Bolt", "repositories": "**"})
    lines = {(each[0], each[2]) for each in places(java, "lib/bolt")}
    assert {("app/all", 3), ("app/all", 6)} <= lines


def test_uses_in_an_unreadable_repository_are_nowhere(team: Team, door: TeamDoor) -> None:
    asked = {"symbol_name": "drawBox", "repositories": "**", "limit": 100}
    whole = places(team.door(team.token("root")).call("find_references", asked), "lib/widgets")
    seen = door.call("find_references", asked)
    assert "app/hidden" in {each[0] for each in whole}
    assert "hidden" not in str(seen.value) + seen.text
    assert seen.value["total_references"] == len(whole) - len([each for each in whole if each[0] == "app/hidden"])


def test_an_import_that_several_know_for_their_own_is_bound_to_none(team: Team) -> None:
    team.repository("fork/shop", REPOSITORIES["lib/shop"])
    team.work("fork")
    team.await_ready()
    door = team.door(team.token("forker"))
    answer = door.call("find_references", {"symbol_name": "Cart", "repositories": "**", "limit": 100})
    assert not [each for each in places(answer, "lib/shop") if each[0] == "app/all"]
    assert "may mean several" in str(answer.value["metadata"]["warnings"])
