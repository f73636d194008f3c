"""Joining a team: the address of its server and a token, kept in the data directory for every project of this user."""

from __future__ import annotations

import json
import os
from pathlib import Path

from codecairn.errors import CairnError
from codecairn.store import folders


def join(path: Path, url: str, token: str) -> None:
    """Keep them in a file that only the user may read."""
    partial = path.with_suffix(".partial")
    try:
        folders.make_private_folder(path.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(partial, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump({"url": url.rstrip("/"), "token": token}, file)
        partial.replace(path)
    except OSError as error:
        raise CairnError(f"{path} cannot be written: {error.strerror}") from error


def leave(path: Path) -> bool:
    """Forget them; returns False where there were none."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CairnError(f"{path} cannot be removed: {error.strerror}") from error
    return True
