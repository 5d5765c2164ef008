"""Ticks for axes of time: round seconds, minutes, hours, days, months and years, in UTC.

>>> [word for _, word in date_ticks(1_700_000_000.0, 1_700_002_400.0, 5)]
['22:20', '22:30', '22:40', '22:50']
>>> when(1_700_000_000.0, 1_700_002_400.0)
'14 Nov 2023, UTC'
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14)),
)
_MONTH_STEPS = (1, 2, 3, 6, *(12 * n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))
_START = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = (datetime(2, 1, 1, tzinfo=UTC) - _START).total_seconds()
_LATEST = (datetime(9998, 1, 1, tzinfo=UTC) - _START).total_seconds()


def date_ticks(low: float, high: float, most: int) -> tuple[tuple[float, str], ...]:
    """Round times within low … high (seconds since the epoch), at most about `most`; none if a calendar has none."""
    if not (_EARLIEST <= low < high <= _LATEST):
        return ()
    least = (high - low) / max(most, 1)
    if least < 0.5:
        return _within_a_second(low, high, least)
    for step in _STEPS:
        if step >= least:
            # Weeks begin on Mondays; the epoch was a Thursday.
            offset = 4 * _DAY if step % (7 * _DAY) == 0 else 0
            first = math.ceil((low - offset) / step)
            last = math.floor((high - offset) / step)
            return tuple((float(i * step + offset), _word(i * step + offset, step)) for i in range(first, last + 1))
    return _months(low, high, least)


def when(low: float, high: float) -> str:
    """The day or days that an axis shows, where its ticks name only times; and the time zone."""
    if not (_EARLIEST <= low <= high <= _LATEST):
        return ""
    first, last = _date(low), _date(high)
    if high - low > 4 * _DAY:
        return "UTC"
    if first.date() == last.date():
        return f"{_day(first)} {first.year}, UTC"
    return f"{_day(first)} to {_day(last)} {last.year}, UTC"


def _within_a_second(low: float, high: float, least: float) -> tuple[tuple[float, str], ...]:
    power = max(math.floor(math.log10(least)), -6)
    step = next(step for step in (factor * 10.0**power for factor in (1, 2, 5, 10, 20)) if step >= least * (1 - 1e-9))
    found = []
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        at = i * step
        micro = round(at * 1e6)
        exact = f"{_START + timedelta(microseconds=micro):%H:%M:%S}.{micro % 1_000_000:06d}"
        found.append((at, exact.rstrip("0").rstrip(".")))
    return tuple(found)


def _months(low: float, high: float, least: float) -> tuple[tuple[float, str], ...]:
    step = next((step for step in _MONTH_STEPS if step * 30.44 * _DAY >= least), _MONTH_STEPS[-1])
    first, last = _date(low), _date(high)
    found = []
    for month in range(-(-(12 * first.year + first.month - 1) // step) * step, 12 * last.year + last.month, step):
        at = (datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) - _START).total_seconds()
        if low <= at <= high:
            found.append((at, str(month // 12) if step >= 12 else f"{_MONTHS[month % 12]} {month // 12}"))
    return tuple(found)


def _word(at: float, step: float) -> str:
    date = _date(at)
    if step >= _DAY or (step >= _HOUR and at % _DAY == 0):
        return _day(date)
    return f"{date:%H:%M}" if step >= _MINUTE else f"{date:%H:%M:%S}"


def _day(date: datetime) -> str:
    return f"{date.day} {_MONTHS[date.month - 1]}"


def _date(at: float) -> datetime:
    return _START + timedelta(seconds=at)
