"""Webhooks of the forges: a push is taken once, from whoever knows the secret, and from nobody else."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecairn.errors import InvalidInput
from codecairn.team.webhooks import LARGEST_BODY, Flaw, Push, Refusal, Webhooks, forge_address

SECRET = "a secret that only the forge knows"
OLD, NEW, NONE = "1" * 40, "2" * 40, "0" * 40
GITHUB_URLS = {
    "clone_url": "https://github.com/org/repo.git", "ssh_url": "git@github.com:org/repo.git",
    "html_url": "https://github.com/org/repo", "url": "https://github.com/org/repo",
}  # fmt: skip
GITEA_URLS = {
    "clone_url": "https://git.example.org/org/repo.git", "ssh_url": "ssh://git@git.example.org:2222/org/repo.git",
    "html_url": "https://git.example.org/org/repo",
}  # fmt: skip
GITLAB_URLS = {
    "git_http_url": "https://gitlab.example.org/org/group/repo.git", "web_url": None,
    "git_ssh_url": "git@gitlab.example.org:org/group/repo.git",
}  # fmt: skip


def body_of(**members: Any) -> bytes:
    return json.dumps(members).encode()


def push_body(forge: str = "github", **changes: Any) -> bytes:
    moved = {"ref": "refs/heads/main", "before": OLD, "after": NEW, **changes}
    if forge == "gitlab":
        return body_of(object_kind="push", project=GITLAB_URLS, repository={"name": "repo"}, **moved)
    return body_of(repository=GITHUB_URLS if forge == "github" else GITEA_URLS, commits=[{"id": NEW}], **moved)


def digest(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def headers_of(forge: str, body: bytes, secret: str = SECRET, event: str = "", delivery: str = "d1") -> dict[str, str]:
    common = {"Content-Type": "application/json; charset=utf-8"}
    if forge == "gitlab":
        return {
            **common, "X-Gitlab-Event": event or "Push Hook", "X-Gitlab-Token": secret, "Idempotency-Key": delivery,
        }  # fmt: skip
    github = {
        "X-GitHub-Event": event or "push", "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={digest(body, secret)}",
    }  # fmt: skip
    if forge == "github":
        return {**common, **github}
    name = forge.capitalize()
    own = {f"X-{name}-Event": event or "push", f"X-{name}-Signature": digest(body, secret)}
    return {**common, **github, **own, f"X-{name}-Delivery": delivery}


FORGES = ["github", "gitea", "forgejo", "gitlab"]


@pytest.fixture
def webhooks() -> Webhooks:
    return Webhooks([SECRET])


def receive(webhooks: Webhooks, headers: Mapping[str, str], body: bytes) -> tuple[Push | Refusal, list[Push]]:
    taken: list[Push] = []
    return webhooks.receive(headers, body, taken.append), taken


def flaw_of(webhooks: Webhooks, headers: Mapping[str, str], body: bytes) -> tuple[Flaw, int]:
    outcome, taken = receive(webhooks, headers, body)
    assert taken == []
    assert isinstance(outcome, Refusal)
    assert outcome.message
    return outcome.flaw, outcome.status


def taken_from(webhooks: Webhooks, headers: Mapping[str, str], body: bytes) -> Push:
    outcome, taken = receive(webhooks, headers, body)
    assert taken == [outcome]
    assert isinstance(outcome, Push)
    return outcome


@pytest.mark.parametrize("forge", FORGES)
def test_a_push_of_each_forge_is_taken(webhooks: Webhooks, forge: str) -> None:
    body = push_body(forge)
    push = taken_from(webhooks, headers_of(forge, body), body)
    assert (push.ref, push.before, push.after) == ("refs/heads/main", OLD, NEW)
    cloned_from = {
        "github": "git@github.com:Org/Repo", "gitlab": "ssh://git@gitlab.example.org:2222/org/group/repo.git",
    }.get(forge, "https://bot:key@git.example.org/org/repo")  # fmt: skip
    assert push.is_about(cloned_from)
    assert not push.is_about("https://github.com/org/repo-two")
    assert not push.is_about("/srv/git/org/repo")


@pytest.mark.parametrize("forge", FORGES)
def test_branches_that_go_and_tags_are_pushes(webhooks: Webhooks, forge: str) -> None:
    gone = push_body(forge, after=NONE)
    push = taken_from(webhooks, headers_of(forge, gone, delivery="1"), gone)
    assert (push.is_deletion, push.is_tag) == (True, False)
    tag = push_body(forge, ref="refs/tags/v1.0", before=NONE)
    event = "Tag Push Hook" if forge == "gitlab" else ""
    push = taken_from(webhooks, headers_of(forge, tag, event=event, delivery="2"), tag)
    assert (push.is_deletion, push.is_tag) == (False, True)


@pytest.mark.parametrize(("kind", "ref"), [("branch", "refs/heads/old"), ("tag", "refs/tags/old")])
def test_gitea_says_by_an_event_of_its_own_that_a_ref_is_gone(webhooks: Webhooks, kind: str, ref: str) -> None:
    body = body_of(ref="old", ref_type=kind, repository=GITEA_URLS)
    push = taken_from(webhooks, headers_of("gitea", body, event="delete"), body)
    assert (push.ref, push.is_deletion) == (ref, True)


def test_a_system_hook_of_gitlab_has_its_kind_in_the_body(webhooks: Webhooks) -> None:
    body = push_body("gitlab")
    assert taken_from(webhooks, headers_of("gitlab", body, event="System Hook"), body).after == NEW
    other = body_of(event_name="user_create", email="a@b.example")
    assert flaw_of(webhooks, headers_of("gitlab", other, event="System Hook", delivery="2"), other) == (
        "other_event", 202,
    )  # fmt: skip


def test_commits_may_be_of_sha_256(webhooks: Webhooks) -> None:
    body = push_body(before="a" * 64, after="b" * 64)
    assert taken_from(webhooks, headers_of("github", body), body).after == "b" * 64


# Who it is.


@pytest.mark.parametrize("forge", FORGES)
def test_without_the_secret_nothing_is_taken(webhooks: Webhooks, forge: str) -> None:
    body = push_body(forge)
    for secret in (SECRET[:-1], f"{SECRET} ", SECRET.upper(), "", "é" * 20):
        assert flaw_of(webhooks, headers_of(forge, body, secret), body)[1] == 401
    bare = {
        name: value for name, value in headers_of(forge, body).items() if "ignature" not in name and "Token" not in name
    }
    assert flaw_of(webhooks, bare, body) == ("unsigned", 401)


@pytest.mark.parametrize("forge", ["github", "gitea", "forgejo"])
def test_a_signature_is_of_one_body(webhooks: Webhooks, forge: str) -> None:
    headers = headers_of(forge, push_body(forge))
    assert flaw_of(webhooks, headers, push_body(forge, ref="refs/heads/other")) == ("bad_signature", 401)


def test_the_old_signature_of_github_is_not_enough(webhooks: Webhooks) -> None:
    body = push_body()
    headers = headers_of("github", body)
    del headers["X-Hub-Signature-256"]
    headers["X-Hub-Signature"] = f"sha1={hmac.new(SECRET.encode(), body, hashlib.sha1).hexdigest()}"
    assert flaw_of(webhooks, headers, body) == ("unsigned", 401)


@pytest.mark.parametrize("prefix", ["", "sha1=", "sha512=", "SHA256="])
def test_github_signs_in_one_form(webhooks: Webhooks, prefix: str) -> None:
    body = push_body()
    headers = {**headers_of("github", body), "X-Hub-Signature-256": f"{prefix}{digest(body)}"}
    assert flaw_of(webhooks, headers, body) == ("bad_signature", 401)


def test_a_forge_cannot_be_chosen_to_get_around_the_signature(webhooks: Webhooks) -> None:
    """A signature is public to who sees the delivery; as a token of GitLab it proves nothing."""
    body = push_body()
    headers = headers_of("github", body)
    for proof in (digest(body), f"sha256={digest(body)}"):
        changed = {**headers, "X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": proof}
        assert flaw_of(webhooks, changed, body) == ("bad_signature", 401)


def test_two_secrets_hold_while_one_replaces_the_other() -> None:
    webhooks = Webhooks(["the secret of last year", SECRET])
    for number, secret in enumerate(("the secret of last year", SECRET)):
        body = push_body(number=number)
        assert taken_from(webhooks, headers_of("github", body, secret, delivery=secret), body).after == NEW


@pytest.mark.parametrize("secrets", [[], [""], ["short"], [SECRET, ""]])
def test_a_secret_that_protects_nothing_is_refused(secrets: list[str]) -> None:
    with pytest.raises(InvalidInput):
        Webhooks(secrets)


# What it is.


@pytest.mark.parametrize("forge", ["github", "gitea", "forgejo"])
def test_a_ping_is_answered(webhooks: Webhooks, forge: str) -> None:
    body = body_of(zen="Keep it logically awesome.", hook_id=1)
    assert flaw_of(webhooks, headers_of(forge, body, event="ping"), body) == ("ping", 200)


@pytest.mark.parametrize(("forge", "event"), [("github", "issues"), ("gitea", "create"), ("gitlab", "Issue Hook")])
def test_other_events_are_let_go(webhooks: Webhooks, forge: str, event: str) -> None:
    body = push_body(forge)
    assert flaw_of(webhooks, headers_of(forge, body, event=event), body) == ("other_event", 202)


def test_a_stranger_is_told_so(webhooks: Webhooks) -> None:
    assert flaw_of(webhooks, {"Content-Type": "application/json"}, push_body()) == ("no_forge", 400)
    assert flaw_of(webhooks, {"X-GitHub-Event": ""}, push_body()) == ("no_forge", 400)


def test_a_form_is_refused_with_the_setting_to_change(webhooks: Webhooks) -> None:
    body = b"payload=%7B%7D"
    for kind in ("application/x-www-form-urlencoded", "text/plain", "", "application/jsonp"):
        headers = {**headers_of("github", body), "Content-Type": kind}
        assert flaw_of(webhooks, headers, body) == ("wrong_type", 415)


def test_a_body_has_a_largest_size(webhooks: Webhooks) -> None:
    body = push_body(padding="x" * LARGEST_BODY)
    assert flaw_of(webhooks, headers_of("github", body), body) == ("too_large", 413)
    body = push_body(padding="x" * (LARGEST_BODY - 2000))
    assert taken_from(webhooks, headers_of("github", body), body).after == NEW


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"a":' * 100_000, b"NaN"])
def test_what_is_no_json_is_said_to_be_none(webhooks: Webhooks, body: bytes) -> None:
    assert flaw_of(webhooks, headers_of("github", body), body) == ("not_json", 400)


@pytest.mark.parametrize(
    "changes",
    [
        {"ref": None}, {"ref": "main"}, {"ref": "refs/heads/a\nb"}, {"ref": "refs/heads/" + "x" * 3000},
        {"ref": "--upload-pack=evil"}, {"before": "HEAD"}, {"after": "../" * 13}, {"after": "Z" * 40}, {"after": ""},
        {"after": 5}, {"repository": {}}, {"repository": None}, {"repository": {"clone_url": 5}}, {"repository": []},
        {"repository": {"clone_url": "/srv/repo"}}, {"repository": {"clone_url": "https://host/a\x00b"}},
        {"repository": {"clone_url": "https://["}},
    ],
    ids=ascii,
)  # fmt: skip
def test_a_push_that_names_nothing_is_malformed(webhooks: Webhooks, changes: dict[str, Any]) -> None:
    members = {"ref": "refs/heads/main", "before": OLD, "after": NEW, "repository": GITHUB_URLS, **changes}
    body = body_of(**members)
    assert flaw_of(webhooks, headers_of("github", body), body) == ("malformed", 422)


@pytest.mark.parametrize("body", [b"null", b"7", b"[]", b'"push"', b"{}", b"{}x", b"[" * 100_000])
def test_json_that_is_no_push_is_malformed(webhooks: Webhooks, body: bytes) -> None:
    assert flaw_of(webhooks, headers_of("github", body), body) == ("malformed", 422)


# Once.


@pytest.mark.parametrize("forge", FORGES)
def test_a_delivery_is_taken_once(webhooks: Webhooks, forge: str) -> None:
    body = push_body(forge)
    taken_from(webhooks, headers_of(forge, body), body)
    assert flaw_of(webhooks, headers_of(forge, body), body) == ("replay", 200)


def test_a_replay_under_another_id_is_known_by_its_body(webhooks: Webhooks) -> None:
    body = push_body()
    taken_from(webhooks, headers_of("github", body, delivery="first"), body)
    assert flaw_of(webhooks, headers_of("github", body, delivery="invented"), body) == ("replay", 200)


def test_gitlab_may_send_one_body_for_two_pushes(webhooks: Webhooks) -> None:
    """A branch that goes back and forth: same commits, same text, another delivery."""
    body = push_body("gitlab")
    for delivery in ("1", "2"):
        assert taken_from(webhooks, headers_of("gitlab", body, delivery=delivery), body).after == NEW


def test_a_delivery_that_could_not_be_dealt_with_may_come_again(webhooks: Webhooks) -> None:
    body = push_body()

    def fail(push: Push) -> None:
        raise ConnectionError("the database is away")

    with pytest.raises(ConnectionError):
        webhooks.receive(headers_of("github", body), body, fail)
    assert taken_from(webhooks, headers_of("github", body), body).after == NEW


def test_a_delivery_that_was_refused_is_not_remembered(webhooks: Webhooks) -> None:
    body = push_body()
    assert flaw_of(webhooks, headers_of("github", body, "a wrong secret, long enough"), body)[0] == "bad_signature"
    assert taken_from(webhooks, headers_of("github", body), body).after == NEW


def test_the_memory_of_deliveries_is_bounded() -> None:
    webhooks = Webhooks([SECRET], most_remembered=20)
    bodies = [push_body(number=number) for number in range(50)]
    for number, body in enumerate(bodies):
        taken_from(webhooks, headers_of("github", body, delivery=str(number)), body)
    assert flaw_of(webhooks, headers_of("github", bodies[-1], delivery="49"), bodies[-1])[0] == "replay"
    assert taken_from(webhooks, headers_of("github", bodies[0], delivery="0"), bodies[0]).after == NEW


# Nothing leaks, nothing breaks.


@pytest.mark.parametrize("forge", FORGES)
def test_no_secret_and_no_signature_is_logged(forge: str, caplog: pytest.LogCaptureFixture) -> None:
    webhooks = Webhooks([SECRET])
    body, wrong = push_body(forge), "another secret, which is wrong"
    said = [repr(webhooks)]
    with caplog.at_level(logging.DEBUG):
        for headers in (headers_of(forge, body, wrong), headers_of(forge, body), headers_of(forge, body)):
            said.append(repr(webhooks.receive(headers, body, lambda push: None)))
    assert len(caplog.records) == 3
    for hidden in (SECRET, wrong, digest(body), digest(body, wrong)):
        assert hidden not in caplog.text
        assert all(hidden not in each for each in said)


_names = st.sampled_from(
    ["X-GitHub-Event", "x-gitea-event", "X-GITLAB-EVENT", "X-Forgejo-Event", "Content-Type", "X-Hub-Signature-256",
     "X-Gitea-Signature", "X-Gitlab-Token", "Idempotency-Key"]
)  # fmt: skip
_values = st.text(max_size=30) | st.sampled_from(["push", "application/json", "ping", "Push Hook"])


@given(st.dictionaries(_names, _values), st.binary(max_size=200))
def test_whatever_comes_without_the_secret_is_refused(headers: dict[str, str], body: bytes) -> None:
    outcome, taken = receive(Webhooks([SECRET]), headers, body)
    assert taken == []
    assert isinstance(outcome, Refusal)
    assert outcome.status >= 400


_members = st.sampled_from(["ref", "before", "after", "repository", "clone_url", "ref_type", "object_kind"])
_json = st.recursive(
    st.none() | st.integers() | st.text(max_size=20) | st.sampled_from([NEW, "refs/heads/main", "push", "branch"]),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(_members, each, max_size=6),
)


@settings(max_examples=200)
@given(_json, st.sampled_from(FORGES), st.sampled_from(["", "delete", "System Hook"]))
def test_whatever_a_forge_signs_is_answered(value: Any, forge: str, event: str) -> None:
    body = json.dumps(value).encode()
    outcome, taken = receive(Webhooks([SECRET]), headers_of(forge, body, event=event), body)
    assert isinstance(outcome, Refusal) or taken == [outcome]


# Addresses.


def test_all_urls_of_a_repository_are_one_address() -> None:
    urls = [
        "https://git.example.org/Org/Repo.git", "https://user:key@git.example.org/org/repo",
        "git@git.example.org:org/repo", "ssh://git@git.example.org:2222/org/repo.git",
        "http://GIT.example.org:3000/org/repo/",
        "git://git.example.org/org/repo.git/", "git.example.org:org/repo.git", "https://git.example.org/org/re%70o",
    ]  # fmt: skip
    assert {forge_address(url) for url in urls} == {"git.example.org/org/repo"}


@pytest.mark.parametrize(
    "url",
    ["/srv/git/repo", "C:\\git\\repo", "C:/git/repo", "./repo", "", "https://", "https://host", "file:///srv/x", "x"],
)
def test_a_local_path_has_no_address(url: str) -> None:
    assert forge_address(url) == ""


@given(st.text(max_size=60))
def test_any_text_has_an_address_or_none(url: str) -> None:
    assert isinstance(forge_address(url), str)
