"""Numbers, names and lists as people write them: small phrases without any fact of ours in them."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from difflib import get_close_matches

MOST_NAMES = 5
"""Names that a sentence lists before the rest is counted."""

MOST_QUOTED = 12
"""Names that a message on what may be chosen lists."""

LEAST_NAME = 8
"""Cells of a terminal to which a name is shortened at most."""


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
    'a, b … and 1 more'
    """
    more = f" … and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def joined(names: Sequence[str]) -> str:
    """All of some names, as in a sentence.

    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def quoted(names: Iterable[str], most: int = MOST_QUOTED) -> str:
    """Return a list of names, each as `shown` does it, for messages on names that may be anything."""
    every = list(names)
    return listed([shown(name, 40) for name in every[:most]] + every[most:], most)


def shortened(text: str, most: int) -> str:
    """A text of so many characters at most.

    >>> shortened("a rather long line", 9)
    'a rather…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def slashed(parts: Sequence[str]) -> str:
    """A name made of several parts; a part with a slash in it is quoted, so that no two names are the same.

    >>> slashed(["rust", "x86_64", "128"]), slashed(["/bin/cc", "-O2"])
    ('rust/x86_64/128', '"/bin/cc"/-O2')
    """
    return "/".join(map(_quoted_part, parts))


def _quoted_part(part: str) -> str:
    doubled = part.replace('"', '""')
    return f'"{doubled}"' if "/" in part or part.startswith('"') else part


_DIGITS = re.compile("([0-9]+)")


