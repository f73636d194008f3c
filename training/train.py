"""From the corpus to tables ready to serve, in one run.

    PYTHONPATH=src:. python -m training.train --corpus training/data/corpus.jsonl.xz \
        --questions training/data/questions.jsonl.xz --teacher training/carry/minilm --out OUT --device cuda

On an accelerator the transformer is fine-tuned and tables learn from it; on a processor (`--device cpu`) the table
starts from the transformer's word vectors as they are and learns from the examples alone. Each variant is packed into
OUT as soon as it is trained, and a stage that fails leaves what the earlier ones made.
"""

from __future__ import annotations

import argparse
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from training import evaluate
from training.export import CODE, QUERY, Trained, factors_of, normalised, packed, quantised, shrunk, with_buckets
from training.prepare import Array, Prepared, Side, Words, Workers, prepared, stretches_of, words_of_corpus
from training.table import Course, Lesson, Mixture, Table, contrasted, regressed
from training.teacher import Teacher, directions, fine_tuned, projected, told, word_vectors
from training.vocabulary import BUCKETS, Bag

DIMENSIONS = 256
BOOST = 2.0

Done = TypeVar("Done")
Targets = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Variant:
    """What a table goes through: regression on a teacher, contrast, or one after the other."""

    regress: Course | None = None
    contrast: Course | None = None


_ALL = Mixture(function=1.0, window=1.0, question=2.0)
_ASKED = Mixture(function=0.0, window=1.0, question=2.0)
_REGRESSION = Course(_ALL, epochs=4, rate=4e-3)
_POLISH = Course(_ASKED, epochs=1, rate=5e-4, batch=2_048, block=128)

VARIANTS = {
    "regressed": Variant(regress=_REGRESSION),
    "polished": Variant(regress=_REGRESSION, contrast=replace(_POLISH, epochs=2, rate=1.5e-3)),
    "taught": Variant(regress=_REGRESSION, contrast=Course(replace(_ALL, function=0.5), epochs=3, rate=1e-3)),
    "contrasted": Variant(contrast=Course(replace(_ALL, function=0.5), epochs=3, rate=2e-3)),
}
"""Each is a file to choose from. `polished` is the one that ships: regressed on the teacher, then made to tell the
functions of one project apart. `contrasted` needs no teacher but for its word vectors, and so no accelerator."""


