"""Verifiers that look at one candidate at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ToolError
from verifier_ladder.metering import gpu_seconds
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

    @property
    def counts_gpu(self) -> bool:
        """Whether it counts its time on a GPU (`metering.on_gpu`); no, unless a subclass says so.

        Then each verdict is charged what was counted, that of an error too: nothing where none was
        used. Else it is charged what its verifier expects of a GPU.
        """
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
        before = gpu_seconds()
        verdict = self._answered(candidate)
        if not self.counts_gpu:
            return verdict
        took = round(gpu_seconds() - before, 6)
        return replace(verdict, cost=replace(verdict.cost or Cost(), gpu_seconds=took))

    def _answered(self, candidate: Candidate) -> Verdict:
        try:
            return self.examine(candidate)
        # Both are said of a calculation or a task, never by what a candidate runs.
        except TaskError as error:
            return Verdict.abstain(f"{error}")
        except ToolError as error:
            return Verdict.abstain(f"{error}", failed_at=error.boundary)
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is this candidate's
            return failure(error)
