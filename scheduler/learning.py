"""Learning: what a campaign's knowledge takes in, and how it comes back after a restart.

The ledger keeps every lesson, and a snapshot of all that is known every so often. Beliefs at any
moment follow from the last snapshot before it and the lessons since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler.costs import CostLessons
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.knowledge import Knowledge
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.turns import Turns
from verifier_ladder.verifiers import Verifier

_SNAPSHOT = 256
"""How many lessons are learnt between two snapshots."""


class Ended(NamedTuple):
    """A check that has ended."""

    standing: Standing
    """Its candidate."""
    verifier: Verifier
    drawn: tuple[SampleId, Draw, str] | None
    """The sample for which it was drawn, the draw and the sample's group, if it was drawn."""


class Learning:
    """Teaches the knowledge of one campaign, each answer once.

    Not thread-safe by itself: it is used under the desk's lock.
    """

    def __init__(self, knowledge: Knowledge, ledger: Ledger, campaign: str) -> None:
        """Nothing is learnt yet."""
        self._knowledge, self._ledger, self._campaign = knowledge, ledger, campaign
        self._learnt: set[bytes] = set()
        self._turns: Turns[tuple[bytes, Ended]] = Turns()
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
                lessons, is_over = Lessons.from_json(facts["lessons"]), "is_over" in facts
                self._knowledge.learn(lessons, is_over=is_over)
                for stored in facts["costs"]:
                    self._knowledge.costs.learn(CostLessons.from_json(stored))
                self._since += len(facts["keys"])

    def hear(self, ended: Mapping[bytes, Ended]) -> None:
        """Learn from checks that have ended what they said and what they took."""
        for key in ended:
            self._knowledge.prices.settle(key)
        fresh = {
            key: one for key, one in ended.items()
            if key not in self._learnt and one.verifier.name in one.standing.verdicts
        }  # fmt: skip
        told = dict(self._told(fresh))
        lessons = self._knowledge.lessons(
            [one.standing for one in told.values()], list(told),
            [one.drawn for one in told.values()],
        )  # fmt: skip
        self._write(lessons, self._costs(fresh), list(fresh))

    def _told(self, fresh: Mapping[bytes, Ended]) -> Iterator[tuple[bytes, Ended]]:
        """What is learnt now: of each candidate, the check that gave something to learn."""
        said: dict[int, dict[bytes, str]] = {}
        for key, one in fresh.items():
            if one.verifier.scope == "group":  # It says nothing of other groups.
                continue
            said.setdefault(id(one.standing), {})[key] = one.verifier.name
        for names in said.values():
            key = next(reversed(names))
            standing = fresh[key].standing
            is_lesson = self._knowledge.is_lesson(standing, set(names.values()))
            if self._knowledge.is_begun(standing):
                lesson = (key, fresh[key]) if is_lesson else None
                self._turns.hear(standing, lesson, is_open=self._knowledge.is_open(standing))
            elif is_lesson:
                yield key, fresh[key]
        yield from self._turns.due()

    def _costs(self, fresh: Mapping[bytes, Ended]) -> list[CostLessons]:
        by_name: dict[str, list[Standing]] = {}
        for one in fresh.values():
            by_name.setdefault(one.verifier.name, []).append(one.standing)
        return [self._knowledge.costs.lessons(*each) for each in by_name.items()]

    def take(self, lessons: Lessons) -> int:
        """Learn answers of the top tier that came from elsewhere; count those that are new."""
        fresh = [row for row, key in enumerate(lessons.keys) if key not in self._learnt]
        self._write(lessons.rows(fresh), [], [lessons.keys[row] for row in fresh])
        return len(fresh)

    def _write(self, lessons: Lessons, costs: list[CostLessons], keys: list[bytes]) -> None:
        """Learn, and write down what was learnt."""
        if not keys:
            return
        is_over = self._knowledge.prices.is_over
        alarms = self._knowledge.learn(lessons, is_over=is_over)
        for lesson in costs:
            self._knowledge.costs.learn(lesson)
        self._learnt.update(keys)
        self._since += len(keys)
        facts: dict[str, object] = {
            "keys": [key.hex() for key in keys], "lessons": lessons.as_json(),
            "costs": [lesson.as_json() for lesson in costs],
        }  # fmt: skip
        if is_over:
            facts["is_over"] = True
        if self._since >= _SNAPSHOT:
            facts["snapshot"] = self._knowledge.snapshot()
            self._since = 0
        self._ledger.append(Block("belief", self._campaign, facts=facts))
        for alarm in alarms:
            self._ledger.append(Block("alarm", self._campaign, facts=alarm.as_json()))
