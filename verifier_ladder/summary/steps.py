"""Steps of a training: what the learner was told, and what another ladder says of the same."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

from verifier_ladder.analysis.totals import read_alarm
from verifier_ladder.candidate import SampleId
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Entry
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.scheduler.shadow import shadow_name
from verifier_ladder.summary.shadow import Corrections, samples_of


class StepMeans(NamedTuple):
    """One step of one run."""

    run: str
    step: int
    told: float | None
    """Mean of the rewards that the learner was told; None where none is known."""
    shadow: float | None
    """Mean of what the shadow says of the same samples, each for itself alone."""


class StepCurves:
    """Told rewards beside the shadow's, step by step; reads on from where it stopped.

    Where the shadow asks a verifier that can be trusted, it shows how far a reward leaves the
    truth while a policy learns from it.
    """

    def __init__(self, ledger: Ledger, campaign: str) -> None:
        """Read what is there.

        Args:
            ledger: The ledger.
            campaign: Name of the campaign. Without a shadow there is nothing to compare with, and
                there are no steps.
        """
        self.campaign = campaign
        self.alarms: list[Alarm] = []
        """What audits found, oldest first."""
        self._ledger = ledger
        self._cursors = {campaign: 0, shadow_name(campaign): 0}
        self._told, self._shadow = _Means(), _Means()
        self._corrections = {name: Corrections({}, {}) for name in self._cursors}
        self.refresh()

    @property
    def steps(self) -> list[StepMeans]:
        """The steps of which the shadow has scored something, runs one after the other."""
        return [
            StepMeans(run, step, self._told[run, step], self._shadow[run, step])
            for run, step in self._shadow.steps
        ]

    @property
    def runs(self) -> dict[str, list[StepMeans]]:
        """The steps of each run."""
        found: dict[str, list[StepMeans]] = {}
        for step in self.steps:
            found.setdefault(step.run, []).append(step)
        return found

    def alarmed(self, run: str) -> list[int]:
        """The steps of a run at whose audits an alarm was raised."""
        return [alarm.last.step for alarm in self.alarms if alarm.last.run == run]

    def refresh(self) -> None:
        """Read what has been recorded since."""
        until = self._ledger.newest()
        for name, cursor in self._cursors.items():
            for entry in self._ledger.entries(after=cursor, until=until, campaign=name):
                self._cursors[name] = entry.id
                self._take(name, entry)

    def _take(self, name: str, entry: Entry) -> None:
        is_told = name == self.campaign
        if entry.kind == "alarm" and is_told:
            self.alarms += filter(None, [read_alarm(self._ledger, entry)])
        if entry.kind not in {"score", "revision"}:
            return
        said = samples_of(self._ledger.read(entry), self._corrections[name])
        if is_told:
            self._told.update({sample: side.reward.value for sample, side in said})
        else:
            self._shadow.update({sample: side.worth for sample, side in said})


class _Means:
    """The mean of each step; computed anew where a value has changed."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], dict[int, float | None]] = {}
        self._means: dict[tuple[str, int], float | None] = {}

    @property
    def steps(self) -> list[tuple[str, int]]:
        """The steps that have values, runs one after the other."""
        return sorted(self._values)

    def update(self, values: Mapping[SampleId, float | None]) -> None:
        """Take the latest values of samples."""
        for (run, step, position), value in values.items():
            self._values.setdefault((run, step), {})[position] = value
            self._means.pop((run, step), None)

    def __getitem__(self, step: tuple[str, int]) -> float | None:
        """The mean of what is known; None where nothing is."""
        if step not in self._means:
            known = [value for value in self._values.get(step, {}).values() if value is not None]
            self._means[step] = fmean(known) if known else None
        return self._means[step]