def natural(name: str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """A key by which names sort as people do: digits count as numbers, and case does not.

    >>> sorted(["b1024", "B128", "a", "b9"], key=natural)
    ['a', 'b9', 'B128', 'b1024']
    """
    pieces: list[str | tuple[int, str]] = list(_DIGITS.split(name.casefold()))
    for place in range(1, len(pieces), 2):  # texts and digits take turns, so that like is compared with like
        digits = str(pieces[place]).lstrip("0")
        pieces[place] = len(digits), digits  # whichever has more digits is larger; there may be thousands of them
    return tuple(pieces), name


def cells_of(text: str) -> int:
    """Return how many cells of a terminal a text takes.

    >>> cells_of("name"), cells_of("名前")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def visible(text: str, kept: str = "") -> str:
    r"""A text in which control characters, and what turns its direction, are seen as � and obeyed by nobody.

    All that comes from outside goes through here on its way to a terminal, a report or a page. Signs of `kept` stay.

    >>> visible("a\x1b[2J\n"), visible("a\u202eb\n", "\n")
    ('a�[2J�', 'a�b\n')
    """
    fit = (sign if sign.isprintable() or sign in kept else "�" for sign in text)
    return text if text.isprintable() else "".join(fit)


_COMMAND = re.compile(r"##(?=\w*\[)")  # to a runner, wherever it stands in a line


def visible_lines(text: str) -> str:
    r"""Return a text of several lines as `visible`, without what runners of continuous integration would obey.

    >>> visible_lines("a\x1b[2J\nb ##vso[task.complete]")
    'a�[2J\nb # #vso[task.complete]'
    """
    return "\n".join(_COMMAND.sub("# #", visible(line)) for line in text.split("\n"))


def cut_in_the_middle(text: str, most: int, tail: int | None = None) -> str:
    """A text in so many cells of a terminal at most, the last `tail` of which are its end: half unless given.

    >>> cut_in_the_middle("compile-with-everything-O3-lto", 18), cut_in_the_middle("名前は長い", 7)
    ('compile-w…g-O3-lto', '名…い')
    """
    if cells_of(text) <= most:
        return text
    tail = (most - 1) // 2 if tail is None else tail
    return f"{first_cells(text, most - 1 - tail)}…{_last_cells(text, tail)}"


def first_cells(text: str, most: int) -> str:
    """The beginning of a text, as much of it as so many cells of a terminal hold.

    >>> first_cells("abc", 2), first_cells("名前", 3)
    ('ab', '名')
    """
    if text.isascii():
        return text[: max(most, 0)]
    for length in range(min(len(text), most), 0, -1):
        if cells_of(text[:length]) <= most:
            return text[:length]
    return ""


def _last_cells(text: str, most: int) -> str:
    return first_cells(text[::-1], most)[::-1]


def fitting_names(names: Sequence[str], most: int) -> list[str]:
    """Names in so many cells at most (`LEAST_NAME` at least), cut in the middle; different ones stay different.

    Where the usual cut makes two the same, others are tried: nearer to the end or to the beginning, then one that
    keeps the place in which they differ, and in the end they are numbered.

    >>> fitting_names(["compile-with-everything-O2-lto", "compile-with-everything-O3-lto", "base"], 12)
    ['compil…2-lto', 'compil…3-lto', 'base']
    >>> fitting_names(["compile-gcc-and-link", "compile-icc-and-link"], 10)
    ['co…gcc…ink', 'co…icc…ink']
    """
    most = max(most, LEAST_NAME)
    different = dict.fromkeys(names)
    half = (most - 1) // 2
    for tail in (half, most // 3, 2 * most // 3, most - 3, 2):
        cut = {name: cut_in_the_middle(name, most, tail) for name in different}
        if len(set(cut.values())) == len(cut):
            return [cut[name] for name in names]
    cut = {name: cut_in_the_middle(name, most) for name in different}
    alike: dict[str, list[str]] = {}
    for name, short in cut.items():
        alike.setdefault(short, []).append(name)
    for group in alike.values():
        if len(group) > 1:
            cut |= _cut_where_they_differ(group, most)
    often, met = Counter(cut.values()), Counter[str]()
    for name, short in cut.items():
        if often[short] > 1 and short != name:
            cut[name] = _numbered(short, most, often, met)
    return [cut[name] for name in names]


def _numbered(short: str, most: int, taken: Counter[str], met: Counter[str]) -> str:
    """The next name of this beginning with a number that nobody has; it is taken then."""
    while True:
        met[short] += 1
        mark = f"#{met[short]}"
        numbered = first_cells(short, most - len(mark)) + mark
        if not taken[numbered]:
            taken[numbered] += 1
            return numbered


def _cut_where_they_differ(names: Sequence[str], most: int) -> dict[str, str]:
    """Names with the same beginning and end: what they have in common gives way to where they differ."""
    shortest = min(map(len, names))
    start = next((place for place in range(shortest) if len({name[place] for name in names}) > 1), shortest)
    cut: dict[str, str] = {}
    for room in (most // 3, most // 2, most - 4):
        ends = (most - 2 - room) // 2
        rest = most - 2 - room - ends
        cut = {
            name: f"{first_cells(name, ends)}…{first_cells(name[start:], room)}…{_last_cells(name, rest)}"
            for name in names
        }
        if len(set(cut.values())) == len(cut):
            break
    return cut


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
    """Return a library's message on an error: the first line that says something, shortened.

    >>> error_line(ValueError("\\n  bad thing.\\nand more")), error_line(KeyError())
    ('bad thing', 'KeyError')
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__).rstrip(".")
    return shortened(visible(text), most)


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The choice that a name may be a slip for, or short for; None if it is like none of them.

    Case and blanks around do not count. What is short for a choice has three letters at least, and begins no other one.

    >>> nearest("secnds", ["arm", "seconds"]), nearest("Arm ", ["arm", "x"]), nearest("q", ["arm"])
    ('seconds', 'arm', None)
    >>> nearest("min", ["minimize", "maximize"]), nearest("max", ["max_pulls", "max_time"])
    ('minimize', None)
    """
    by_folded, folded = {each.strip().casefold(): each for each in choices}, name.strip().casefold()
    near = get_close_matches(folded, by_folded, n=1)
    if not near and len(folded) >= 3:
        begun = [each for each in by_folded if each.startswith(folded)]
        near = begun if len(begun) == 1 else []
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


def number(value: float, place: int | None = None) -> str:
    """A number with four digits that count, as short as can be; or down to a decimal `place`, such as -2.

    >>> [number(x) for x in (0.0, 0.00123456, 1.5, 12345.6, 16384, 9.87654321e9, math.inf, math.nan)]
    ['0', '0.001235', '1.5', '12,346', '16,384', '9.877e+09', '∞', '?']
    """
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if place is not None:
        return f"{value:,.{-place}f}"
    if 1000.0 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def between(low: float, high: float, place: int | None = None) -> str:
    """An interval rounded outwards, so that what lies between its ends still does; its numbers are as of `number`.

    >>> between(1.01849, 1.08431), between(-math.inf, 0.3), between(12345.6, 12345.6), between(0.1 + 0.2, 999.99)
    ('[1.018, 1.085]', '[−∞, 0.3]', '[12,345, 12,346]', '[0.3, 1,000]')
    >>> between(1.01849, 1.08431, -2)
    '[1.01, 1.09]'
    """
    return f"[{at_least(low, place)}, {at_most(high, place)}]"


def at_least(value: float, place: int | None = None) -> str:
    """A number as of `number`, rounded down.

    >>> at_least(1.99999), at_most(1.00001)
    ('1.999', '1.001')
    """
    return number(_beside(value, ROUND_FLOOR, place), place)


def at_most(value: float, place: int | None = None) -> str:
    """A number as of `number`, rounded up."""
    return number(_beside(value, ROUND_CEILING, place), place)


def _beside(value: float, rounding: str, place: int | None) -> float:
    """The number that `number` writes without rounding it, below or above a value; 0.1 + 0.2 is 0.3."""
    if not math.isfinite(value):
        return value
    exact = Decimal(f"{value:.14g}")  # without what sums and logarithms leave at the end
    if place is None:
        place = 0 if 1000.0 <= abs(value) < 1e7 else exact.adjusted() - 3
    return float(exact.quantize(Decimal(1).scaleb(place), rounding))


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


def cost_in_words(amount: float, unit: str) -> str:
    """An amount with its unit; seconds as a time.

    >>> cost_in_words(12.5, "dollars"), cost_in_words(90.0, "seconds")
    ('12.5 dollars', '1 min 30 s')
    """
    return duration(amount) if unit == "seconds" else f"{number(amount)} {unit}"


def cost_range(least: float, most: float, unit: str) -> str:
    """An amount that lies between two, with two digits each: more would promise too much.

    >>> cost_range(1.234, 8.7, "dollars"), cost_range(20.0, 100.0, "seconds")
    ('1.2 to 8.7 dollars', '20 to 100 s')
    """
    if unit == "seconds":
        return time_range(least, most)
    low, high = (number(float(f"{amount:.2g}")) for amount in (least, most))
    return f"{high} {unit}" if low == high else f"{low} to {high} {unit}"


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


def in_lines(text: str, width: int) -> str:
    """A text in lines of so many characters, broken between words only; what follows stands two farther in.

    >>> print(in_lines("  by median of seconds, lower is better", 20))
      by median of
        seconds, lower
        is better
    """
    margin = text[: len(text) - len(text.lstrip())]
    return textwrap.fill(
        text, max(width, 20), subsequent_indent=f"{margin}  ", break_long_words=False, break_on_hyphens=False
    )
