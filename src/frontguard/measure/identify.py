"""`identify`: which of the candidates that a Python function measures are on the trade-off front."""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

from frontguard._common.checks import checked_count, checked_seconds, refuse_unknown
from frontguard.errors import BadInput
from frontguard.measure.drive import FirstPulls, Loop, RunProgress
from frontguard.measure.executors import Measure, Workers, open_workers
from frontguard.notices import Stopping
from frontguard.question import Asked, Entry, Question
from frontguard.results import Answer
from frontguard.storage.contract import Pull, Storage
from frontguard.studies.measurement import Measurement
from frontguard.studies.settings import named_arms
from frontguard.studies.study import LEASE, Study
from frontguard.theory.threats import Threat
from frontguard.words.terminal import ProgressDisplay

Evaluate = Callable[..., Any]


def identify(  # noqa: PLR0913 (a public entry point)
    evaluate: Evaluate,
    *,
    arms: Sequence[str] | Mapping[str, Any] | int,
    objectives: Iterable[Entry] | None = None,
    threat: Threat | str | None = None,
    question: Question | None = None,
    executor: object = "threads",
    workers: int | None = None,
    storage: str | Path | Storage | None = None,
    name: str = "study",
    max_time: float | str | None = None,
    timeout: float | str | None = None,
    seed: int = 0,
    lease: float | str = LEASE,
    progress: bool | Callable[[RunProgress], None] = False,
    **asked: Unpack[Asked],
) -> Answer:
    """Measure the arms with a function until their trade-off set is certified, and return the result.

    Parameters
    ----------
    evaluate
        Measures one arm once: `evaluate(name)`, or `evaluate(value)` with arms as a mapping of names to values. A
        further parameter called `seed` or `pull` gets the number of the pull; no number is measured twice. One called
        `rep` gets which pull of its arm this is, from 1, and `item` what is measured of `items`. It returns the metrics
        by name; or in the order of objectives, with those that only limits need behind them; or, if there is one
        metric, a number. An exception, or a value that cannot be used, is a failed pull: an observation that may be
        anything, not one that is left out.
    arms
        As in `Study`, or a mapping of names to values. With a number of arms, `evaluate` gets 0, 1, ….
    objectives, threat, question, seed
        As in `Study`, and so are its other keywords, such as `minimize`, `limits`, `contamination`, `goal` and `cost`.
        A cost that is a metric and no objective is returned by `evaluate` by its name, or in the last place.
    paired, items, independent
        As in `Study`. `seed` is then the number `rep`, the same for all arms; of a list of `items`, it gets one;
        of their number, 0, 1, …. `independent` goes without `rep`, which arms share.
    executor
        "threads", "processes", "serial" (in this thread), "dask://HOST:PORT", any `concurrent.futures.Executor`, or a
        `distributed.Client`. The last two are left open.
    workers
        How many pulls are under way at a time: unless given, as many as there are processors, or as the executor has
        workers. Use 1 where pulls side by side change what they measure.
    storage, name
        Where the study is kept: in memory unless said otherwise. One that is there already goes on.
    max_time
        When to stop asking for pulls, from now, in seconds or as "30 min"; what is under way is waited for. The status
        is then "budget".
    timeout
        The time after which a pull is ended and counts as failed; only with executor="processes".
    lease
        The time after which a pull counts as failed if nothing is heard of its worker; one that lives is heard of.
    progress
        True for a line now and then on stderr, or a function that gets a `RunProgress` a few times a second.

    Returns
    -------
    Answer
        The result of the study, certified or as far as the budget went.

    Raises
    ------
    BadInput
        Arms, metrics or what `evaluate` returns cannot be used; nothing is stored of a first mistake.
    NotTold
        The storage did not come back; `finished` has what was measured.

    >>> import random
    >>> from frontguard import Objective
    >>> def bake(minutes, seed):
    ...     noise = random.Random(seed)
    ...     return {"taste": -abs(minutes - 40) + noise.gauss(0, 1), "minutes": minutes + noise.gauss(0, 1)}
    >>> result = identify(
    ...     bake,
    ...     arms={"short": 20, "right": 40, "long": 60},
    ...     objectives=[Objective("taste", "maximize", tolerance=3), Objective("minutes", "minimize", tolerance=3)],
    ...     contamination="5%",
    ...     executor="serial",
    ... )
    >>> result.status, result.pareto_set
    ('certified', ['short', 'right'])
    """
    candidates = _candidates(arms)
    count = None if workers is None else checked_count(workers, "workers")
    refuse_unknown(asked, identify, Asked.__annotations__)
    measure = Measure(evaluate, _pull_parameters(evaluate))
    wanted = Question.of(objectives, threat, question=question, **asked)
    items = asked.get("items")  # a list, or how many: then `evaluate` gets their numbers
    listed = items if isinstance(items, Sequence) else None if wanted.items is None else range(wanted.items)
    _check_pairs(measure.named, wanted, listed)
    until = None if max_time is None else time.monotonic() + checked_seconds(max_time, "max_time")
    limit = None if timeout is None else checked_seconds(timeout, "timeout")
    # Workers first: what they refuse is refused before a study is begun, and a script that is imported once more by a
    # worker process gets no further than this.
    with open_workers(executor, measure, workers=count, timeout=limit) as crew:
        study = Study(list(candidates), question=wanted, storage=storage, name=name, seed=seed, lease=lease)
        try:
            return _run(study, crew, candidates, listed, until, progress)
        finally:
            if not isinstance(storage, Storage):
                study.close()


