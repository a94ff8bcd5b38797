"""Learning: what a campaign's knowledge takes in, and how it comes back after a restart.

The ledger keeps every lesson, and a snapshot of all that is known every so often. Beliefs at any
moment follow from the last snapshot before it and the lessons since.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
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
    """Teaches the knowledge of one campaign, each answer once, and each candidate once.

    Not thread-safe by itself: it is used under the desk's lock.
    """

    def __init__(self, knowledge: Knowledge, ledger: Ledger, campaign: str) -> None:
        """Nothing is learnt yet."""
        self._knowledge, self._ledger, self._campaign = knowledge, ledger, campaign
        self._heard: set[bytes] = set()
        """Checks of which it is known what they said and took."""
        self._judged: set[bytes] = set()
        """Of each candidate that the top tier has judged, the check that did so."""
        self._turns: Turns[Lessons] = Turns()
        self._since = 0

    def restore(self) -> None:
        """Learn again what the ledger says was learnt; what waited for its turn has it now."""
        entries = [
            self._ledger.read(entry).facts
            for entry in self._ledger.entries(kind="belief", campaign=self._campaign)
        ]
        newest = max((i for i, facts in enumerate(entries) if "snapshot" in facts), default=-1)
        waiting: dict[bytes, Lessons] = {}
        for number, facts in enumerate(entries):
            self._heard.update(bytes.fromhex(key) for key in facts["keys"])
            lessons = Lessons.from_json(facts["lessons"])
            self._judged |= lessons.judged()
            for key in waiting.keys() & set(lessons.keys):
                del waiting[key]
            if "waiting" in facts:
                waiting |= Lessons.from_json(facts["waiting"]).each()
            if number == newest:
                self._knowledge.restore(facts["snapshot"])
                self._since = 0
            elif number > newest:
                self._knowledge.learn(lessons, is_over="is_over" in facts)
                for stored in facts["costs"]:
                    self._knowledge.costs.learn(CostLessons.from_json(stored))
                self._since += len(facts["keys"])
        for key, lesson in waiting.items():
            self._judged |= lesson.judged()
            self._turns.hear(key, lesson, is_open=False)

    def hear(self, ended: Mapping[bytes, Ended]) -> None:
        """Learn from checks that have ended what they said and what they took."""
        for key in ended:
            self._knowledge.prices.settle(key)
        fresh = {
            key: one for key, one in ended.items()
            if key not in self._heard and one.verifier.name in one.standing.verdicts
        }  # fmt: skip
        said = self._said(fresh)
        told = {key: fresh[key] for key, is_lesson in said.items() if is_lesson}
        lessons = self._knowledge.lessons(
            [one.standing for one in told.values()], list(told),
            [one.drawn for one in told.values()],
        )  # fmt: skip
        self._judged |= lessons.judged()
        begun = [key for key in said if self._knowledge.is_begun(fresh[key].standing)]
        now, later = lessons.parted(set(begun))
        waiting = later.each()
        for key in begun:
            standing = fresh[key].standing
            is_open = self._knowledge.is_open(standing)
            self._turns.hear(standing.subject, waiting.get(key), is_open=is_open)
        now = Lessons.joined([now, *self._turns.due()])
        learnt = set(now.keys)
        still = [one for key, one in waiting.items() if key not in learnt]
        self._write(now, self._costs(fresh), list(fresh), still)

    def end(self, standings: Iterable[Standing]) -> None:
        """Hear that no more will be said of candidates by themselves."""
        for standing in standings:
            self._turns.end(standing.subject)
        if due := list(self._turns.due()):
            self._write(Lessons.joined(due), [], [])

    def _said(self, fresh: Mapping[bytes, Ended]) -> dict[bytes, bool]:
        """The last check about each candidate, and whether there is something to learn."""
        names: dict[Hashable, dict[bytes, str]] = {}
        for key, one in fresh.items():
            if one.verifier.scope == "group":  # It says nothing of other groups.
                continue
            names.setdefault(one.standing.subject, {})[key] = one.verifier.name
        found = {}
        for told in names.values():
            key = next(reversed(told))
            standing = fresh[key].standing
            is_lesson = self._knowledge.is_lesson(standing, set(told.values()))
            found[key] = is_lesson and not self.has_judged(standing)
        return found

    def has_judged(self, standing: Standing) -> bool:
        """Whether it is learnt, or waits to be, what the top tier has said of a candidate."""
        return not self._judged.isdisjoint(standing.keys)

    def _costs(self, fresh: Mapping[bytes, Ended]) -> list[CostLessons]:
        by_name: dict[str, list[Standing]] = {}
        for one in fresh.values():
            by_name.setdefault(one.verifier.name, []).append(one.standing)
        return [self._knowledge.costs.lessons(*each) for each in by_name.items()]

    def take(self, lessons: Lessons) -> int:
        """Learn what was said elsewhere of candidates that were not judged; count what is new."""
        fresh = lessons.rows([n for n, key in enumerate(lessons.keys) if key not in self._heard])
        self._judged |= fresh.judged()
        self._write(fresh, [], fresh.keys)
        return len(fresh)

    def _write(
        self,
        lessons: Lessons,
        costs: list[CostLessons],
        keys: Sequence[bytes],
        waiting: Sequence[Lessons] = (),
    ) -> None:
        """Learn, and write down what was learnt, and what waits for its turn."""
        if not keys and not len(lessons):
            return
        is_over = self._knowledge.prices.is_over
        alarms = self._knowledge.learn(lessons, is_over=is_over)
        for lesson in costs:
            self._knowledge.costs.learn(lesson)
        self._heard.update(keys)
        self._since += len(keys)
        facts: dict[str, object] = {
            "keys": [key.hex() for key in keys], "lessons": lessons.as_json(),
            "costs": [lesson.as_json() for lesson in costs],
        }  # fmt: skip
        if waiting:
            facts["waiting"] = Lessons.joined(waiting).as_json()
        if is_over:
            facts["is_over"] = True
        if self._since >= _SNAPSHOT:
            facts["snapshot"] = self._knowledge.snapshot()
            self._since = 0
        self._ledger.append(Block("belief", self._campaign, facts=facts))
        for alarm in alarms:
            self._ledger.append(Block("alarm", self._campaign, facts=alarm.as_json()))
