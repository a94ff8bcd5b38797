"""Sheets: the answers to one request, on the worker's side."""

from __future__ import annotations

from typing import Any

from verifier_ladder.scheduler.engines.journal import MOST, Journal
from verifier_ladder.scheduler.engines.wire import Encoder, Item
from verifier_ladder.verifiers import Verifier


class Sheet:
    """Takes answers as they are made: in the journal as far as that has room, then in a list."""

    def __init__(self, verifier: Verifier, journal: Journal) -> None:
        """Start without answers."""
        journal.begin()
        self.rest: list[Item] = []
        """Answers that are not in the journal."""
        self._journal, self._note = journal, journal.note
        self._item = Encoder(verifier).item

    @property
    def count(self) -> int:
        """How many answers there are."""
        return self._journal.count + len(self.rest)

    def costs(self, count: int) -> Any:
        """Where to note what each of `count` candidates costs."""
        if count > MOST:
            return [0.0] * count
        self._journal.costs[:count] = memoryview(bytes(8 * count)).cast("d")
        return self._journal.costs

    def add(self, answer: Any) -> None:
        """Take the next answer."""
        item = self._item(answer)
        if not self._note(item):
            self.rest.append(item)

    def void(self, count: int) -> None:
        """Take back all answers but the first `count`: they have turned out to mean nothing."""
        del self.rest[max(0, count - self._journal.count) :]
        self._journal.seal(count)