def _run(
    study: Study,
    crew: Workers,
    candidates: Mapping[str, Any],
    items: Sequence[Any] | None,
    until: float | None,
    progress: bool | Callable[[RunProgress], None],
) -> Answer:
    def submit(pull: Pull) -> Future[Measurement]:
        # Chance is shared by the pulls of a repeat where these are compared.
        seed = pull.rep if study.settings.question.paired else pull.id
        item = None if items is None else items[pull.item]
        return crew.submit(candidates[pull.arm], {"pull": pull.id, "rep": pull.rep, "seed": seed, "item": item})

    new = study.storage.size(study.name)[1] == 0
    cancel, give_up = threading.Event(), threading.Event()
    display = ProgressDisplay(bar=False)

    said = False

    def say_stopping(under_way: int) -> None:
        """Say once that pulls under way are waited for; also from a signal handler."""
        nonlocal said
        if not said:
            said = True
            why: Literal["interrupted", "time"] = "interrupted" if cancel.is_set() else "time"
            with suppress(OSError):
                os.write(2, f"frontguard: {Stopping(under_way, why)}\n".encode())

    def on_change(now: RunProgress) -> None:
        if now.stopping and now.out:
            say_stopping(now.out)
        if callable(progress):
            progress(now)
        elif progress:
            display.pulls(now.told, now.failed, now.seconds, now.rate)

    with _ctrl_c(cancel, give_up, crew, say_stopping):
        why = Loop(
            study,
            submit,
            workers=crew.count,
            until=until,
            on_change=on_change,
            cancel=cancel,
            give_up=give_up,
            abandon=crew.abandon if crew.can_be_stopped else None,
            hold_back=FirstPulls(len(study.arms), study.objectives, "evaluate") if new else None,
            patience=1.0,
        ).run()
    if why == "cancelled":
        raise KeyboardInterrupt
    result = study.result()
    return replace(result, status="budget") if why == "time" and result.status == "running" else result


@contextmanager
def _ctrl_c(
    cancel: threading.Event, give_up: threading.Event, crew: Workers, say_stopping: Callable[[int], None]
) -> Iterator[None]:
    """While in here, a first Ctrl-C ends the run after what is under way, a second one gives that up, a third ends all.

    Handlers of the caller's own are left alone.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupted(*_: object) -> None:
        if give_up.is_set():
            raise KeyboardInterrupt
        if cancel.is_set():
            give_up.set()
            if crew.busy_here:
                raise KeyboardInterrupt
            return
        cancel.set()
        if crew.busy_here:  # the loop cannot say it
            say_stopping(1)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _candidates(arms: Any) -> dict[str, Any]:
    """Return the value that `evaluate` gets for each arm, by the arm's name."""
    if isinstance(arms, Mapping):
        return dict(arms)
    if isinstance(arms, Sequence) and not all(isinstance(arm, str) for arm in arms):
        raise BadInput("arms in a list must be names; give a mapping of names to values for anything else")
    return {name: int(name) if isinstance(arms, int) else name for name in named_arms(arms)}


def _pull_parameters(evaluate: Evaluate) -> tuple[str, ...]:
    """Return the parameters that get something of the pull, by their names; the first one gets the arm."""
    if not callable(evaluate):
        raise BadInput(f"evaluate must be a function of an arm; got {evaluate!r}")
    if inspect.iscoroutinefunction(evaluate):
        raise BadInput("evaluate must be a plain function; got one that is async: wrap it with asyncio.run")
    try:
        parameters = list(inspect.signature(evaluate).parameters.values())
    except (TypeError, ValueError):  # some built-in functions have no signature
        return ()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    given = ("seed", "pull", "rep", "item")
    return tuple(each.name for each in parameters[1:] if each.name in given and each.kind in by_name)


def _check_pairs(named: tuple[str, ...], question: Question, items: Sequence[Any] | None) -> None:
    """Refuse pairs that have nothing in common, and items that are not asked for."""
    if items is None and "item" in named:
        raise BadInput("evaluate takes an item: say which there are, items=[...], or how many, items=400")
    if items is not None and "item" not in named:
        raise BadInput("evaluate must take an item, evaluate(arm, item), where items are given")
    if question.paired and items is None and not {"rep", "seed"} & set(named):
        raise BadInput("evaluate must take rep or seed, which the pulls of a repeat share, where paired=True is given")
    if question.independent and "rep" in named:
        raise BadInput("evaluate takes rep, which is the same for all arms: without it, or without independent=True")
