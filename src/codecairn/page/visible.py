"""Text that shows what it is: characters that hide, or that turn the text around them, are spelled out.

    U+202E becomes ⟨202E⟩, a NUL ⟨0⟩; line ends and tabs stay

A name with a right-to-left mark can make `exe.gpj` read as `jpg.exe`, and a zero-width one make two names look alike.
"""

from __future__ import annotations

import re

from codecairn.text import BIDI

_ODD = re.compile(
    rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200d\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb{BIDI}\ud800-\udfff\U000e0000-\U000e007f]"
)


def make_visible(text: str) -> str:
    return _ODD.sub(lambda found: f"⟨{ord(found.group()):X}⟩", text)


def split_odd(text: str) -> list[str]:
    """The parts of a text in turn: plain, odd, plain and so on."""
    parts, end = list[str](), 0
    for found in _ODD.finditer(text):
        parts += text[end : found.start()], make_visible(found.group())
        end = found.end()
    return [*parts, text[end:]]
