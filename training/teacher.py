"""A transformer that reads text in order, taught to find code, for a table of words to learn from.

It starts as a general sentence encoder. Fine-tuned on the examples, it says of every query and all code where they
lie; its vectors are turned onto their own principal directions, of which a table keeps the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its name everywhere

from training.prepare import LONGEST_CODE, LONGEST_QUERY, Prepared, Ragged, pieces_of, tokenizer_of
from training.table import Mixture, batches, blocked, contrast, spread

_RATE = 1e-4
_WARM_UP = 0.05
"""The share of the training in which the rate rises."""


class Pieces:
    """Word pieces where they are read."""

    def __init__(self, pieces: Ragged, device: str) -> None:
        self.flat = torch.from_numpy(pieces.flat).to(device)
        self.offsets = torch.from_numpy(pieces.offsets).to(device)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def padded(self, picks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids, and which of them are there; the width is the longest text's, in eights."""
        lengths = self.offsets[picks + 1] - self.offsets[picks]
        width = -(-int(lengths.max()) // 8) * 8
        there = torch.arange(width, device=picks.device)[None] < lengths[:, None]
        flat, _ = spread(self.offsets, picks)
        ids = torch.zeros(there.shape, dtype=torch.long, device=picks.device)
        ids[there] = self.flat[flat].long()
        return ids, there


class Teacher:
    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        model = import_module("transformers").AutoModel.from_pretrained(
            folder, dtype=torch.float32, add_pooling_layer=False
        )
        self.model: Any = model.to(device).eval()

    def vectors(self, pieces: Pieces, picks: torch.Tensor) -> torch.Tensor:
        ids, there = pieces.padded(picks)
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.device != "cpu"):
            hidden = self.model(input_ids=ids, attention_mask=there.long()).last_hidden_state
        read = there[..., None].float()
        return F.normalize((hidden.float() * read).sum(1) / read.sum(1), dim=1)

    def encoded(self, pieces: Pieces, batch: int = 4_096) -> torch.Tensor:
        """All of them, the short with the short. Half precision: they are targets, not sums."""
        order = torch.argsort(pieces.offsets[1:] - pieces.offsets[:-1])
        found = torch.empty((len(pieces), self.model.config.hidden_size), dtype=torch.float16, device=self.device)
        with torch.inference_mode():
            for picks in order.split(batch):
                found[picks] = self.vectors(pieces, picks).half()
        return found

    def texts(self, texts: list[str], longest: int = LONGEST_CODE, batch: int = 512) -> torch.Tensor:
        return self.encoded(Pieces(pieces_of(tokenizer_of(self.folder), texts, longest), self.device), batch)

    def saved(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model.half().save_pretrained(folder)
        self.model.float()
        (folder / "tokenizer.json").write_bytes((self.folder / "tokenizer.json").read_bytes())


def fine_tuned(
    teacher: Teacher,
    data: Prepared,
    mixture: Mixture,
    epochs: int,
    seconds: float,
    batch: int,
    tell: Callable[[str], None],
) -> None:
    """Until the epochs are done or the time is: the rate falls to nothing with whichever comes first."""
    queries, code = _pieces(data, teacher.device)
    optimiser = torch.optim.AdamW(teacher.model.parameters(), lr=_RATE, weight_decay=0.01)
    random = np.random.default_rng(7)
    drawn = [blocked(mixture.drawn(data.views, random), data.packages, 32, random) for _ in range(epochs)]
    order = [picks for epoch in drawn for picks in batches(epoch, min(batch, len(epoch)))]
    began = time.monotonic()
    for step, at in enumerate(order):
        done = max(step / len(order), (time.monotonic() - began) / seconds)
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(1.0, step / (_WARM_UP * len(order)), (1 - done) / (1 - _WARM_UP))
        picks = torch.from_numpy(at).to(teacher.device)
        files, same = (torch.from_numpy(each[at]).to(teacher.device) for each in (data.files, data.asked))
        loss = contrast(teacher.vectors(queries, picks), teacher.vectors(code, picks), files, same)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(teacher.model.parameters(), 1.0)
        optimiser.step()
        if step % 20 == 0:
            tell(f"teacher: step {step} of {len(order)}, loss {float(loss.detach()):.3f}, {done:.0%}")


def _pieces(data: Prepared, device: str) -> tuple[Pieces, Pieces]:
    if data.queries.pieces is None or data.code.pieces is None:
        raise ValueError("the data was prepared without a tokenizer")
    return Pieces(data.queries.pieces, device), Pieces(data.code.pieces, device)


def told(teacher: Teacher, data: Prepared) -> tuple[torch.Tensor, torch.Tensor]:
    """The teacher's vectors of all queries and of all code."""
    queries, code = _pieces(data, teacher.device)
    return teacher.encoded(queries), teacher.encoded(code)


def directions(vectors: list[torch.Tensor], dimensions: int, sample: int = 200_000) -> torch.Tensor:
    """The first principal directions, through the origin: cosines are kept, not distances."""
    spread_of = torch.zeros((vectors[0].shape[1],) * 2, dtype=torch.float64)
    for each in vectors:
        some = each[:: max(1, len(each) // sample)].float()
        spread_of += (some.T @ some).double().cpu() / len(some)
    _, found = torch.linalg.eigh(spread_of)
    return found.flip(1)[:, :dimensions].float()


def projected(vectors: torch.Tensor, onto: torch.Tensor) -> torch.Tensor:
    parts = [F.normalize(part.float() @ onto, dim=1).half() for part in vectors.split(100_000)]
    return torch.cat(parts)


def word_vectors(teacher: Teacher, spelled: list[str]) -> torch.Tensor:
    return teacher.texts(spelled, LONGEST_QUERY, 1_024)
