"""Settings, and the only place that reads the environment.

CAIRN_ROOT          the project to serve when no --root is given
CLAUDE_PROJECT_DIR  the same, as Claude Code sets it
CAIRN_TOKEN         the bearer token that HTTP clients must present
CAIRN_HOME          where data is kept (default: the user's data directory)
CAIRN_BLOCK         further names or paths never to read, as comma-separated patterns (secrets.*,*.kdbx,deploy/keys)
CAIRN_GIT_TIMEOUT   seconds one git command may take (30)
CAIRN_TEAM, CAIRN_TEAM_TOKEN
                    a team server, and the token it knows you by: a project is taken from it before it is indexed here
                    (default: those that `cairn setup --team` keeps in the data directory; `off`: none)
CAIRN_DATABASE      the PostgreSQL of the team server, as a URL (cairn team; default: one that it starts itself)
CAIRN_EMBEDDINGS    what makes vectors: `builtin` (the default), `off`, or a folder with an ONNX model
CAIRN_EMBEDDINGS_URL, CAIRN_EMBEDDINGS_MODEL, CAIRN_EMBEDDINGS_KEY
                    or an OpenAI-compatible endpoint, the model to ask it for, and its key
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# The products of a search are small: a second thread waits for them by spinning, which made each of them take twenty
# times the processor time. Read by the libraries when numpy is first imported.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

TOKEN = "CAIRN_TOKEN"  # noqa: S105 - its name
PAGE_TOKEN = "CAIRN_PAGE_TOKEN"  # noqa: S105 - its name
"""Set by a front for its workers, and by nobody else."""
GIT_TIMEOUT_S = 30.0
KEPT_DAYS = 30.0
"""How long a ref is kept in the index that nobody asks for, once its branch is gone from the repository."""
_LONGEST_TIMEOUT_S = 86_400.0

# Variables git reads that a caller's shell (a hook, a wrapper) may have left behind; none may steer our git.
# The three that say where the user's own configuration lies stay: safe.directory is set there.
_KEPT_GIT_VARIABLES = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}


@dataclass(frozen=True)
class Embeddings:
    """What makes vectors: the shipped model, unless an endpoint or a folder is named."""

    are_off: bool = False
    folder: str = ""
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class TeamAccess:
    """The team server to take what is indexed from; none where the URL is empty."""

    url: str = ""
    token: str = field(default="", repr=False)


@dataclass(frozen=True)
class Settings:
    """What the command line and the environment asked for."""

    roots: tuple[Path, ...] = ()
    env_root: Path | None = None
    client_dir: Path | None = None
    working_dir: Path = field(default_factory=lambda: _folder_or_root(Path.cwd))
    home: Path = field(default_factory=lambda: _folder_or_root(Path.home))
    token: str | None = None
    page_token: str | None = None
    """What people log in to the pages with: the same, but in a process behind a front, whose token is the front's."""
    data: Path | None = None
    blocked: tuple[str, ...] = ()
    git_timeout: float = GIT_TIMEOUT_S
    embeddings: Embeddings = Embeddings()
    team: TeamAccess = TeamAccess()
    answers: Literal["auto", "text", "both"] = "auto"
    """Whether clients get an answer's text alone, or its structured value too; by default as each was seen to need."""
    worktrees: bool = False
    """Whether a ref that a connection switches to is checked out for it, which writes into the user's .git."""
    local: bool = True
    """Whether the caller sits at this machine's keyboard: over stdio and the CLI yes, over HTTP no."""


def data_folder(settings: Settings) -> Path:
    """Where data is kept; asked only by who keeps any, as finding the user's directory costs an import."""
    if settings.data is not None:
        return settings.data
    from platformdirs import user_data_path  # noqa: PLC0415

    return user_data_path("cairn", appauthor=False)


def team_file(settings: Settings) -> Path:
    return data_folder(settings) / "team.json"


