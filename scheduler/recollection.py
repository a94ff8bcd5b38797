"""Recollections: what a campaign believes by now, from the lessons that its ledger keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier_ladder.errors import LedgerError
from verifier_ladder.scheduler.audits import Audits
from verifier_ladder.scheduler.beliefs import BeliefModel, Seen, create_model
from verifier_ladder.scheduler.conclusions import number
from verifier_ladder.scheduler.lessons import Lessons, teach
from verifier_ladder.scheduler.policies import POLICIES
from verifier_ladder.scheduler.recorded import recorded_ladder

if TYPE_CHECKING:
    from verifier_ladder.ladder import Ladder


TierScore = tuple[int, float, float | None]
"""A tier, its score and the score's own deviation."""
Scores = Iterable[TierScore]
"""Of each tier that has scored a candidate."""


class Recollection:
    """Takes the entries that tell what was learnt, and believes as the campaign does after them.

    A summary is asked after the answers have come; what was believed when a sample was decided
    knew nothing of those that were drawn in the same call.
    """

    def __init__(self, ladder: Mapping[str, Any]) -> None:
        """Start without lessons.

        Args:
            ladder: The ladder as the ledger records it.
        """
        self._spec = ladder
        self._entries: list[Mapping[str, Any]] = []
        """The newest snapshot and the lessons since."""

    def take(self, facts: Mapping[str, Any]) -> None:
        """Take the facts of an entry of the kind `belief`; the oldest come first."""
        if "snapshot" in facts:
            self._entries.clear()
        self._entries.append(facts)

    @property
    def is_any(self) -> bool:
        """Whether anything was learnt."""
        return bool(self._entries)

    def beliefs(
        self, scores: Sequence[Scores], features: Sequence[Mapping[str, object]]
    ) -> Iterator[tuple[float, float]]:
        """What is believed of candidates, in order; nothing at all if nothing was learnt.

        Nothing is believed anew where the ladder is not recorded as this program does it, or has
        a policy of its user's own: what beliefs are made of depends on whether it compares
        candidates.

        Args:
            scores: What each candidate was told.
            features: What verifiers offer as evidence of each, by `verifier.name`.

        Returns:
            Mean and deviation of the target. The mean is NaN where the top tier has scored or
            nothing is known, the deviation where it is not known.
        """
        if not self._entries or self._spec["policy"]["name"] not in POLICIES:
            return iter(())
        try:
            ladder = recorded_ladder(self._spec)
        except LedgerError:
            return iter(())
        seen = _seen(ladder, scores, features)
        found = self._model(ladder).predict(seen)
        mean = np.where(np.isnan(seen.scores[:, -1]), found.mean, nan)
        return zip(mean.tolist(), found.deviation.tolist(), strict=True)

    def _model(self, ladder: Ladder) -> BeliefModel:
        model, audits = create_model(ladder), Audits()
        for facts in self._entries:
            if "snapshot" in facts:
                model.restore(facts["snapshot"]["belief"])
                audits.restore(facts["snapshot"]["audits"])
            else:
                teach(Lessons.from_json(facts["lessons"]), ladder, model, audits)
        return model


def _seen(
    ladder: Ladder, scores: Sequence[Scores], features: Sequence[Mapping[str, object]]
) -> Seen:
    columns = {int(tier): column for column, tier in enumerate(ladder.tiers)}
    rows, places, values = list[int](), list[int](), list[float]()
    for row, told in enumerate(scores):
        for tier, score, deviation in told:
            rows.append(row)
            places.append(columns[tier])
            values += (score, nan if deviation is None else deviation)
    filled = np.full((2, len(scores), len(columns)), nan)
    filled[:, rows, places] = np.array(values, dtype=float).reshape(-1, 2).T
    names = [f"{v.name}.{name}" for v in ladder.verifiers for name in v.features]
    numbers = [number(each.get(name)) for each in features for name in names]
    offered = np.array(numbers, dtype=float).reshape(len(scores), len(names))
    return Seen(filled[0], filled[1], offered)
