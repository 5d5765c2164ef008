"""Who may have replaced what, in words: three models replace measurements with a probability, one a share."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from typing import NamedTuple

from frontguard.phrases import article, percent
from frontguard.statements import Statement


class _Wording(NamedTuple):
    """How a model is spoken of; {eps} and {attacker} are fields."""

    promised: Statement
    fact: str
    beyond: str
    eps: str
    able: str
    assumed: str


_CHANCE = "{Attacker} attacker: each measurement of an arm may be replaced with a probability of up to {eps} (ε), "
_SHARE = "Of an arm's measurements, however many there are, up to {eps} (ε) may be replaced, "


def _by_chance(how: str) -> _Wording:
    return _Wording(
        Statement.BY_CHANCE,
        "each with probability up to {eps}, by {attacker} attacker",
        "each measurement is replaced with probability more than {eps}",
        "probability with which each measurement is replaced",
        "replaces each measurement with probability {eps}",
        _CHANCE + how,
    )


_WORDINGS = {
    "oblivious": _by_chance("by values that were chosen beforehand, without having seen any measurement"),
    "prescient": _by_chance(
        "by any value whatever, chosen in knowledge of all that was and will be measured; which measurements are "
        "replaced is left to chance"
    ),
    "malicious": _by_chance("by any value whatever, and the attacker chooses which ones after having seen them"),
    "share": _Wording(
        Statement.BY_SHARE,
        "any {eps} of each arm's, whichever, chosen afterwards",
        "more than {eps} of an arm's measurements are replaced",
        "share of an arm's measurements that is replaced",
        "replaces any {eps} of an arm's measurements",
        _SHARE + "whichever, by any value whatever; which ones and by what may be chosen after all is measured",
    ),
}
_OTHER = _by_chance("by any value whatever")


def _said(template: str, threat: str, eps: str) -> str:
    who = article(threat)
    return template.format(eps=eps, attacker=who, Attacker=f"{who[0].upper()}{who[1:]}")


def _wording(threat: str) -> _Wording:
    return _WORDINGS.get(threat, _OTHER)


def against(threat: str, eps: float) -> str:
    """Against whom something is promised.

    >>> against("prescient", 0.1)
    'even if each measurement of an arm is replaced with probability up to 10% by a prescient attacker'
    >>> against("share", 0.1)
    "even if any 10% of an arm's measurements are replaced, whichever, chosen afterwards"
    """
    if not eps:
        return Statement.CLEAN()
    return _wording(threat).promised(eps=percent(eps, ROUND_FLOOR), attacker=article(threat))


def may_lie(threat: str, eps: float) -> str:
    """Which measurements may lie, for a list of facts.

    >>> may_lie("malicious", 0.1), may_lie("share", 0.1), may_lie("share", 0.0)
    ('each with probability up to 10%, by a malicious attacker', "any 10% of each arm's, whichever, chosen afterwards",
     'none (ε = 0)')
    """
    return _said(_wording(threat).fact, threat, percent(eps)) if eps else "none (ε = 0)"


def assumed(threat: str, eps: float) -> str:
    """What is assumed of whoever lies, in a sentence or two."""
    if not eps:
        return "No measurement lies: what may be anything (ε) was declared to be 0 for every arm."
    return (
        f"{_said(_wording(threat).assumed, threat, percent(eps))}. ε holds for every arm by itself: an arm with more "
        "lies than that is not protected, and neither are those that are compared with it."
    )


def beyond(threat: str, eps: float) -> str:
    """What would be more than some ε; the ε is rounded down, since up to it something is promised."""
    return _said(_wording(threat).beyond, threat, percent(eps, ROUND_FLOOR))


def able(threat: str, eps: float) -> str:
    """What the attacker does.

    >>> able("share", 0.1)
    "replaces any 10% of an arm's measurements"
    """
    return _said(_wording(threat).able, threat, percent(eps))


def what_eps_is(threat: str) -> str:
    """What ε is: a probability, or a share.

    >>> what_eps_is("share")
    "share of an arm's measurements that is replaced"
    """
    return _wording(threat).eps
