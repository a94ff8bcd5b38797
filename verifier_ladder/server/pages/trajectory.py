"""Trajectories: a candidate's turns and what is said of each, as far as the ledger has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from verifier_ladder.analysis.candidates import Listed
from verifier_ladder.candidate import Terminate, ToolCall, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger.records import Block
from verifier_ladder.report.timeline import Event
from verifier_ladder.trajectory import from_messages, from_text
from verifier_ladder.transcript import KIND, Transcripts

_MOST_TURNS = 100
"""Turns that a page shows, the first ones."""
_LONGEST = 4_000
"""Characters of each text of a turn that are shown."""
_IN_ALL = 60_000
"""Characters of all turns together that are shown."""
_LONGEST_TEXT = 100_000
"""Characters of a candidate that is read as a trajectory."""
_KEPT: Final = "the transcript that the ledger keeps"
_QUEUED: Final = "the work queue, whose rows nobody signs"
_READ: Final = "the candidate's own text"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a verifier says of a turn."""

    verifier: str
    score: float | None
    feedback: str


@dataclass(frozen=True, slots=True)
class Step:
    """A turn as it is shown; all texts are model-made, or a tool's."""

    number: int
    """From 0, as verdicts count turns."""
    does: str
    """says, calls or ends."""
    tool: str
    text: str
    """What it says, the arguments of the call, or its answer."""
    thought: str
    observation: str
    reward: float | None
    """What the environment gave."""
    is_failed: bool
    """Whether the tool said that the call failed, or was denied."""
    notes: tuple[str, ...]
    judged: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The turns of a candidate."""

    source: str
    """Where they were found, in words."""
    turns: int
    calls: int
    failed: int
    rewarded: int
    """To how many the environment gave a reward."""
    judged: int
    """Of how many a verifier has said something."""
    steps: tuple[Step, ...]
    """As many of the first ones as are shown."""


def trajectory_of(
    found: Listed, content: str | None, events: Sequence[Event], *, kept: Block | None,
    payload: Mapping[str, Any],
) -> Trajectory | None:  # fmt: skip
    """The turns of a candidate; None if none are known.

    Args:
        found: The candidate.
        content: Its text, if that is known.
        events: What happened to it.
        kept: The entry that holds the transcript of its last sample, if there is one.
        payload: The candidate as the work queue has it; {} if it does not.
    """
    for source, turns in (
        (_KEPT, _of_transcript(found, kept)), (_QUEUED, _of_payload(payload)),
        (_READ, _of_text(content)),
    ):  # fmt: skip
        if turns:
            return _told(source, turns, _judgements(events))
    return None


def _of_transcript(found: Listed, block: Block | None) -> Sequence[Turn]:
    if block is None or block.kind != KIND or found.step is None or found.position is None:
        return ()
    told = Transcripts(found.run)
    with suppress(ConfigError, KeyError, TypeError, ValueError):
        told.read(block.facts)
        if turns := told.turns(found.step, found.position):
            return turns
        said = told.sample(found.step, found.position).get("completion")
        if isinstance(said, list) and all(isinstance(each, Mapping) for each in said):
            return from_messages(said)
    return ()


def _of_payload(payload: Mapping[str, Any]) -> Sequence[Turn]:
    with suppress(ConfigError, KeyError, TypeError, ValueError):
        return [Turn.from_json(stored) for stored in payload.get("turns", ())]
    return ()


def _of_text(content: str | None) -> Sequence[Turn]:
    """The turns of a text that calls tools; plain text is none."""
    if not content or len(content) > _LONGEST_TEXT:
        return ()
    with suppress(ConfigError, RecursionError):
        turns = from_text(content)
        if any(isinstance(turn.action, ToolCall) for turn in turns):
            return turns
    return ()


def _judgements(events: Iterable[Event]) -> dict[int, dict[str, Judged]]:
    """What each verifier has said last, by turn."""
    made: dict[int, dict[str, Judged]] = {}
    for event in events:
        if event.sort == "verdict":
            name = str(event.facts.get("verifier", ""))
            for told in event.facts.get("turns") or ():
                judged = Judged(name, told["score"], told["feedback"])
                made.setdefault(told["turn"], {})[name] = judged
    return made


def _told(
    source: str, turns: Sequence[Turn], judged: Mapping[int, Mapping[str, Judged]]
) -> Trajectory:
    return Trajectory(
        source, len(turns), sum(isinstance(turn.action, ToolCall) for turn in turns),
        sum(turn.failed is True for turn in turns),
        sum(turn.reward is not None for turn in turns),
        sum(number in judged for number in range(len(turns))),
        tuple(_steps(turns, judged)),
    )  # fmt: skip


def _steps(turns: Sequence[Turn], judged: Mapping[int, Mapping[str, Judged]]) -> Iterator[Step]:
    left = _IN_ALL
    for number, turn in enumerate(turns[:_MOST_TURNS]):
        texts = [_cut(text) for text in (_said(turn), turn.thought, turn.observation)]
        left -= sum(map(len, texts))
        if left < 0 and number:
            return
        text, thought, observation = texts
        tool = turn.action.name if isinstance(turn.action, ToolCall) else ""
        ends = isinstance(turn.action, Terminate)
        yield Step(
            number, "ends" if ends else "calls" if tool else "says", tool, text, thought,
            observation, turn.reward, turn.failed is True, tuple(_notes(turn)),
            tuple(judged.get(number, {}).values()),
        )  # fmt: skip


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n… {len(text) - _LONGEST:,} characters more"


def _said(turn: Turn) -> str:
    action = turn.action
    if isinstance(action, Terminate):
        return action.answer
    if isinstance(action, str):
        return action
    if isinstance(action.arguments, str):
        return action.arguments
    return json.dumps(dict(action.arguments), indent=2, ensure_ascii=False, default=str)


def _notes(turn: Turn) -> Iterator[str]:
    if turn.parallel:
        yield "before it saw the observation of the turn before"
    if turn.compressed:
        yield "after its context was compressed"
    if turn.terminated:
        yield "the environment came to its end here"
    if turn.truncated:
        yield "ended from outside, by a limit"
