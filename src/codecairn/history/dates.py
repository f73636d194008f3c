"""Which words are a date. git's own parser never fails (it reads `v1.0` as some day), so the form is checked first.

A bare day is taken whole: since it begins, until it ends. git itself would take the present time of that day.
"""

from __future__ import annotations

import re
from datetime import date, datetime

_UNIT = r"(?:second|sec|minute|min|hour|day|week|fortnight|month|year)s?"
_COUNT = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_ZONE = r"(?:z|utc|gmt|[+-]\d{2}:?\d{2})"

_DAY = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})")
_STAMP = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:t|\s+)({_TIME})\s*({_ZONE})?", re.I)
_EPOCH = re.compile(rf"@\d{{1,12}}(?:\s*{_ZONE})?|\d{{9,12}}", re.I)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_WORDS = re.compile(
    rf"now|today|yesterday|noon|midnight"
    rf"|last[ .](?:{_UNIT}|{_WEEKDAY})|{_WEEKDAY}"
    rf"|{_COUNT}[ .]{_UNIT}(?:(?:,|[ .]and)?[ .]{_COUNT}[ .]{_UNIT})*(?:[ .]ago)?"
    rf"|(?:{_WEEKDAY},?\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}\.?,?(?:\s+\d{{4}})?(?:\s+{_TIME})?(?:\s*{_ZONE})?"
    rf"|(?:{_WEEKDAY},?\s+)?{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+{_TIME})?(?:,?\s+\d{{4}})?(?:\s*{_ZONE})?"
    rf"|(?:yesterday|today|noon|last[ .]{_WEEKDAY}|{_WEEKDAY})\s+(?:at\s+)?{_TIME}",
    re.I,
)


def since(text: str) -> str | None:
    """`text` as an argument for --since, or None if it is no date."""
    return _date(text, "00:00:00")


def until(text: str) -> str | None:
    return _date(text, "23:59:59")


def _date(text: str, time_of_day: str) -> str | None:
    text = text.strip()
    day = _calendar_day(text)
    if day is not None:
        return f"{day.isoformat()} {time_of_day}"
    if stamp := _STAMP.fullmatch(text):
        return text if _is_real(f"{stamp[1]} {stamp[2]}") else None
    if _EPOCH.fullmatch(text):
        return text if text.startswith("@") else f"@{text}"
    if text.lower() == "today":
        return f"{date.today().isoformat()} {time_of_day}"
    return text if _WORDS.fullmatch(text) else None


def _calendar_day(text: str) -> date | None:
    if found := _DAY.fullmatch(text):
        parts = (found[1], found[3], found[4])
    elif found := _COMPACT.fullmatch(text):
        parts = (found[1], found[2], found[3])
    else:
        return None
    try:
        return date(*(int(part) for part in parts))
    except ValueError:
        return None


def _is_real(stamp: str) -> bool:
    try:
        datetime.fromisoformat(stamp)
    except ValueError:
        return False
    return True
