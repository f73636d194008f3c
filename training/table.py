"""The table itself, trained: a row for each word, a weight for each word and side, a boost for names.

It learns in two ways. *Regressed*, the vector of each text is turned towards what a teacher says of the same text.
*Contrasted*, a query is to be nearer to its own code than to the other code of its batch, and code to its query; a
batch is made of blocks from one project, so that the others are hard to tell from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812 - its name everywhere

from training.export import CODE, QUERY, Trained
from training.prepare import Prepared, Side
from training.vocabulary import MOST_OFTEN, NAMED, WORDS

Array = npt.NDArray[Any]

SCALE = 20.0
"""What cosines are multiplied by before they compete."""


class Bags:
    """The bags of one side, where they are trained."""

    def __init__(self, side: Side, device: str) -> None:
        self.ids = torch.from_numpy(side.ids.flat).to(device)
        self.times = torch.from_numpy(side.times.flat).to(device)
        self.offsets = torch.from_numpy(side.ids.offsets).to(device)

    def at(self, picks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The ids and times of the picked bags end to end, and where each begins."""
        flat, begins = spread(self.offsets, picks)
        return self.ids[flat].long(), self.times[flat].long(), begins


def spread(offsets: torch.Tensor, picks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = offsets[picks + 1] - offsets[picks]
    begins = lengths.cumsum(0) - lengths
    shift = torch.repeat_interleave(offsets[picks] - begins, lengths)
    return torch.arange(len(shift), device=shift.device) + shift, begins


class Table:
    def __init__(self, start: Trained, device: str, words: int = WORDS) -> None:
        self.rows = torch.tensor(start.rows, dtype=torch.float32, device=device, requires_grad=True)
        weights = torch.tensor(start.weights, dtype=torch.float32, device=device)
        self.weights = weights.log().requires_grad_()
        self.boost = torch.tensor(math.log(start.boost), device=device, requires_grad=True)
        self.often = (torch.arange(MOST_OFTEN + 1, device=device).clamp(min=1).float().log() + 1).to(device)
        self.words = words
        self.rows.register_hook(self._buckets_stay)

    def _buckets_stay(self, gradient: torch.Tensor) -> torch.Tensor:
        """A bucket holds many words: the direction they would share means none of them."""
        kept = gradient.clone()
        kept[self.words :] = 0
        return kept

    def vectors(self, bags: Bags, picks: torch.Tensor, side: int, dropped: float, *, rare: bool) -> torch.Tensor:
        """`rare` words, those in buckets, count or do not; a share of all words is `dropped`."""
        ids, times, begins = bags.at(picks)
        named = torch.where(times >= NAMED, self.boost.exp(), 1.0)
        factors = self.weights[side][ids].exp() * self.often[times & MOST_OFTEN] * named
        if dropped:
            factors = factors * (torch.rand_like(factors) > dropped)
        if not rare:
            factors = factors * (ids < self.words)
        return F.normalize(F.embedding_bag(ids, self.rows, begins, mode="sum", per_sample_weights=factors), dim=1)

    def optimiser(self, rate: float) -> torch.optim.Adam:
        slow = {"params": [self.boost], "lr": rate / 2}
        return torch.optim.Adam([{"params": [self.rows]}, {"params": [self.weights], "lr": rate * 2}, slow], lr=rate)

    def trained(self, occurrences: Array) -> Trained:
        rows = self.rows.detach().cpu().numpy()
        weights = self.weights.detach().exp().cpu().numpy()
        return Trained(rows, weights, float(self.boost.detach().exp()), occurrences)


@dataclass(frozen=True)
class Mixture:
    """How often an epoch takes each example of a view: 0.5 takes every second one."""

    function: float = 1.0
    window: float = 1.0
    question: float = 0.0

    def drawn(self, views: Array, random: np.random.Generator) -> Array:
        wanted = np.array([self.function, self.window, self.question])[views]
        times = np.floor(wanted + random.random(len(views))).astype(np.int64)
        return np.repeat(np.arange(len(views)), times)


def blocked(drawn: Array, packages: Array, block: int, random: np.random.Generator) -> Array:
    """The drawn examples in an order of chance, in which blocks of one package stay together."""
    mixed = random.permutation(drawn)
    by_package = mixed[np.argsort(packages[mixed], kind="stable")]
    owner = packages[by_package]
    fresh = np.concatenate([[True], owner[1:] != owner[:-1]])
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(owner)), 0))
    begins = (np.arange(len(owner)) - first) % block == 0
    number = begins.cumsum() - 1
    place = random.permutation(int(number[-1]) + 1)[number]
    return np.asarray(by_package[np.argsort(place, kind="stable")])


