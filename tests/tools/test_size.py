"""The size of the package: a budget of lines for each part of it, and names that say one thing."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "frontguard"
MODULES = sorted(SOURCE.rglob("*.py"))
BUDGET = tomllib.loads((ROOT / "tools" / "budget.toml").read_text(encoding="utf-8"))


def lines_by_package() -> Counter[str]:
    lines: Counter[str] = Counter()
    for path in MODULES:
        inside = path.relative_to(SOURCE)
        lines[inside.parts[0] if len(inside.parts) > 1 else "top"] += len(path.read_bytes().splitlines())
    return lines


def test_no_package_is_beyond_its_budget() -> None:
    lines = lines_by_package()
    assert {name: lines[name] for name in lines if lines[name] > BUDGET["packages"].get(name, 0)} == {}
    assert set(BUDGET["packages"]) == set(lines)
    assert (sum(lines.values()) <= BUDGET["lines"], len(MODULES) <= BUDGET["modules"]) == (True, True)


def test_no_module_has_the_name_of_two_others() -> None:
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")
    assert {name: count for name, count in names.items() if count > 2} == {}


def test_no_public_class_has_the_name_of_another() -> None:
    texts = [path.read_text(encoding="utf-8") for path in MODULES]
    names = Counter(name for text in texts for name in re.findall(r"^class ([A-Za-z]\w*)", text, re.MULTILINE))
    assert len(names) > 100
    assert {name for name, count in names.items() if count > 1} == set()
