"""Late truth: what revisions change for a learner that has used the earlier rewards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isnan

from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.encoding import reading
from verifier_ladder.reward import Advantage, Revision
from verifier_ladder.scheduler.steprewards import StepRewards

_MOST_STEPS = 64
"""Steps that a reader keeps in mind; late answers mostly belong to the last few."""


class RevisionReader:
    """Reads revisions in order, each with what it changes for its own sample.

    One late answer moves the mean of its group, and so the advantage of every member: ask
    `step_advantages` for the others.
    """

    def __init__(
        self, ledger: Ledger, campaign: str, *, evaluation: bool | None = None,
        runs: Callable[[str], bool] = lambda _: True,
    ) -> None:  # fmt: skip
        """Read from one campaign.

        Args:
            ledger: The ledger.
            campaign: The campaign.
            evaluation: Only the revisions of evaluations, or only those of training; None for
                both.
            runs: Tells by its name whether a run's revisions are wanted.
        """
        self.ledger, self._campaign, self._wanted = ledger, campaign, evaluation
        self._is_wanted = runs
        self._evaluations: dict[str, bool] = {}
        self.cursor = 0
        """Entry up to which all has been looked at, what was passed over too."""
        self.compared = 0
        """Samples that were gone over to tell what revisions changed for their groups."""
        self._steps: dict[tuple[str, int], StepRewards] = {}

    def read(self, after: int, until: int | None = None) -> Iterator[Revision]:
        """Revisions of the entries after this one, up to another one or the newest."""
        for entry in self.ledger.entries(
            after=after, until=until, kind="revision", campaign=self._campaign
        ):
            block = self.ledger.read(entry)
            samples = block.samples
            self.cursor = max(self.cursor, entry.id - 1)
            if samples is None or not self._is_wanted(samples.run):
                continue
            evaluation = self._is_evaluation(samples.run)
            if self._wanted not in {None, evaluation}:
                continue
            step = self._step(samples.run, samples.step)
            step.read(entry.id - 1)
            before = step.values
            step.read(entry.id)
            now, change = step.advantages().tolist(), step.changes(before).tolist()
            self.compared += len(now)
            with reading(entry.id, "what rewards were before"):
                told = [*zip(
                    listed(samples.positions), block.rewards, block.facts["previous"], strict=True
                )]  # fmt: skip
            for position, reward, previous in told:
                row = step.row(position)
                yield Revision(
                    entry.id, samples.run, samples.step, position, reward, previous,
                    step.groups[row], step.learner_versions[row], _known(now[row]),
                    _known(change[row]), evaluation,
                )  # fmt: skip
            self.cursor = entry.id

    def _is_evaluation(self, run: str) -> bool:
        """Whether a run's samples train nobody; it is recorded before its first sample."""
        if run not in self._evaluations:
            known = self.ledger.runs(self._campaign)
            self._evaluations = {str(r["name"]): bool(r.get("evaluation")) for r in known}
            self._evaluations.setdefault(run, False)
        return self._evaluations[run]

    def _step(self, run: str, number: int) -> StepRewards:
        step = self._steps.pop((run, number), None)
        if step is None:
            step = StepRewards(self.ledger, self._campaign, run, number)
        self._steps[run, number] = step
        if len(self._steps) > _MOST_STEPS:
            del self._steps[next(iter(self._steps))]
        return step


def step_advantages(
    ledger: Ledger, campaign: str, run: str, number: int, since: int | None = None
) -> list[Advantage]:
    """All samples of a step with their advantages, in the order of their positions.

    Args:
        ledger: The ledger.
        campaign: The campaign.
        run: The run.
        number: The step.
        since: Entry that the learner's earlier advantages rest on; None for no change.
    """
    step = StepRewards(ledger, campaign, run, number)
    step.read(since if since is not None else 0)
    before = step.values
    step.read()
    now, change = step.advantages().tolist(), step.changes(before).tolist()
    return [
        Advantage(
            position, step.groups[row], step.learner_versions[row], step.rewards[row],
            _known(now[row]), None if since is None else _known(change[row]),
        )
        for position, row in sorted((position, step.row(position)) for position in step.positions)
    ]  # fmt: skip


def _known(number: float) -> float | None:
    return None if isnan(number) else number
