"""A run that ends before anything is certain begins with up to which contamination it would be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontguard import analyze
from frontguard.results import WORDS, Answer
from frontguard.words.answers import if_cleaner
from tests.cli import commands

MEASURE = """echo "{\\"cost\\": $(( $1 * 100 + $2 % 7 ))}"
"""
SPEC = """
[study]
contamination = 0.1
[[objective]]
name = "cost"
direction = "minimize"
tolerance = 1
[run]
command = ["sh", "measure.sh", "{first}", "{seed}"]
[[arm]]
name = "cheap"
first = 1
[[arm]]
name = "dear"
first = 9
[budget]
max_pulls = PULLS
"""


@pytest.mark.parametrize(("pulls", "said"), [(18, True), (200, False)])
def test_a_run_that_decides_nothing_says_what_is_certain_if_less_is_wrong(
    tmp_path: Path, pulls: int, said: bool
) -> None:
    (tmp_path / "measure.sh").write_text(MEASURE)
    (tmp_path / "spec.toml").write_text(SPEC.replace("PULLS", str(pulls)))
    done = commands.run("run", "spec.toml", "--json", cwd=tmp_path)
    assert done.returncode == (3 if said else 0), done.stderr
    answer = Answer.from_dict(json.loads(done.stdout))
    if not said:
        assert (answer.status, answer.log) == ("certified", None)
        return
    (cleaner,) = answer.log.if_cleaner
    assert [WORDS[code] for code in cleaner.codes] == ["keep", "beaten"]
    again = analyze(tmp_path / "spec.db", contamination=cleaner.contamination)
    assert list(again.verdicts.values()) == ["keep", "beaten"]
    looser = analyze(tmp_path / "spec.db", contamination=cleaner.contamination + 0.001)
    assert "undecided" in looser.verdicts.values()
    assert json.loads(done.stdout)["answer"].startswith(f"{if_cleaner(answer)}")
