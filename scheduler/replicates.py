"""Replicates: what the repeated checks of a stochastic verifier say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from decimal import Context
from functools import reduce
from math import fsum, inf, sqrt
from sys import float_info
from typing import Any

from verifier_ladder.cost import Cost
from verifier_ladder.measurement import BOUND, IN_LOGS, Bound, bound_of
from verifier_ladder.verdict import NO_EVIDENCE, Outcome, TurnVerdict, Verdict, mean_of, span_of


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Make one verdict of what replicates said.

    Those that abstained or failed don't count, unless all did. The rest decide by majority; it
    takes more than half of them to reject, for a reject ends a climb. The score is the mean of
    theirs. Its uncertainty is √(s²/n + u²): s is the standard deviation of their n scores, so
    that s/√n is that of the mean, and u² is the mean square of the uncertainties they report,
    which repeating doesn't make smaller (JCGM 100:2008, "GUM", 4.2.3 and 5.1.2). Scores that
    are marked `IN_LOGS` are averaged by their logarithms. Where one of them is a bound there is
    no mean, for those that are numbers are not like those that are not; the evidence holds the
    one that all of them meet, if there is one. Numbers in
    their evidence and scores of turns are means too; words are those of the first that is of
    the majority's opinion. What all took is added up.

    Args:
        verdicts: What the replicates said, in their order; at least one.

    Example:
        >>> said = combined([Verdict.accept(1.0), Verdict.accept(3.0), Verdict.abstain("?")])
        >>> said.outcome.value, said.score, said.uncertainty
        ('accept', 2.0, 1.0)
    """
    answers = [verdict for verdict in verdicts if verdict.outcome is not Outcome.ABSTAIN]
    cost = _together([verdict.cost for verdict in verdicts if verdict.cost is not None])
    bounds = [bound for verdict in verdicts if (bound := bound_of(verdict.evidence)) is not None]
    agreed = _agreed(bounds, [v.score for v in verdicts if v.score is not None])
    if not answers:
        # One that has looked and declined says more than one that could not look.
        looked = [verdict for verdict in verdicts if verdict.is_answer] or verdicts
        first = next((v for v in looked if bound_of(v.evidence) == agreed), looked[0])
        if bounds and agreed is None:
            first = _without_bound(first)
        return _with_cost(first, cost)
    counts = Counter(verdict.outcome for verdict in answers)
    is_rejected = 2 * counts[Outcome.REJECT] > len(answers)
    outcome = Outcome.REJECT if is_rejected else Outcome.ACCEPT
    alike = [verdict for verdict in answers if verdict.outcome is outcome]
    scored = [] if bounds else [verdict for verdict in answers if verdict.score is not None]
    told = {"of": len(verdicts), "answered": len(answers), "accepted": counts[Outcome.ACCEPT]}
    evidence = _evidence([verdict.evidence for verdict in alike])
    if bounds:
        told["bounds"] = len(bounds)
        evidence.pop(BOUND, None)
    if agreed is not None:
        evidence[BOUND] = agreed.as_json()
    return Verdict(
        outcome, *_average(scored), answers[0].unit,
        next((verdict.reason for verdict in alike if verdict.reason), ""),
        next((verdict.feedback for verdict in alike if verdict.feedback), ""),
        None, _turns(answers),
        {**evidence, "replicates": told}, cost,
        _scores(answers) or NO_EVIDENCE,
    )  # fmt: skip


def _agreed(bounds: Sequence[Bound], scores: Sequence[float]) -> Bound | None:
    """The bound that all else which was read meets."""
    return next(
        (
            one for one in bounds
            if all(other.within(one) for other in bounds) and all(map(one.allows, scores))
        ),
        None,
    )  # fmt: skip


def _without_bound(verdict: Verdict) -> Verdict:
    """The verdict without the bound that it rests on, which does not hold of all."""
    kept = {name: told for name, told in verdict.evidence.items() if name != BOUND}
    return replace(verdict, evidence=kept)


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return mean_of(known) if known else None


