"""`frontguard run`: pulls arms by running their commands until the answer is certified; goes on where it was."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frontguard.cli.report import checked_target, commands_to_look, origin

if TYPE_CHECKING:
    from frontguard.commands.run import Ended
    from frontguard.commands.spec import Spec
    from frontguard.storage.contract import Storage
    from frontguard.studies.study import Study
import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frontguard.errors import BadInput
from frontguard.storage.open import without_password

if TYPE_CHECKING:
    from frontguard.commands.spec import Spec
    from frontguard.objectives import Objective


INTERRUPTED, NOT_CERTIFIED = 130, 3
"""Exit codes."""


def run(
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC.toml]", help="What to compare, and how; see docs/run.md.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Where the study is kept: a file or postgresql://… (without: SPEC.db beside the spec)."),
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="NAME=COMMAND, a quick comparison without a file; repeat for each.")
    ] = None,
    minimize: Annotated[
        list[str] | None,
        typer.Option(help="With --arm: metric to be minimised (without: seconds); repeat for several."),
    ] = None,
    maximize: Annotated[
        list[str] | None, typer.Option(help="With --arm: metric to be maximised; repeat for several.")
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Difference that does not matter, 0.5 or 2%; or METRIC=2%, repeated (--arm: 5%)."),
    ] = None,
    contamination: Annotated[
        float | None, typer.Option(help="Share of the measurements that may be anything (without: 0.1).")
    ] = None,
    threat: Annotated[str | None, typer.Option(help="oblivious, prescient or malicious (without: prescient).")] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Probability with which the answer must hold (without: 0.95).")
    ] = None,
    pulls: Annotated[int | None, typer.Option(help="Stop after so many pulls of all arms together.")] = None,
    time: Annotated[str | None, typer.Option(help='Stop this run after so long, such as "30 min".')] = None,
    workers: Annotated[int | None, typer.Option(help="Pulls at a time (without: 1).")] = None,
    timeout: Annotated[
        str | None, typer.Option(help="Time after which a pull has failed (without: 600 seconds).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the order in which arms are measured.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the study in its storage (without: the spec's).")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this file, .html, .md or .csv, when the run ends.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Run commands until it is certain which candidates are on the trade-off front.

    Every measurement is stored as it comes: after an interruption the same command goes on. Exit code 0 if certified,
    3 if stopped without a certificate, 130 if interrupted.
    """
    options = Options(
        storage, tuple(arm or ()), tuple(minimize or ()), tuple(maximize or ()), tuple(tolerance or ()), threat,
        contamination, confidence, pulls, time, workers, timeout, seed, name,
    )  # fmt: skip
    if report is not None:
        checked_target(report)
    wanted = spec_of(spec, options)
    where = storage_of(wanted, options)
    from frontguard.storage.open import open_storage

    with open_storage(where) as opened:
        study = _study(wanted, opened, without_password(where))
        ended = _driven(wanted, study)
        if json:
            from frontguard.documents.result import RunDocument

            file, text = None if spec is None else str(spec), wanted.source_text or None
            made = origin(sys.argv[1:], file, seed=wanted.seed, spec=text)
            print(RunDocument.of(ended, without_password(where), made, wanted.objectives).text())
            _print_warnings_on_stderr(ended)
        else:
            _print(ended, without_password(where), several=len(opened.studies()) > 1)
        if report is not None:
            _write_report(report, opened, ended, without_password(where))
    raise typer.Exit(exit_code(ended))


def _study(spec: Spec, storage: Storage, where: str) -> Study:
    """Begin the study or take it up again, and say which."""
    from frontguard.studies.study import Study

    before = storage.size(spec.name)[1] if spec.name in storage.studies() else None
    study = Study(
        [each.name for each in spec.arms],
        spec.objectives,
        spec.threat,
        confidence=spec.confidence,
        storage=storage,
        name=spec.name,
        most_pulls=spec.budget.pulls,
        most_pulls_per_arm=spec.budget.pulls_per_arm,
        seed=spec.seed,
        lease=spec.lease,
        about={"identity": spec.identity(), "spec": spec.source_text},
    )
    done = "beginning" if before is None else f"going on with {before:,} pulls of"
    _say(f"{done} study {spec.name!r} in {where}")
    described = getattr(storage, "describe", None)
    if described is not None:
        _say(described())
    return study