class Clock:
    def __init__(self, limit: float) -> None:
        self.began, self.limit = time.monotonic(), limit

    @property
    def passed(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        return self.limit - self.passed

    def tell(self, what: str) -> None:
        print(f"{self.passed:7.1f} s  {what}", flush=True)

    def stage(self, name: str, work: Callable[[], Done]) -> Done | None:
        """A stage that fails says why, and costs nothing but itself."""
        self.tell(f"{name} ...")
        try:
            return work()
        except Exception:  # noqa: BLE001 - whatever it was, what is made already is kept
            self.tell(f"{name} failed\n{traceback.format_exc()}")
            return None


@dataclass(frozen=True)
class Learnt:
    """All that the tables are trained from."""

    words: Words
    data: Prepared
    start: Trained
    targets: Targets | None
    onto: torch.Tensor


def occurrences_of(data: Prepared, rows: int) -> Array:
    flat = np.concatenate([data.queries.ids.flat, data.code.ids.flat])
    return np.bincount(flat, minlength=rows)


def start_of(vectors: Array, data: Prepared) -> Trained:
    """Rows of a word's own vector; a weight by its rarity; chance and the rarest words' weight for the buckets."""
    rows = np.zeros((len(vectors) + BUCKETS, DIMENSIONS), np.float32)
    rows[: len(vectors)] = normalised(vectors)
    seen = occurrences_of(data, len(rows))
    rarity = np.log1p(2 * len(data) / (seen + 1.0))
    weights = np.stack([rarity, rarity]) / rarity[: len(vectors)].max()
    return with_buckets(Trained(rows, weights.astype(np.float32), BOOST, seen), len(vectors))


def chance(count: int) -> Array:
    return normalised(np.random.default_rng(3).standard_normal((count, DIMENSIONS))).astype(np.float32)


def learnt(given: argparse.Namespace, clock: Clock, stretches: list[list[bytes]], workers: Workers) -> Learnt:
    words = words_of_corpus(stretches, workers)
    clock.tell(f"vocabulary of {len(words.vocabulary):,} words; {len(words.held_out):,} packages held out")
    tokenizer = given.teacher if given.teacher_seconds else None
    data = prepared(stretches, words, tokenizer, workers)
    clock.tell(f"{len(data):,} examples, by view {np.bincount(data.views, minlength=3).tolist()}, {sizes_of(data)}")
    if not given.teacher:
        return Learnt(words, data, start_of(chance(len(words.vocabulary)), data), None, torch.eye(DIMENSIONS))
    teacher = Teacher(given.teacher, given.device)
    targets = None
    if given.teacher_seconds:
        targets = clock.stage("teacher", lambda: taught(teacher, data, given, clock))
    vectors = word_vectors(teacher, words.spelled)
    onto = directions(list(targets or [vectors]), DIMENSIONS).to(given.device)
    clock.tell("word vectors")
    start = start_of(projected(vectors, onto).float().cpu().numpy(), data)
    turned = (projected(targets[QUERY], onto), projected(targets[CODE], onto)) if targets else None
    return Learnt(words, data, start, turned, onto)


def sizes_of(data: Prepared) -> str:
    return ", ".join(
        f"{len(side.ids.flat) / len(data):.1f} words {name}"
        for name, side in (("asked", data.queries), ("of code", data.code))
    )


def taught(teacher: Teacher, data: Prepared, given: argparse.Namespace, clock: Clock) -> Targets:
    seconds = min(given.teacher_seconds, clock.left * 0.5)
    fine_tuned(teacher, data, Mixture(1.0, 1.0, 2.0), given.teacher_epochs, seconds, given.teacher_batch, clock.tell)
    clock.stage("keeping the teacher", lambda: teacher.saved(given.keep / "tuned"))
    clock.tell("teacher tuned; it reads everything")
    return told(teacher, data)


def trained(variant: Variant, lesson: Lesson, known: Learnt, clock: Clock) -> Trained:
    table = Table(known.start, lesson.device, len(known.words.vocabulary))
    seen = known.start.occurrences
    if variant.regress and known.targets:
        loss = regressed(table, lesson, known.targets, variant.regress)
        clock.tell(f"regressed to a loss of {loss:.4f}")
        settled = with_buckets(table.trained(seen), table.words, share=0.5)
        table = Table(settled, lesson.device, table.words)
    if variant.contrast:
        clock.tell(f"contrasted to a loss of {contrasted(table, lesson, variant.contrast):.4f}")
    return shrunk(table.trained(seen), known.start)


def exported(name: str, variant: Variant, lesson: Lesson, known: Learnt, clock: Clock, out: Path) -> None:
    if variant.regress and not known.targets:
        clock.tell(f"{name} needs a teacher: left out")
        return
    made = trained(variant, lesson, known, clock)
    sample = (sampled(known.data.queries), sampled(known.data.code))
    model = quantised(made, known.words.vocabulary, name, sample)
    packed(model, out / f"{name}.npz")
    kept = [
        float((exact(made, sample[side], side) * model.vectors(sample[side], side)).sum(1).mean()) for side in (0, 1)
    ]
    clock.tell(f"{name}: boost {made.boost:.2f}; cosine of quantised to exact {kept[QUERY]:.4f} {kept[CODE]:.4f}")


def sampled(side: Side, count: int = 4_000) -> list[Bag]:
    picks = np.random.default_rng(11).integers(0, len(side.ids.offsets) - 1, count)
    return [Bag(side.ids[at].tolist(), side.times[at].tolist()) for at in picks]


def exact(made: Trained, bags: list[Bag], side: int) -> Array:
    found = np.zeros((len(bags), DIMENSIONS), np.float32)
    for at, bag in enumerate(bags):
        ids = np.array(bag.ids, np.int64)
        found[at] = (made.weights[side][ids] * factors_of(np.array(bag.times, np.int64), made.boost)) @ made.rows[ids]
    return normalised(found)


def measured(given: argparse.Namespace, known: Learnt, stretches: list[list[bytes]], workers: Workers) -> None:
    pools = evaluate.pools_of(stretches, known.words.held_out, workers, 1_500, 400)
    models = sorted(given.out.glob("*.npz"))
    systems = evaluate.by_models([evaluate.opened(path) for path in models])
    systems["bm25"] = evaluate.by_words
    if given.teacher_seconds:
        folders = [folder for folder in (given.teacher, given.keep / "tuned") if folder and folder.exists()]
        systems |= {folder.name: evaluate.transformer(folder, given.device) for folder in folders}
    table = evaluate.compared(pools, systems)
    (given.out / "scores.md").write_text(table + "\n", encoding="utf-8")
    print(table, flush=True)


def main() -> None:
    given = arguments()
    clock = Clock(given.seconds_limit)
    workers = Workers(given.processes)
    given.out.mkdir(parents=True, exist_ok=True)
    given.keep.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    stretches = stretches_of([path for path in (given.corpus, given.questions) if path])
    clock.tell(f"{sum(map(len, stretches)):,} records read")
    known = kept(given, clock) or learnt(given, clock, stretches, workers)
    clock.stage("keeping what was learnt", lambda: torch.save(known, given.keep / "learnt.pt"))
    lesson = Lesson.of(known.data, given.device)
    for name in given.variants:
        if clock.left < 45:
            clock.tell(f"no time for {name}")
            break
        clock.stage(name, lambda: exported(name, VARIANTS[name], lesson, known, clock, given.out))  # noqa: B023
    if clock.left > 30 and not given.unmeasured:
        clock.stage("measuring", lambda: measured(given, known, stretches, workers))
    clock.tell("done")


def kept(given: argparse.Namespace, clock: Clock) -> Learnt | None:
    """What an earlier run learnt of the same corpus, so that only tables are trained."""
    path = given.keep / "learnt.pt"
    if not given.resume or not path.exists():
        return None
    clock.tell("taking up what was kept")
    # Written by this script, on this machine.
    known: Learnt = torch.load(path, map_location=given.device, weights_only=False)
    return known


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path)
    parser.add_argument(
        "--teacher", type=Path, help="folder of a sentence transformer; without it rows start by chance"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", type=Path, default=Path("training/data/kept"), help="for a later run with --resume")
    parser.add_argument("--resume", action="store_true", help="train tables alone, from what was kept")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seconds-limit", type=float, default=520)
    parser.add_argument("--teacher-seconds", type=float, help="of fine-tuning; none without an accelerator")
    parser.add_argument("--teacher-epochs", type=int, default=2)
    parser.add_argument("--teacher-batch", type=int, default=2_048)
    parser.add_argument("--processes", type=int, default=min(16, os.cpu_count() or 1))
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS))
    parser.add_argument("--unmeasured", action="store_true")
    given = parser.parse_args()
    if given.teacher_seconds is None:
        given.teacher_seconds = 0.0 if given.device == "cpu" else 200.0
    given.variants = given.variants or (list(VARIANTS) if given.teacher_seconds else ["contrasted"])
    return given


if __name__ == "__main__":
    main()
