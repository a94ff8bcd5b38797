"""Lessons: answers of the top tier, as beliefs learn them and the ledger keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.arrays import NDArray
from verifier_ladder.scheduler.audits import Audit, Audits
from verifier_ladder.scheduler.beliefs import BeliefModel, Seen

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.scheduler.drift import Alarm


@dataclass(slots=True)
class Lessons:
    """Answers of the top tier, one row each, in the order they are learnt."""

    keys: list[bytes]
    """Of what candidates, by `Knowledge.judgement_key`."""
    seen: Seen
    """What the lower tiers had said."""
    target: NDArray[np.float64]
    """What the top tier's judgement is worth, in target units; NaN if it gave none. Shape (n,)."""
    rejected: NDArray[np.bool_]
    """Whether the top tier has rejected the candidate. Shape (n,)."""
    audits: list[Audit | None]
    """The draw that chose the candidate, if one did."""

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """Whether a random draw chose the candidate. Shape (n,)."""
        return np.array([audit is not None for audit in self.audits], dtype=bool)

    def __len__(self) -> int:
        """Count the answers."""
        return len(self.keys)

    def rows(self, chosen: Sequence[int]) -> Lessons:
        """Some of the lessons."""
        seen = self.seen
        return Lessons(
            [self.keys[row] for row in chosen],
            Seen(seen.scores[chosen], seen.deviations[chosen], seen.features[chosen]),
            self.target[chosen], self.rejected[chosen], [self.audits[row] for row in chosen],
        )  # fmt: skip

    def each(self) -> dict[bytes, Lessons]:
        """The lessons one by one, by their keys."""
        return {key: self.rows([row]) for row, key in enumerate(self.keys)}

    def parted(self, keys: Collection[bytes]) -> tuple[Lessons, Lessons]:
        """The lessons of other candidates, and of these."""
        theirs = [key in keys for key in self.keys]
        others = [row for row, is_theirs in enumerate(theirs) if not is_theirs]
        return self.rows(others), self.rows([row for row, it in enumerate(theirs) if it])

    def judged(self) -> set[bytes]:
        """Keys of those that tell a judgement of the top tier."""
        return {self.keys[row] for row in np.flatnonzero(~np.isnan(self.target)).tolist()}

    @staticmethod
    def joined(parts: Sequence[Lessons]) -> Lessons:
        """The lessons of one part or more, one after the other."""
        parts = [each for each in parts if len(each)] or parts[:1]
        seen = [each.seen for each in parts]
        return Lessons(
            [key for each in parts for key in each.keys],
            Seen(
                np.concatenate([each.scores for each in seen]),
                np.concatenate([each.deviations for each in seen]),
                np.concatenate([each.features for each in seen]),
            ),
            np.concatenate([each.target for each in parts]),
            np.concatenate([each.rejected for each in parts]),
            [audit for each in parts for audit in each.audits],
        )

    def as_json(self) -> dict[str, Any]:
        """The lessons as the ledger keeps them; unknown numbers are null."""
        return {
            "keys": [key.hex() for key in self.keys],
            "scores": _listed(self.seen.scores),
            "deviations": _listed(self.seen.deviations),
            "features": _listed(self.seen.features),
            "target": _listed(self.target[:, None]),
            **(
                {"rejected": np.flatnonzero(self.rejected).tolist()} if self.rejected.any() else {}
            ),
            "audits": [audit and audit.as_json() for audit in self.audits],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Lessons:
        """Read lessons back.

        Example:
            >>> row = np.array([[1.0, np.nan]])
            >>> no = np.zeros(1, dtype=bool)
            >>> one = Lessons([b"k"], Seen(row, row, row[:, :0]), np.ones(1), no, [None])
            >>> Lessons.from_json(one.as_json()).keys
            [b'k']
        """
        count = len(stored["keys"])
        rejected = np.zeros(count, dtype=bool)
        rejected[stored.get("rejected", [])] = True
        return cls(
            [bytes.fromhex(key) for key in stored["keys"]],
            Seen(*(_array(stored[name], count) for name in ("scores", "deviations", "features"))),
            _array(stored["target"], count)[:, 0] if count else np.empty(0),
            rejected,
            [audit and Audit.from_json(audit) for audit in stored["audits"]],
        )  # fmt: skip


def teach(
    lessons: Lessons, ladder: Ladder, model: BeliefModel, audits: Audits, *, is_over: bool = False
) -> list[Alarm]:
    """Have beliefs and audits learn; gives alarms of verifiers that have drifted.

    Beliefs that rest on a verifier that drifts forget their past sooner.

    Args:
        lessons: What is learnt.
        ladder: The ladder.
        model: Its beliefs.
        audits: Its audits.
        is_over: Whether no samples are expected that what is learnt is for.
    """
    for column, rung in enumerate(ladder.rungs[:-1]):
        if rung.primaries:
            kept = min(audits.drift.forgetting(verifier.name) for verifier in rung.primaries)
            model.set_forgetting(column, kept)
    if len(lessons):
        model.learn(lessons.seen, lessons.target, lessons.drawn)
    alarms = [audits.take(a, is_over=is_over) for a in lessons.audits if a is not None]
    return [alarm for alarm in alarms if alarm is not None]


def _listed(table: NDArray[np.float64]) -> list[list[float | None]]:
    return [[None if isnan(value) else value for value in row] for row in table.tolist()]


def _array(rows: Sequence[Sequence[float | None]], count: int) -> NDArray[np.float64]:
    width = len(rows[0]) if count else 0
    return np.array(rows, dtype=float).reshape(count, width)
