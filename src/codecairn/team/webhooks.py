"""Webhooks: a forge says that something was pushed, and proves that it is the forge.

    GitHub           X-Hub-Signature-256   HMAC-SHA-256 of the body, as sha256=HEX
    Gitea, Forgejo   X-Gitea-Signature or X-Forgejo-Signature   the same, as HEX
    GitLab           X-Gitlab-Token        the secret itself

A delivery that is verified becomes a Push: the URLs of the repository, the ref, and the commits before and after. The
URLs are only compared with those of known repositories; nothing is ever fetched from an address in a delivery. A branch
that is deleted and a tag are pushes too: the refs that are published may have changed.

A delivery that came before is answered and not taken again. It is known by its id and, where the forge signs, by its
body, since the id stands outside of the signature. The latest 10,000 are remembered by each process; one that is played
again after that, or to another process, costs one look at the repository, as polling does.

Neither secrets nor signatures nor bodies are logged or part of a refusal.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from codecairn.errors import InvalidInput
from codecairn.paths import has_control, printable

log = logging.getLogger("codecairn.team")

PATH = "/hooks/push"
LARGEST_BODY = 4 << 20
"""Bytes. A push of a thousand commits has about one million; what is larger is found by polling."""
MOST_REMEMBERED = 10_000
_SHORTEST_SECRET = 16
_LONGEST_TEXT = 2048
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_COMMIT = "0" * 40
_SCP = re.compile(r"(?:[^@/:]+@)?([^/:@]+):(?!//)(.+)")

Forge = Literal["github", "gitea", "gitlab"]
Flaw = Literal[
    "no_forge", "too_large", "wrong_type", "unsigned", "bad_signature", "not_json", "malformed", "ping", "other_event",
    "replay",
]  # fmt: skip


class Refusal(NamedTuple):
    """A delivery from which nothing follows: why, and the HTTP status to answer with."""

    flaw: Flaw
    status: int
    message: str


@dataclass(frozen=True)
class Push:
    """One ref of one repository has moved. `before` or `after` is all zeros where the ref is new or gone."""

    repository_urls: tuple[str, ...]
    ref: str
    before: str
    after: str

    @property
    def is_deletion(self) -> bool:
        return not self.after.strip("0")

    @property
    def is_tag(self) -> bool:
        return self.ref.startswith("refs/tags/")

    def is_about(self, url: str) -> bool:
        """Whether a repository that is cloned from this URL is the one that was pushed to."""
        return forge_address(url) in {forge_address(each) for each in self.repository_urls} - {""}


class _Sender(NamedTuple):
    """How a forge writes: the headers of the event, the proof and the delivery's id, each by preference."""

    forge: Forge
    event: tuple[str, ...]
    proof: tuple[str, ...]
    delivery: tuple[str, ...]
    pushes: frozenset[str]


# Gitea and Forgejo send GitHub's headers too, so they come first.
_SENDERS = (
    _Sender(
        "gitea", ("x-forgejo-event", "x-gitea-event"), ("x-forgejo-signature", "x-gitea-signature"),
        ("x-forgejo-delivery", "x-gitea-delivery"), frozenset({"push"}),
    ),
    _Sender(
        "gitlab", ("x-gitlab-event",), ("x-gitlab-token",), ("idempotency-key", "x-gitlab-event-uuid"),
        frozenset({"Push Hook", "Tag Push Hook", "System Hook"}),
    ),
    _Sender("github", ("x-github-event",), ("x-hub-signature-256",), ("x-github-delivery",), frozenset({"push"})),
)  # fmt: skip


class _RepositoryUrls(Struct, frozen=True):
    """The addresses of a repository, under the names that the forges give them."""

    clone_url: str | None = None
    ssh_url: str | None = None
    html_url: str | None = None
    git_http_url: str | None = None
    git_ssh_url: str | None = None
    http_url: str | None = None
    web_url: str | None = None
    url: str | None = None

    def listed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each for each in msgspec.structs.astuple(self) if each))


class _PushEvent(Struct, frozen=True):
    ref: str
    before: str
    after: str
    repository: _RepositoryUrls = _RepositoryUrls()
    project: _RepositoryUrls = _RepositoryUrls()


class _DeletionEvent(Struct, frozen=True):
    """A branch or tag is gone; Gitea sends no push for it, and no commit with it."""

    ref: str
    ref_type: Literal["branch", "tag"]
    repository: _RepositoryUrls = _RepositoryUrls()


class _SystemEvent(Struct, frozen=True):
    """The kind of an event, which GitLab's system hooks have in the body alone."""

    object_kind: str = ""
    event_name: str = ""


