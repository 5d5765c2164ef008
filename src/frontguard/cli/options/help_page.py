"""The page that `--help` prints: usage, what a command does, and its options in boxes.

Drawn here rather than by typer, whose pages need rich with Markdown and syntax highlighting: a third of a second of
imports before the first line.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import Any

NARROWEST = 40
"""Columns below which boxes are not squeezed any further."""


def page(command: Any, context: Any) -> str:
    """All of it, with the colours that `click.echo` takes away where nobody sees any."""
    width = max(NARROWEST, int(os.environ.get("TERMINAL_WIDTH") or shutil.get_terminal_size().columns))
    usage = " ".join(["Usage:", context.command_path, *command.collect_usage_pieces(context)])
    parts = ["", *_paragraph(usage, width, "bold"), ""]
    for text in (command.help or "").split("\n\n"):
        parts += [*_paragraph(text, width), ""] if text.strip() else []
    for name, rows in _boxes(command, context).items():
        parts += _box(name, rows, width)
    return "\n".join([*parts, ""])


def _paragraph(text: str, width: int, *style: str) -> list[str]:
    lines = textwrap.wrap(" ".join(text.split()), width - 2, break_on_hyphens=False)
    return [" " + _styled(line, *style) for line in lines]


def _boxes(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Names and explanations by box, in the order in which they are shown."""
    boxes: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None:  # it is not hidden
            argument = param.param_type_name == "argument"
            panel = getattr(param, "rich_help_panel", None) or ("Arguments" if argument else "Options")
            boxes.setdefault(panel, []).append(record)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        found = command.get_command(context, name)
        boxes.setdefault("Commands", []).append((name, (found.help or "").split("\n\n")[0]))
    return boxes


def _box(name: str, rows: list[tuple[str, str]], width: int) -> list[str]:
    inner = width - 4
    first = min(max(len(names) for names, _ in rows), inner // 2)
    lines = []
    for names, text in rows:
        left = textwrap.wrap(names, first, break_on_hyphens=False)
        right = textwrap.wrap(" ".join(text.split()), inner - first - 2, break_on_hyphens=False)
        for i in range(max(len(left), len(right))):
            one, other = (side[i] if i < len(side) else "" for side in (left, right))
            lines.append(_styled(one, "cyan") + " " * (first + 2 - len(one)) + other.ljust(inner - first - 2))
    edge = _styled("│", "dim")
    top = f"╭─ {name} " + "─" * (width - len(name) - 5) + "╮"
    bottom = "╰" + "─" * (width - 2) + "╯"
    return [_styled(top, "dim"), *(f"{edge} {line} {edge}" for line in lines), _styled(bottom, "dim")]


def _styled(text: str, *style: str) -> str:
    if not text or not style or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    codes = {"bold": "1", "dim": "2", "cyan": "36"}
    return f"\x1b[{';'.join(codes[each] for each in style)}m{text}\x1b[0m"
