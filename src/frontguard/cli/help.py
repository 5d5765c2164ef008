"""What `--help` prints: options of everyday use, a line each, and two examples; `--help-all` lists the others too."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable
from typing import Any

import typer

from frontguard.cli.options import PlainCommand

EXAMPLES = {
    "demo": ("frontguard demo", "frontguard demo --contamination 0.3 --output here"),
    "plan": (
        "frontguard plan --arms 12 --minimize seconds --tolerance 0.05 --gaussian 0.1",
        "frontguard plan --tests 300 --noise 1% --tolerance 3%",
    ),
    "run": (
        "frontguard run --arm 'gzip=gzip -k data' --arm 'zstd=zstd -fk data'",
        "frontguard run flags.toml --max-time '10 min'",
    ),
    "analyze": (
        "frontguard analyze results.json",
        "frontguard analyze log.csv --arm model --maximize solved --minimize price",
    ),
    "gate": (
        "frontguard gate 'main-*.json' 'pr-*.json' --tolerance 3%",
        "frontguard gate --baseline 'main=./old' --candidate 'pr=./new' --max-time 60",
    ),
    "report": ("frontguard report levels.db -o levels.html", "frontguard analyze log.csv --json | frontguard report -"),
    "serve": ("frontguard serve levels.db --open", "frontguard serve postgresql://lab/studies --port 0"),
    "reproduce": ("frontguard reproduce --help-all", "frontguard reproduce all --data DIR"),
}
"""Two for each command."""


_BRACES = str.maketrans("", "", "{}")


class HelpfulCommand(PlainCommand):
    """A command with this help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Answer `--help-all`."""
        if "--help-all" in args:
            typer.echo(self._help(ctx, every=True))
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(self._help(ctx, every=False))

    def _help(self, ctx: Any, *, every: bool) -> str:
        width = min(shutil.get_terminal_size().columns, 100)
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if each.param_type_name == "argument":
                panels.setdefault("Arguments", []).append((str(each.metavar), _said(each)))
            elif each.name != "help":
                panels.setdefault(getattr(each, "rich_help_panel", None) or "Options", []).append(
                    (_names(each), _said(each))
                )
        shown = {name: rows for name, rows in panels.items() if every or name in ("Arguments", "Options")}
        left = [name.split()[0] for heading, rows in panels.items() if heading not in shown for name, _ in rows]
        lines = [f"Usage: {' '.join([ctx.command_path, *self.collect_usage_pieces(ctx)]).translate(_BRACES)}", ""]
        for paragraph in (self.help or "").split("\n\n"):
            lines += [*textwrap.wrap(" ".join(paragraph.split()), width), ""]
        for heading, rows in shown.items():
            lines += [f"{heading}:", *_table(rows, width), ""]
        if left:
            lines += [
                *textwrap.wrap(f"More (--help-all explains them): {', '.join(left)}", width, break_on_hyphens=False),
                "",
            ]
        return "\n".join([*lines, "Examples:", *(f"  {each}" for each in EXAMPLES[str(ctx.info_name)])]) + "\n"


def _names(option: Any) -> str:
    both = "/".join([", ".join(reversed(option.opts)), *option.secondary_opts])
    return f"{both} {option.metavar or ''}".rstrip()


def _said(parameter: Any) -> str:
    """Return what a parameter is for, and what it is where it is not given."""
    shown, value = parameter.show_default, parameter.default
    default = shown if isinstance(shown, str) else value if shown and value not in (None, False, ()) else None
    return f"{parameter.help}{'' if default is None else f' [default: {default}]'}"


def _table(rows: Iterable[tuple[str, str]], width: int) -> Iterable[str]:
    rows = list(rows)
    room = min(max(len(name) for name, _ in rows), 28)
    for name, said in rows:
        first, *rest = textwrap.wrap(said, width - room - 4, break_on_hyphens=False) or [""]
        yield f"  {name:{room}}  {first}"
        yield from (f"{'':{room + 4}}{line}" for line in rest)
