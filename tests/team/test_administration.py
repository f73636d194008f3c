"""Admins over HTTP: repositories, tokens and the audit, within the globs of their token and no further."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.team import Team, TeamDoor, open_team
from tests.team.conftest import fresh_database


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("admin")) as opened:
        for name in ("web/shop", "core/engine"):
            opened.record.repositories.add(name, f"https://example.org/{name}.git")
        opened.token("core-reader", "core/*", role="reader")
        opened.token("web-reader", "web/**", role="reader")
        opened.start_node()
        opened.nodes[0].directory.refresh()
        yield opened


@pytest.fixture(scope="module")
def admin(team: Team) -> TeamDoor:
    return team.door(team.token("web-admin", "web/**", role="admin"))


def ask(door: TeamDoor, verb: str, **given: Any) -> tuple[int, Any]:
    status, said = door.post(f"/admin/{verb}", json.dumps(given))
    return status, json.loads(said) if status == 200 else said


def names(team: Team) -> set[str]:
    return {each.name for each in team.record.repositories.all()}


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_others_are_refused_every_verb(team: Team, role: str) -> None:
    door = team.door(team.token(f"mere-{role}", "**", role=role))
    for verb in ("add-repository", "remove-repository", "create-token", "revoke-token", "list-tokens", "audit"):
        assert ask(door, verb)[0] == 403, verb
    assert ask(door, "nonsense")[0] == 404


def test_an_admin_adds_and_removes_repositories_of_its_globs(team: Team, admin: TeamDoor) -> None:
    assert ask(admin, "add-repository", url="https://example.org/web/cart.git")[0] == 200
    assert "web/cart" in names(team)
    assert team.record.jobs.depth() == 1
    assert ask(admin, "add-repository", url="https://example.org/core/new.git")[0] == 403
    assert ask(admin, "remove-repository", name="core/engine")[0] == 404
    assert ask(admin, "remove-repository", name="core/none")[0] == 404
    assert ask(admin, "remove-repository", name="web/cart")[0] == 200
    assert names(team) == {"web/shop", "core/engine"}


@pytest.mark.parametrize("url", ["/etc", "file:///srv/git/secret.git", "../x", "--upload-pack=x", "ext::sh -c x"])
def test_folders_and_programs_are_no_addresses_here(admin: TeamDoor, url: str) -> None:
    status, said = ask(admin, "add-repository", url=url, name="web/thing")
    assert (status, "https, ssh or git" in said) == (400, True)


def test_an_admin_makes_and_revokes_tokens_of_its_globs(team: Team, admin: TeamDoor) -> None:
    status, made = ask(admin, "create-token", name="ann", repositories=["web/*"], role="writer", days=1)
    assert status == 200
    assert team.record.tokens.find(made["token"]).role == "writer"  # type: ignore[union-attr]
    for globs in (["**"], ["web/*", "core/*"], ["w*/**"]):
        assert ask(admin, "create-token", name="wide", repositories=globs)[0] == 403, globs
    listed = {each["name"] for each in ask(admin, "list-tokens")[1]["tokens"]}
    assert listed == {"ann", "web-reader", "web-admin"}
    assert ask(admin, "revoke-token", name="core-reader")[0] == 404
    assert ask(admin, "revoke-token", name="ann")[0] == 200
    assert team.record.tokens.find(made["token"]) is None


def test_the_audit_shows_an_admin_its_own_repositories(team: Team, admin: TeamDoor) -> None:
    everything = team.door(team.token("all-admin", "**", role="admin"))
    for name in ("web/shop", "core/engine"):
        everything.call("search_code", {"project": name, "query": "anything at all"})
    seen = [row["repository"] for row in ask(admin, "audit")[1]["rows"]]
    assert set(seen) == {"web/shop"}
    rows = ask(everything, "audit", limit=1000)[1]["rows"]
    assert {"web/shop", "core/engine"} <= {row["repository"] for row in rows}
    assert "admin/audit" in {row["tool"] for row in rows}
    assert ask(everything, "audit", since="2999-01-01T00:00:00Z")[1]["rows"] == []


def test_nonsense_is_refused_with_its_reason(admin: TeamDoor) -> None:
    for given in ({"name": "x"}, {"name": "x", "repositories": []}, {"name": 1, "repositories": ["web/*"]}):
        assert ask(admin, "create-token", **given)[0] == 400
    assert admin.post("/admin/audit", "no json")[0] == 400