def _driven(spec: Spec, study: Study) -> Ended:
    """Run the study to its end, shown on stderr; Ctrl-C stops it."""
    from frontguard.commands.live import view_for
    from frontguard.commands.process import end_abandoned
    from frontguard.commands.run import CommandedRun, warm_up
    from frontguard.measure.drive import Broken, NotTold

    with _patient("compiling kernels (on first use, about half a minute) …"):
        warm_up(spec)
    left = end_abandoned()
    if left:
        _say(f"ended {left} {'process' if left == 1 else 'processes'} that an earlier run had left behind")
    cancel = threading.Event()
    with view_for(sys.stderr) as view, _stopped_by_signals(cancel):
        try:
            return CommandedRun(spec, study, view, cancel=cancel).until_done()
        except (Broken, NotTold) as error:
            problem = str(error)
    _say(f"frontguard: {problem}")
    raise typer.Exit(NOT_CERTIFIED)


@contextmanager
def _patient(message: str, after: float = 2.0) -> Iterator[None]:
    """Say what takes so long, if it does."""
    timer = threading.Timer(after, _say, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _stopped_by_signals(cancel: threading.Event) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a lost terminal set `cancel`; the second time we leave at once, with all that runs."""
    from frontguard.commands.process import end_marked
    from frontguard.commands.run import STOPS
    from frontguard.studies.workers import this_worker

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        if not cancel.is_set():
            cancel.set()
            return
        if sys.stderr.isatty():
            os.write(2, b"\x1b[?25h\n")  # the view had hidden the cursor
        end_marked(this_worker(), os.getpid())
        os._exit(INTERRUPTED)

    before: dict[int, Any] = {}
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


# The end --------------------------------------------------------------------------------------------------------------


def exit_code(ended: Ended) -> int:
    """0 certified, 3 stopped without a certificate, 130 interrupted."""
    if ended.snapshot.result.status == "certified":
        return 0
    return INTERRUPTED if ended.how == "cancelled" else NOT_CERTIFIED


def _write_report(path: Path, storage: Storage, ended: Ended, where: str) -> None:
    from frontguard.reports.study import study_report
    from frontguard.reports.write import save

    save(study_report(storage, ended.snapshot.study, where=where, said=ended.answer), path)
    _say(f"report: {path}")


def _print_warnings_on_stderr(ended: Ended) -> None:
    """On a terminal the view has shown them, and is gone."""
    if sys.stderr.isatty():
        for warning in ended.warnings:
            _say(f"warning: {warning}")


def _print(ended: Ended, where: str, *, several: bool = False) -> None:
    from rich.console import Console
    from rich.text import Text

    from frontguard.phrases import duration
    from frontguard.words.study import guarantee, table

    console = Console(highlight=False) if sys.stdout.isatty() else Console(width=120, highlight=False)
    snapshot = ended.snapshot
    console.print(Text(ended.answer, style="bold"))
    console.print()
    console.print(table(snapshot))
    console.print()
    if len(snapshot.aside) < len(snapshot.result.arms):
        console.print(Text(guarantee(snapshot)))
    for warning in ended.warnings:
        console.print(Text(f"Warning: {warning}", style="yellow"))
    failed = f", {snapshot.failed:,} of them failed" if snapshot.failed else ""
    console.print(
        Text(f"{snapshot.pulls:,} pulls{failed}; this run took {duration(snapshot.seconds)}. Stored in {where}.")
    )
    console.print()
    look = commands_to_look(where, snapshot.study, several=several)
    if look and snapshot.result.status != "certified" and snapshot.pulls:
        console.print(Text(f"So far: {look}."))
    console.print(Text(f"Next: {next_step(ended, sys.argv[1:], where, several=several)}"))


def next_step(ended: Ended, arguments: list[str], where: str, *, several: bool = False) -> str:
    """What to do now, by how it ended: a command, where one helps."""
    from frontguard.words.study import enough_pulls, looser, more_to_come

    snapshot = ended.snapshot
    result = snapshot.result
    again = command_line(arguments)
    if result.status == "certified":
        look = commands_to_look(where, snapshot.study, several=several)
        every_pull = f"; frontguard.Study.open({where!r}, {snapshot.study!r}).to_frame() gives every pull"
        machines = f"`{command_line([*arguments, '--json'])}` prints this for machines"
        return f"{look}; {machines}{every_pull}." if look else f"{machines}."
    if ended.how == "cancelled":
        return f"`{again}` goes on where it stopped; {more_to_come(snapshot)}."
    if len(snapshot.aside) == len(result.arms):
        return "mend the command; then begin anew, with another --name or --storage."
    if result.status == "unreachable":
        goals = looser(snapshot)
        if goals is None:
            return "see to it that fewer pulls fail, then begin anew with another --name or --storage."
        texts = [goals[0][1]] if len(goals) == 1 else [f"{each.name}={text}" for each, text in goals]
        fewer = ", or fewer failures in a new study (another --name)" if snapshot.failed else ""
        return f"a looser tolerance, which could be reached: `{command_line(arguments, tolerance=texts)}`{fewer}."
    if ended.how == "time":
        return f"`{again}` goes on for as long again; {more_to_come(snapshot)}."
    if snapshot.most_pulls is None:
        return f"a larger pulls_per_arm in the spec, then the same command; {more_to_come(snapshot)}."
    enough = enough_pulls(snapshot) or 2 * snapshot.pulls
    return f"a larger budget: `{command_line(arguments, pulls=str(enough))}`; {more_to_come(snapshot)}."


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


QUICK_STORAGE = "frontguard-run.db"
"""Where studies without a spec file are kept, in the current folder."""


@dataclass(frozen=True)
class Options:
    """The options of the command line; None (or empty) where nothing was said."""

    storage: str | None = None
    arms: tuple[str, ...] = ()
    minimize: tuple[str, ...] = ()
    maximize: tuple[str, ...] = ()
    tolerance: tuple[str, ...] = ()
    threat: str | None = None
    contamination: float | None = None
    confidence: float | None = None
    pulls: int | None = None
    time: str | None = None
    workers: int | None = None
    timeout: str | None = None
    seed: int | None = None
    name: str | None = None


def spec_of(file: Path | None, options: Options) -> Spec:
    """The spec of a file, or of --arm options, with the other options in their places."""
    from frontguard.commands.spec import read_spec, spec_from_arms
    from frontguard.theory.threats import threat_named

    if file is not None and options.arms:
        raise BadInput(f"wanted a spec file or --arm, not both; got {file} and {len(options.arms)} arms")
    if file is None:
        if not options.arms:
            raise BadInput("wanted a spec file, or two or more --arm NAME=COMMAND; see frontguard run --help")
        spec = spec_from_arms(options.arms, minimize=options.minimize, maximize=options.maximize)
    else:
        for option, given in (("--minimize", options.minimize), ("--maximize", options.maximize)):
            if given:
                raise BadInput(f"{option} goes with --arm; the objectives of {file} are written in the file")
        spec = read_spec(file)
    changes: dict[str, Any] = {}
    if options.threat is not None or options.contamination is not None:
        eps = spec.threat.eps if options.contamination is None else options.contamination
        changes["threat"] = threat_named(options.threat or spec.threat.name, eps)
    if options.confidence is not None:
        if not 0.0 < options.confidence < 1.0:
            raise BadInput(
                f"--confidence: wanted a probability between 0 and 1, such as 0.95; got {options.confidence}"
            )
        changes["confidence"] = options.confidence
    for option, given_number, least in (
        ("workers", options.workers, 1),
        ("seed", options.seed, 0),
        ("pulls", options.pulls, 1),
    ):
        if given_number is not None and given_number < least:
            raise BadInput(f"--{option}: wanted a whole number from {least}, got {given_number}")
    if options.workers is not None:
        changes["workers"] = options.workers
    if options.seed is not None:
        changes["seed"] = options.seed
    if options.pulls is not None or options.time is not None:
        changes["budget"] = replace(
            spec.budget,
            pulls=options.pulls or spec.budget.pulls,
            seconds=spec.budget.seconds if options.time is None else _seconds("--time", options.time),
        )
    if options.timeout is not None:
        timeout = _seconds("--timeout", options.timeout)
        changes |= {"timeout": timeout, "lease": max(spec.lease, 1.5 * (timeout + spec.prepare_timeout) + 60.0)}
    if options.tolerance:
        objectives = tuple(with_tolerances(spec.objectives, options.tolerance))
        changes["objectives"] = objectives
        changes["sources"] = tuple(
            replace(source, positive=objective.relative)
            for source, objective in zip(spec.sources, objectives, strict=True)
        )
    spec = replace(spec, **changes)
    return replace(spec, name=options.name or (spec.name if file is not None else _quick_name(spec)))


def _seconds(option: str, text: str) -> float:
    from frontguard.commands.format import duration

    try:
        return duration(text)
    except ValueError:
        raise BadInput(f'{option}: wanted a number of seconds, or a text such as "30 min"; got {text!r}') from None


def with_tolerances(objectives: Sequence[Objective], texts: Sequence[str]) -> list[Objective]:
    """The objectives with other tolerances: one for all, or NAME=TOLERANCE for some.

    >>> from frontguard.objectives import Objective
    >>> both = [Objective("seconds", "minimize", "5%"), Objective("size", "minimize", 10.0)]
    >>> [each.tolerance for each in with_tolerances(both, ["size=20", "seconds=2 %"])]
    ['2%', 20.0]
    """
    from frontguard.objectives import parse_tolerance

    named: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals:
            if len(texts) > 1:
                raise BadInput(
                    f"--tolerance: wanted one for all, or NAME=TOLERANCE several times; got {text!r} among others"
                )
            named = {objective.name: text for objective in objectives}
            break
        known = [objective.name for objective in objectives]
        if name not in known:
            raise BadInput(f"--tolerance {text}: no objective is called {name!r}; there is {', '.join(known)}")
        if name in named:
            raise BadInput(f"--tolerance: wanted once for each objective; got {name!r} again")
        named[name] = value
    changed = []
    for objective in objectives:
        if objective.name in named:
            amount, relative = parse_tolerance(named[objective.name], "--tolerance")
            objective = replace(objective, tolerance=named[objective.name] if relative else amount)
        changed.append(objective)
    return changed


def _quick_name(spec: Spec) -> str:
    """A name for a study without a file: the same for the same arms, so that the same command goes on with it."""
    text = json.dumps([spec.identity(), spec.seed], sort_keys=True)
    return f"arms-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def storage_of(spec: Spec, options: Options) -> str:
    """Where the study is kept: as the command line says, or the spec, or in the current folder."""
    return options.storage or spec.storage or QUICK_STORAGE


def command_line(arguments: Sequence[str], **changed: str | Sequence[str]) -> str:
    """The command as it would be typed, with other values for some options.

    >>> command_line(["run", "a b.toml", "--pulls", "500", "--workers=2"], pulls="2000")
    "frontguard run 'a b.toml' --workers=2 --pulls 2000"
    """
    kept: list[str] = []
    skip = False
    for argument in arguments:
        option = argument.partition("=")[0]
        if skip:
            skip = False
        elif option.startswith("--") and option[2:] in changed:
            skip = "=" not in argument
        else:
            kept.append(without_password(argument))
    for name, values in changed.items():
        for value in [values] if isinstance(values, str) else values:
            kept += [f"--{name}", value]
    return shlex.join(["frontguard", *kept])
