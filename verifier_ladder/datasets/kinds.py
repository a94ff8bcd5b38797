"""Kinds of training sets: what a row of each holds, and which examples make one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import hypot, isinf
from typing import Any, NamedTuple

from verifier_ladder.datasets.examples import Example, Examples
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.simulation.tokenscores import ARTIFACT, read_artifact

_UNSURE = "how sure its reward is is not known yet"


class Row(NamedTuple):
    """One row, with what must not fall into two splits."""

    task: str
    contents: tuple[bytes, ...]
    """Content keys of the candidates in it."""
    values: dict[str, Any]


class Kind(NamedTuple):
    """A kind of training set."""

    name: str
    columns: Mapping[str, str]
    """The columns with the sort of what they hold: see `tables.SORTS`."""
    rows: Callable[[Examples, Counter[str]], list[Row]]
    """Makes the rows, and counts what is left out."""


_REWARD = {"reward": "number", "uncertainty": "number", "tier": "text", "source": "source"}


def _row(example: Example, examples: Examples, **more: Any) -> Row:
    values = {
        "prompt": example.prompt, "completion": example.completion, **more,
        **example.provenance(examples.record.name),
    }  # fmt: skip
    return Row(example.task, (example.sample.content,), values)


# -- rejection sampling --------------------------------------------------------------------------


def _passed(examples: Examples, left_out: Counter[str]) -> list[Row]:
    """Those that pass for sure; of each task the best."""
    threshold, best = examples.pass_at, examples.selection.best
    if threshold is None and best is None:
        raise ConfigError(
            "nobody said which reward passes, and these leave the scale from 0 to 1; give "
            "--pass-at REWARD or --best N (Selection(pass_at=…) or Selection(best=…))"
        )
    rows = []
    for members in examples.by_task().values():
        good = []
        for example in members:
            why = _fails(example, threshold, examples.selection.sure)
            left_out[why] += bool(why)
            if not why:
                good.append(example)
        good.sort(key=lambda example: -example.worth)
        rows += [_row(example, examples) for example in good[:best]]
        left_out["others of its task are better"] += len(good) - len(good[:best])
    return rows


def _fails(example: Example, threshold: float | None, sure: float) -> str:
    if example.is_rejected:
        return "rejected"
    if threshold is None or _exceeds(example.worth, threshold, sure, example.spread):
        return ""
    if example.worth >= threshold and isinf(example.spread):
        return _UNSURE
    return "not sure to pass" if example.worth >= threshold else "below the reward that passes"


def _exceeds(worth: float, other: float, sure: float, spread: float) -> bool:
    """Whether it does so by as many standard deviations as asked for."""
    return worth >= other if sure == 0.0 else worth - other >= sure * spread


# -- preferences ---------------------------------------------------------------------------------


def _preferences(examples: Examples, left_out: Counter[str]) -> list[Row]:
    """Pairs of one task, the best with the worst, then the second with the second last."""
    rows = []
    for members in examples.by_task().values():
        known = [e for e in members if not (examples.selection.sure and isinf(e.spread))]
        left_out[_UNSURE] += len(members) - len(known)
        ranked = sorted(known, key=lambda example: -example.worth)
        pairs = list(zip(ranked[: len(ranked) // 2], reversed(ranked), strict=False))
        sure = [pair for pair in pairs if _differ(examples, *pair)]
        chosen = sure[: examples.selection.pairs]
        left_out["no pair of its task differs enough"] += len(ranked) - 2 * len(sure)
        left_out["its task has more pairs than asked for"] += 2 * (len(sure) - len(chosen))
        rows += [_pair(examples, *pair) for pair in chosen]
    return rows


def _differ(examples: Examples, good: Example, bad: Example) -> bool:
    """Whether one is better than the other for sure."""
    selection, distance = examples.selection, good.worth - bad.worth
    if good.is_rejected or distance <= 0.0:
        return False
    spread = hypot(good.spread, bad.spread)
    return distance >= selection.margin and _exceeds(distance, 0.0, selection.sure, spread)


def _pair(examples: Examples, good: Example, bad: Example) -> Row:
    run = examples.record.name
    values = {
        "prompt": good.prompt, "chosen": good.completion, "rejected": bad.completion,
        "margin": good.worth - bad.worth,
    }  # fmt: skip
    for side, example in (("chosen", good), ("rejected", bad)):
        values |= {f"{side}_{name}": v for name, v in example.provenance(run).items()}
    return Row(good.task, (good.sample.content, bad.sample.content), values)


_PAIR = {
    "prompt": "said", "chosen": "said", "rejected": "said", "margin": "number",
    **{f"{side}_{n}": sort for side in ("chosen", "rejected") for n, sort in _REWARD.items()},
}  # fmt: skip


# -- hints ---------------------------------------------------------------------------------------


def _hints(examples: Examples, left_out: Counter[str]) -> list[Row]:
    """What verifiers said of earlier attempts, each hint once per task."""
    told: set[tuple[str, str]] = set()
    rows = []
    for example in examples:
        hint = example.hint
        if not hint:
            left_out["no verifier gave it feedback"] += 1
        elif (example.task, hint) in told:
            left_out["the same hint again"] += 1
        else:
            told.add((example.task, hint))
            told_so = {"privileged_context": hint, "info": {"demonstration": hint}}
            rows.append(_row(example, examples, **told_so))
    return rows


# -- per-turn rewards ----------------------------------------------------------------------------


def _turns(examples: Examples, left_out: Counter[str]) -> list[Row]:
    """Trajectories, or texts of steps, with a score for each, as far as each was judged."""
    threshold = 0.5 if examples.selection.pass_at is None else examples.selection.pass_at
    rows = []
    for example in examples:
        turns = _told_turns(example, examples)
        scores = _scores(example)
        known = 0
        while known < len(turns) and known in scores:
            known += 1
        if not known:
            why = "its first turn has no score" if turns else "its turns were not kept"
            left_out[why] += 1
            continue
        numbers = [scores[turn] for turn in range(known)]
        row = _row(
            example, examples, completions=[said for said, _ in turns[:known]],
            observations=[seen for _, seen in turns[:known]], rewards=numbers,
            labels=[number >= threshold for number in numbers], is_whole=known == len(turns),
        )  # fmt: skip
        del row.values["completion"]
        rows.append(row)
    return rows


def _told_turns(example: Example, examples: Examples) -> list[tuple[str, str]]:
    """What was said and seen in each turn, or each step of a text where verdicts have spans."""
    sample = example.sample
    turns = examples.record.transcripts.turns(sample.step, sample.position)
    if turns:
        return [(turn.text, turn.observation) for turn in turns]
    spans: dict[int, tuple[int, int]] = {}
    for said in sorted(example.verdicts, key=lambda said: said.tier):
        spans.update({t.turn: t.span for t in said.verdict.turns if t.span is not None})
    text = examples.record.contents.get(sample.content)
    if not isinstance(text, str) or sorted(spans) != list(range(len(spans))):
        return []
    return [(text[slice(*spans[place])], "") for place in sorted(spans)]


def _scores(example: Example) -> dict[int, float]:
    """The score of each turn that has one; of several verifiers the highest tier's counts."""
    found: dict[int, float] = {}
    for said in sorted(example.verdicts, key=lambda said: said.tier):
        found.update({t.turn: t.score for t in said.verdict.turns if t.score is not None})
    return found


