"""Steps of runs: each is given out once, whoever asks for one."""

from __future__ import annotations

from threading import Lock

from verifier_ladder.ledger import Ledger


class RunSteps:
    """The next free step of each run of a campaign.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> with open_ledger(None) as ledger:
        ...     steps = RunSteps("trial", ledger)
        ...     steps.note("run", 7)
        ...     [steps.take("run"), steps.take("run"), steps.take("another")]
        [8, 9, 0]
    """

    def __init__(self, campaign: str, ledger: Ledger) -> None:
        """Start behind what is recorded."""
        self._campaign, self._ledger = campaign, ledger
        self._next: dict[str, int] = {}
        self._lock = Lock()

    def take(self, run: str) -> int:
        """Take the next free step."""
        with self._lock:
            step = self._first(run)
            self._next[run] = step + 1
            return step

    def note(self, run: str, step: int) -> None:
        """Hear that somebody has chosen a step."""
        with self._lock:
            self._next[run] = max(self._first(run), step + 1)

    def _first(self, run: str) -> int:
        if run not in self._next:
            self._next[run] = self._ledger.next_step(self._campaign, run)
        return self._next[run]
