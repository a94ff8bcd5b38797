"""Learning: what a campaign's knowledge takes in, and how it comes back after a restart.

The ledger keeps every lesson, and a snapshot of all that is known every so often. Beliefs at any
moment follow from the last snapshot before it and the lessons since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler.costs import CostLessons
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.verifiers import Verifier

_NONE: Mapping[bytes, float] = {}
_SNAPSHOT = 256
"""How many lessons are learnt between two snapshots."""


class Ended(NamedTuple):
    """A check that has ended."""

    standing: Standing
    """Its candidate."""
    verifier: Verifier
    drawn: tuple[SampleId, Draw] | None
    """The sample for which it was drawn, if one was."""


class Learning:
    """Teaches the knowledge of one campaign, each answer once.

    Not thread-safe by itself: it is used under the desk's lock.
    """

    def __init__(self, knowledge: Knowledge, ledger: Ledger, campaign: str) -> None:
        """Nothing is learnt yet."""
        self._knowledge, self._ledger, self._campaign = knowledge, ledger, campaign
        self._learnt: set[bytes] = set()
        self._since = 0

    def restore(self) -> None:
        """Learn again what the ledger says was learnt."""
        entries = [
            self._ledger.read(entry).facts
            for entry in self._ledger.entries(kind="belief", campaign=self._campaign)
        ]
        newest = max((i for i, facts in enumerate(entries) if "snapshot" in facts), default=-1)
        for number, facts in enumerate(entries):
            self._learnt.update(bytes.fromhex(key) for key in facts["keys"])
            if number == newest:
                self._knowledge.restore(facts["snapshot"])
                self._since = 0
            elif number > newest:
                self._knowledge.learn(Lessons.from_json(facts["lessons"]))
                for stored in facts["costs"]:
                    self._knowledge.costs.learn(CostLessons.from_json(stored))
                waits, unheard = (facts.get(name, ()) for name in ("waits", "unheard"))
                self._learn_waits([each for _, each in waits], [each for _, each in unheard])
                self._since += len(facts["keys"])

    def hear(self, ended: Mapping[bytes, Ended]) -> None:
        """Learn from checks that have ended what they said and what they took."""
        for key in ended:
            self._knowledge.prices.settle(key)
        fresh = {
            key: one for key, one in ended.items()
            if key not in self._learnt and one.verifier.name in one.standing.verdicts
        }  # fmt: skip
        told = {key: one for key, one in fresh.items() if self._knowledge.is_lesson(*one[:2])}
        lessons = self._knowledge.lessons(
            [one.standing for one in told.values()], list(told),
            [one.drawn for one in told.values()],
        )  # fmt: skip
        self._write(lessons, self._costs(fresh), list(fresh), self._waits(ended.values()))

    def _waits(self, ended: Iterable[Ended]) -> dict[bytes, float | None]:
        """How long drawn answers took that have come; None for those that never will."""
        punctuality, now = self._knowledge.punctuality, self._ledger.clock()
        waits: dict[bytes, float | None] = {}
        for one in ended:
            key = one.standing.answer_key
            if punctuality.is_out(key):
                has_failed = self._has_failed(one.standing)
                if has_failed is not None:
                    seconds = punctuality.end(key, now)
                    waits[key] = None if has_failed else seconds
        return waits

    def _has_failed(self, standing: Standing) -> bool | None:
        """Whether the top tier has failed to judge a candidate; None while it is at it."""
        ladder = self._knowledge.ladder
        survey = Survey(ladder, standing)
        if survey.is_judged:
            return False
        said = [standing.verdicts.get(verifier.name) for verifier in ladder.rungs[-1].verifiers]
        if None in said:
            return None
        return any(verdict is not None and not verdict.is_answer for verdict in said)

    def give_up(self, standings: Iterable[Standing], until: Mapping[bytes, float]) -> None:
        """Hear of candidates about which nobody waits for an answer any more.

        That one had not come by the deadline of its samples is known of it, and is learnt. Of one
        that was cancelled before, or had none, nothing is known.

        Args:
            standings: The candidates.
            until: The last deadline of each, by the key of its answer, as far as there was one.
        """
        punctuality, now = self._knowledge.punctuality, self._ledger.clock()
        unheard: dict[bytes, float] = {}
        for key in dict.fromkeys(standing.answer_key for standing in standings):
            seconds = punctuality.end(key, now)
            if seconds is not None and key in until and until[key] <= now:
                unheard[key] = seconds - (now - until[key])
        self._write(self._knowledge.lessons([], [], []), [], [], unheard=unheard)

    def _costs(self, fresh: Mapping[bytes, Ended]) -> list[CostLessons]:
        by_name: dict[str, list[Standing]] = {}
        for one in fresh.values():
            by_name.setdefault(one.verifier.name, []).append(one.standing)
        return [self._knowledge.costs.lessons(*each) for each in by_name.items()]

    def _learn_waits(self, waits: Iterable[float | None], unheard: Iterable[float]) -> None:
        for seconds in waits:
            self._knowledge.punctuality.learn(seconds)
        for seconds in unheard:
            self._knowledge.punctuality.learn_unheard(seconds)

    def take(self, lessons: Lessons) -> int:
        """Learn answers of the top tier that came from elsewhere; count those that are new."""
        fresh = [row for row, key in enumerate(lessons.keys) if key not in self._learnt]
        self._write(lessons.rows(fresh), [], [lessons.keys[row] for row in fresh])
        return len(fresh)

    def _write(
        self,
        lessons: Lessons,
        costs: list[CostLessons],
        keys: list[bytes],
        waits: Mapping[bytes, float | None] = _NONE,
        unheard: Mapping[bytes, float] = _NONE,
    ) -> None:
        """Learn, and write down what was learnt."""
        if not (keys or waits or unheard):
            return
        alarms = self._knowledge.learn(lessons)
        self._learn_waits(waits.values(), unheard.values())
        for lesson in costs:
            self._knowledge.costs.learn(lesson)
        self._learnt.update(keys)
        self._since += len(keys)
        facts: dict[str, object] = {
            "keys": [key.hex() for key in keys], "lessons": lessons.as_json(),
            "costs": [lesson.as_json() for lesson in costs],
        }  # fmt: skip
        if waits:
            facts["waits"] = _listed(waits)
        if unheard:
            facts["unheard"] = _listed(unheard)
        if self._since >= _SNAPSHOT:
            facts["snapshot"] = self._knowledge.snapshot()
            self._since = 0
        self._ledger.append(Block("belief", self._campaign, facts=facts))
        for alarm in alarms:
            self._ledger.append(Block("alarm", self._campaign, facts=alarm.as_json()))


def _listed(seconds: Mapping[bytes, float | None]) -> list[tuple[str, float | None]]:
    return [(key.hex(), each) for key, each in seconds.items()]