def team_access(settings: Settings) -> TeamAccess:
    """The team server that the environment names, else the one that setup keeps; none where that cannot be read."""
    if settings.team.url:
        return settings.team if settings.team.url.lower() != "off" else TeamAccess()
    try:
        kept = json.loads(team_file(settings).read_bytes())
        return TeamAccess(str(kept["url"]), str(kept["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return TeamAccess()


def load(
    roots: tuple[str, ...] = (), *, local: bool = True, worktrees: bool = False,
    answers: Literal["auto", "text", "both"] = "auto",
) -> Settings:  # fmt: skip
    env = os.environ
    return Settings(
        roots=tuple(Path(root) for root in roots),
        env_root=_path(env.get("CAIRN_ROOT")),
        client_dir=_path(env.get("CLAUDE_PROJECT_DIR")),
        token=env.get(TOKEN) or None,
        page_token=env.get(PAGE_TOKEN, env.get(TOKEN)) or None,
        data=_path(env.get("CAIRN_HOME")),
        blocked=tuple(part.strip() for part in env.get("CAIRN_BLOCK", "").split(",") if part.strip()),
        git_timeout=_seconds(env.get("CAIRN_GIT_TIMEOUT")),
        embeddings=_embeddings(env),
        team=TeamAccess(env.get("CAIRN_TEAM", "").strip().rstrip("/"), env.get("CAIRN_TEAM_TOKEN", "").strip()),
        answers=answers,
        worktrees=worktrees,
        local=local,
    )


def wants_colour() -> bool:
    """NO_COLOR, set to anything, asks for none."""
    return not os.environ.get("NO_COLOR")


def expand(path: str) -> Path | None:
    """A path of clients.toml on this machine; None where the variable that it begins with is not set."""
    if path.startswith("{config}"):
        from platformdirs import user_config_path  # noqa: PLC0415

        return user_config_path(roaming=True) / path.removeprefix("{config}/")
    if path.startswith("$"):
        variable, _, rest = path[1:].partition("/")
        return Path(os.environ[variable]) / rest if os.environ.get(variable) else None
    return Path(path).expanduser()


def program_path() -> list[str]:
    return [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry]


def child_environment() -> dict[str, str]:
    """The environment a program we start may see: ours, without what steers git from outside."""
    # `items()` fails where another thread unsets a variable during the walk; the names alone are read at once.
    names = [name for name in os.environ if not name.upper().startswith("GIT_") or name.upper() in _KEPT_GIT_VARIABLES]
    return {name: value for name in names if (value := os.environ.get(name)) is not None}


def team_database() -> str | None:
    return os.environ.get("CAIRN_DATABASE") or None


def git_transport() -> dict[str, str]:
    """How the account that runs a worker reaches its forge."""
    return {name: os.environ[name] for name in ("GIT_SSH_COMMAND", "GIT_SSL_CAINFO") if name in os.environ}


def _folder_or_root(ask: Callable[[], Path]) -> Path:
    """A folder the system names, or its root where it cannot: the working directory was removed, the user has no home.
    The root never is a project, so nothing is served by mistake."""
    try:
        return ask()
    except (OSError, RuntimeError):
        return Path(os.sep)


def _embeddings(env: Mapping[str, str]) -> Embeddings:
    chosen = env.get("CAIRN_EMBEDDINGS", "").strip()
    return Embeddings(
        are_off=chosen.lower() == "off",
        folder="" if chosen.lower() in ("", "off", "builtin") else str(Path(chosen).expanduser()),
        url=env.get("CAIRN_EMBEDDINGS_URL", "").strip(),
        model=env.get("CAIRN_EMBEDDINGS_MODEL", "").strip(),
        key=env.get("CAIRN_EMBEDDINGS_KEY", ""),
    )


def _path(value: str | None) -> Path | None:
    try:
        return Path(value).expanduser() if value else None
    except RuntimeError:  # `~nobody`: whoever uses the path says that it is not there
        return Path(value) if value else None


def _seconds(value: str | None) -> float:
    try:
        seconds = float(value) if value else GIT_TIMEOUT_S
    except ValueError:
        return GIT_TIMEOUT_S
    return min(max(0.1, seconds), _LONGEST_TIMEOUT_S) if not math.isnan(seconds) else GIT_TIMEOUT_S
