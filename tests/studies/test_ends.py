"""Every study comes to an end, whichever of its arms fail and however often."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from frontguard import Objective, Prescient, Study


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    failing=st.lists(st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]), min_size=2, max_size=4),
    objectives=st.integers(1, 2),
    eps=st.sampled_from([0.0, 0.1]),
)
def test_a_study_ends_whichever_arms_fail(seed: int, failing: list[float], objectives: int, eps: float) -> None:
    rng = np.random.default_rng(seed)
    middles = rng.integers(2, 6, (len(failing), objectives)).astype(float)
    metrics = [Objective(f"metric {d}", "maximize", tolerance=0.3) for d in range(objectives)]
    study = Study([f"arm {i}" for i in range(len(failing))], metrics, Prescient(eps), seed=seed % 1000)
    while (pulls := study.ask(32)) and pulls[-1].id < 30_000:
        good = [pull for pull in pulls if rng.random() >= failing[pull.index]]
        lost = [(pull, "crashed") for pull in pulls if pull not in good]
        values = [(pull, (middles[pull.index] + 0.05 * rng.normal(size=objectives)).tolist()) for pull in good]
        study.tell_many(values)
        study.tell_many(lost, failed=True)
    assert study.done, study.result().pulls_per_arm
