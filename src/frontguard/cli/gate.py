"""`frontguard gate`: whether candidates are certainly worse than a baseline; for continuous integration."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard._common.secrets import replacing, without_password
from frontguard.cli import INTERRUPTED, OPEN, PASSED, WORSE, options
from frontguard.cli.run import begun_study, driven, spec_of
from frontguard.cli.screen import checked_folder, console, origin, print_json, say
from frontguard.errors import BadInput

if TYPE_CHECKING:
    from frontguard.commands.spec import Spec
    from frontguard.results import Answer, Origin

_OF_COMMANDS = (
    "candidate", "max_pulls", "max_pulls_per_arm", "max_time", "max_cost", "cost", "polish", "paired", "workers",
    "timeout", "warmups", "seed", "storage", "study",
)  # fmt: skip
_OF_LOGS = ("arm", "absent", "anytime", "cluster", "pair", "where", "format", "layout")


@options.command(
    *("minimize", "maximize", "tolerance", "limit", "contamination", "confidence"),
    *("max_time", "max_pulls", "storage", "json"),
    *("quantile", "mean", "exact", "sigma", "threat", "paired", "pair", "absent", "items", "independent"),
    *("max_pulls_per_arm", "cost", "max_cost", "polish", "workers", "timeout", "seed"),
    *("where", "cluster", "layout", "format", "explain", "all", "study"),
    baseline=options.text("NAME=COMMAND", "Command of the baseline; of a spec or log, an arm"),
    candidate=options.texts("NAME=COMMAND", "Command of a candidate; repeat for several"),
    open=options.text(
        "pass|fail", "What becomes of what is open: fail (exit code 3) or pass (0).", options.OUTPUT, value="fail"
    ),
    warmups=options.whole(0, "Runs of each command before its first pull, not counted.", options.MEASURING),
    arm=options.texts("COLUMN", "Column that names the arm of a row; repeat to join.", options.READING, shown="arm"),
    anytime=options.flag(
        "--anytime", "The logs were looked at while they grew, which bounds allow for.", options.READING
    ),
    summary=options.path(
        "FILE", "Write a summary in Markdown.", options.OUTPUT, shown="$GITHUB_STEP_SUMMARY, if that is set"
    ),
    junit=options.path("FILE", "Write JUnit XML, a test for each candidate and metric.", options.OUTPUT),
)
def gate(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOG",
            help="The baseline's log, then those of candidates (results of pyperf, pytest-benchmark or hyperfine, CSV, "
            "…; several files of one side as a glob in quotes); or one SPEC.toml, or one log with --baseline ARM.",
            show_default=False,
        ),
    ] = None,
    *,
    open: str,
    summary: Path | None,
    junit: Path | None,
    json: bool,
    explain: bool,
    storage: str | None,
    **given: Any,
) -> None:
    """Fail if a candidate is certainly worse than a baseline.

    Metrics are seconds, and a tolerance is 5%, unless options say otherwise. Without --storage nothing is kept.

    Commands are measured in random order until each metric of each candidate is certainly worse by more than the
    tolerance, or certainly not, and keeps to each --limit or does not; logs are read. Exit code 0 if none is worse, 1
    if any is, 3 if that is open, 2 if something is wrong with the input, 4 if it could not go on (disk, memory, a fault
    of its own), 130 if interrupted, 141 if nobody reads its output.
    """
    given = {name: value for name, value in (given | {"storage": storage}).items() if value not in (None, False)}
    if open not in ("pass", "fail"):
        raise BadInput(f"--open: wanted pass or fail; got {open!r}")
    if summary is None and (step := os.environ.get("GITHUB_STEP_SUMMARY")):
        summary = Path(step)
    for path in (summary, junit):
        if path is not None:
            checked_folder(path)
            if path.is_symlink() and (path.is_file() or path.parent != Path("/dev")):
                raise BadInput(f"{path}: wanted a file to write to; got a link")
    specs = [each for each in logs or () if each.endswith(".toml")]
    if logs and not specs:
        options.refuse(given, _OF_COMMANDS, "goes with commands; a log is measured already")
        found, made = _of_logs(logs, given), origin([without_password(each) for each in logs])
    else:
        options.refuse(given, _OF_LOGS, "goes with logs; got commands")
        spec = _spec(specs, logs or (), given)
        found, made = _measured(spec, storage), origin(spec.name, seed=spec.seed, spec=spec.source_text or None)
    _finish(
        found,
        made,
        open_passes=open == "pass",
        summary=summary,
        junit=junit,
        json=json,
        explain=explain,
        every=given.get("all", False),
    )


def _spec(specs: Sequence[str], logs: Sequence[str], given: dict[str, Any]) -> Spec:
    """The spec of a file, or of --baseline and --candidate, that asks whether these are worse than the baseline."""
    from frontguard.phrases import did_you_mean

    baseline, candidates = given.get("baseline"), given.get("candidate") or []
    if not specs:
        if baseline is None or not candidates:
            raise BadInput(
                "wanted --baseline NAME=COMMAND and --candidate NAME=COMMAND, a SPEC.toml, or two logs; see "
                "frontguard gate --help"
            )
        by_options = ["--baseline", *("--candidate" for _ in candidates)]
        spec = spec_of(None, [baseline, *candidates], given, by_options)
        baseline = spec.arms[0].name
    else:
        if len(logs) > 1:
            raise BadInput(f"wanted one spec, or logs; got {specs[0]} and {len(logs) - 1} more")
        if candidates:
            raise BadInput(f"--candidate goes with commands; the arms of {specs[0]} are written in the file")
        spec = spec_of(Path(specs[0]), (), given)
        spec = spec if given.get("study") else replace(spec, name=f"{spec.name}-gate")
        baseline = baseline or spec.baseline
        names = [each.name for each in spec.arms]
        if baseline is None:
            raise BadInput(f"{specs[0]}: wanted the baseline, --baseline ARM or baseline = ARM in [study]; got neither")
        if baseline not in names:
            near = did_you_mean(baseline, names)
            raise BadInput(f"--baseline: {specs[0]} has no arm {baseline!r}{near}; its arms are {', '.join(names[:8])}")
    if given.get("warmups") is not None:
        spec = replace(spec, arms=tuple(replace(each, warmups=given["warmups"]) for each in spec.arms))
    return spec.asking(spec.question.but(baseline=baseline))


def _of_logs(logs: Sequence[str], given: dict[str, Any]) -> Answer:
    from frontguard.logs.sides import gate as gate_of_logs
    from frontguard.words.terminal import ProgressDisplay

    baseline = given.get("baseline")
    if len(logs) == 1 and baseline is None:
        raise BadInput(
            f"wanted a log to compare with {without_password(logs[0])}, or --baseline ARM if it has both; got one log"
        )
    if len(logs) > 1 and baseline is not None:
        raise BadInput(
            f"--baseline names an arm of a single log, or is a command; of {len(logs)} logs the first is the baseline"
        )
    with ProgressDisplay() as display:
        return gate_of_logs(
            logs[0],
            *logs[1:],
            baseline_arm=baseline,
            where=options.by_column(given.get("where")),
            progress=display.reading,
            **{name: given[name] for name in ("arm", "threat", "layout", "format") if name in given},
            **options.asked(given),
        )


def _measured(spec: Spec, storage: str | None) -> Answer:
    """Measure until it is decided, or a budget is over."""
    from frontguard.logs.sides import with_robustness
    from frontguard.storage.contract import open_storage

    where = storage or "memory:"
    with open_storage(where) as opened:
        study = begun_study(spec, opened, without_password(where))
        ended = driven(spec, study)
        gate = with_robustness(study.state().gate(ended.answer, ended.how), study)
        return replace(ended.answer, gate=gate, notices=ended.notices)


def _finish(
    found: Answer,
    made: Origin,
    *,
    open_passes: bool,
    summary: Path | None,
    junit: Path | None,
    json: bool,
    explain: bool,
    every: bool,
) -> None:
    on_github = bool(os.environ.get("GITHUB_ACTIONS"))
    code = exit_code(found, open_passes=open_passes)
    marks: list[str] = []
    mute = unmute = ""
    if on_github or summary is not None or junit is not None:
        from frontguard.reports import plain as sent

        if on_github:
            marks, (mute, unmute) = list(sent.github_marks(found, open_passes=open_passes)), sent.muted()
        if summary is not None:
            again = summary == Path(os.environ.get("GITHUB_STEP_SUMMARY", os.devnull))
            _write("--summary", summary, sent.summary(found), append=again)
        if junit is not None:
            _write("--junit", junit, sent.junit(found, open_passes=open_passes))
    if json:
        from frontguard.words.gate import answer

        told = {"answer": answer(found), "exit_code": code, **vars(made)}
        print_json(found.entries(), told.items())
        for line in marks:
            say(line)
    else:
        if mute:
            print(mute)
        _print(found, explain=explain, every=every)
        for line in filter(None, (unmute, *marks)):
            print(line)
    raise typer.Exit(code)


def exit_code(found: Answer, *, open_passes: bool = False) -> int:
    """Return the exit code: what is open passes if that is wanted, but for what could not be measured."""
    from frontguard.comparisons.outcomes import Outcome
    from frontguard.words.gate import of

    gate = of(found)
    if gate.status == "cancelled":
        return INTERRUPTED
    if gate.outcome == Outcome.OPEN:
        return PASSED if open_passes and not gate.broken else OPEN
    return WORSE if gate.outcome == Outcome.WORSE else PASSED


def _write(option: str, path: Path, text: str, *, append: bool = False) -> None:
    """Write a file, whole or not at all; one that is no plain file, as a pipe is, and the runner's own is added to."""
    try:
        if append or (path.exists() and not path.is_file()):
            with open(path, "ab", buffering=0, opener=_unlinked) as added:
                added.write(text.encode())
        else:
            with replacing(path, opener=None) as file:
                file.write(text.encode())
    except OSError as error:
        raise BadInput(f"{option} {path}: cannot be written: {error.strerror or error}") from None


def _unlinked(path: str, flags: int) -> int:
    """Open a file, but no link: what was tested may have put one there meanwhile. Those of /dev are the system's."""
    follow = 0 if Path(path).parent == Path("/dev") else getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags | follow, 0o666)


def _print(found: Answer, *, explain: bool, every: bool) -> None:
    from frontguard.words.answers import Printing, next_line, printed

    printed(console(), found, Printing(next=next_line(found), explain=explain, every=every))
    sys.stdout.flush()
