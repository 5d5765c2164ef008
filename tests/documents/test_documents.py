"""What documents allow is what there is, and analyses are printed in pieces that together are one."""

from __future__ import annotations

import json
import math
import tracemalloc
from typing import get_args

import pytest
from pydantic import ValidationError
from syrupy.assertion import SnapshotAssertion
from tools.schemas import FOLDER, PRINTED, main, schema_of

from frontguard.documents.analysis import AnalysisDocument, AnalyzeDocument
from frontguard.documents.base import Origin, read
from frontguard.documents.pieces import analyze_pieces
from frontguard.documents.reproduce import RowDocument
from frontguard.documents.result import CertificateDocument, ResultDocument, Word
from frontguard.errors import BadInput
from frontguard.experiments.plan import DATASETS
from frontguard.logs.more_pulls import LIMITS
from frontguard.notices import KINDS
from frontguard.objectives import Objective
from frontguard.results import Certificate
from frontguard.verdicts import VERDICT_ORDER
from tests.documents.printed import as_published
from tests.reports.samples import flags, large, open_analysis
from tests.support.snapshots import refused


def test_words_are_those_that_are_printed() -> None:
    assert get_args(Word) == tuple(verdict.word for verdict in VERDICT_ORDER)
    assert get_args(RowDocument.model_fields["dataset"].annotation) == DATASETS
    _, words = get_args(get_args(AnalysisDocument.model_fields["more_pulls"].annotation)[1])
    assert get_args(words) == LIMITS[1:]


def test_every_kind_of_notice_is_in_the_schema() -> None:
    kinds = json.loads(schema_of("run"))["properties"]["notices"]["items"]["discriminator"]["mapping"]
    assert sorted(kinds) == sorted(kind.__dataclass_fields__["kind"].default for kind in KINDS)


def test_the_published_schemas_are_up_to_date() -> None:
    assert main(["--check"]) == 0
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(PRINTED)


@pytest.mark.parametrize("found", [flags, open_analysis], ids=["certified", "open"])
def test_pieces_are_a_document(found: object) -> None:
    pieces = analyze_pieces(found(), "the answer", Origin(version="1", source=["a.csv"]))  # type: ignore[operator]
    assert as_published("analyze", "".join(pieces))["answer"] == "the answer"


def test_many_arms_are_printed_without_holding_them_all() -> None:
    found = large(30_000, 1, pulls=3)
    next(iter(analyze_pieces(found, "", Origin())))  # compiles what is needed
    tracemalloc.start()
    length = sum(len(piece) for piece in analyze_pieces(found, "", Origin()))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length > 5_000_000
    assert most < 2.5 * length  # all values at once, as Python has them, take twice that


def test_a_name_that_is_no_text_of_unicode_is_printed() -> None:
    """A path may hold bytes that are none; Python has them as lone surrogates."""
    pieces = analyze_pieces(flags(), "", Origin(source=["\udcff.csv"]))
    plain = json.loads("".join(pieces))
    assert read(AnalyzeDocument, plain, "a.json").source == ["\udcff.csv"]
    again = AnalyzeDocument(**plain).text()
    assert again.isascii()
    assert json.loads(again)["source"] == ["\udcff.csv"]


def test_our_own_documents_need_not_be_consistent_but_those_that_are_read_are(snapshot: SnapshotAssertion) -> None:
    plain = flags().to_dict() | {"decided_by": {"nobody": "nothing"}}
    assert ResultDocument(**plain).decided_by == {"nobody": "nothing"}
    with refused(BadInput, snapshot):
        read(ResultDocument, plain, "x")
    with pytest.raises(ValidationError):
        ResultDocument(**plain | {"pulls": -1})


def test_a_certificate_comes_back_with_what_it_does_not_promise_and_of_whom_it_speaks(
    snapshot: SnapshotAssertion,
) -> None:
    metrics = (Objective("seconds", "minimize", "5%"),)
    given = Certificate((0.05,), (math.inf,), None, "malicious", 0.1, (True,), void="running", arms=3, aside=("x",))
    plain = json.loads(json.dumps(given.to_dict(), allow_nan=False))
    assert plain["confidence"] is None
    assert plain["coverage"] == [None]
    assert CertificateDocument(**plain).certificate(metrics) == given
    with refused(ValidationError, snapshot):
        CertificateDocument(**plain | {"void": ""})
