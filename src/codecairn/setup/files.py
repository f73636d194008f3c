"""Reads and writes configuration files: whole or not at all, through links, with the mode they had."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

import msgspec

from codecairn.setup.edit import Receipt
from codecairn.setup.splice import NotEditable

_RECEIPTS = msgspec.json.Decoder(dict[str, Receipt])


def read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise NotEditable("it is not UTF-8") from error
    except OSError as error:
        raise NotEditable(f"it cannot be read: {error.strerror}") from error


def write(path: Path, text: str, *, mode: int = 0o600) -> list[Path]:
    """Write a file and the folders that it lacks; returns the folders."""
    target = path.resolve()
    made = [each for each in reversed(target.parents) if not each.exists()]
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            mode = target.stat().st_mode & 0o7777
        with partial.open("xb") as file:
            partial.chmod(mode)
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise NotEditable(f"it cannot be written: {error.strerror}") from error
    return made


def delete(path: Path, folders: list[str]) -> list[str]:
    """Delete a file, and the folders that were made for it as far as they are empty; returns the others."""
    path.unlink(missing_ok=True)
    for each in reversed(folders):
        with contextlib.suppress(OSError):
            Path(each).rmdir()
    return [each for each in folders if Path(each).exists()]


class Receipts:
    """What was added to which file, kept in the data directory until it is removed."""

    def __init__(self, home: Path) -> None:
        self._path = home / "setup.json"

    def all(self) -> dict[str, Receipt]:
        try:
            return _RECEIPTS.decode(self._path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            return {}

    def of(self, path: Path) -> Receipt | None:
        return self.all().get(str(path))

    def hand_on(self, path: Path, folders: list[str]) -> None:
        """Folders that were made for one file and hold others of ours go with the last of them."""
        for name, receipt in self.all().items():
            shared = [each for each in folders if Path(name).is_relative_to(each) and each not in receipt.folders]
            if shared and name != str(path):
                self.put(Path(name), msgspec.structs.replace(receipt, folders=[*shared, *receipt.folders]))

    def put(self, path: Path, receipt: Receipt | None) -> None:
        kept = {name: each for name, each in self.all().items() if name != str(path)}
        if receipt is not None:
            kept[str(path)] = receipt
        if kept:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write(self._path, msgspec.json.encode(kept).decode())
        else:
            self._path.unlink(missing_ok=True)
