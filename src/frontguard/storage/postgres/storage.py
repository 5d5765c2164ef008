"""Studies on a PostgreSQL server, for workers on many machines; `connections` says how the guarantees are kept."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

import numpy as np

from frontguard._common.typing import Ints
from frontguard.errors import BadInput
from frontguard.storage.contract import (
    MOST_METRICS,
    Damaged,
    End,
    Plan,
    Pull,
    Storage,
    StudyExists,
    Tell,
    Told,
    UnknownStudy,
    checked_tells,
    fault_of,
    fault_of_plans,
)
from frontguard.storage.postgres.connections import (
    Connections,
    checked_schema,
    create_tables,
    in_schema,
    refuse_others,
)

if TYPE_CHECKING:
    from psycopg import Connection


PAGE = 50_000  # told pulls read at once: enough to be fast, little enough to fit in any memory


class _Known(NamedTuple):
    """What of a study can be remembered: it never changes, except that more pulls are planned."""

    id: int
    metrics: int
    planned: int


class PostgresStorage(Storage):
    """Studies in the tables of `schema` of the database at `url`, which are made when they are not there.

    `patience` is for how many seconds a server that is away is tried again, and a lock is waited for. A tell that
    raises `ConnectionError` after that may have been written; telling it again is safe.
    """

    def __init__(
        self, url: str, *, schema: str = "frontguard", read_only: bool = False, patience: float = 60.0
    ) -> None:
        self._schema = checked_schema(schema)
        self._read_only = read_only
        self._known: dict[str, _Known] = {}
        self._sound: set[int] = set()  # studies whose counts were held against their plans
        self._connections = Connections(url, read_only=read_only, patience=patience)
        try:
            self._connections.first(self._prepare)
        except BaseException as error:
            self._connections.close()
            raise self._explained(error) from None

    @property
    def where(self) -> str:
        """The database as people name it, without the password."""
        return f"postgresql://{self._connections.where}"

    def describe(self) -> str:
        version, warning = self._durability()
        text = f"PostgreSQL {version} at {self.where}, schema {self._schema}"
        return (
            f"{text}. {warning}"
            if warning
            else f"{text}: told pulls are on the server's disk when they are acknowledged"
        )

    def concern(self) -> str:
        return self.describe() if self._durability()[1] else ""

    def _durability(self) -> tuple[str, str]:
        """The server's version, and what of its settings endangers what was acknowledged; "" if nothing does."""
        names = ("server_version", "fsync", "full_page_writes", "synchronous_commit")
        rows = self._rows("SELECT current_setting(name) FROM unnest(%s::text[]) AS asked (name)", [list(names)])
        version, *safe, commits = [value for (value,) in rows]
        off = [name for name, value in zip(names[1:3], safe, strict=True) if value == "off"]
        if off:
            return version, (
                f"WARNING: the server runs with {' and '.join(f'{name} = off' for name in off)}: "
                "a power failure can lose or damage what was acknowledged"
            )
        if commits == "off":
            return version, (
                "WARNING: the server runs with synchronous_commit = off; it is switched on for told pulls and "
                "plans, which are on the server's disk when they are acknowledged"
            )
        return version, ""

    def __repr__(self) -> str:
        return f"PostgresStorage({self.where!r}, schema={self._schema!r})"

    # Studies ----------------------------------------------------------------------------------------------------------

    def studies(self) -> list[str]:
        return [_read(name) for (name,) in self._rows("SELECT name FROM {schema}.studies ORDER BY id")]

    def create(self, study: str, settings: str, metrics: int) -> None:
        rows = self._rows(
            "SELECT {schema}.create_study(%s, %s, %s, %s)",
            [_written(study), metrics, _written(settings), uuid.uuid4()],
        )
        if not rows[0][0]:
            raise StudyExists(f"there is a study {study!r} already at {self.where}")

    def settings(self, study: str) -> str:
        rows = self._of(study, "SELECT settings FROM {schema}.settings WHERE study = %s ORDER BY number DESC LIMIT 1")
        return _read(rows[0][0])

    def amend(self, study: str, settings: str, *, after: str | None = None, told: int | None = None) -> bool:
        rows = self._of(
            study,
            "SELECT {schema}.amend(%s, %s, %s::text, %s::bigint, %s)",
            [_written(settings), None if after is None else _written(after), told, uuid.uuid4()],
        )
        return bool(rows[0][0])

    def forget(self, study: str) -> bool:
        rows = self._of(study, "SELECT {schema}.forget(%s)")
        if rows[0][0]:
            self._known.pop(study, None)
        return bool(rows[0][0])

    # The log ----------------------------------------------------------------------------------------------------------

    def size(self, study: str) -> tuple[int, int]:
        plans, told = self._of(study, "SELECT plans, told FROM {schema}.studies WHERE id = %s")[0]
        return plans, told

    def plans(self, study: str, after: int = 0) -> list[Plan]:
        rows = self._of(
            study,
            "SELECT p.number, p.told, p.first, p.arms, p.status, s.planned "
            "FROM {schema}.studies s LEFT JOIN {schema}.plans p ON p.study = s.id AND p.number > %s "
            "WHERE s.id = %s ORDER BY p.number",
            before=[after],
        )
        plans = [
            Plan(number, told, first, self._arms(study, number, arms), _read(status))
            for number, told, first, arms, status, _ in rows
            if number is not None  # the study itself, if it has none
        ]
        if plans:
            self._refuse(study, fault_of_plans(plans, rows[0][5]))
        return plans

    def _arms(self, study: str, number: int, arms: list[Any]) -> Ints:
        if not all(isinstance(arm, int) for arm in arms):
            self._refuse(study, f"plan {number} has an arm that is no number")
        return np.array(arms, np.int64)

    def add_plan(self, study: str, plan: Plan) -> bool:
        arms = np.asarray(plan.arms).tolist()
        rows = self._of(
            study,
            "SELECT {schema}.add_plan(%s, %s, %s, %s, %b::bigint[], %s, %s)",
            [plan.number, plan.told, plan.first, arms, _written(plan.status), uuid.uuid4()],
        )
        return bool(rows[0][0])

    def told(self, study: str, after: int = 0, up_to: int | None = None) -> Told:
        if after <= 0:
            self.size(study)  # raises if it was forgotten, which can only be if nothing was told
        known = self._study(study)
        after = max(after, 0)
        pages: list[Told] = []
        # Page by page: nothing is ever written before what was read, so pages of different moments fit together.
        start, end = after, after
        while start == end and (up_to is None or end < up_to):
            end = start + PAGE if up_to is None else min(start + PAGE, up_to)
            pages.append(self._page(study, known, start, end))
            start += len(pages[-1])
        return Told.joined([Told.nothing(after, known.metrics), *pages])

    def _page(self, study: str, known: _Known, start: int, end: int) -> Told:
        # Columns, as the server itself would send them: a row of the answer for each pull takes six times as long.
        rows = self._rows(
            """
            SELECT count(*), max(number), string_agg(int8send(pull), ''), string_agg(array_send(measured), ''),
                   string_agg(float8send(at), ''), array_agg(reason), array_agg(worker), array_agg(cluster),
                   string_agg(int2send(ended), '')
            FROM (SELECT * FROM {schema}.told WHERE study = %s AND number > %s AND number <= %s ORDER BY number) AS page
            """,
            [known.id, start, end],
        )
        many, last, pulls, measured, at, reasons, workers, clusters, ends = rows[0]
        if many == 0:
            return Told.nothing(start, known.metrics)
        if last != start + many:
            self._refuse(study, f"told pulls are missing between the {start + 1}-th and the {last}-th")
        # An array is sent as a head of 20 bytes and its elements, each with its length before it.
        array = np.dtype([("head", "V20"), ("elements", [("length", ">i4"), ("value", ">f8")], (known.metrics,))])
        if len(measured) != many * array.itemsize or (np.frombuffer(measured, array)["elements"]["length"] != 8).any():
            self._refuse(study, f"of told pulls {start + 1} to {last} some have not {known.metrics} values")
        page = Told(
            after=start,
            pulls=np.frombuffer(pulls, ">i8").astype(np.int64),
            values=np.frombuffer(measured, array)["elements"]["value"].astype(np.float64).reshape(many, known.metrics),
            reasons=tuple(map(_read, reasons)),
            workers=tuple(map(_read, workers)),
            at=np.frombuffer(at, ">f8").astype(np.float64),
            ends=np.frombuffer(ends, ">i2").astype(np.int64),
            clusters=tuple(map(_read, clusters)),
        )
        if len(page) and page.pulls.max() > known.planned:
            known = self._study(study, fresh=True)
        self._refuse(study, fault_of(page, known.planned))
        return page

    def _refuse(self, study: str, fault: str) -> None:
        if fault:
            raise Damaged(f"study {study!r} at {self.where}: {fault}; nothing was changed")

    def tell(self, study: str, tells: Sequence[Tell]) -> list[bool]:
        known = self._study(study)
        if not tells or any(tell.pull > known.planned for tell in tells):
            known = self._study(study, fresh=True)
        checked_tells(tells, known.planned, known.metrics)
        first: dict[int, Tell] = {}
        again: dict[int, Tell] = {}  # values of pulls that are given up in this very call
        for tell in tells:
            if first.setdefault(tell.pull, tell).end != End.TOLD and tell.end == End.TOLD:
                again.setdefault(tell.pull, tell)
        written = self._tell(study, list(first.values()))
        self._tell(study, list(again.values()))
        answers = []
        for tell in tells:
            answers.append(tell.pull in written)
            written.discard(tell.pull)  # a second tell of it in this call
        return answers

    def _tell(self, study: str, tells: Sequence[Tell]) -> set[int]:
        """Tell pulls that differ from each other; which of them were written."""
        if not tells:
            return set()
        rows = self._of(
            study,
            "SELECT {schema}.tell(%s, %b::bigint[], %b::float8[], %s::text[], %s::text[], %s::text[], "
            "%b::float8[], %s::smallint[], %s)",
            [
                [tell.pull for tell in tells],
                [float(value) for tell in tells for value in tell.values],
                [_written(tell.reason) for tell in tells],
                [_written(tell.worker) for tell in tells],
                [_written(tell.cluster) for tell in tells],
                [float(tell.at) for tell in tells],
                [int(tell.end) for tell in tells],
                uuid.uuid4(),
            ],
            some=False,
        )
        return {pull for (pull,) in rows}

    def late(self, study: str) -> Told:
        rows = self._of(
            study,
            "SELECT l.pull, l.measured, l.reason, l.worker, l.at "
            "FROM {schema}.studies s LEFT JOIN {schema}.late l ON l.study = s.id WHERE s.id = %s ORDER BY l.number",
        )
        tells = [
            Tell(pull, tuple(measured), _read(reason), _read(worker), at)
            for pull, measured, reason, worker, at in rows
            if pull is not None
        ]
        metrics = self._study(study).metrics
        if any(len(tell.values) != metrics for tell in tells):
            self._refuse(study, f"of what was told late some has not {metrics} values")
        return Told.of(tells, metrics)

    # Leases -----------------------------------------------------------------------------------------------------------

    def hand_out(self, study: str, most: int, worker: str, *, deadline: float) -> list[Pull]:
        if most <= 0:
            self._study(study)
            return []
        self._check_planned(study)
        rows = self._of(
            study,
            "SELECT {schema}.hand_out(%s, %s, %s, %s, %s)",
            [most, _written(worker), float(deadline), uuid.uuid4()],
            some=False,
        )
        return [Pull(pull, worker, float(deadline)) for (pull,) in rows]

    def _check_planned(self, study: str) -> None:
        """Hold the counts against the plans, once, before pulls are handed out by counts alone."""
        if self._study(study).id in self._sound:
            return
        rows = self._of(
            study,
            "SELECT s.planned, s.handed, "
            "(SELECT coalesce(sum(cardinality(p.arms)), 0)::bigint FROM {schema}.plans p WHERE p.study = s.id) "
            "FROM {schema}.studies s WHERE s.id = %s",
        )
        planned, handed, in_plans = rows[0]
        if planned != in_plans or not 0 <= handed <= planned:
            self._refuse(study, f"it should have {planned} planned pulls, {handed} of them handed out; has {in_plans}")
        self._sound.add(self._study(study).id)

    def renew(self, study: str, worker: str, deadline: float, pulls: Iterable[int] | None = None) -> int:
        which = None if pulls is None else list(pulls)
        rows = self._of(
            study,
            "SELECT {schema}.renew(%s, %s, %s, %s::bigint[], %s)",
            [_written(worker), float(deadline), which, uuid.uuid4()],
        )
        return int(rows[0][0])

    def leases(self, study: str) -> list[Pull]:
        rows = self._of(
            study,
            "SELECT l.pull, l.worker, l.deadline "
            "FROM {schema}.studies s LEFT JOIN {schema}.leases l ON l.study = s.id AND l.deadline > '-infinity' "
            "WHERE s.id = %s ORDER BY l.pull",
        )
        return [Pull(pull, _read(worker), deadline) for pull, worker, deadline in rows if pull is not None]

    def now(self) -> float:
        """Return the server's time: clocks of workers on several machines differ."""
        return float(self._rows("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])

    # Housekeeping -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        self._connections.close()

    def _prepare(self, connection: Connection[Any]) -> None:
        encoding = connection.execute("SHOW server_encoding").fetchone()
        if encoding != ("UTF8",):
            raise BadInput(f"the database {self.where} must have the encoding UTF8; it has {(encoding or '?')[0]}")
        prepare = refuse_others if self._read_only else create_tables
        prepare(connection, self._schema, self.where)

    def _study(self, study: str, *, fresh: bool = False) -> _Known:
        """What is known of a study, asked of the server the first time. Raises `UnknownStudy`."""
        known = self._known.get(study)
        if known is None or fresh:
            rows = self._rows("SELECT id, metrics, planned FROM {schema}.studies WHERE name = %s", [_written(study)])
            if not rows:
                raise UnknownStudy(f"there is no study {study!r} at {self.where}; there are: {sorted(self.studies())}")
            known = self._known[study] = _Known(*rows[0])
            if not 0 <= known.metrics <= MOST_METRICS:
                self._refuse(study, f"it has {known.metrics} metrics")
        return known

    def _of(
        self, study: str, text: str, after: Sequence[Any] = (), *, before: Sequence[Any] = (), some: bool = True
    ) -> list[Any]:
        """The rows of a query about a study, whose number is a parameter before or after the others.

        With `some` there are rows unless the study was forgotten; then the query is about another of its name, if there
        is one by now.
        """
        known = study in self._known
        try:
            rows = self._rows(text, [*before, self._study(study).id, *after])
            if rows or not some:
                return rows
        except UnknownStudy:
            if not known:
                raise
        self._known.pop(study, None)
        if known:
            return self._of(study, text, after, before=before, some=some)
        raise UnknownStudy(f"there is no study {study!r} at {self.where} any more")

    def _rows(self, text: str, parameters: Sequence[Any] = ()) -> list[Any]:
        query: LiteralString = in_schema(text, self._schema)

        def work(connection: Connection[Any]) -> list[Any]:
            # Binary answers: doubles come back bit for bit, and there is nothing to parse.
            return connection.execute(query, parameters or None, binary=True).fetchall()

        try:
            return self._connections.run(work)
        except Exception as error:
            raise self._explained(error) from None

    def _explained(self, error: BaseException) -> BaseException:
        """An error of the database in our words; any other as it is."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            return error
        said = self._connections.said(error)
        if state == "25006" and self._read_only:
            return BadInput(f"the storage at {self.where} was opened read-only")
        if state == "P0002":
            self._known.clear()
            return UnknownStudy(f"a study is gone from {self.where}: {said}")
        if state == "55P03":
            return TimeoutError(f"another transaction has held a lock for long at {self.where}: {said}")
        if state in ("42501", "3F000", "42P01", "42P07", "54000"):  # rights, missing or foreign tables, a name too long
            return BadInput(f"cannot use schema {self._schema!r} of {self.where}: {said}")
        return OSError(f"the PostgreSQL server at {self.where} failed: {said}")


# PostgreSQL's text holds every character but NUL, which a worker's output may well hold. It is written as an escape
# that hardly any text contains, so that nearly all texts are stored as they are.
_ESCAPE = "\x1a"


def _written(text: str) -> str:
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")


def _read(text: str) -> str:
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE) if _ESCAPE in text else text
