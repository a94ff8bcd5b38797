"""Cohorts: how the samples of a run did, all of them and in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from verifier_ladder.reportcard.card import NOT_REPORTED, Cohort
from verifier_ladder.rollouts.passk import Estimate, mean_reward
from verifier_ladder.rollouts.statistics import believed
from verifier_ladder.runs import RunRecord, SampleRecord
from verifier_ladder.runs.tasks import task_of

_PARTS = 10
Number = Callable[[SampleRecord], float | None]


class Cohorts:
    """Counts samples; those of one task and step share a prompt and a policy, and so an interval.

    The interval is over these groups.
    """

    def __init__(self, record: RunRecord, pass_at: float | None) -> None:
        """Count for one run."""
        self._record, self._pass_at = record, pass_at
        self.task = {id(sample): task_of(record, sample) for sample in record.samples}

    def of(self, label: str, samples: Sequence[SampleRecord]) -> Cohort:
        """How some samples did."""
        passes = self._mean(samples, self._passes) if self._pass_at is not None else None
        if passes and believed([s.reward for s in samples], [s.worth for s in samples]):
            passes = passes.without_interval()
        return Cohort(
            label, len(samples), len({self.task[id(sample)] for sample in samples}),
            sum(sample.reward.value is not None for sample in samples),
            self._mean(samples, lambda sample: sample.first.value),
            self._mean(samples, lambda sample: sample.reward.value), passes,
        )  # fmt: skip

    def phases(self) -> tuple[Cohort, ...]:
        """The first and the last tenth of the steps; none for a run of few steps."""
        steps = sorted({sample.step for sample in self._record.samples})
        size = len(steps) // _PARTS
        if not size:
            return ()
        return tuple(
            self.of(_label(chosen), [s for s in self._record.samples if s.step in set(chosen)])
            for chosen in (steps[:size], steps[-size:])
        )

    def by(self, names: Callable[[SampleRecord], Iterable[str]]) -> tuple[Cohort, ...]:
        """Apart by tag; a sample of several tags counts under each. What has none comes last."""
        parts: dict[str, list[SampleRecord]] = {}
        for sample in self._record.samples:
            for name in tuple(names(sample)) or (NOT_REPORTED,):
                parts.setdefault(name, []).append(sample)
        ordered = sorted(parts, key=lambda name: (name == NOT_REPORTED, name))
        return tuple(self.of(name, parts[name]) for name in ordered)

    def passes(self, sample: SampleRecord) -> bool | None:
        """Whether a sample passes by the best that is known of it; None if nothing is."""
        worth = sample.worth
        if worth is None or self._pass_at is None:
            return None
        return worth >= self._pass_at and not sample.is_rejected

    def _passes(self, sample: SampleRecord) -> float | None:
        passed = self.passes(sample)
        return None if passed is None else float(passed)

    def _mean(self, samples: Iterable[SampleRecord], number: Number) -> Estimate | None:
        groups: dict[str, list[float]] = {}
        for sample in samples:
            value = number(sample)
            if value is not None:
                key = f"{sample.step} {self.task[id(sample)]}"
                groups.setdefault(key, []).append(value)
        return mean_reward(groups)


def _label(steps: Sequence[int]) -> str:
    if len(steps) == 1:
        return f"step {steps[0]}"
    return f"steps {steps[0]} to {steps[-1]}"
