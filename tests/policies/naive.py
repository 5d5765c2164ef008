"""The policies as their papers write them: slow, obvious, over all pairs every time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from frontguard.theory.schedule import Schedule

Floats = npt.NDArray[np.float64]
Take = Callable[[int, int], Floats]  # (arm, pulls) -> (pulls, M)


def dominated(x: Floats, y: Floats) -> bool:
    """x ≺ y."""
    return bool((x <= y).all() and (x < y).any())


def rpsi(schedule: Schedule, accuracy: float, take: Take) -> tuple[set[int], set[int], dict[int, int]]:
    """Algorithm 1, line by line. Returns P, the eliminated arms, and the pulls of every arm."""
    K, D, alpha = schedule.arms, schedule.bias, accuracy
    samples = {i: take(i, schedule.first_pulls) for i in range(K)}
    tau = dict.fromkeys(range(K), 1)
    S, P, eliminated, t = set(range(K)), set[int](), set[int](), 0
    m = {i: np.median(samples[i], axis=0) for i in S}

    def width(i: int) -> float:
        return schedule.width(tau[i])

    while S:
        if t > 0:
            star = max(sorted(S), key=width)
            tau[star] += 1
            samples[star] = np.concatenate([samples[star], take(star, schedule.phase_pulls(tau[star]))])
            m[star] = np.median(samples[star], axis=0)
        out = {i for i in S if any(dominated(m[i] + D + width(i), m[j] - D - width(j)) for j in S - {i})}
        S -= out
        eliminated |= out
        O1 = {i for i in S if not any((m[i] - width(i) + alpha <= m[j] + width(j)).all() for j in S - {i})}
        if any(width(k) > alpha / 4 for k in S):
            O2 = {i for i in O1 if not any((m[j] - width(j) + alpha <= m[i] + width(i)).all() for j in S - {i})}
            S -= O2
            P |= O2
        else:
            P |= O1
            break
        t += 1
    return P, eliminated, {i: len(samples[i]) for i in range(K)}


def auer(
    arms: int,
    objectives: int,
    accuracy: float,
    delta: float,
    scale: Floats,
    take: Take,
    center: Callable[..., Floats],
) -> tuple[set[int], dict[int, int]]:
    """Auer et al. 2016, Algorithm 1, with `center` = np.mean or np.median. Returns the front and every arm's pulls."""
    samples = {i: np.empty((0, objectives)) for i in range(arms)}
    A, P = set(range(arms)), set[int]()
    while A:
        for i in A:
            samples[i] = np.concatenate([samples[i], take(i, 1)])
        n = len(samples[min(A)])
        beta = scale * np.sqrt(2 * np.log(4 * arms * objectives * n**2 / delta) / n)
        mu = {i: center(samples[i], axis=0) for i in A}
        w = beta + beta
        A1 = {i for i in A if not any((mu[j] - mu[i] > w).all() for j in A)}
        P1 = {i for i in A1 if all((mu[i] + accuracy - mu[j] >= w).any() for j in A1 - {i})}
        P2 = {j for j in P1 if not any((mu[i] + accuracy - mu[j] <= w).all() for i in A1 - P1)}
        A = A1 - P2
        P |= P2
    return P, {i: len(samples[i]) for i in range(arms)}