class Webhooks:
    """Receives the deliveries of all forges that know one of the secrets; several, so that they can be changed."""

    def __init__(self, secrets: Iterable[str], most_remembered: int = MOST_REMEMBERED) -> None:
        self._secrets = tuple(each.encode() for each in secrets)
        if not self._secrets or any(len(each) < _SHORTEST_SECRET for each in self._secrets):
            reason = f"at least one secret, of {_SHORTEST_SECRET} characters or more"
            raise InvalidInput(f"Webhooks need {reason}", param="secret", reason=reason)
        self._remembered: OrderedDict[str, None] = OrderedDict()
        self._most_remembered = most_remembered
        self._lock = threading.Lock()

    def receive(self, headers: Mapping[str, str], body: bytes, accept: Callable[[Push], None]) -> Push | Refusal:
        """Verify a delivery and hand its push to `accept`. One that `accept` fails on may come again."""
        given = {name.lower(): value for name, value in headers.items()}
        sender = next((each for each in _SENDERS if _first(given, each.event)), None)
        if sender is None:
            return _log("unknown", Refusal("no_forge", 400, "No event of GitHub, GitLab, Gitea or Forgejo."))
        refusal = self._refuse(sender, given, body)
        return _log(sender.forge, refusal or self._take(sender, given, body, accept))

    def _refuse(self, sender: _Sender, given: Mapping[str, str], body: bytes) -> Refusal | None:
        """The reason not even to read a body; the proof is looked at before anything in it."""
        if len(body) > LARGEST_BODY:
            return Refusal("too_large", 413, f"At most {LARGEST_BODY} bytes; the push is found by polling.")
        if given.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return Refusal("wrong_type", 415, "Set the webhook's content type to application/json.")
        proof = _first(given, sender.proof)
        if not proof:
            return Refusal("unsigned", 401, f"{sender.proof[-1]} is missing: set the webhook's secret.")
        if not self._is_proven(sender.forge, proof, body):
            return Refusal("bad_signature", 401, "The secret of the webhook is not one of this server's.")
        return None

    def _is_proven(self, forge: Forge, proof: str, body: bytes) -> bool:
        """Every secret is compared, in constant time, so that the time tells nothing of which one was near."""
        presented = proof.encode("utf-8", "replace")
        matches = [hmac.compare_digest(_expected(forge, secret, body), presented) for secret in self._secrets]
        return any(matches)

    def _take(
        self, sender: _Sender, given: Mapping[str, str], body: bytes, accept: Callable[[Push], None]
    ) -> Push | Refusal:
        keys = _delivery_keys(sender, given, body)
        if self._knows(keys):
            return Refusal("replay", 200, "This delivery came before; nothing was done.")
        push = _read(sender, given, body)
        if isinstance(push, Push):
            accept(push)
            self._remember(keys)
        return push

    def _knows(self, keys: Iterable[str]) -> bool:
        with self._lock:
            return any(each in self._remembered for each in keys)

    def _remember(self, keys: Iterable[str]) -> None:
        with self._lock:
            self._remembered.update(dict.fromkeys(keys))
            while len(self._remembered) > self._most_remembered:
                self._remembered.popitem(last=False)


def _log(forge: str, outcome: Push | Refusal) -> Push | Refusal:
    if isinstance(outcome, Push):
        log.info("webhook of %s: %s of %s", forge, printable(outcome.ref), printable(outcome.repository_urls[0]))
    else:
        log.info("webhook of %s: nothing follows (%s)", forge, outcome.flaw)
    return outcome


def _first(given: Mapping[str, str], names: Iterable[str]) -> str:
    return next((given[name] for name in names if given.get(name)), "")


def _expected(forge: Forge, secret: bytes, body: bytes) -> bytes:
    if forge == "gitlab":
        return secret
    digest = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return (f"sha256={digest}" if forge == "github" else digest).encode()


def _delivery_keys(sender: _Sender, given: Mapping[str, str], body: bytes) -> list[str]:
    """GitLab signs nothing, and may send the same body for two pushes: its id alone counts, where it has one."""
    identity = _first(given, sender.delivery)
    digest = hashlib.sha256(body).hexdigest()
    named = [hashlib.sha256(f"{sender.forge}:{identity}".encode("utf-8", "replace")).hexdigest()] if identity else []
    return named if named and sender.forge == "gitlab" else [*named, digest]


def _read(sender: _Sender, given: Mapping[str, str], body: bytes) -> Push | Refusal:
    event = _first(given, sender.event)
    if event == "ping":
        return Refusal("ping", 200, "The webhook works.")
    try:
        push = _read_push(sender, event, body)
    except msgspec.ValidationError:
        return Refusal("malformed", 422, "A push has a repository, a ref and the commits before and after.")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Refusal("not_json", 400, "The body is no JSON.")
    if push is None:
        return Refusal("other_event", 202, "Only pushes matter here.")
    if not _is_sound(push):
        return Refusal("malformed", 422, "The ref, the commits or the URLs of the push are none.")
    return push


def _read_push(sender: _Sender, event: str, body: bytes) -> Push | None:
    if sender.forge == "gitea" and event == "delete":
        gone = msgspec.json.decode(body, type=_DeletionEvent)
        kind = "heads" if gone.ref_type == "branch" else "tags"
        return Push(gone.repository.listed(), f"refs/{kind}/{gone.ref}", _NO_COMMIT, _NO_COMMIT)
    if event not in sender.pushes or (event == "System Hook" and not _is_system_push(body)):
        return None
    read = msgspec.json.decode(body, type=_PushEvent)
    return Push((*read.repository.listed(), *read.project.listed()), read.ref, read.before, read.after)


def _is_system_push(body: bytes) -> bool:
    kind = msgspec.json.decode(body, type=_SystemEvent)
    return bool({kind.object_kind, kind.event_name} & {"push", "tag_push"})


def _is_sound(push: Push) -> bool:
    texts = (push.ref, *push.repository_urls)
    is_plain = all(len(each) <= _LONGEST_TEXT and not has_control(each) for each in texts)
    is_ref = push.ref.startswith(("refs/heads/", "refs/tags/"))
    are_commits = all(_COMMIT.fullmatch(each) for each in (push.before, push.after))
    return is_plain and is_ref and are_commits and any(map(forge_address, push.repository_urls))


def forge_address(url: str) -> str:
    """Host and path of a repository, equal for all the URLs that a forge has for it; empty for a local path.

    Scheme, user, port, `.git` and case do not count: https://Host/Org/Repo.git is git@host:org/repo. Two that are
    taken for one by this are looked at once too often, no more."""
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return ""
    elif (scp := _SCP.fullmatch(url)) and "\\" not in url and len(scp[1]) > 1:
        host, path = scp[1], scp[2]
    else:
        return ""
    path = unquote(path).strip("/").removesuffix(".git").strip("/")
    return f"{host}/{path}".casefold() if host and path else ""
