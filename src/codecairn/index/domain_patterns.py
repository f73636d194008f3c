"""The patterns of domain-driven design, as tags on symbols: told by a type's name, and by how it is built.

    repository     a type called …Repository, …Repo or …Dao
    service        a type called …Service, …UseCase or …Interactor
    aggregate      a type called …Aggregate, or derived from an aggregate root; or an entity that holds several of
                   another type and has methods to guard them
    entity         a type called …Entity or marked as one; or one with an identity of its own among its fields
    value_object   a type that cannot change once made (a record, a frozen or case class) and has no identity

A member has the tags of the type it belongs to.
"""

from __future__ import annotations

import re
from collections import defaultdict

from codecairn.parse.facts import Symbol
from codecairn.parse.kinds import HOLDERS

PATTERNS = ("aggregate", "entity", "value_object", "repository", "service")

_NAMED = (
    ("repository", re.compile(r".*(?:Repository|Repo|Dao|DAO)(?:Impl)?|.*_repo(?:sitory)?")),
    ("service", re.compile(r".*(?:Service|UseCase|Interactor)(?:Impl)?|.*_service")),
    ("aggregate", re.compile(r".*Aggregate(?:Root)?")),
    ("entity", re.compile(r".*Entity")),
    ("value_object", re.compile(r".*(?:ValueObject|VO)")),
)
_NAME_ENDS = (
    "Repository", "Repo", "Dao", "DAO", "Impl", "_repo", "_repository", "Service", "UseCase", "Interactor", "_service",
    "Aggregate", "AggregateRoot", "Entity", "ValueObject", "VO",
)  # fmt: skip
"""One of these ends every name that tells a pattern; that is asked in a tenth of the time."""
_MARKED = (
    ("aggregate", re.compile(r"\bAggregateRoot\b|@Aggregate\b")),
    ("entity", re.compile(r"@Entity\b|\b(?:Base)?Entity\b|\[Table\b")),
)
_UNCHANGING = re.compile(
    r"\bfrozen\s*=\s*True\b|@(?:\w+\.)?frozen\b|\bNamedTuple\b|\brecord\s|\bcase class\b|\bdata class\b"
    r"|\breadonly (?:(?:record )?struct|class)\b"
)
_IDENTITIES = frozenset({"id", "uuid", "guid", "pk"})
_SEVERAL = re.compile(
    r"\[\]\*?[A-Z]|\b(?:list|set|tuple|List|Set|IList|Array|Vec|Collection|Seq|Sequence|Iterable)\s*[<\[]\s*[A-Z]|\b[A-Z]\w*\[\]"
)
_OWNER = re.compile(r"(.+?)(?:\.|::|#|:|->|\\)+[^.:#\\]+")


def tags_of(symbols: list[Symbol], source: bytes) -> list[str]:
    """For each symbol its tags, comma-separated in the order of PATTERNS."""
    members = defaultdict(list)
    owners = list(map(_owner, symbols))
    for symbol, owner in zip(symbols, owners, strict=True):
        if owner:
            members[owner].append(symbol)
    found: dict[str, str] = {}
    for symbol in symbols:
        if symbol.kind in HOLDERS and symbol.kind != "module":
            found[symbol.path] = _of_type(symbol, members[symbol.path], source)
    return [_tags(symbol, owner, found) for symbol, owner in zip(symbols, owners, strict=True)]


def _owner(symbol: Symbol) -> str:
    """The path around a symbol's own name; empty where there is none."""
    around, _, name = symbol.path.rpartition(".")
    if name.isidentifier() and (not around or (around[-1] != "." and around.replace(".", "").isidentifier())):
        return around  # as nearly everywhere; the expression takes eight times as long
    found = _OWNER.fullmatch(symbol.path)
    return found[1] if found else ""


def _tags(symbol: Symbol, owner: str, found: dict[str, str]) -> str:
    if symbol.path in found:
        return found[symbol.path]
    if not owner or symbol.kind not in ("method", "field", "function"):
        return ""
    return found[owner] if owner in found else _by_name(re.split(r"\W+", owner)[-1])


def _by_name(name: str) -> str:
    if not name.endswith(_NAME_ENDS):
        return ""
    return next((tag for tag, pattern in _NAMED if pattern.fullmatch(name)), "")


def _is_identity(field: str, owner: str) -> bool:
    """`id`, or `orderId` in an Order: an id of another type is only a reference to it."""
    if not field.rstrip("_@$").endswith(("d", "D", "k", "K")):
        return False
    plain = field.strip("_@$").replace("_", "").lower()
    return plain in _IDENTITIES or plain.removeprefix(owner.lower()) in _IDENTITIES


def _of_type(symbol: Symbol, members: list[Symbol], source: bytes) -> str:
    if named := _by_name(symbol.name):
        return named
    # Marks stand above the head: annotations, attributes, decorators.
    head = source[symbol.start_byte : symbol.start_byte + 400].decode("utf-8", "replace").split(symbol.name, 1)[0]
    text = f"{head} {symbol.signature}"
    if marked := next((tag for tag, pattern in _MARKED if pattern.search(text)), ""):
        return marked
    if symbol.kind not in ("class", "struct"):
        return ""
    fields = [each for each in members if each.kind == "field"]
    has_identity = any(_is_identity(each.name, symbol.name) for each in fields)
    if not has_identity:
        return "value_object" if _UNCHANGING.search(text) else ""
    if len(fields) < 2:
        return ""
    holds_several = any(_SEVERAL.search(each.signature) for each in fields)
    return "aggregate" if holds_several and any(each.kind == "method" for each in members) else "entity"