# -- distillation --------------------------------------------------------------------------------


def _distillation(examples: Examples, left_out: Counter[str]) -> list[Row]:
    """Trajectories for a teacher to look at again, with what it may know and the student not.

    Where a verifier `teacher` has scored the tokens already, its numbers come along.
    """
    del left_out
    rows = []
    for example in examples:
        kept = examples.record.transcripts.sample(example.sample.step, example.sample.position)
        data = examples.file(example, ARTIFACT)
        told = {} if data is None else read_artifact(data)
        ids = kept.get("token_ids")
        if ids is not None and told.get("token_ids", ids) != list(ids):
            told = {}  # They are about other tokens than those that were kept.
        numbers = {f"teacher_{name}": told.get(name) for name in _OF_TEACHER}
        teachers = list(examples.selection.teachers) or list(told.get("teachers", ()))
        rows.append(_row(
            example, examples, hint=example.hint or None, teachers=teachers,
            token_ids=told.get("token_ids") if ids is None else ids,
            logprobs=kept.get("logprobs"), **numbers,
        ))  # fmt: skip
    return rows


_OF_TEACHER = {
    "logprobs": "numbers", "top_ids": "integer lists", "top_logprobs": "number lists",
    "tail": "numbers",
}  # fmt: skip
"""What is exported of a teacher, and the sort of each column."""


_SAID = {"prompt": "said", "completion": "said"}
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("sft", {**_SAID, **_REWARD}, _passed),
        Kind("preferences", _PAIR, _preferences),
        Kind(
            "hints",
            {**_SAID, "privileged_context": "text", "info": "info", **_REWARD}, _hints,
        ),
        Kind(
            "turns",
            {
                "prompt": "said", "completions": "texts", "labels": "flags", "rewards": "numbers",
                "observations": "texts", "is_whole": "flag", **_REWARD,
            },
            _turns,
        ),
        Kind(
            "distillation",
            {
                **_SAID, "hint": "text", "teachers": "texts", "token_ids": "integers",
                "logprobs": "numbers",
                **{f"teacher_{name}": sort for name, sort in _OF_TEACHER.items()}, **_REWARD,
            },
            _distillation,
        ),
    )
}  # fmt: skip
"""All kinds, by name."""
