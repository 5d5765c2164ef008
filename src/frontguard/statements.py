"""Every sentence that is printed as certain: a template, with the label of what implies it in docs/theory.md.

Whoever says something certain says it by one of these. docs/theory.md has them all in a table, and
`tests/words/test_statements.py` generates each of them, finds nothing certain that is said in other words, and fails
where the table and this list differ. A template whose label is `NOTHING` claims nothing.
"""

from __future__ import annotations

from enum import Enum

NOTHING = "nothing is claimed"


class Statement(Enum):
    """A template and the label of what implies it. A member is called with the fields of its template."""

    def __init__(self, text: str, rests_on: str) -> None:
        self.text = text
        self.rests_on = rests_on

    def __call__(self, **fields: object) -> str:
        """The sentence, or the part of one.

        >>> Statement.IT_IS(place="the best in seconds")
        'It is the best in seconds.'
        """
        return self.text.format(**fields)

    # Against whom, and of which arms
    PROMISE = "With probability {confidence}, {threat}{scope}: {said}.", "(e)"
    CERTIFICATE = "with probability {confidence}, {threat}{scope}: {accuracy}, and {coverage}", "(e)"
    CERTAINTY = "{confidence} confidence with up to {eps} wrong measurements", "(e)"
    CERTAINTY_BY_METRIC = "{confidence} confidence with up to {shares} wrong{rest}", "(e)"
    CERTAINTY_UNDECLARED = (
        "{confidence} confidence for each verdict up to the share of wrong measurements beside it",
        ("robustness"),
    )
    CERTAINTY_IF_CLEAN = "{confidence} confidence if no measurement is wrong", "(e)"
    LOOKED_ONCE = ", analysed once (--anytime if you look again)", "(b)"
    CLEAN = "if no measurement lies", "(a)"
    BY_CHANCE = (
        "even if each measurement of an arm is replaced with probability up to {eps} by {attacker} attacker",
        "(a)",
    )
    BY_SHARE = "even if any {eps} of an arm's measurements are replaced, whichever, chosen afterwards", "(l)"
    BY_METRIC = "({shares})", "(a)"
    BY_CHANGES = (
        "even if each measurement of an arm is disturbed with probability up to {eps} by what does not know its arm",
        "(hh)",
    )
    SCOPE = ", among the {arms} that could be measured (excluded: {excluded})", "(f)"
    AMONG_WITHIN = " among the arms with {limits}", "(p)"
    ANYTIME = "This holds however often the log was looked at while it grew.", "(b)"
    ONE_LOOK = (
        "The number of measurements must not have been chosen by looking at them; if it was, use --anytime.",
        "(b)",
    )
    ORDER_DRAWN = "Pairs are read in an order drawn with seed 0, which the order of the log must not depend on.", "(ee)"
    CLUSTERS = (
        "Rows of an arm with the same {columns} count as one observation and may depend on each other in any way; "
        "those with different ones must not. What counts is a cluster drawn at random: how many rows it has must not "
        "depend on what they measured, and it must be complete when one looks.",
        "(n)",
    )
    SESSIONS = (
        "Rows of an arm with the same {columns} are one measurement, by their median, and may depend on each other in "
        "any way; those with different ones must not. It is such medians that count, and that may be wrong.",
        "(cc)",
    )
    PAIRS = (
        "Arms are compared by their differences on the same {columns}, too ({each} of an arm): these may differ in any "
        "way, but what an arm gives on one must not depend on when it is measured, nor on what was measured before.",
        "(s)",
    )
    INDEPENDENT = (
        "Arms are compared in pairs, too, which takes for granted that what is measured of one does not depend on what "
        "is measured of another: not on the same items, seeds or moments.",
        "(u)",
    )
    BLOCKS = (
        "Arms were measured in randomised blocks: their {quantiles} are those of the moments of this run, and how arms "
        "differ is taken not to depend on when they are measured.",
        "(aa)",
    )
    RATIOS = (
        "Arms are compared by their ratios within a block, too, the median of which is taken to be the ratio of their "
        "medians: so it is where arms scatter alike, and what slows a run does not depend on whose it is.",
        "(aa)",
    )
    LIST = (
        "What counts are means over the list of {items} items: an arm must have measured all of them, or some drawn at "
        "random.",
        "(t)",
    )
    LIST_KNOWN = "The means of {arms} are known: all items were measured.", "(t)"
    LIST_LEFT = (
        "Of {arms} all items were measured: what is left is that up to {hidden} of them may have been replaced, and no "
        "more pulls tell which.",
        "(t)",
    )
    FAILED_PULL = "A failed run counts as one that could have measured anything.", "(g)"
    NO_PROMISE = "No probability is given: {why}.", NOTHING
    NO_CERTIFICATE = "no probability is given: {why}", NOTHING
    STILL_RUNNING = "{policy} promises something only once it has stopped", NOTHING
    NEEDS_CLEAN = "{policy} promises something only where no measurement lies", NOTHING
    BIAS_BY_HAND = "its bias was set by hand, and nothing is proved with that", NOTHING
    MEANS_ONLY = "what {policy} rests on is proved for means, and it compares medians", NOTHING

    # What verdicts mean
    INTERVALS = "all intervals contain the true {quantiles}", "(e)"
    INTERVALS_HOLD = "with probability {confidence} all true values lie within the {shapes} at once", "(e)"
    KEPT_WITHIN = "no arm beats a kept one by more than {within} at once", "(f)"
    BEATEN = "each beaten arm is dominated by another one", "(f)"
    BEATEN_OR_INFEASIBLE = "each beaten arm is infeasible, or dominated by a feasible one", "(p)"
    KEPT_IS_FEASIBLE = "each kept arm has {limits}", "(p)"
    AMONG_THOSE = "among the arms with {limits}, {said}", "(p)"
    NONE_DOMINATES = "no arm dominates a kept one", "(p)"
    ALL_INFEASIBLE = "each arm is infeasible", "(p)"
    MATCHED = "for each matched arm a kept one is as good in every objective", "(f)"
    MATCHED_WITHIN = "for each matched arm a kept one is worse by at most {within}", "(f)"
    MATCHED_SOMEHOW = "for each matched arm a kept one is no worse by more than was asked for", "(f)"
    NONE_MISSED = "and each arm on the true front is kept, or a kept one is as good", "(f)"
    MISSED_WITHIN = "and each arm on the true front is kept, or a kept one is worse by at most {within}", "(f)"
    SOME_MISSED = "arms of the front may be missing", NOTHING
    OPEN = "open arms may be on the front or not", NOTHING
    NOT_BEATEN = "no returned arm is beaten by more than {accuracy} in every objective", "(f)"
    NOT_MISSED = "none on the front is missed by more than {coverage}", "(f)"
    BEATEN_SOMEHOW = "nothing is said of how far a returned arm is beaten", NOTHING

    # The answer
    KEPT = "Keep {count} of {measured}{arms}.", "(f)"
    RETURNED = "Keep {count} of {measured}, without a promise{arms}.", NOTHING
    KEPT_SO_FAR = "Keep {arms}, so far.", "(f)"
    IT_IS = "It is {place}.", "(f)"
    THEY_ARE = "They are {place}.", "(f)"
    DOES_WITHIN = "For each of the others{scope}, {these} is as good, or worse by at most {within}.", "(r)"
    DOES = "For each of the others{scope}, {these} is as good or better in every metric.", "(r)"
    ON_FRONT = "on the trade-off front of {names}", "(f)"
    NEAR_FRONT = "not beaten by more than {within} at once", "(f)"
    AS_BEST = "the {best}", "(f)"
    AS_NEAR_BEST = "the {best}, or within {within} of it", "(f)"
    NONE_WITHIN = "No arm is feasible: {each} certainly beyond {limits}.", "(p)"
    NONE_WITHIN_YET = "No arm is certainly feasible yet.", NOTHING
    IS_CERTAINLY = "is certainly {place}", "(f)"
    IS_OFF = "is certainly not on the front", "(f)"
    LEGEND_FOOLED = "the front by means, yet certainly beaten", "(f)"
    CERTAIN_WITHIN = "certain within {amounts}", "(f)"

    # Why an arm has its verdict
    WORSE = "beaten: certainly worse than {rival} in {names}", "(f)"
    BY_PAIRS = ", by differences on the same {columns}", "(s)"
    BY_RATIOS = ", by their ratios within blocks", "(aa)"
    DECIDED_BY = "{verdict}: {rival} decides", NOTHING
    INFEASIBLE = "infeasible: certainly beyond {limit}: {by}", "(p)"
    KEEPS = "; certainly within {limits}", "(p)"
    IS_WITHIN = "certainly within {limit}: {between}", "(p)"
    IS_BEYOND = "certainly beyond {limit}: {between}", "(p)"
    BETTER = "keep: against {rival}, which comes nearest to beating it, certainly better in {names}", "(f)"
    NOWHERE_WORSE = "keep: against {rival}, which comes nearest to beating it, nowhere worse", "(f)"
    TOLERATED = "keep: against {rival}, which comes nearest to beating it, not beaten by more than is tolerated", "(f)"
    MATCHED_BY = "matched: {rival} is kept, and is in no objective worse by more than is tolerated", "(f)"
    INSTEAD = "take {arm} instead: {compared}", "(r)"
    AS_GOOD = "as {what}", "(r)"
    AT_LEAST = "at least {amount}", "(r)"
    AT_MOST = "at most {amount}", "(r)"

    # How arms compare with a baseline
    TIMES = "{arm} / {baseline} = {ratio} {metric}", "(v)"
    MORE_BY = "{arm} − {baseline} = {difference} {metric}", "(v)"
    BETTER_BY = "certainly better{by}", "(v)"
    WORSE_BY = "certainly worse{by}", "(v)"
    BETTER_SOMEHOW = "certainly better, perhaps by no more than {within}", "(v)"
    WORSE_SOMEHOW = "certainly worse, perhaps by no more than {within}", "(v)"
    ALIKE = "certainly alike within {within}", "(v)"
    EQUAL = "certainly equal", "(v)"
    NOT_WORSE_BY = "certainly not worse{by}", "(v)"
    NOT_BETTER_BY = "certainly not better{by}", "(v)"

    BESIDE = (
        "Differences and ratios of all pairs of arms hold at once with probability {confidence}, together with all "
        "else that is said here.",
        "(v)",
    )

    # Which one to choose
    CHOSEN = "Take {arm}: certainly no other arm is better {by}{scope}.", "(w)"
    CHOSEN_AMONG = "Take {arm}: it seems the best {by}{scope}, and the best is certainly among {among}.", "(w)"
    AT_MOST_BEHIND = "It is behind the best by {behind} at most.", "(w)"
    CHOSEN_UNPROMISED = "Take {arm}: it seems the best {by}{scope}.", NOTHING
    NONE_KEEPS = "No arm certainly keeps to {limits}; open: {among}.", NOTHING
    NONE_CAN = "No arm keeps to {limits}: each is certainly beyond.", "(w)"

    # How robust it is
    IF_CLEANER = "{verdicts}, if {condition} ({declared} was declared, {confidence} confidence{never}).", "robustness"
    GATE_IF_CLEANER = "--contamination {eps} (would {outcome} now)", "robustness"
    AT_MOST_WRONG = "at most {eps} of {what} are wrong", "robustness"
    NONE_WRONG = "no measurement is wrong", "robustness"
    NO_PULLS_THERE = "; at that, more pulls do not settle this if the samples go on as they are", "(i)"
    HOLDS = "the {answer} holds up to {eps}", "robustness"
    HOLDS_BELOW_HALF = "the {answer} holds up to almost 50%", "robustness"
    HOLDS_UP_TO = "{verdict} up to {eps}", "robustness"
    NOTED = "declared {declared}, the {answer} no longer certain at {level}", "robustness"
    NOTED_BELOW_HALF = "declared {declared}, the {answer} certain below 50%", "robustness"

    # What a comparison of means would have said
    MEANS_CALL = "call {names} (certainly not on it)", "(f)"
    MEANS_MISS = "miss {names} (certainly {place})", "(f)"

    # What a gate says of a candidate and its baseline
    GATE_BOUND = "{effect} ({bound}{allowed} tolerated)", "(y)"
    GATE_SOMEWHERE = "{effect}, and is worse {by}in some quantile", "(cc)"
    GATE_PASSED = "{candidates} not worse than {baseline}{within} {metrics}", "(y)"
    GATE_AT_WORST = "none of {candidates} is worse than {baseline} by more than {amount} in {metric}", "(cc)"
    GATE_KEEPS = ", and certainly {keep} to {limits}", "(p)"
    GATE_SAID = (
        "what is called worse is worse than the baseline by more than the tolerance, and what is called not worse is "
        "not",
        "(y)",
    )
    GATE_OF_SAMPLES = (
        "no candidate is worse than the baseline by more than is said of all of them, nor, if the gate passes, by more "
        "than the tolerance; one that is called worse is so by more than the tolerance in some quantile, and in the "
        "one that counts unless “in some quantile” is said; one that is called not worse by itself is not. An "
        "interval holds by itself with that probability, and not with all others. What is measured of one side must "
        "not depend on what is measured of the other",
        "(cc)",
    )
    GATE_OF_PAIRS = (
        "no candidate is worse than the baseline by more than is said of all of them, nor, if the gate passes, by more "
        "than the tolerance; one that is called worse is so by more than the tolerance; one that is called not worse "
        "by itself is not. An interval holds by itself with that probability, and not with all others. What is "
        "measured on one {column} must not depend on what is measured on another",
        "(ff)",
    )
    GATE_OF_SUITES = "For the mean of a suite, a session is wrong if any of its tests is.", "(cc)"
    GATE_IN_BLOCKS = (
        "Runs came in blocks, equally many of each side, in random order; all this holds at every look. Runs must not "
        "depend on each other.",
        "(gg)",
    )
    GATE_BLIND = (
        "That a candidate is worse in some quantile of {metrics} holds whatever disturbs the runs, however many of "
        "them and however they depend on each other, as long as it does not know whose they are.",
        "(hh)",
    )
    GATE_STUCK = "{lies}, it stays open however many pulls, if the samples go on as they are", "(i)"

    # What cannot be had
    UNREACHABLE = (
        "More measurements cannot settle this, if they go on as they are: {why}.",
        "(i)",
    )
    STAYS_UNCERTAIN = "{lies}, the answer stays uncertain by {amounts}", "(i)"
    LIMIT_STAYS_OPEN = "{lies}, it stays open whether {arms} {keep} to {limits}", "(i)"
    STAYS_UNBOUNDED = "{lies}, {quantiles} stay uncertain by any amount", "(i)"
    NOT_BY_PULLS = "cannot be settled by more measurements, if these go on as they are: {why}", "(i)"
    NEVER = "{goal} cannot be had: not even without contamination.", "(i)"
    NO_METHOD = "{goal} cannot be promised: {limit} no method can, and {eps} is declared.", "Lemma 3"
    NO_METHOD_WITHOUT_SHAPES = (
        "{goal} cannot be promised: {limit} no method that assumes nothing about shapes can, and {eps} is declared.",
        "(i)",
    )
    NO_METHOD_FOR_RATES = (
        "{goal} cannot be promised: {limit} no method that knows bounds only can, and {eps} is declared.",
        "(m)",
    )
    BELOW_FLOOR = (
        "{lies} the mean of {name} stays uncertain by up to {floor}, however many pulls: arms that are closer to each "
        "other than that may never be certified within {tolerance}, but can be within {floor}",
        "(m)",
    )
    TOO_FEW_PULLS = (
        "nothing is known of {arms} of {of} arms ({names}): at most {most} pulls each, failed ones included, are too "
        "few for this confidence and contamination",
        "(b)",
    )
    TOO_FEW = "{each} {are} too few to be certain: at least {first} are needed", "(b)"
    LEAST_PULLS = (
        "as asked, an arm needs at least {first} before anything can be said of it",
        "(b)",
    )
    TOO_FEW_CLUSTERS = (
        "nothing is known of {arms} of {of} arms ({names}): rows of an arm with the same {columns} are one "
        "observation, whatever their number, and {most} too few for this confidence and contamination",
        "(n)",
    )
    LEAST_WHOLE = ", and {whole} before all of its intervals are bounded", "(b)"
    NO_PULLS_DO = "against this attacker with ε = {eps}, no number of pulls bounds {what}", "(i)"

    # What contradicts the assumptions
    SPREAD_REFUTED = (
        "the measurements of {arms} of {of} arms contradict the spread bound R: their intervals go on without it; "
        "omit R to be safe",
        "(e)",
    )
    RATIOS_CONTRADICTED = (
        "ratios within blocks contradict intervals for {arms} of {of} arms, which do not scatter alike: these are "
        "compared by their intervals only",
        "(aa)",
    )
    CONTAMINATION_REFUTED = (
        "the measurements of {arms} contradict that they come from one distribution, with at most {contamination} "
        "contamination: they drift, or there is more contamination than declared, and nothing is certain of them",
        "(e)",
    )
    RATIOS_DRIFT = "how {arms} compare to others changes while they are measured: nothing is certain of them", "(aa)"
    TOO_MANY_FAILED = (
        "{contamination} contamination would make it {failed} or more with probability {chance}",
        "alarms",
    )
    MORE_FAILED_THAN_A_SHARE = "a share of {contamination} would make it {allowed} at most", "alarms"
    DRIFTS = "in random order, {allowed}, it would hardly ever be above {most}", "alarms"
    SPREADS = "by the spread bound R, {allowed}, one should hold {due}", "alarms"
