"""States as logs: what earlier analyses left is asked, merged, and added to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from frontguard.errors import BadArgument, BadInput
from frontguard.evidence.measurements import Ordered
from frontguard.limits import columns_for
from frontguard.logs.answer import answer, as_designed
from frontguard.logs.checks import out_of_bounds
from frontguard.logs.sources.files import LogFiles
from frontguard.logs.sources.log import Log
from frontguard.logs.sources.reader import RowFilter, in_some_clusters, no_column
from frontguard.logs.state import CountedFile, LogState, append_to, marked
from frontguard.notices import Notice, RowsLeftOut
from frontguard.objectives import Objective
from frontguard.phrases import quoted, shown
from frontguard.question import Question
from frontguard.results import Answer

if TYPE_CHECKING:
    from frontguard.logs.analyze import Asking, HowRead


def of_states(paths: list[Path], how: HowRead, asking: Asking) -> Answer:
    """The analysis of state files, which are merged."""
    where = paths[0]
    if in_some_clusters(asking.groups):
        raise BadArgument("cluster", f"a state does not keep clusters; got the state {where}: analyse the logs")
    state = LogState.merge_all([LogState.load(path) for path in paths], again=how.again)
    given = asking.draft.objectives if asking.named else ()
    if not given:
        raise BadInput(
            f"{where} is a state of {quoted(state.metrics)}; say which of them to maximize and which to minimize"
        )
    for metric in columns_for(given, asking.draft.limits).metrics:
        if metric.name not in state.metrics:
            no_column(metric.name, list(state.metrics), str(where))
    if how.arms and list(state.about.get("arm", how.arms)) != how.arms:
        raise BadInput(f"{where}: its arm is {quoted(state.about['arm'])}; got {quoted(how.arms)}")
    question = asking.of(given, adaptive=bool(state.about.get("adaptive")), grows=True)
    bounds = state.about.get("bounds", {})  # where nobody said what counts, the mean that the state was made for
    objectives = tuple(
        replace(each, statistic="mean", bounds=tuple(bounds[each.name]))
        if each.by_default and each.name in bounds
        else each
        for each in question.objectives
    )
    chosen, own = RowFilter.of(how.where), RowFilter.of(state.about.get("where"))
    if chosen.columns and chosen != own:
        got = f"of those with {own.to_dict()}" if own.columns else "of all rows"
        raise BadArgument(
            "where", f"the rows of a state cannot be told apart any more; {where} is {got}: filter the logs"
        )
    notes = (RowsLeftOut(own.wanted),) if own.columns else ()
    return of_state(state, state, replace(question, objectives=objectives), how, notes)


def of_state(
    state: LogState, read: LogState | None, question: Question, how: HowRead, notes: tuple[Notice, ...]
) -> Answer:
    """The analysis of a state, once it is sketched or added to another as that is wanted; `read` is one of files."""
    anytime = bool(question.anytime)
    if how.sketch is not None:
        there = how.append is not None and Path(how.append).expanduser().exists()
        before = LogState.load(how.append) if there and how.append is not None else read
        if anytime and before is not None and isinstance(before.data, Ordered):
            raise BadArgument(
                "sketch",
                "the state keeps all values, and looks at it have used its confidence; begin a state with --sketch, "
                "leave it out, or say that this is the only look (--one-look)",
            )
        state = state.sketched(how.sketch)
    if how.append is not None:
        state = append_to(how.append, state, again=how.again)
    readable, delta = state.readable(question.delta, anytime=anytime)
    _refuse_unusable(readable, question.columns.boxed)
    designed, noted = as_designed(readable, question)
    together = state.about["arm"] if state.about.get("joined") == "/" else ()
    return answer(
        designed, question, delta=delta, profiled=how.profile, kind=how.kind, notes=(*notes, *noted),
        columns_of_arm=together,
    )  # fmt: skip


def about_state(opened: Log, question: Question, chosen: RowFilter) -> dict[str, Any]:
    """Facts about its rows that a state remembers."""
    relative = [each.name for each in question.objectives if each.positive]
    about: dict[str, Any] = {"arm": list(opened.arm), "layout": opened.layout, "relative": relative}
    if len(opened.arm) > 1:  # how they were made one name
        about["joined"] = "/"
    bounded = {each.name: list(each.bounds) for each in question.columns.boxed if each.bounds is not None}
    if bounded:  # beyond which values failed, and of which sketches keep the sums
        about["bounds"] = bounded
    if opened.study is not None:  # what a state of such rows promises holds with the boundaries for many looks only
        about["adaptive"] = True
    if chosen.columns:
        about["where"] = chosen.to_dict()
    return about


def new_sources(found: LogFiles, state: str | Path, *, again: bool) -> tuple[CountedFile, ...]:
    """The marks by which a state knows the files that it has counted, before these are read for nothing."""
    known = LogState.load(state).sources if Path(state).expanduser().exists() else ()
    marks: list[CountedFile] = []
    for path in (file.path for file in found.files if file.path is not None):
        source, before = marked(path, known=(*known, *marks))
        if before is not None and not again:
            rest = (
                "give the rows that are new in a file of their own"
                if before.grew
                else f"--again (again=True) counts it once more; the state answers by itself as the log {state}"
            )
            raise BadInput(f"{before}; {rest}")
        marks.append(source)
    return tuple(marks)


def _refuse_unusable(readable: Ordered, objectives: Sequence[Objective]) -> None:
    """A state that kept values which an objective cannot use is not asked for it: for that they would have failed."""
    for objective in objectives:
        if not objective.relative and objective.bounds is None:
            continue
        column = readable.metrics.index(objective.name)
        some = np.flatnonzero(readable.good[column])
        for ranks, side in ((np.ones_like(some), -1), (readable.good[column][some], 1)):
            values = readable.at(column, some, ranks, side)
            wrong = np.flatnonzero(~objective.usable(values))
            if not len(wrong):
                continue
            worst = wrong[np.argmax(np.abs(values[wrong]))]
            value, arm = float(values[worst]), readable.arms[int(some[worst])]
            what = f"the state has values of {shown(objective.name)} that"
            if objective.bounds is not None:
                raise BadInput(f"{what} {out_of_bounds(objective, value, arm)}")
            raise BadInput(f"{what} are not positive, such as {value:g} of arm {shown(arm)}: {objective.remedy}")
