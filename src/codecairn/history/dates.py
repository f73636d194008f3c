"""Which words are a date, and which moment they mean.

git's own parser never fails: it reads `v1.0` as some day, `a week ago` and `@86400` as now. So the forms are known here
and git is only ever given seconds. A bare day is taken whole: since it begins, until it ends. Times without a zone are
this machine's.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

_COUNTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SECONDS = {"sec": 1, "min": 60, "hou": 3600, "day": 86_400, "wee": 604_800, "for": 1_209_600}

_UNIT = r"(?:second|sec|minute|min|hour|day|week|fortnight|month|year)s?"
_COUNT = rf"(?:\d{{1,9}}|an?|{'|'.join(_COUNTS[1:])})"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_TIME = r"(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)"
_ZONE = r"(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2})"
_NAMED_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NAMED_MONTH = rf"(?P<month>{_MONTH})\.?"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


_EPOCH = _form(rf"(?:@(\d{{1,12}})(?:\s*{_ZONE})?|(\d{{9,12}}))")
_NUMBERED = (
    _form(rf"(?P<year>\d{{4}})([-/.])(?P<month>\d{{1,2}})\2(?P<day>\d{{1,2}})(?:(?:t|\s+){_TIME}\s*{_ZONE}?)?"),
    _form(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"),
)
_NAMED = (
    _form(rf"(?:{_WEEKDAY},?\s+)?{_NAMED_DAY}\s+{_NAMED_MONTH},?(?:\s+(?P<year>\d{{4}}))?(?:,?\s+{_TIME})?\s*{_ZONE}?"),
    _form(rf"(?:{_WEEKDAY},?\s+)?{_NAMED_MONTH}\s+{_NAMED_DAY}(?:,?\s+{_TIME})?(?:,?\s+(?P<year>\d{{4}}))?\s*{_ZONE}?"),
)
_RELATIVE_DAY = _form(rf"(?P<word>today|yesterday|(?:last[ .])?{_WEEKDAY})(?:\s+(?:at\s+)?{_TIME})?")
_CLOCK = _form(r"(?P<word>now|noon|midnight)")
_LAST = _form(rf"last[ .](?P<unit>{_UNIT})")
_AGO = _form(rf"{_COUNT}[ .]{_UNIT}(?:(?:,|[ .]and)?[ .]{_COUNT}[ .]{_UNIT})*(?:[ .]ago)?")
_TERM = _form(rf"({_COUNT})[ .]({_UNIT})")


def since(text: str) -> int | None:
    """The moment a period from `text` on begins, in seconds since 1970; None if `text` is no date."""
    return _moment(text, time.min)


def until(text: str) -> int | None:
    """The moment a period up to `text` ends."""
    return _moment(text, time(23, 59, 59))


def _moment(text: str, bare_day: time) -> int | None:
    text = text.strip()
    if found := _EPOCH.fullmatch(text):
        return int(found[1] or found[3])
    now = datetime.now()
    try:
        moment = next((each for each in _readings(text, now, bare_day) if each is not None), None)
        return None if moment is None else max(0, int(moment.timestamp()))
    except ValueError:  # the form of a date, and no such day or hour
        return None
    except OverflowError:  # before the year 1
        return 0


def _readings(text: str, now: datetime, bare_day: time) -> Iterator[datetime | None]:
    yield _from_numbers(text, bare_day)
    yield _from_names(text, now, bare_day)
    yield _relative_day(text, now, bare_day)
    yield _clock(text, now)
    yield _ago(text, now)


def _from_numbers(text: str, bare_day: time) -> datetime | None:
    found = next((match for form in _NUMBERED if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    return _at(date(int(found["year"]), int(found["month"]), int(found["day"])), found, bare_day)


def _from_names(text: str, now: datetime, bare_day: time) -> datetime | None:
    found = next((match for form in _NAMED if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    month, day = _MONTHS.index(found["month"][:3].lower()) + 1, int(found["day"])
    if found["year"]:
        return _at(date(int(found["year"]), month, day), found, bare_day)
    this_year = date(now.year, month, day)
    return _at(this_year if this_year <= now.date() else date(now.year - 1, month, day), found, bare_day)


def _at(day: date, found: re.Match[str], bare_day: time) -> datetime:
    parts = found.groupdict()
    if not parts.get("time"):
        return datetime.combine(day, bare_day)
    clock = time.fromisoformat(parts["time"].zfill(5) if parts["time"].count(":") == 1 else parts["time"].zfill(8))
    zone = (parts.get("zone") or "").lower()
    if not zone:
        return datetime.combine(day, clock)
    offset = time.fromisoformat(f"00:00{zone}").tzinfo if zone[0] in "+-" else UTC
    return datetime.combine(day, clock, offset)


def _relative_day(text: str, now: datetime, bare_day: time) -> datetime | None:
    found = _RELATIVE_DAY.fullmatch(text)
    return _at(now.date() - timedelta(days=_days_back(found["word"].lower(), now)), found, bare_day) if found else None


def _days_back(word: str, now: datetime) -> int:
    if word in ("today", "yesterday"):
        return int(word == "yesterday")
    last = word.startswith("last")
    back = (now.weekday() - _WEEKDAYS.index(word[5:8] if last else word[:3])) % 7
    return back or (7 if last else 0)


def _clock(text: str, now: datetime) -> datetime | None:
    found = _CLOCK.fullmatch(text)
    if found is None or found["word"].lower() == "now":
        return now if found else None
    struck = datetime.combine(now.date(), time(12) if found["word"].lower() == "noon" else time.min)
    return struck if struck <= now else struck - timedelta(days=1)


def _ago(text: str, now: datetime) -> datetime | None:
    if last := _LAST.fullmatch(text):
        return _back(now, 1, last["unit"])
    if not _AGO.fullmatch(text):
        return None
    for count, unit in _TERM.findall(text):
        now = _back(now, _number(count.lower()), unit)
    return now


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    return 1 if word in ("a", "an") else _COUNTS.index(word)


def _back(moment: datetime, count: int, unit: str) -> datetime:
    start = unit[:3].lower()
    if start in _SECONDS:
        return moment - timedelta(seconds=count * _SECONDS[start])
    months = moment.year * 12 + moment.month - 1 - count * (12 if start == "yea" else 1)
    year, month = divmod(months, 12)
    if year < 1:
        raise OverflowError
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
