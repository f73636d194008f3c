"""What is asked and what answers it: the pairs a model learns from, made of documented functions.

A documented function is seen twice. In the first view its documentation asks for the function alone. In the second a
rewording of it, most often as a question, asks for a window of neighbouring functions, as a chunk or a file is found
by a question that knows nothing of its words. A mined question asks for the function it was mined with: the third.

The answering side is what is indexed: the path, the file's stem once more, the names being defined, the text. The
documentation that asks is never in it; the documentation of the neighbours is, half of the time, and so is what
follows the sentence that asks.

Everything random is drawn from the file's own name: the same corpus gives the same pairs in any number of processes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from random import Random
from typing import Any, NamedTuple

FUNCTION, WINDOW, QUESTION = range(3)

LONGEST_WINDOW = 6
"""Functions."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*@:])")
_BLANKS = re.compile(r"\s+")
_READ_BY_TEACHER = 900
"""Characters of code: more than its 160 word pieces ever hold."""

_STOP_WORDS = frozenset(
    """
    a an the and or but if of to in on at by for with from as is are was be it its this that these those you your we
    our which will can may should has have had not so then than into
    """.split()  # noqa: SIM905
)

_ASKING = (
    "how to {base}", "how do I {base}", "how does it {base}", "how do we {base}", "where do we {base}",
    "where is the code that {third}", "which function {third}", "what {third}", "code to {base}",
    "find where we {base}", "how is {topic} implemented", "{topic} implementation", "where is {topic} handled",
    "architecture of {topic}", "why does it not {base}", "fails to {base}",
)  # fmt: skip
"""`base` and `third` are a sentence by its verb (parse the header, parses the header), `topic` its telling words."""


class Code(NamedTuple):
    """What answers, as it is indexed."""

    path: str
    names: tuple[str, ...]
    text: str
    brief: str
    """The same, no longer than a transformer reads, with a part of every function of a window."""

    @property
    def named(self) -> str:
        return " ".join(self.names)

    @property
    def located(self) -> str:
        return f"{self.path} {PurePosixPath(self.path).stem}"


class Example(NamedTuple):
    view: int
    package: str
    language: str
    query: str
    code: Code

    @property
    def file(self) -> str:
        return f"{self.package}/{self.code.path}"


def examples_of(record: Mapping[str, Any]) -> Iterator[Example]:
    """Of a file of the corpus, or of a mined question."""
    seed = zlib.crc32(f"{record['package']}/{record['path']}/{record.get('question', '')}".encode())
    random = Random(seed)
    return _question(record, random) if "question" in record else _of_file(record, random)


def _of_file(record: Mapping[str, Any], random: Random) -> Iterator[Example]:
    items = record["items"]
    for at, item in enumerate(items):
        if not item["doc"]:
            continue
        yield _function(record, item, random)
        yield _window(record, at, random)


def _function(record: Mapping[str, Any], item: Mapping[str, str], random: Random) -> Example:
    first, rest = split_sentence(item["doc"])
    whole = random.random() < 0.5
    query = item["doc"] if whole else reworded(item["doc"], random) if random.random() < 0.4 else first
    kept = "" if whole or random.random() < 0.5 else f"{rest}\n"
    code = code_of(record["path"], [item["name"]], [kept + item["code"]])
    return Example(FUNCTION, record["package"], record["language"], query, code)


def _window(record: Mapping[str, Any], at: int, random: Random) -> Example:
    items, doc = record["items"], record["items"][at]["doc"]
    size = random.randint(1, LONGEST_WINDOW)
    first = max(0, at - random.randrange(size))
    seen = items[first : first + size]
    texts = [
        f"{each['doc']}\n{each['code']}" if each["doc"] != doc and random.random() < 0.5 else each["code"]
        for each in seen
    ]
    query = reworded(doc, random)
    if random.random() < 0.12:
        query = _report(query, doc, [each["code"] for each in seen], random)
    code = code_of(record["path"], [each["name"] for each in seen], texts)
    return Example(WINDOW, record["package"], record["language"], query, code)


def _report(query: str, doc: str, codes: list[str], random: Random) -> str:
    """A query as long as a bug report: a title, what should be, and two lines of code somewhere in it."""
    lines = [line.strip() for line in random.choice(codes).splitlines() if line.strip()]
    at = random.randrange(max(1, len(lines) - 1))
    return "\n".join([query, doc, *lines[at : at + 2]])


def _question(record: Mapping[str, Any], random: Random) -> Iterator[Example]:
    asked = record["question"]
    is_test = record.get("kind") == "test"
    query = reworded(asked, random) if is_test and random.random() < 0.3 else asked
    code = code_of(record["path"], [record["name"]], [record["code"]])
    yield Example(QUESTION, record["package"], record["language"], query, code)


def code_of(path: str, names: list[str], texts: list[str]) -> Code:
    share = _READ_BY_TEACHER // max(1, len(texts))
    brief = "\n".join([path, *(f"{name}: {text[:share]}" for name, text in zip(names, texts, strict=True))])
    return Code(path, tuple(names), "\n".join(texts), brief)


def split_sentence(doc: str) -> tuple[str, str]:
    """The first sentence, and what follows it."""
    parts = _SENTENCE_END.split(doc.strip(), maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def reworded(doc: str, random: Random) -> str:
    """A sentence as somebody asks who has not read it: as a question, as key words, or cut short."""
    sentence = _BLANKS.sub(" ", split_sentence(doc)[0]).strip(" .:;!?")
    words = sentence.split(" ")
    if random.random() < 0.5:
        words = words[: random.randint(4, 14)]
    chance = random.random()
    if chance < 0.5:
        return asked_as(random.choice(_ASKING), words)
    return topic_of(words, random.randint(3, 8)) if chance < 0.75 else " ".join(words)


def asked_as(form: str, words: list[str]) -> str:
    rest = " ".join(words[1:])
    verb = words[0].lower()
    base = verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
    third = verb if verb.endswith("s") else f"{verb}s"
    topic = topic_of(words[1:] or words, 5)
    return form.format(base=f"{base} {rest}".strip(), third=f"{third} {rest}".strip(), topic=topic)


def topic_of(words: list[str], most: int) -> str:
    telling = [word for word in words if word.lower() not in _STOP_WORDS]
    return " ".join((telling or words)[:most])
