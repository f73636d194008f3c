"""Prompt review: the packaged rules, a project's own, and prompts and rules that mean harm."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.catalog.catalogue import WAYS, Catalogue, Client
from tests.support.wait import eventually

SECRETS = {
    "no-secrets": "AKIAIOSFODNN7EXAMPLE",
    "no-source-host-token": "ghp_" + "a1B2c3D4e5" * 4,
    "no-provider-token": "sk-ant-" + "a1B2c3D4e5" * 3,
    "no-private-key": "-----BEGIN RSA PRIVATE KEY-----",
    "no-json-web-token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27u",
    "no-credentials-in-url": "postgres://admin:hunter2secret@db.example.org/x",
    "no-assigned-secret": "DB_PASSWORD='x9$Kq2!vLm7@'".replace("$", "8"),
}


def issues(client: Client, prompt: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.ask("prompt/review", prompt=prompt)["issues"]
    return found


def rule_ids(client: Client, prompt: str) -> list[str]:
    return [issue["ruleId"] for issue in issues(client, prompt)]


@pytest.mark.requirement(
    "003/prompt_review/issue-fields", "003/prompt_review/issue-category", "003/prompt_review/issue-remediation",
    "003/prompt_review/summary-counts", "003/prompt_review/summary-highest-severity",
    "003/prompt_review/packaged-default-criteria", "003/prompt_review/prompt-required",
)  # fmt: skip
def test_a_prompt_is_reviewed_by_the_packaged_criteria(any_client: Client) -> None:
    review = any_client.ask("prompt/review", prompt="Use AKIAIOSFODNN7EXAMPLE and make it better, etc.")
    assert [issue["ruleId"] for issue in review["issues"]] == [
        "no-secrets", "vague-quality", "vague-amount", "missing-audience",
    ]  # fmt: skip
    assert review["issues"][0] == {
        "ruleId": "no-secrets", "severity": "critical", "match": "AKIA...", "category": "secrets",
        "description": review["issues"][0]["description"], "remediation": review["issues"][0]["remediation"],
    }  # fmt: skip
    assert review["issues"][1]["match"] == "make it better"
    assert review["summary"] == {"counts": {"critical": 1, "medium": 1, "low": 2}, "highestSeverity": "critical"}
    clean = any_client.ask("prompt/review", prompt="Audience: reviewers. List every call without a timeout.")
    assert clean == {"issues": [], "summary": {"counts": {}, "highestSeverity": None}}
    refused = any_client.refused("prompt/review")
    assert (refused["code"], refused["data"]["param"]) == (-32602, "prompt")


@pytest.mark.requirement("003/prompt_review/bare-and-tool-names")
def test_every_way_of_asking_reviews_the_same(catalogue: Catalogue, open_client: Callable[..., Client]) -> None:
    clients = [open_client(catalogue, way) for way in WAYS]
    for prompt in ("do it properly", "", "x" * 10_001):
        answers = [client.ask("prompt/review", prompt=prompt) for client in clients]
        assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(("rule", "secret"), SECRETS.items(), ids=SECRETS.keys())
def test_a_secret_is_known_by_its_shape_and_masked_in_the_answer(client: Client, rule: str, secret: str) -> None:
    review = client.ask("prompt/review", prompt=f"Audience: all. Connect with {secret} please.")
    assert rule in [issue["ruleId"] for issue in review["issues"]]
    said = json.dumps(review)
    assert not any(secret[start : start + 8] in said for start in range(4, len(secret) - 8) if secret[:5] != "-----")


@pytest.mark.parametrize(
    "harmless",
    ["password: ${DB_PASSWORD}", "the token is read from the vault", "api_key = <your key>", "secret=aaaaaaaaaaaa"],
)
def test_a_reference_to_a_secret_is_none(client: Client, harmless: str) -> None:
    assert rule_ids(client, f"Audience: all. {harmless}") == []


@pytest.mark.requirement("003/prompt_review/over-limit-form", "003/prompt_review/limit-exact-evaluated")
def test_a_prompt_is_evaluated_up_to_its_limit(any_client: Client) -> None:
    edge = "audience " + "x" * (10_000 - 9 - 20) + "AKIAIOSFODNN7EXAMPLE"
    assert len(edge) == 10_000
    assert rule_ids(any_client, edge) == ["no-secrets"]
    beyond = any_client.ask("prompt/review", prompt=edge + ".")
    assert beyond == {"truncated": True, "message": beyond["message"], "max": 10_000}
    assert "truncated" in any_client.ask("prompt/review", prompt="ß" * 10_001)
    assert "issues" in any_client.ask("prompt/review", prompt="ß" * 10_000)


@pytest.mark.requirement("003/prompt_review/null-bytes-stripped")
def test_nul_characters_do_not_hide_a_secret(any_client: Client) -> None:
    assert "no-secrets" in rule_ids(any_client, "AKIA\0IOSFODNN7\0EXAMPLE")


@pytest.mark.requirement(
    "003/prompt_review/project-criteria-file", "003/prompt_review/must-contain-rule",
    "003/prompt_review/issue-remediation",
)  # fmt: skip
def test_a_project_has_criteria_of_its_own(any_client: Client, catalogue: Catalogue) -> None:
    catalogue.rules(
        {"id": "ticket", "mustContain": "TICKET-", "severity": "high", "remediation": "Name the ticket."},
        {"id": "shout", "pattern": "[A-Z]{5,}", "severity": "warning"},
        category="form",
    )
    found = any_client.ask("prompt/review", prompt="make it better NOWOW")
    assert found["issues"] == [
        {
            "ruleId": "ticket", "severity": "high", "description": "A rule of the house", "match": "",
            "category": "form", "remediation": "Name the ticket.",
        },
        {
            "ruleId": "shout", "severity": "warning", "description": "A rule of the house", "match": "NOWOW",
            "category": "form",
        },
    ]  # fmt: skip
    assert found["summary"] == {"counts": {"high": 1, "warning": 1}, "highestSeverity": "high"}
    assert rule_ids(any_client, "for ticket-5") == []


def test_the_criteria_file_may_appear_change_and_go(client: Client, catalogue: Catalogue) -> None:
    assert rule_ids(client, "xylophone") == ["missing-audience"]
    path = catalogue.rules({"id": "one", "pattern": "xylo"})
    assert rule_ids(client, "xylophone") == ["one"]
    catalogue.rules({"id": "two", "pattern": "phone"})
    assert rule_ids(client, "xylophone") == ["two"]
    path.write_text("{")
    assert rule_ids(client, "xylophone") == ["two"], "a file just now being written keeps what it held"
    eventually(lambda: "error" in client.answer("prompt/review", prompt="xylophone"))
    path.unlink()
    assert rule_ids(client, "xylophone") == ["missing-audience"]


@pytest.mark.parametrize(
    ("rule", "prompt"),
    [
        ({"id": "x", "pattern": "AKIA[A-Z0-9]+"}, "AKIAIOSFODNN7EXAMPLE"),
        ({"id": "x", "pattern": "[A-Za-z0-9/+]{40}"}, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ({"id": "leaked-password", "pattern": "hunter[0-9]"}, "hunter2"),
        ({"id": "x", "pattern": "(?s).*"}, "first line\ntoken = gX8kQ2vLm7Zp"),
    ],
)
def test_a_secret_that_a_rule_of_the_house_finds_is_masked_too(
    client: Client, catalogue: Catalogue, rule: dict[str, Any], prompt: str
) -> None:
    catalogue.rules(rule)
    (issue,) = issues(client, prompt)
    assert issue["match"].endswith("...")
    assert len(issue["match"]) <= 7
    assert len(issue["match"]) - 3 <= len(prompt) // 4


@pytest.mark.parametrize(
    "rule",
    [
        {"id": "r"}, {"id": "r", "pattern": "a", "mustContain": "b"}, {"pattern": "a"}, {"id": "r", "pattern": "(a"},
        {"id": "r", "pattern": "(?=a)"}, {"id": "r", "pattern": r"(a)\1"}, {"id": "r", "pattern": "a{1001}"},
        {"id": "r", "pattern": "((a{100}){100}){100}"}, {"id": "r", "pattern": 5},
        {"id": "r", "pattern": "a", "severity": "awful"}, {"id": "r", "pattern": "a", "colour": "red"},
        {"id": "r", "pattern": "(" * 5_000 + ")" * 5_000, "minEntropy": 1},
        {"id": "r", "pattern": r"\pL{500}\pN{500}\pP{500}"},
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_run_is_an_error_of_the_file(
    client: Client, catalogue: Catalogue, rule: dict[str, Any]
) -> None:
    catalogue.rules({"id": "fine", "pattern": "fine"}, rule)
    refused = client.refused("prompt/review", prompt="fine")
    assert (refused["code"], refused["data"]["file"]) == (-32603, "docs/PROMPT-CRITERIA.json")
    assert len(refused["data"]["reason"]) < 500
    (problem,) = client.ask("health/check")["problems"]
    assert problem.startswith("docs/PROMPT-CRITERIA.json: ")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b"\xff\xfe{}", b'{"version": "\xff", "categories": []}', b"[" * 100_000, b'{"a":' * 100_000,
        b'{"version": 1, "categories": []}' + b" " * (1 << 20), b'{"version": 1, "categories": [{"id": "a"}]}',
        b'{"version": 1, "categories": [], "\\ud800": 1}',
    ],
    ids=range(10),
)  # fmt: skip
def test_criteria_that_do_not_load_are_an_error_of_the_file(
    client: Client, catalogue: Catalogue, content: bytes
) -> None:
    catalogue.criteria(content)
    refused = client.refused("prompt/review", prompt="fine")
    assert (refused["code"], refused["data"]["file"]) == (-32603, "docs/PROMPT-CRITERIA.json")


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "linked folder"])
def test_criteria_that_are_no_file_of_the_project_are_not_read(client: Client, catalogue: Catalogue, kind: str) -> None:
    path = catalogue.rules({"id": "mine", "pattern": "a"})
    outside = catalogue.root.parent / "outside"
    outside.mkdir()
    path.rename(outside / path.name)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(outside / path.name)
    else:
        path.parent.rmdir()
        path.parent.symlink_to(outside)
    assert client.refused("prompt/review", prompt="a")["data"]["file"] == "docs/PROMPT-CRITERIA.json"


EVIL_PATTERNS = (
    "(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*x", "((a*)*)*b", "(?:a?){400}a{400}b", "([a-z]+)*[0-9]", "(x+x+)+y",
    "(?i)(a|A)*(aa|AA)*$z", "(?s)(.{0,90}a.{0,90}){3}z", r"(\w{1,150}\w{1,150}){1,3}!", "[ab]*a[ab]{300}c", r"\C",
    "(" * 9_000 + ")" * 9_000, "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:(?:a{0,30}){0,30})*b", r"\bA?B?C?D?(\d+\s?)*z", "",
)  # fmt: skip
REFUSED_PATTERNS = (
    "a{1001}",
    "((a{500}){500}){500}",
    r"(\w+)\1",
    "(?<=a)b",
    "(?>a)",
    "*",
    "[",
    "\\",
    "(?P<n",
    "a**{2}{",
)
EVIL_PROMPTS = (
    "a" * 10_000, "a" * 9_999 + "!", "ab" * 5_000, "x" * 10_000, " " * 10_000, "é" * 10_000, "\U0001f600" * 10_000,
    "\0" * 10_000, "AKIA" * 2_500, "eyJ" * 3_333, "password=" * 1_111, "-----BEGIN " * 900, "://a:" * 2_000,
    "\n" * 10_000, "token:" + "A" * 9_000,
)  # fmt: skip
BROKEN_PROMPTS = ("\ud800", "a" * 5_000 + "\udfff", "\ud83d" * 10)


def hostile(chance: random.Random) -> Iterator[tuple[dict[str, Any], str]]:
    """Rules and prompts, evil ones and random mixtures of their parts."""
    parts = "".join(EVIL_PATTERNS)
    while True:
        pattern = chance.choice((*EVIL_PATTERNS, *REFUSED_PATTERNS))
        if chance.random() < 0.5:
            start = chance.randrange(len(parts))
            pattern += parts[start : start + chance.randrange(1, 40)]
        prompt = chance.choice((*EVIL_PROMPTS, *EVIL_PROMPTS, *BROKEN_PROMPTS))
        yield {"id": "r", "pattern": pattern, **({"minEntropy": 1.5} if chance.random() < 0.3 else {})}, prompt


@pytest.mark.requirement("003/prompt_review/linear-time-rules")
def test_a_thousand_hostile_prompts_and_criteria_are_answered_in_time(
    client: Client, catalogue: Catalogue, trials: Callable[[int], int], seeded: random.Random
) -> None:
    for (rule, prompt), _ in zip(hostile(seeded), range(trials(1_000)), strict=False):
        catalogue.rules(rule)
        began = time.monotonic()
        answer = client.answer("prompt/review", prompt=prompt)
        assert time.monotonic() - began < 20, (rule, prompt[:10])
        code = answer.get("error", {}).get("code")
        assert code == -32602 if prompt in BROKEN_PROMPTS else code in (None, -32603), (rule, answer)


@pytest.mark.requirement("003/prompt_review/linear-time-rules")
def test_patterns_that_would_backtrack_exponentially_finish_promptly(any_client: Client, catalogue: Catalogue) -> None:
    patterns = ("(a+)+$", "(a|aa)+$", "([a-z]+)*[0-9]", "(.*a){12}b")
    catalogue.rules(*({"id": pattern, "pattern": pattern} for pattern in patterns))
    began = time.monotonic()
    issues(any_client, "a" * 9_999 + "!")
    assert time.monotonic() - began < 5


def test_many_heavy_rules_end_in_a_typed_error_instead_of_a_hang(client: Client, catalogue: Catalogue) -> None:
    heavy = r"(\w{1,200}\w{1,200}){1,3}!"
    rules = ({"id": f"r{number}", "pattern": f"{heavy}{number}", "minEntropy": 1} for number in range(40))
    catalogue.rules(*rules)
    began = time.monotonic()
    refused = client.refused("prompt/review", prompt="a" * 10_000)
    assert time.monotonic() - began < 60
    assert refused["code"] == -32603
    assert refused["message"].startswith("Timed out: ")


def test_rules_that_take_too_long_to_compile_are_an_error_of_the_file(client: Client, catalogue: Catalogue) -> None:
    heavy = ({"id": f"r{number}", "pattern": rf"\pL{{20}}\pN{{20}}{number}"} for number in range(8_000))
    catalogue.rules(*heavy)
    began = time.monotonic()
    refused = client.refused("prompt/review", prompt="a")
    assert time.monotonic() - began < 60
    assert refused["data"]["file"] == "docs/PROMPT-CRITERIA.json"
