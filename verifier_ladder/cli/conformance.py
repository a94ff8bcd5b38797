"""Conformance: whether a verifier keeps the contract, tried out on sample candidates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.cli.code import import_code
from verifier_ladder.errors import ConfigError
from verifier_ladder.registry import REGISTRY
from verifier_ladder.text import printable
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

if TYPE_CHECKING:
    from verifier_ladder.scheduler.engines.pool import WorkerPool

_SAMPLES = {"molecule": ("CCO", "c1ccccc1"), "text": ("hello", "the answer is 4")}
_SLACK = 100.0
"""How many times its declared cost a check may take before the declaration is of no use."""
_LEAST_COST = 1e-3
_SEEDED = "draw random numbers from `random` or `numpy.random`, which are seeded for each check"


class Result(NamedTuple):
    """One sentence of the contract, and whether it holds."""

    name: str
    passed: bool
    text: str = ""
    """What went wrong, or what was seen."""


def found_at(place: str) -> Verifier:
    """Find a verifier by registered name, as `module:attribute` or as `file.py:attribute`.

    Raises:
        ConfigError: If there is none.
    """
    where, colon, attribute = place.rpartition(":")
    if not colon:
        return REGISTRY.get(place)
    found: Any = import_code(where)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ConfigError(f"{where} has no {attribute}; check the name after the colon")
        found = getattr(found, name)
    if isinstance(found, type) and issubclass(found, Verifier):
        found = found()
    if not isinstance(found, Verifier):
        raise ConfigError(
            f"{place} is not a verifier; decorate the function with @vl.verifier(...), or for an "
            "existing reward function use vl.wrap(...)"
        )
    return found


def sample_candidates(
    verifier: Verifier, contents: Sequence[str], task: str | None
) -> list[Candidate]:
    """The candidates to try: those given, or the verifier's control, or some of its kind.

    Raises:
        ConfigError: If none are known for its kind, or the task is not a JSON object.
    """
    try:
        fields = None if task is None else json.loads(task)
    except ValueError as error:
        raise ConfigError(f"--task is not JSON: {error}") from None
    if fields is not None and not isinstance(fields, dict):
        raise ConfigError('--task must be a JSON object, such as \'{"answer": "4"}\'')
    if not contents and verifier.control is not None:
        return [verifier.control]
    chosen = contents or _SAMPLES.get(verifier.kind, ())
    if not chosen:
        raise ConfigError(f"give a candidate of kind {verifier.kind} with --candidate")
    turns = (Turn("look", "There is a door."),) if verifier.reads_turns else ()
    return [Candidate(verifier.kind, content, fields, turns) for content in chosen]


def examine(verifier: Verifier, candidates: Sequence[Candidate]) -> list[Result]:
    """Try the contract, in a worker process, so that a verifier may crash or hang.

    Args:
        verifier: Any verifier; of one that waits for the world only the declaration is checked.
        candidates: Harmless ones, which it should be able to judge.
    """
    from verifier_ladder.scheduler.engines.pool import WorkerPool
    from verifier_ladder.testing.hostile import hostile_candidates, judge_hostile

    results = [_declares(verifier)]
    if verifier.waits:
        return [*results, Result("it waits for the world, so nothing more is tried", passed=True)]
    with WorkerPool(1, memory=verifier.memory, name="check") as pool:
        first = _judge(pool, verifier, candidates)
        results.append(_answers(candidates, first))
        if not results[-1].passed:
            return results
        again = _judge(pool, verifier, candidates)
        results.append(_same("the same candidate again gives the same verdict", first, again))
        alone = [_judge(pool, verifier, [one])[0] for one in candidates]
        results.append(_same("a batch gives the same verdicts as single candidates", first, alone))
        hostile = list(hostile_candidates(candidates[0]))
        results.append(_survives(judge_hostile(pool, verifier, candidates, hostile)))
    # The first round also paid for loading the verifier.
    return [*results, _costs(verifier, again)]


def _judge(pool: WorkerPool, verifier: Verifier, candidates: Sequence[Candidate]) -> list[Verdict]:
    # The same seeds each time, as a check has: its seed derives from its key.
    seeds = list(range(len(candidates)))
    return pool.verify(verifier, candidates, seeds=seeds).result().verdicts


def _declares(verifier: Verifier) -> Result:
    name = "its name, version and settings make a key"
    try:
        _ = verifier.digest
    except Exception as error:  # noqa: BLE001 - settings may be anything
        return Result(name, passed=False, text=printable(error, 500))
    return Result(name, passed=True)


def _answers(candidates: Sequence[Candidate], verdicts: Sequence[Verdict]) -> Result:
    name = "it answers for every sample candidate"
    failed = [
        f"{printable(candidate.content, 40)!r}: {printable(verdict.reason, 300)}"
        for candidate, verdict in zip(candidates, verdicts, strict=True)
        if not verdict.is_answer
    ]
    if failed:
        return Result(name, passed=False, text="; ".join(failed))
    shown = ", ".join(
        f"{printable(c.content, 40)!r} {v.outcome}" + ("" if v.score is None else f" {v.score:g}")
        for c, v in zip(candidates, verdicts, strict=True)
    )
    return Result(name, passed=True, text=shown)


def _same(name: str, first: Sequence[Verdict], second: Sequence[Verdict]) -> Result:
    for one, other in zip(first, second, strict=True):
        if (one.outcome, one.score) != (other.outcome, other.score):
            text = f"{one.outcome} {one.score} and then {other.outcome} {other.score}"
            return Result(name, passed=False, text=f"{text}; {_SEEDED}")
    return Result(name, passed=True)


def _survives(said: Sequence[tuple[Candidate, Verdict]]) -> Result:
    from verifier_ladder.testing.hostile import complaints

    name = "hostile text and extreme numbers get a verdict, and no failure of the verifier"
    wrong = complaints(said)
    return Result(name, not wrong, wrong)


def _costs(verifier: Verifier, verdicts: Sequence[Verdict]) -> Result:
    name = "it costs about what it declares"
    taken = [verdict.cost.seconds for verdict in verdicts if verdict.cost]
    mean = sum(taken) / max(1, len(taken))
    declared = verifier.cost.seconds
    text = f"declared {declared:g} cpu-seconds, measured {mean:.3g}"
    is_fine = mean <= max(_LEAST_COST, declared * _SLACK)
    return Result(name, is_fine, text if is_fine else f"{text}; raise cost=vl.Cost(seconds=…)")