def _scores(answers: Sequence[Verdict]) -> dict[str, float]:
    """Mean of each named score, over those that give it."""
    names = dict.fromkeys(name for verdict in answers for name in verdict.scores)
    return {
        name: mean_of([verdict.scores[name] for verdict in answers if name in verdict.scores])
        for name in names
    }


_LOGS = Context(prec=30)
"""`math.log` differs in the last bit between machines; these logarithms are the same on all."""


def _average(scored: Sequence[Verdict]) -> tuple[float | None, float | None]:
    """The mean of scores and its uncertainty, by their logarithms where all are marked so."""
    scores = [verdict.score for verdict in scored if verdict.score is not None]
    own = [verdict.uncertainty for verdict in scored if verdict.uncertainty is not None]
    if not scores:
        return None, None
    if not all(v.evidence.get(IN_LOGS) is True and (v.score or 0.0) > 0.0 for v in scored):
        return mean_of(scores), _uncertainty(scores, own)
    logs = [_LOGS.ln(_LOGS.create_decimal_from_float(score)) for score in scores]
    mean = float(_LOGS.exp(_LOGS.divide(reduce(_LOGS.add, logs), len(logs))))
    shares = [v.uncertainty / v.score for v in scored if v.score and v.uncertainty is not None]
    spread = _uncertainty(list(map(float, logs)), shares)
    return mean, None if spread is None else min(spread * mean, float_info.max)


def _uncertainty(scores: Sequence[float], own: Sequence[float]) -> float | None:
    """Of the mean of scores; None if a single answer tells nothing of it."""
    reported = _norm(own) / sqrt(len(own)) if own else 0.0
    count, mean = len(scores), mean_of(scores)
    if count == 1 and not own:
        return None
    away = [score - mean for score in scores]
    error = _norm(away) / sqrt(count * (count - 1)) if count > 1 else 0.0
    return min(_norm([error, reported]), float_info.max)


def _norm(numbers: Sequence[float]) -> float:
    """Root of the sum of squares, in arithmetic that gives the same bits everywhere."""
    largest = max(map(abs, numbers))
    if largest in {0.0, inf}:
        return largest
    parts = [number / largest for number in numbers]
    return largest * sqrt(fsum(part * part for part in parts))


def _turns(answers: Sequence[Verdict]) -> tuple[TurnVerdict, ...]:
    """Mean score of each turn that any of them speaks of, with the first feedback."""
    by_turn: dict[int, list[TurnVerdict]] = {}
    for turn in (turn for verdict in answers for turn in verdict.turns):
        by_turn.setdefault(turn.turn, []).append(turn)
    return tuple(
        TurnVerdict(
            number, _mean([turn.score for turn in said]),
            next((turn.feedback for turn in said if turn.feedback), ""), span_of(said),
        )
        for number, said in sorted(by_turn.items())
    )  # fmt: skip


def _evidence(evidences: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first that is offered under each name; of numbers the mean."""
    made: dict[str, Any] = {}
    for name in dict.fromkeys(name for evidence in evidences for name in evidence):
        offered = [evidence[name] for evidence in evidences if name in evidence]
        numbers = [value for value in offered if type(value) in {int, float}]
        made[name] = _mean(numbers) if len(numbers) == len(offered) else offered[0]
    return made


def _together(costs: Sequence[Cost]) -> Cost | None:
    if not costs:
        return None
    return Cost(**{f.name: fsum(getattr(cost, f.name) for cost in costs) for f in fields(Cost)})


def _with_cost(verdict: Verdict, cost: Cost | None) -> Verdict:
    return Verdict(
        verdict.outcome, None, None, verdict.unit, verdict.reason, verdict.feedback,
        verdict.failed_at, verdict.turns, verdict.evidence, cost, verdict.scores,
        verdict.artifacts,
    )  # fmt: skip
