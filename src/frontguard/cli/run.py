"""`frontguard run`: pulls arms by running their commands until the answer is certified; goes on where it was."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from frontguard._common.checks import checked_seconds
from frontguard._common.secrets import without_password
from frontguard.cli import INTERRUPTED, OPEN, PASSED, options
from frontguard.cli.screen import (
    check_asked,
    checked_target,
    console,
    keep,
    origin,
    print_beside,
    print_json,
    say,
    stopped_by,
)
from frontguard.errors import BadInput

if TYPE_CHECKING:
    from frontguard.commands.run import Ended
    from frontguard.commands.spec import Spec
    from frontguard.comparisons.picks import Beside
    from frontguard.limits import Limit
    from frontguard.storage.contract import Storage
    from frontguard.studies.study import Study

MOST_COMPARED = 60
"""Arms that the table against the baseline shows."""

QUICK_STORAGE = "frontguard-run.db"
"""Where studies without a spec file are kept, in the current folder."""


@options.command(
    *("minimize", "maximize", "tolerance", "limit", "contamination", "confidence"),
    *("max_time", "max_pulls", "storage", "report", "json"),
    *("quantile", "mean", "exact", "sigma", "threat", "goal", "paired", "items", "independent"),
    *("blocks", "max_pulls_per_arm", "cost", "max_cost", "polish", "workers", "timeout", "seed"),
    *("explain", "all", "study", "baseline", "pick"),
    arm=options.texts("NAME=COMMAND", "Compare commands without a spec; repeat for each"),
    allow_failed_arms=options.flag(
        "--allow-failed-arms", "Exit 0 if certified, even if arms that fail were excluded.", options.OUTPUT
    ),
)
def run(
    spec: Annotated[
        Path | None, typer.Argument(metavar="SPEC.toml", help="What to compare, and how; see docs/run.md.")
    ] = None,
    *,
    arm: list[str] | None,
    allow_failed_arms: bool,
    **given: Any,
) -> None:
    """Run commands until it is certain which of them are best.

    Commands given by --arm are compared by seconds, with a tolerance of 5%, unless options say otherwise.

    Every measurement is stored as it comes: after an interruption the same command goes on. The first Ctrl-C waits for
    the pulls that are under way; the second gives them up, and they count as failed. Exit code 0 if certified, 3 if
    stopped without a certificate or if arms were excluded (see --allow-failed-arms), 130 if interrupted.
    """
    report: Path | None = given["report"]
    if report is not None:
        checked_target(report)
    wanted = spec_of(spec, arm or (), given)
    from frontguard.comparisons.picks import asked

    beside_it = asked(given["baseline"], given["pick"])
    check_asked(beside_it, [each.name for each in wanted.arms], wanted.question.objectives)
    where = given["storage"] or wanted.storage or QUICK_STORAGE
    from frontguard.storage.contract import open_storage

    with open_storage(where) as opened:
        ended = looked_back(driven(wanted, begun_study(wanted, opened, without_password(where))), opened)
        beside = ended.answer.beside(beside_it)
        if given["json"]:
            from frontguard.notices import warnings_in_short

            file, text = None if spec is None else str(spec), wanted.source_text or None
            made = origin(file, seed=wanted.seed, spec=text)
            told = {"answer": ended.said, "storage": without_password(where), **beside.entries(), **vars(made)}
            print_json(ended.entries(), told.items())
            if sys.stderr.isatty():  # the view has shown them, and is gone
                for warning in warnings_in_short(ended.notices):
                    say(f"warning: {warning}")
        else:
            _print(ended, opened, without_password(where), beside, explain=given["explain"], every=given["all"])
        if report is not None:
            from frontguard.reports.of_results import study_report
            from frontguard.reports.report import with_beside

            shown = without_password(where)
            made_report = study_report(opened, ended.answer.state.name, where=shown, said=ended.said)
            keep(with_beside(made_report, ended.answer, beside), report)
    certified = ended.answer.status == "certified"
    if certified:
        raise typer.Exit(OPEN if ended.answer.excluded and not allow_failed_arms else PASSED)
    raise typer.Exit(INTERRUPTED if ended.how == "cancelled" else OPEN)


def spec_of(file: Path | None, arms: Sequence[str], given: Mapping[str, Any], by_options: Sequence[str] = ()) -> Spec:
    """The spec of a file, or of commands NAME=COMMAND, with what else the options of a command say."""
    from frontguard.commands.spec import read_spec, spec_from_arms
    from frontguard.limits import with_limits

    if file is not None and arms:
        raise BadInput(f"wanted a spec file or --arm, not both; got {file} and {len(arms)} arms")
    if file is None:
        if not arms:
            raise BadInput("wanted a spec file, or two or more --arm NAME=COMMAND; see frontguard run --help")
        said = options.asked(given)
        return with_options(spec_from_arms(arms, options=by_options, threat=given.get("threat"), **said), given)
    why = f"goes with commands; the objectives of {file} are written in the file"
    options.refuse(given, ("minimize", "maximize"), why)
    spec = read_spec(file)
    said = options.asked(given, [each.name for each in spec.question.objectives])
    said["limits"] = with_limits(spec.question.limits, cast("Sequence[Limit]", said.get("limits") or ()))
    return with_options(spec.asking(spec.question.but(threat=given.get("threat"), **said)), given)


def with_options(spec: Spec, given: Mapping[str, Any]) -> Spec:
    """The spec with what the command line says of measuring; nothing changes where it says nothing."""
    from frontguard.commands.spec import default_lease

    spec.check_commands()
    changes = {name: given.get(name) for name in ("workers", "seed")}
    if given.get("max_time") is not None:
        changes["max_time"] = checked_seconds(given["max_time"], "max_time")
    if given.get("timeout") is not None:
        timeout = checked_seconds(given["timeout"], "timeout")
        lease = max(spec.lease, default_lease(spec.arms, timeout, spec.prepare_timeout))
        changes |= {"timeout": timeout, "lease": lease}
    spec = replace(spec, **{name: value for name, value in changes.items() if value is not None})
    return replace(spec, name=given.get("study") or (spec.name if spec.source_text else _quick_name(spec)))


def _quick_name(spec: Spec) -> str:
    """A name for a study without a file: the same for the same arms, so that the same command goes on with it."""
    question = spec.question
    asked = [
        [each.measured for each in question.columns.boxed],
        question.threat.name,
        question.contaminations,
        question.confidence,
    ]
    text = dumps([spec.identity(), asked, spec.seed], sort_keys=True)
    return f"arms-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def begun_study(spec: Spec, storage: Storage, where: str) -> Study:
    """Begin the study or take it up again, and say which."""
    from frontguard.studies.study import Study

    before = storage.size(spec.name)[1] if spec.name in storage.studies() else None
    while True:
        begun = _about(storage, spec.name)
        try:
            study = Study(
                [each.name for each in spec.arms],
                question=spec.question,
                storage=storage,
                name=spec.name,
                seed=spec.seed,
                lease=spec.lease,
                about=spec.about(begun) | spec.arm_parts(),
            )
            break
        except BadInput:
            if begun is not None or _about(storage, spec.name) is None:
                raise  # else somebody began it this very moment: with a salt of their own
    done = "beginning" if before is None else f"going on with {before:,} pulls of"
    say(f"{done} study {spec.name!r} in {where}")
    question = study.settings.question
    if question.limits or any(each.bounds for each in question.objectives):  # what it imports takes long
        from frontguard.words.plan import out_of_reach

        for line in out_of_reach(study.settings):
            say(f"warning: {line}")
    if concern := storage.concern():
        say(concern)
    return study


def _about(storage: Storage, name: str) -> dict[str, Any] | None:
    """Return what a study keeps of its spec; None if there is no such study."""
    from frontguard.studies.settings import Settings

    return Settings.from_json(storage.settings(name)).about if name in storage.studies() else None


def driven(spec: Spec, study: Study) -> Ended:
    """Run the study to its end, shown on stderr; Ctrl-C stops it."""
    from frontguard.commands.process import clear_abandoned, end_abandoned
    from frontguard.commands.run import CommandedRun, view_for, warm_up
    from frontguard.measure.drive import Broken, FirstMistake, NotTold

    with _patient("getting ready …"):
        warm_up(spec)
    left = end_abandoned()
    if left:
        say(f"ended {left} {'process' if left == 1 else 'processes'} that an earlier run had left behind")
    cleared = clear_abandoned()
    if cleared:
        say(f"removed {cleared} {'folder' if cleared == 1 else 'folders'} that an earlier run had left behind")
    cancel, give_up = threading.Event(), threading.Event()
    with view_for(sys.stderr) as view, stopped_by(partial(_stop, cancel, give_up)):
        try:
            return CommandedRun(spec, study, view, cancel=cancel, give_up=give_up).until_done()
        except FirstMistake as error:
            raise BadInput(f"{error}. Mend it and run the same command again: it begins anew") from None
        except (Broken, NotTold) as error:
            problem = str(error)
    say(f"frontguard: {problem}")
    raise typer.Exit(OPEN)


@contextmanager
def _patient(message: str) -> Iterator[None]:
    """Say what takes so long, if it does."""
    timer = threading.Timer(2.0, say, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _stop(cancel: threading.Event, give_up: threading.Event, number: int) -> None:
    """Ctrl-C sets `cancel`, and once more `give_up`; SIGTERM and a lost terminal set both.

    After that we leave at once, with all that runs: who takes the study up next finds our pulls lost.
    """
    from frontguard.commands.process import end_marked
    from frontguard.studies.measurement import this_worker

    if give_up.is_set():
        if sys.stderr.isatty():
            os.write(2, b"\x1b[?25h\n")  # the view had hidden the cursor
        end_marked(this_worker(), os.getpid())
        os._exit(INTERRUPTED)
    if cancel.is_set() or number != signal.SIGINT:
        give_up.set()
    cancel.set()


def looked_back(ended: Ended, storage: Storage) -> Ended:
    """Return the end with what its log tells besides, where arms are open: up to which smaller ε more is certain."""
    found = ended.answer
    if found.status == "certified" or ended.how == "cancelled" or not found.pulls:
        return ended
    from frontguard.logs.of_study import own_answer, read_study
    from frontguard.studies.study import Study

    log = own_answer(read_study(Study.open(storage, found.state.name)))[0].log
    return replace(ended, answer=replace(found, log=log))


# The end --------------------------------------------------------------------------------------------------------------


def _print(ended: Ended, storage: Storage, where: str, beside: Beside, *, explain: bool, every: bool) -> None:
    from frontguard.words.answers import Printing, next_line, printed

    screen, found = console(), replace(ended.answer, notices=() if _in_one_log() else ended.notices)
    step = next_line(ended.answer, ended.how, where, several=len(storage.studies()) > 1)
    page = Printing(ended.how, ended.said, where, step, every=every, explain=explain)
    printed(screen, found, page, lambda: print_beside(screen, found, beside, MOST_COMPARED, "--report FILE.csv"))


def _in_one_log() -> bool:
    """Return True where stdout goes to where the warnings went already, as with `2>&1`; not on a terminal."""
    try:
        return not sys.stderr.isatty() and os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # streams that are no files
        return False
