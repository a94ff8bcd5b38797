"""Batches: whatever a caller hands over, as columns of samples of one run and step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from operator import attrgetter
from typing import Any

from verifier_ladder.arguments import LARGEST, checked_value
from verifier_ladder.candidate import Candidate, Sample, sample_place
from verifier_ladder.errors import ConfigError
from verifier_ladder.run import Run, evaluation_name
from verifier_ladder.scheduler.scorer import Batch

Given = Sample | Candidate | str | bytes
_FIELDS: tuple[tuple[str, type, float], ...] = (
    ("run", str, 0), ("step", int, -1), ("position", int, -1), ("group", str, 0),
    ("group_size", int, -1), ("learner_version", str, 0), ("weight", float, 0),
    ("evaluation", bool, 0),
)  # fmt: skip
"""Fields of a sample, with their types and smallest values."""
_kind, _home = attrgetter("kind"), attrgetter("run", "step", "evaluation")
_COLUMNS = {
    name + "s": attrgetter(name)
    for name in ("candidate", "group", "group_size", "learner_version", "weight")
}
"""What a batch holds of each sample, in its order."""


def batches_of(
    given: Sequence[Given],
    *,
    kind: str,
    run: Run,
    step: Callable[[str], int],
    groups: Sequence[str] | None,
    evaluation: bool = False,
) -> list[tuple[Batch, list[int]]]:
    """Sort what was given by run and step; each batch comes with the places of its samples.

    Args:
        given: Samples, candidates, or bare content.
        kind: The ladder's kind of candidate.
        run: Run of those that name none.
        step: Gives the step of those samples of a run that name none; called only where there
            are such.
        groups: One group per element, for elements that are not samples.
        evaluation: Whether all of them evaluate the policy. Those that do are filed under the
            evaluation of their run.

    Raises:
        ConfigError: If an element is of another kind, or ids repeat.
    """
    is_one = isinstance(given, (str, bytes, Mapping, Candidate, Sample))
    if is_one or not isinstance(given, Iterable):
        raise ConfigError(f"score takes a list of candidates, not one {type(given).__name__}")
    given = list(given)
    if groups is not None:
        checked_value("score", "groups", groups, "Sequence[str]")
    if groups is not None and len(groups) != len(given):
        raise ConfigError(f"groups has {len(groups)} entries for {len(given)} candidates")
    is_text = set(map(type, given)) <= {str}
    if not is_text:
        _check_all(given, kind)
    if not given:
        return []
    if is_text or not any(isinstance(item, Sample) for item in given):
        name = (run.evaluations if evaluation else run).name
        plain = Batch(
            name, step(name), list(range(len(given))), given,  # type: ignore[arg-type]
            list(groups) if groups is not None else None,
        )  # fmt: skip
        return [(plain, plain.positions)]
    samples = [_sample(item, kind, groups[i] if groups else "") for i, item in enumerate(given)]
    samples = _plain_samples(samples)
    return _sorted(samples, run, step, evaluation=evaluation)


def _check_all(given: Sequence[Given], kind: str) -> None:
    candidates = [item.candidate if isinstance(item, Sample) else item for item in given]
    if set(map(type, candidates)) == {Candidate} and set(map(_kind, candidates)) == {kind}:
        return
    for place, item in enumerate(given):
        _check(place, item, kind)


def _plain_samples(samples: list[Sample]) -> list[Sample]:
    """Look at the fields of all samples, column by column; numbers of numpy become plain ones."""
    for name, kind, least in _FIELDS:
        column = list(map(attrgetter(name), samples))
        if _is_plain(column, kind, least):
            continue
        for place, value in enumerate(column):
            plain = checked_value(f"sample {place}", name, value, kind.__name__, least)
            samples[place] = replace(samples[place], **{name: plain})
    return samples


def _is_plain(column: list[Any], kind: type, least: float) -> bool:
    if not set(map(type, column)) <= {kind}:
        return False
    if kind is float and not all(map(isfinite, column)):
        return False
    if kind is int and max(column) > LARGEST:
        return False
    return kind not in {int, float} or min(column) >= least


def _check(place: int, item: object, kind: str) -> None:
    candidate = item.candidate if isinstance(item, Sample) else item
    if isinstance(item, Sample) and not isinstance(candidate, Candidate):
        raise ConfigError(
            f"sample {place}: candidate={candidate!r:.80}: give a vl.Candidate, such as "
            f'vl.Candidate("{kind}", "…")'
        )
    if isinstance(candidate, Candidate):
        if candidate.kind != kind:
            raise ConfigError(
                f"candidate {place} is a {candidate.kind}, and the ladder is about {kind}"
            )
    elif not isinstance(candidate, (str, bytes)):
        raise ConfigError(
            f"candidate {place} is a {type(candidate).__name__}; give text, a vl.Candidate or a "
            "vl.Sample"
        )


def _sample(item: Given, kind: str, group: str) -> Sample:
    if isinstance(item, Sample):
        return item
    candidate = item if isinstance(item, Candidate) else Candidate(kind, item)
    return Sample(candidate, group=group)


def _sorted(
    samples: list[Sample], run: Run, step: Callable[[str], int], *, evaluation: bool
) -> list[tuple[Batch, list[int]]]:
    homes = list(map(_home, samples))
    found: dict[tuple[str, int, bool], tuple[str, int]] = {}
    free: dict[str, int] = {}
    for home in dict.fromkeys(homes):  # Nearly always one.
        name = _run_of(home[0], run, evaluation=evaluation or home[2])
        if home[1] < 0 and name not in free:
            free[name] = step(name)
        found[home] = (name, home[1] if home[1] >= 0 else free[name])
    if len(found) == 1:
        by_step = {found[homes[0]]: list(range(len(samples)))}
    else:
        by_step = {}
        for place, home in enumerate(homes):
            by_step.setdefault(found[home], []).append(place)
    return [(_batch(samples, places, *key), places) for key, places in by_step.items()]


def _run_of(named: str, run: Run, *, evaluation: bool) -> str:
    """Name of the run that a sample is filed under."""
    if not named or named == run.name:
        return (run.evaluations if evaluation else run).name
    return evaluation_name(named) if evaluation else named


def _batch(samples: list[Sample], places: list[int], run: str, step: int) -> Batch:
    chosen = [samples[place] for place in places]
    positions = [
        sample.position if sample.position >= 0 else place
        for sample, place in zip(chosen, places, strict=True)
    ]
    if len(set(positions)) < len(positions):
        raise ConfigError(
            f"two samples of {sample_place(run, step)} have one position; each needs its own"
        )
    columns: dict[str, Any] = {
        name: list(map(column, chosen)) for name, column in _COLUMNS.items()
    }
    return Batch(run, step, positions, **columns)
