"""Discoveries: what people and agents learnt of a project, each in a few sentences.

One that says what another of the same binding says already takes its place instead of standing beside it. Two say the
same where their words are the same but for case, spacing and punctuation, or where they share almost all of them and
neither denies what the other states.
"""

from __future__ import annotations

import re
import secrets
from typing import Literal, NamedTuple, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from codecairn import redact
from codecairn.clock import timestamp
from codecairn.errors import InvalidInput, ResultNotFound
from codecairn.paths import printable
from codecairn.store.discoveries import Discoveries, DiscoveryRow
from codecairn.words import analyse

Type = Literal["pattern", "rule", "decision", "issue"]
TYPES: tuple[Type, ...] = get_args(Type)
SHORTEST, LONGEST = 10, 1_000
"""Characters of a discovery."""
_ALIKE = 0.85
"""Of the words of both, how many they share to say the same; below it a changed number or name makes another."""
_DENIALS = frozenset({"not", "no", "never", "without", "dont", "cannot", "cant", "avoid", "stop", "instead"})
_LONGEST_MODULE = 200
_MARK = 4
"""Letters, short enough to be the same in another form of the word."""
_SPELLED = re.compile(r"\w+")


class DiscoveryBinding(Struct, frozen=True, kw_only=True):
    """The file or symbol that a discovery is about, as it was when it was recorded."""

    path: str | None = None
    symbol: str | None = None
    name: str | None = None
    kind: str | None = None
    stable_id: str | None = None
    content_hash: bytes | None = None


UNBOUND = DiscoveryBinding()


class Draft(NamedTuple):
    """A discovery before it is stored."""

    type: Type
    content: str
    module: str | None = None
    binding: DiscoveryBinding = UNBOUND
    origin: str | None = None


class StoredDiscovery(NamedTuple):
    row: DiscoveryRow
    action: Literal["stored", "updated"]


def remember(known: Discoveries, draft: Draft, session: str | None = None) -> StoredDiscovery:
    """Store a discovery, or bring the one up to date that says the same of the same thing."""
    content = check_content(draft.content)
    module = check_module(draft.module)
    now = timestamp()
    same = find_same(known, draft.type, content, draft.binding)
    if same is None:
        row = DiscoveryRow(
            id=new_id(), type=draft.type, content=content, module=module, session=session, created=now, updated=now,
            origin=draft.origin, **asdict(draft.binding),
        )  # fmt: skip
    else:
        row = replace(
            same, type=draft.type, content=content, module=module or same.module, session=session or same.session,
            updated=now, origin=draft.origin or same.origin, **asdict(draft.binding),
        )  # fmt: skip
    known.put([row])
    return StoredDiscovery(row, "stored" if same is None else "updated")


def forget(known: Discoveries, identity: str) -> DiscoveryRow:
    row = known.get(identity)
    if row is None or not known.remove(identity):
        raise ResultNotFound(
            f"No discovery {printable(identity)}", id=printable(identity),
            remedy="Give the id as remember or context_search shows it.",
        )  # fmt: skip
    return row


def new_id() -> str:
    return f"d-{secrets.token_hex(6)}"


def check_content(content: str) -> str:
    """The text as it is stored; raises where it is too short, too long, or holds a secret."""
    text = "\n".join(line.rstrip() for line in content.strip().splitlines())
    if not SHORTEST <= len(text) <= LONGEST:
        reason = f"{SHORTEST} to {LONGEST} characters, not {len(text)}"
        raise InvalidInput(f"content: {reason}", param="content", reason=reason)
    if any(ord(character) < 32 and character not in "\n\t" for character in text):
        raise InvalidInput("content: it holds a control character", param="content", reason="a control character")
    kind = redact.secret_in(text)
    if kind is not None:
        raise InvalidInput(
            f"content: it holds what looks like a secret ({kind}), and nothing was stored", param="content",
            reason=f"looks like a secret ({kind})", remedy="Say where the secret is kept, not what it is.",
        )  # fmt: skip
    return text


def check_module(module: str | None) -> str | None:
    name = (module or "").strip()
    if len(name) > _LONGEST_MODULE or any(ord(each) < 32 for each in name):
        raise InvalidInput("module: not a name", param="module", reason=f"one line of at most {_LONGEST_MODULE}")
    return name or None


def find_same(known: Discoveries, type_: str, content: str, binding: DiscoveryBinding) -> DiscoveryRow | None:
    """The discovery of the same binding that says the same: in the same words whatever its type, else in nearly the
    same where the type is the same too."""
    words, spelled = _words(content), _words_as_written(content)
    near: tuple[float, DiscoveryRow] | None = None
    for row in known.about(binding.path, binding.symbol, _marks(spelled)):
        if not _may_say_the_same(spelled, row.content):
            continue
        theirs = _words(row.content)
        if theirs == words:
            return row
        share = alike(words, theirs)
        if row.type == type_ and share >= _ALIKE and (near is None or share > near[0]):
            near = (share, row)
    return near[1] if near else None


def _may_say_the_same(spelled: set[str], content: str) -> bool:
    """A look at the words as they are written, which takes a tenth of the time."""
    theirs = _words_as_written(content)
    return len(spelled & theirs) > len(spelled | theirs) / 2


def _marks(spelled: set[str]) -> list[str]:
    """The beginnings of so many of the longest words that what says the same has one of them: it lacks fewer. None
    where letters are not such as the store knows in both cases."""
    longest = sorted((word for word in spelled if len(word) >= _MARK), key=lambda word: (-len(word), word))
    marks = [word[:_MARK] for word in longest[: len(spelled) // 5 + 2]]
    return marks if len(marks) == len(spelled) // 5 + 2 and all(map(str.isascii, marks)) else []


def _words_as_written(content: str) -> set[str]:
    return set(_SPELLED.findall(content.lower()))


def alike(ours: list[str], theirs: list[str]) -> float:
    """The share of words that two texts have in common; nothing where one denies more than the other."""
    left, right = set(ours), set(theirs)
    if left & _DENIALS != right & _DENIALS:
        return 0.0
    return len(left & right) / max(1, len(left | right))


def _words(content: str) -> list[str]:
    return analyse(content.replace("'", "").replace("’", "")).split()