def batches(order: Array, size: int) -> Iterator[Array]:
    for at in range(0, len(order) - size // 2, size):
        yield order[at : at + size]


@dataclass(frozen=True)
class Course:
    """How long and how hard a table is trained."""

    mixture: Mixture
    epochs: int
    rate: float
    batch: int = 1_024
    block: int = 32
    dropped: float = 0.1


@dataclass(frozen=True)
class Lesson:
    """The data, where it is trained on."""

    data: Prepared
    queries: Bags
    code: Bags
    device: str

    @staticmethod
    def of(data: Prepared, device: str) -> Lesson:
        return Lesson(data, Bags(data.queries, device), Bags(data.code, device), device)

    def picks(self, course: Course, seed: int = 1) -> Iterator[torch.Tensor]:
        random = np.random.default_rng(seed)
        for _ in range(course.epochs):
            order = blocked(course.mixture.drawn(self.data.views, random), self.data.packages, course.block, random)
            yield from (torch.from_numpy(each).to(self.device) for each in batches(order, course.batch))

    def steps(self, course: Course) -> int:
        shares = np.array([course.mixture.function, course.mixture.window, course.mixture.question])
        return max(1, int(shares[self.data.views].sum() * course.epochs / course.batch))

    def keys(self, picks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the picked examples, their file and what they ask: examples alike in one are no negatives."""
        at = picks.cpu().numpy()
        files, asked = torch.from_numpy(self.data.files[at]), torch.from_numpy(self.data.asked[at])
        return files.to(self.device), asked.to(self.device)


def regressed(table: Table, lesson: Lesson, targets: tuple[torch.Tensor, torch.Tensor], course: Course) -> float:
    """Towards the teacher's vectors of queries and of code. Returns the loss of the last tenth."""

    def loss(picks: torch.Tensor) -> torch.Tensor:
        asked = table.vectors(lesson.queries, picks, QUERY, course.dropped, rare=False)
        code = table.vectors(lesson.code, picks, CODE, course.dropped, rare=False)
        return 2 - (asked * targets[QUERY][picks]).sum(1).mean() - (code * targets[CODE][picks]).sum(1).mean()

    return _trained(table, lesson, course, loss)


def contrasted(table: Table, lesson: Lesson, course: Course) -> float:
    def loss(picks: torch.Tensor) -> torch.Tensor:
        asked = table.vectors(lesson.queries, picks, QUERY, course.dropped, rare=True)
        code = table.vectors(lesson.code, picks, CODE, course.dropped, rare=True)
        return contrast(asked, code, *lesson.keys(picks))

    return _trained(table, lesson, course, loss)


def contrast(asked: torch.Tensor, code: torch.Tensor, files: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
    """Symmetric; what is in the same file or answers the same question is no negative."""
    near = asked @ code.T * SCALE
    alike = (files[:, None] == files[None]) | (same[:, None] == same[None])
    alike.fill_diagonal_(False)
    near = near.masked_fill(alike, -torch.inf)
    right = torch.arange(len(near), device=near.device)
    return (F.cross_entropy(near, right) + F.cross_entropy(near.T, right)) / 2


def _trained(table: Table, lesson: Lesson, course: Course, loss: Any) -> float:
    optimiser = table.optimiser(course.rate)
    steps = lesson.steps(course)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _cosine(step / steps))
    last: list[torch.Tensor] = []
    for picks in lesson.picks(course):
        value = loss(picks)
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        optimiser.step()
        schedule.step()
        last = [*last[-(steps // 10) :], value.detach()]
    return float(torch.stack(last).mean()) if last else math.nan


def _cosine(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
