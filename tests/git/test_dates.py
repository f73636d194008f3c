"""Which words are dates, and when they are."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from codecairn.history import dates

DAY = 86_400


def local(*parts: int) -> int:
    return int(datetime(*parts).timestamp())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("2025-01-02", local(2025, 1, 2), local(2025, 1, 2, 23, 59, 59)),
        ("2025/1/2", local(2025, 1, 2), local(2025, 1, 2, 23, 59, 59)),
        ("20250102", local(2025, 1, 2), local(2025, 1, 2, 23, 59, 59)),
        ("2025-01-02T03:04", local(2025, 1, 2, 3, 4), local(2025, 1, 2, 3, 4)),
        ("2025-01-02 3:04:05", local(2025, 1, 2, 3, 4, 5), local(2025, 1, 2, 3, 4, 5)),
        ("2025-01-02T03:04:05.678Z", 1735787045, 1735787045),
        ("2025-01-02T03:04:05+01:00", 1735783445, 1735783445),
        ("2 Jan 2025", local(2025, 1, 2), local(2025, 1, 2, 23, 59, 59)),
        ("January 2nd, 2025", local(2025, 1, 2), local(2025, 1, 2, 23, 59, 59)),
        ("Thu, 2 Jan 2025 03:04:05 +0000", 1735787045, 1735787045),
        ("Thu Jan 2 03:04:05 2025 +0000", 1735787045, 1735787045),
        ("@86400", DAY, DAY),
        ("@86400 +0200", DAY, DAY),
        ("1735787045", 1735787045, 1735787045),
        ("1950-06-01", 0, 0),
        ("999999999 years ago", 0, 0),
        ("999999999 days ago", 0, 0),
    ],
)
def test_absolute_forms(text: str, begins: int, ends: int) -> None:
    assert (dates.since(text), dates.until(text)) == (begins, ends)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", 0), ("1 second ago", 1), ("5 min ago", 300), ("an hour ago", 3600), ("12 hours", 12 * 3600),
        ("eleven hours ago", 11 * 3600), ("3.days.ago", 3 * DAY), ("a week ago", 7 * DAY), ("last week", 7 * DAY),
        ("two fortnights ago", 28 * DAY), ("1 week, 2 days and 3 hours ago", 9 * DAY + 3 * 3600), ("Last Hour", 3600),
    ],
)  # fmt: skip
def test_relative_forms(text: str, seconds: int) -> None:
    before = int((datetime.now() - timedelta(seconds=seconds)).timestamp())
    read = dates.since(text)
    assert read is not None
    assert before <= read <= before + 5


@pytest.mark.parametrize(("text", "most"), [("1 month ago", 31), ("last year", 366), ("2 years, 1 month ago", 763)])
def test_months_and_years_go_by_the_calendar(text: str, most: int) -> None:
    read = dates.since(text)
    assert read is not None
    gone = datetime.now() - datetime.fromtimestamp(read)
    assert most - 4 <= gone.days <= most


@pytest.mark.parametrize("text", ["today", "yesterday", "monday", "last friday", "March 1", "1 March"])
def test_a_day_in_words_is_taken_whole(text: str) -> None:
    begins, ends = dates.since(text), dates.until(text)
    assert begins is not None
    assert ends is not None
    first, last = datetime.fromtimestamp(begins), datetime.fromtimestamp(ends)
    assert (first.date(), first.hour, last.hour) == (last.date(), 0, 23)
    assert first <= datetime.now()


def test_weekdays_are_the_latest_of_their_name() -> None:
    today = datetime.now()
    name = today.strftime("%A")
    same, week_before = dates.since(name), dates.since(f"last {name}")
    assert same is not None
    assert week_before is not None
    assert datetime.fromtimestamp(same).date() == today.date()
    assert datetime.fromtimestamp(week_before).date() == today.date() - timedelta(days=7)


@pytest.mark.parametrize("text", ["noon", "midnight", "yesterday at 9:30"])
def test_hours_in_words_lie_in_the_last_two_days(text: str) -> None:
    read = dates.since(text)
    assert read is not None
    assert timedelta() <= datetime.now() - datetime.fromtimestamp(read) <= timedelta(days=2)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "v1.0", "main", "HEAD", "HEAD~1", "@{u}", "@", "2025", "2025-01", "2025-13-45", "2025-02-30",
        "20251399", "0000-01-01", "2025-01-02 25:00", "2025-01-02 10:00 +99:99", "2025-1/2", "31 February 2025",
        "deadbeef", "12345678", "last", "last quarter", "3 parsecs ago", "days ago", "a", "may", "٣ days ago", "@1e9",
    ],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert dates.since(text) is None
    assert dates.until(text) is None
