"""Documentation as a sentence or two: what somebody would ask, without the tables of parameters around it."""

from __future__ import annotations

import re

SHORTEST, LONGEST = 12, 600
_FEWEST_WORDS = 3

_TAG = re.compile(
    r"""(?imx) ^\s* (?: [@\\](?!code|brief|description|desc|summary|link|short|note\s)[a-z_]+
    | :(?:param|type|returns?|rtype|raises?|arg|keyword|meth|var|yields?)\b
    | (?: \#+ \s* | =+ \s* | \*\* )? (?: args | arguments | parameters? | params | returns? | yields? | raises | throws
      | examples? | usage | notes? | see\ also | references | attributes | options | panics | safety | errors
      | todo | inputs? | outputs? | globals | since | remarks | implementation\ note | complexity ) \b \s*
      (?: \*\* )? (?: : | \s*$ )
    | >>> | ``` | ~~~ | \.\.\ (?:code|note|versionadded|versionchanged|deprecated|seealso|warning|math)
    | -{4,} | ={4,} | \*{4,} | \#{4,} | <pre | <p>\s*<b> | <ul | <li | \|\s | \{code | <example | <table )"""
)
_LEAD = re.compile(r"(?i)^\s*[@\\](?:brief|description|desc|summary|short|note)\b:?\s*")
_INLINE = (
    (re.compile(r"\{@\w+\s+([^{}]*)\}"), r"\1"),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[`?([^\]`]+)`?\](?:\[[^\]]*\])?"), r"\1"),
    (re.compile(r"(?::[a-z:]+:)?``?([^`]+)``?_?"), r"\1"),
    (re.compile(r"<see(?:also)? cref=\"(?:\w:)?([^\"]*)\"\s*/>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>]{0,80}>"), " "),
    (re.compile(r"[@\\](?:c|p|a|ref|link|code|endlink|endcode|em|b)\s"), " "),
    (re.compile(r"&(?:lt|gt|amp|quot|nbsp|#\d+);"), " "),
    (re.compile(r"https?://\S+"), " "),
)
_SKIPPED = re.compile(
    r"""(?ix) copyright | licen[sc]e | spdx | warrant(?:y|ies) | all\ rights\ reserved | inherit-?doc | non-javadoc
    | auto-?\ ?generated | generated\ by | do\ not\ edit | eslint | istanbul | prettier-ignore | @ts- | pylint:
    | \bnoqa\b | nolint | go:(?:generate|build|nosplit|noescape|linkname) | coverage:?\ ignore | clang-format
    | rubocop: | codecov | type:\ ignore | swiftlint | ktlint | \#region | \bsuppress | shellcheck | luacheck"""
)
_BEGINS = re.compile(
    r"(?i)^\W*(?:todo|fixme|xxx|hack|deprecated\W*$|end of\b|see\b|tests?\b.{0,20}$|region\b|pragma\b)"
)
_CODE = re.compile(r"[;{}]\s*$|\);|[=!]=|\b(?:return|const|let|var|if|else|end|def|fn|func)\b\s*[({=]|^\s*[#$]\s?\w+\(")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


def told(doc: str) -> str:
    """What a doc comment tells of its function; empty where it tells nothing worth asking for."""
    text = _LEAD.sub("", doc.strip())
    if _SKIPPED.search(text[:400]) or _BEGINS.match(text):
        return ""
    cut = _TAG.search(text)
    flat = flattened(text[: cut.start()] if cut else text)
    if len(flat) > LONGEST:
        flat = _shortened(flattened(re.split(r"\n\s*\n", text[: cut.start()] if cut else text, maxsplit=1)[0]))
    return flat if is_prose(flat) else ""


def flattened(text: str) -> str:
    for expression, put in _INLINE:
        text = expression.sub(put, text)
    flat = " ".join(re.sub(r"[-=*#~_]{3,}", " ", text).split()).strip(" -*#=/|")
    return re.sub(r" +(?=[.,;:!?)](?:\s|$))", "", flat)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    kept = ""
    for sentence in _SENTENCE.split(text):
        if len(kept) + len(sentence) >= LONGEST:
            break
        kept = f"{kept} {sentence}".strip()
    return kept


def is_prose(text: str) -> bool:
    if not SHORTEST <= len(text) <= LONGEST:
        return False
    words = _WORD.findall(text)
    if len(words) < _FEWEST_WORDS or _CODE.search(text):
        return False
    letters = sum(len(word) for word in words)
    return letters >= 0.6 * len(text.replace(" ", "")) and sum(each.isascii() for each in text) >= 0.9 * len(text)


def sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.split(" ".join(text.split())) if each.strip()]
