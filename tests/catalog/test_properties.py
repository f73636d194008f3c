"""What holds for any catalogue at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.catalog.catalogue import Catalogue, Client, aggregate, client_of, entry, sha256

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])
ids = st.text(st.sampled_from("abcÄ-_. 9"), min_size=1, max_size=3)
bodies = st.dictionaries(ids, texts, max_size=6)


def normalised(body: str) -> str:
    return body.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Stage:
    """A running server whose catalogue changes from example to example."""

    catalogue: Catalogue
    client: Client

    def show(self, files: dict[str, str | bytes]) -> Client:
        for path in self.catalogue.folder.iterdir():
            path.unlink()
        for name, content in files.items():
            self.catalogue.write(name, content)
        return self.client


def a_stage(folder: Path) -> Iterator[Stage]:
    catalogue = Catalogue(folder / "project", folder / "home")
    catalogue.folder.mkdir(parents=True)
    with client_of("memory", catalogue) as client:
        yield Stage(catalogue, client)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield from a_stage(tmp_path_factory.mktemp("stage"))


@pytest.fixture(scope="module")
def other_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield from a_stage(tmp_path_factory.mktemp("other"))


def files_of(catalogue: dict[str, str]) -> dict[str, str | bytes]:
    return {f"{n}.json": json.dumps(entry(identity, body=catalogue[identity])) for n, identity in enumerate(catalogue)}


def apply(state: dict[str, str], diff: dict[str, Any]) -> dict[str, str]:
    """A client's copy (id → sourceHash) after a diff: nothing but what the diff says."""
    kept = {identity: hash_ for identity, hash_ in state.items() if identity not in diff["removed"]}
    assert not kept.keys() & {item["id"] for item in diff["added"]}
    assert kept.keys() >= {item["id"] for item in diff["updated"]}
    return kept | {item["id"]: item["sourceHash"] for item in [*diff["added"], *diff["updated"]]}


@given(server=bodies, client_state=bodies)
def test_an_applied_diff_turns_any_client_state_into_the_servers(
    stage: Stage, server: dict[str, str], client_state: dict[str, str]
) -> None:
    state = {identity: sha256(normalised(body)) for identity, body in client_state.items()}
    state |= {identity: sha256(normalised(body)) for identity, body in list(server.items())[::2]}
    known = [{"id": identity, "sourceHash": hash_} for identity, hash_ in state.items()]
    client = stage.show(files_of(server))
    diff = client.ask("instructions/diff", known=known)
    after = apply(state, diff)
    assert after == {identity: sha256(normalised(body)) for identity, body in server.items()}
    assert diff["hash"] == aggregate({identity: normalised(body) for identity, body in server.items()})
    again = client.ask("instructions/diff", known=[{"id": i, "sourceHash": h} for i, h in after.items()])
    assert again == {"hash": diff["hash"], "added": [], "updated": [], "removed": []}
    assert client.ask("instructions/diff", clientHash=diff["hash"]) == {"upToDate": True, "hash": diff["hash"]}


@given(catalogue=bodies, data=st.data())
def test_the_aggregate_hash_depends_on_ids_and_bodies_alone(
    stage: Stage, other_stage: Stage, catalogue: dict[str, str], data: st.DataObject
) -> None:
    rewritten: dict[str, str | bytes] = {}
    for number, identity in enumerate(data.draw(st.permutations(list(catalogue)))):
        body = catalogue[identity].replace("\r\n", "\n").replace("\r", "\n").replace("\n", data.draw(line_ends))
        fields = entry(
            identity, body=body, title=data.draw(texts), priority=data.draw(st.integers(1, 100)),
            categories=data.draw(st.lists(texts, max_size=2)), rationale=data.draw(st.none() | texts),
            usageCount=data.draw(st.integers()),
        )  # fmt: skip
        shuffled = dict(data.draw(st.permutations(list(fields.items()))))
        mark = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
        text = json.dumps(shuffled, indent=data.draw(st.none() | st.just(3)), ensure_ascii=data.draw(st.booleans()))
        rewritten[f"other-{number}.json"] = mark + text.encode()
    one, other = stage.show(files_of(catalogue)), other_stage.show(rewritten)
    hashes = {one.ask("instructions/list")["hash"], other.ask("instructions/list")["hash"]}
    assert hashes == {aggregate({identity: normalised(body) for identity, body in catalogue.items()})}


@given(before=bodies, after=bodies)
def test_catalogues_that_differ_in_an_id_or_a_body_differ_in_the_hash(
    stage: Stage, other_stage: Stage, before: dict[str, str], after: dict[str, str]
) -> None:
    one, other = stage.show(files_of(before)), other_stage.show(files_of(after))
    same = one.ask("instructions/list")["hash"] == other.ask("instructions/list")["hash"]
    assert same == ({i: normalised(b) for i, b in before.items()} == {i: normalised(b) for i, b in after.items()})


@given(signed=texts, found=texts | st.none(), ends=line_ends)
def test_any_change_of_a_signed_body_shows_and_nothing_else_does(
    stage: Stage, signed: str, found: str | None, ends: str
) -> None:
    body = normalised(signed).replace("\n", ends) if found is None else found
    file = json.dumps(entry("a", body=body, sourceHash=sha256(normalised(signed))))
    report = stage.show({"a.json": file}).ask("integrity/verify")
    expected = {"id": "a", "expected": sha256(normalised(signed)), "actual": sha256(normalised(body))}
    assert report["issues"] == ([] if normalised(body) == normalised(signed) else [expected])


@given(before=st.text(max_size=10), q=texts, after=st.text(max_size=10), in_title=st.booleans())
@example(before="", q="\r", after="", in_title=True)
def test_a_search_finds_every_text_that_contains_the_words(
    stage: Stage, before: str, q: str, after: str, in_title: bool
) -> None:
    text = "".join(c for c in f"{before}{q}{after}" if not "\ud800" <= c <= "\udfff")
    changed = {"title": text} if in_title else {"body": text}
    client = stage.show({"a.json": json.dumps(entry("a", **changed))})
    for spelled in {q, q.casefold(), q.replace("\r\n", "\n")}:
        assert client.ask("instructions/search", q=spelled)["count"] == 1


@given(content=st.binary(max_size=200) | st.recursive(st.none() | st.integers() | texts, st.lists).map(json.dumps))
def test_no_content_of_a_file_hides_another_or_breaks_an_answer(stage: Stage, content: bytes | str) -> None:
    client = stage.show({"a.json": json.dumps(entry("a")), f"{sha256(str(content))}.json": content or b"0"})
    assert client.ask("instructions/list")["count"] == 1
    assert len(client.ask("health/check")["problems"]) == 1


@given(catalogue=bodies, limit=st.integers(1, 8))
def test_pages_put_together_are_the_list(stage: Stage, catalogue: dict[str, str], limit: int) -> None:
    client = stage.show(files_of(catalogue))
    pages = [client.ask("instructions/list", limit=limit)]
    while cursor := pages[-1].get("nextCursor"):
        pages.append(client.ask("instructions/list", limit=limit, cursor=cursor))
    assert [item for page in pages for item in page["items"]] == client.ask("instructions/list")["items"]
