"""Learning: what a campaign's knowledge takes in, and how it comes back after a restart.

The ledger keeps every lesson, and a snapshot of all that is known every so often. Beliefs at any
moment follow from the last snapshot before it and the lessons since.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.encoding import reading
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
    """A check that has ended, for one candidate that waited for it."""

    key: bytes
    standing: Standing
    """The candidate."""
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
        """Candidates that the top tier has judged, by `Knowledge.judgement_key`."""
        self._turns: Turns[Lessons] = Turns()
        self._since = 0

    @property
    def judgements(self) -> int:
        """How many candidates the top tier has judged."""
        return len(self._judged)

    def restore(self) -> None:
        """Learn again what the ledger says was learnt; what waited for its turn waits again.

        Raises:
            LedgerError: If an entry can't be read.
        """
        entries = {
            entry.id: self._ledger.read(entry).facts
            for entry in self._ledger.entries(kind="belief", campaign=self._campaign)
        }
        newest = max((n for n, facts in entries.items() if "snapshot" in facts), default=0)
        for number, facts in entries.items():
            with reading(number, "what it says was learnt"):
                self._restore(facts, is_newest=number == newest, is_later=number > newest)

    def _restore(self, facts: Mapping[str, Any], *, is_newest: bool, is_later: bool) -> None:
        """Learn again what an entry says, as it stands to the newest snapshot."""
        self._heard.update(bytes.fromhex(key) for key in facts["keys"])
        lessons = Lessons.from_json(facts["lessons"])
        self._judged |= lessons.judged()
        self._take_turns(facts, lessons)
        if is_newest:
            self._knowledge.restore(facts["snapshot"])
            self._since = 0
        elif is_later:
            self._knowledge.learn(lessons, is_over="is_over" in facts)
            for stored in facts["costs"]:
                self._knowledge.costs.learn(CostLessons.from_json(stored))
            self._since += len(facts["keys"])

    def _take_turns(self, facts: Mapping[str, Any], learnt: Lessons) -> None:
        """Have candidates take the turns again that they took when an entry was written."""
        if "turns" not in facts:
            return
        told = learnt.each()
        if "waiting" in facts:
            waiting = Lessons.from_json(facts["waiting"])
            self._judged |= waiting.judged()
            told |= waiting.each()
        for stored, is_open in facts["turns"]:
            key = bytes.fromhex(stored)
            self._turns.hear(key, told.get(key), is_open=is_open)
        deque(self._turns.due(), maxlen=0)  # It was learnt then.

    def hear(self, ended: Sequence[Ended]) -> None:
        """Learn from checks that have ended what they said and what they took."""
        for one in ended:
            self._knowledge.prices.settle(one.key)
        told = [one for one in ended if one.verifier.name in one.standing.verdicts]
        fresh = {one.key: one for one in told if one.key not in self._heard}
        said = self._said(told)
        lessons = self._lessons([them for them in said.values() if self._is_lesson(them)])
        self._judged |= lessons.judged()
        begun = [key for key, them in said.items() if self._knowledge.is_begun(them[-1].standing)]
        now, later = lessons.parted(set(begun))
        waiting, nobody_waited = later.each(), not self._turns
        turns = [(key, self._knowledge.is_open(said[key][-1].standing)) for key in begun]
        for key, is_open in turns:
            self._turns.hear(key, waiting.get(key), is_open=is_open)
        now = Lessons.joined([now, *self._turns.due()])
        learnt = set(now.keys)
        still = [one for key, one in waiting.items() if key not in learnt]
        if nobody_waited and not self._turns:
            turns = []  # Whoever had one has had it.
        self._write(now, self._costs(fresh), list(fresh), still, turns)

    def end(self, standings: Iterable[Standing]) -> None:
        """Hear that no more will be said of candidates by themselves."""
        keys = map(self._knowledge.judgement_key, standings)
        turns = [(key, False) for key in keys if self._turns.end(key)]
        if turns:
            due = Lessons.joined([self._lessons([]), *self._turns.due()])
            self._write(due, [], [], turns=turns)

    def _said(self, told: Sequence[Ended]) -> dict[bytes, list[Ended]]:
        """The checks about each candidate."""
        checks: dict[bytes, list[Ended]] = {}
        for one in told:
            if one.verifier.scope != "group":  # It says nothing of other groups.
                key = self._knowledge.judgement_key(one.standing)
                checks.setdefault(key, []).append(one)
        return checks

    def _is_lesson(self, checks: Sequence[Ended]) -> bool:
        names = {one.verifier.name for one in checks}
        standing = checks[-1].standing
        is_lesson = self._knowledge.is_lesson(standing, names)
        return is_lesson and self.is_new(standing, [one.key for one in checks])

    def _lessons(self, said: Sequence[Sequence[Ended]]) -> Lessons:
        drawn = [next((one.drawn for one in checks if one.drawn), None) for checks in said]
        return self._knowledge.lessons([checks[-1].standing for checks in said], drawn)

    def is_new(self, standing: Standing, keys: Collection[bytes]) -> bool:
        """Whether nothing was learnt yet from what some checks say of a candidate.

        A judgement is learnt once for each candidate: another one may share some of its checks.
        """
        if self._knowledge.judgement_key(standing) in self._judged:
            return False
        return not self._heard.issuperset(keys) or self._knowledge.is_judged(standing)

    def _costs(self, fresh: dict[bytes, Ended]) -> list[CostLessons]:
        by_name: dict[str, list[Standing]] = {}
        for one in fresh.values():
            by_name.setdefault(one.verifier.name, []).append(one.standing)
        return [self._knowledge.costs.lessons(*each) for each in by_name.items()]

    def take(self, lessons: Lessons, keys: Sequence[bytes]) -> None:
        """Learn what was said elsewhere, which must be new.

        Args:
            lessons: What is learnt.
            keys: The checks that have said it.
        """
        self._judged |= lessons.judged()
        self._write(lessons, [], keys)

    def _write(
        self,
        lessons: Lessons,
        costs: list[CostLessons],
        keys: Sequence[bytes],
        waiting: Sequence[Lessons] = (),
        turns: Sequence[tuple[bytes, bool]] = (),
    ) -> None:
        """Learn, and write down what was learnt, what waits for its turn, and whose turns change.

        Args:
            lessons: What is learnt.
            costs: What is learnt of costs.
            keys: The checks that have said it.
            waiting: What waits.
            turns: Keys of candidates, and whether the top tier is still to speak of them.
        """
        if not (keys or waiting or turns or len(lessons)):
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
        if turns:
            facts["turns"] = [[key.hex(), is_open] for key, is_open in turns]
        if is_over:
            facts["is_over"] = True
        if self._since >= _SNAPSHOT:
            facts["snapshot"] = self._knowledge.snapshot()
            self._since = 0
        self._ledger.append(Block("belief", self._campaign, facts=facts))
        for alarm in alarms:
            self._ledger.append(Block("alarm", self._campaign, facts=alarm.as_json()))
