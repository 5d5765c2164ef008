"""Numbers, names and lists as people write them: small phrases without any fact of ours in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from difflib import get_close_matches

MOST_NAMES = 12
"""Names that are listed before the rest is counted."""


def article(noun: str) -> str:
    """A noun with its article.

    >>> article("oblivious"), article("prescient")
    ('an oblivious', 'a prescient')
    """
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def number_of(count: int, noun: str = "arm") -> str:
    """A count with its noun.

    >>> number_of(1), number_of(1200), number_of(0, "pull")
    ('1 arm', '1,200 arms', '0 pulls')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def are(count: int) -> str:
    """The verb for so many: "is" or "are"."""
    return "is" if count == 1 else "are"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names one after another; those beyond the first ones are counted.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def joined(names: Sequence[str]) -> str:
    """All of some names, as in a sentence.

    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def quoted(names: Iterable[str], most: int = MOST_NAMES) -> str:
    """The same with each name as `shown` does it, for messages on names that may be anything."""
    every = list(names)
    return listed([shown(name, 40) for name in every[:most]] + every[most:], most)


def shortened(text: str, most: int) -> str:
    """A text of so many characters at most.

    >>> shortened("a rather long line", 9)
    'a rather…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def one_line(text: str, most: int = 80) -> str:
    """A text in one line of so many characters at most.

    >>> one_line("two\\nlines"), one_line("a rather long line", 9)
    ('two lines', 'a rather…')
    """
    return shortened(" ".join(text.split()), most)


def shown(value: object, most: int = 60) -> str:
    r"""A value in a message: on one line, and not longer than needed to find it.

    >>> shown("12 ms"), shown("a\nb"), len(shown("x" * 1000))
    ("'12 ms'", "'a\\nb'", 60)
    """
    return one_line(repr(value), most)


def error_line(error: BaseException, most: int = 160) -> str:
    """What a library says of an error: the first of its lines that says something, shortened.

    >>> error_line(ValueError("\\n  bad thing.\\nand more")), error_line(KeyError())
    ('bad thing', 'KeyError')
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__).rstrip(".")
    return shortened("".join(letter if letter.isprintable() else "�" for letter in text), most)


def nearest(name: str, choices: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The choice that a name may be a slip for; None if it is like none of them. Case and blanks around do not count.

    >>> nearest("secnds", ["arm", "seconds"]), nearest("Arm ", ["arm", "x"]), nearest("q", ["arm"])
    ('seconds', 'arm', None)
    """
    by_folded = {each.strip().casefold(): each for each in choices}
    near = get_close_matches(name.strip().casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else None


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """The hint that a name may be a slip for one of the choices, or nothing.

    >>> did_you_mean("secnds", ["arm", "seconds"]), did_you_mean("q", ["arm"])
    (" (did you mean 'seconds'?)", '')
    """
    near = nearest(name, choices)
    return "" if near is None else f" (did you mean {shown(near)}?)"


def percent(share: float, rounding: str = ROUND_HALF_UP, digits: int = 1) -> str:
    """A share or a probability to a tenth of a percent, as short as can be; never 0% or 100% for what is not.

    What is promised is rounded down: `ROUND_FLOOR` of `decimal`. `digits` are those behind the point.

    >>> from decimal import ROUND_FLOOR
    >>> percent(0.23), percent(0.2315), percent(0.5), percent(0.2318, ROUND_FLOOR)
    ('23%', '23.2%', '50%', '23.1%')
    >>> percent(0.9996), percent(0.0004), percent(0.0), percent(1.0), percent(1.0 - 1e-9), percent(0.304, digits=0)
    ('99.96%', '0.04%', '0%', '100%', '99.9999999%', '30%')
    """
    exact = 100 * Decimal(repr(float(share)))
    near = exact.quantize(Decimal("1e-10"))  # 1 − 0.95 is not quite 0.05
    for place in range(digits, 11):
        fine = Decimal(1).scaleb(-place)
        shown = near.quantize(fine, rounding)
        if shown == exact or not {shown, near.quantize(fine, ROUND_HALF_UP)} & {Decimal(0), Decimal(100)}:
            return f"{shown.normalize():f}%"
    return f"{exact.normalize():f}%"


def percentage(share: float) -> str:
    """An amount that is relative, with three digits that count; of shares and probabilities, `percent` is for those.

    >>> percentage(0.05), percentage(0.0504), percentage(0.00123), percentage(15900.0)
    ('5%', '5.04%', '0.123%', '1,590,000%')
    """
    value = 100.0 * share
    return f"{value:,.0f}%" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}%"


def number(value: float) -> str:
    """A number with four digits that count, as short as can be.

    >>> [number(x) for x in (0.0, 0.00123456, 1.5, 12345.6, 16384, 9.87654321e9, math.inf, math.nan)]
    ['0', '0.001235', '1.5', '12,346', '16,384', '9.877e+09', '∞', '?']
    """
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 1000.0 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """A time as a person says it, rounded.

    >>> [duration(s) for s in (0.04, 3.21, 59.7, 200, 9000, 200_000)]
    ['0.0 s', '3.2 s', '1 min', '3 min 20 s', '2 h 30 min', '2 d 7 h']
    """
    if seconds < 10.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, smaller, below in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def time_range(least: float, most: float) -> str:
    """A time that lies between two, as a person says it: rounded, and never as none at all.

    >>> time_range(0.1, 0.4), time_range(0.2, 8.0), time_range(38.0, 92.0), time_range(42.0, 400.0)
    ('less than a second', 'up to 8 s', '38 to 92 s', '42 s to 6.7 min')
    >>> time_range(5000.0, 20_000.0), time_range(20_000.0, 400_000.0), time_range(6.0, 6.2)
    ('1.4 to 5.6 h', '5.6 h to 4.6 days', '6 s')
    """
    if most < 1.0:
        return "less than a second"
    if least < 1.0:
        return f"up to {' '.join(_in_unit(most))}"
    (low, unit), (high, other) = _in_unit(least), _in_unit(most)
    if unit != other:
        return f"{low} {unit} to {high} {other}"
    return f"{high} {other}" if low == high else f"{low} to {high} {unit}"


def _in_unit(seconds: float) -> tuple[str, str]:
    """A time in the largest unit of which it has two, or one and a bit of hours and days, with two digits."""
    for unit, size, from_here in (("days", 86400.0, 1.5), ("h", 3600.0, 1.25), ("min", 60.0, 2.0)):
        if seconds >= from_here * size:
            return f"{float(f'{seconds / size:.2g}'):g}", unit
    return f"{max(1.0, float(f'{seconds:.2g}')):.0f}", "s"


def rounded(pulls: float, digits: int = 2) -> str:
    """A forecast with two digits that count, unless more are wanted: these would promise too much.

    >>> rounded(7), rounded(1234), rounded(1234.5, 3)
    ('7', '1,200', '1,230')
    """
    return f"{float(f'{pulls:.{digits}g}'):,.0f}"


def rounded_up(value: float, digits: int) -> float:
    """The next number with so many digits that count, so that a suggestion is short; 0 for what is below.

    >>> rounded_up(0.01234, 2), rounded_up(123.0, 2), rounded_up(0.012341, 3), rounded_up(5.0, 3), rounded_up(0.0, 2)
    (0.013, 130.0, 0.0124, 5.0, 0.0)
    """
    if value <= 0.0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{math.ceil(value / step - 1e-6) * step:.12g}") if step else value  # step is 0 for the tiniest
