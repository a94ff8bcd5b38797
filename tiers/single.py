"""Verifiers that look at one candidate at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ToolError
from verifier_ladder.tiers.tasks import TaskError
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier, failure


class SingleVerifier(Verifier):
    """Base class of a verifier whose candidates share no work.

    A subclass overrides `examine`. An error there costs only its own candidate, whatever the
    others of the batch are.

    Example:
        >>> class Short(SingleVerifier):
        ...     name, version = "short", "1"
        ...     def examine(self, candidate):
        ...         return Verdict.accept(float(len(candidate.content)))
        >>> [v.score for v in Short().judge([Candidate("text", "ab"), Candidate("text", "c")])]
        [2.0, 1.0]
    """

    @property
    def answers_together(self) -> bool:
        """No: each has a limit of its own."""
        return False

    def examine(self, candidate: Candidate) -> Verdict:
        """Judge one candidate.

        Raises:
            CandidateError: If the candidate is bad: it is rejected.
            ToolError: If a tool failed: the verifier abstains.
            TaskError: If the task can't be judged by: the verifier abstains, and that is kept.
        """
        raise TypeError(f"{type(self).__name__} has no examine method for {candidate.kind}")

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Verdict]:
        """Examine one after the other."""
        return map(self._guarded, candidates)

    def _guarded(self, candidate: Candidate) -> Verdict:
        try:
            return self.examine(candidate)
        # Both are said of a calculation or a task, never by what a candidate runs.
        except TaskError as error:
            return Verdict.abstain(f"{error}")
        except ToolError as error:
            return Verdict.abstain(f"{error}", failed_at=error.boundary)
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is this candidate's
            return failure(error)
