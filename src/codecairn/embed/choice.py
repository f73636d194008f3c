"""Which encoder the settings ask for, opened when it is first needed."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

from codecairn.config import Embeddings
from codecairn.embed.encoder import Encoder
from codecairn.embed.token_table import TokenTable

_opening = threading.Lock()


def encoders(wanted: Embeddings) -> list[Encoder]:
    """The encoder asked for, and after it the one that ships with the product, which serves until the other is
    ready. None where vectors are switched off."""
    with _opening:
        return [] if wanted.are_off else [*_encoder_asked_for(wanted), default_encoder()]


@cache
def default_encoder() -> TokenTable:
    return TokenTable()


@cache
def _encoder_asked_for(wanted: Embeddings) -> tuple[Encoder, ...]:
    if wanted.url:
        from codecairn.embed.remote import RemoteEncoder  # noqa: PLC0415

        return (RemoteEncoder(wanted.url, wanted.model, wanted.key),)
    if wanted.folder:
        from codecairn.embed.onnx_folder import FolderEncoder  # noqa: PLC0415

        return (FolderEncoder(Path(wanted.folder)),)
    return ()
