"""Campaign records: what the ledger tells of a campaign, at work or not."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic, sleep
from typing import TYPE_CHECKING

from verifier_ladder.ledger import Ledger
from verifier_ladder.reward import Advantage, Revision
from verifier_ladder.scheduler.late import RevisionReader, step_advantages
from verifier_ladder.status import CampaignStatus, campaign_status

if TYPE_CHECKING:
    from verifier_ladder.forecast import Forecast
    from verifier_ladder.scheduler.drift import Alarm
    from verifier_ladder.spending import Spending
    from verifier_ladder.summary.shadow import ShadowReport

_POLL = 0.05


class CampaignRecord:
    """**Abstract:** the part of a campaign that only reads its ledger."""

    name: str
    ledger: Ledger
    _is_closed: bool

    def revisions(self, *, after: int = 0, wait: float | None = None) -> Iterator[Revision]:
        """Rewards that were replaced because a higher tier answered, oldest first.

        Args:
            after: Cursor of the last revision already read; 0 for all.
            wait: Seconds to go on waiting for more once the known ones are given; None gives
                only those that are known.
        """
        until = None if wait is None else monotonic() + wait
        reader = RevisionReader(self.ledger, self.name)
        while True:
            for revision in reader.read(after):
                after = revision.cursor
                yield revision
            if until is None or monotonic() >= until or self._is_closed:
                return
            sleep(_POLL)

    def advantages(self, run: str, step: int, *, since: int | None = None) -> list[Advantage]:
        """All samples of a step with their advantages as they stand now, by position.

        A revision of one sample changes the advantages of its whole group.

        Args:
            run: The run.
            step: The step.
            since: Cursor of what the learner has used; `change` is what has been added since.
        """
        return step_advantages(self.ledger, self.name, run, step, since)

    def alarms(self, *, after: int = 0) -> list[Alarm]:
        """Verifiers that audits have found to be gamed or to have changed, oldest first.

        Args:
            after: Cursor of what was seen before; 0 for all.
        """
        from verifier_ladder.scheduler.drift import Alarm

        return [
            Alarm.from_json(self.ledger.read(entry).facts)
            for entry in self.ledger.entries(after=after, kind="alarm", campaign=self.name)
        ]

    @property
    def cursor(self) -> int:
        """Id of the newest entry of the ledger: `revisions(after=…)` gives what comes later."""
        return self.ledger.newest()

    def status(self) -> CampaignStatus:
        """Where every check stands right now, tier by tier."""
        return campaign_status(self.ledger, self.name)

    def spending(self, by: str = "run") -> list[Spending]:
        """Tell apart who has spent what: by `run`, `project`, `user`, `label`, `verifier`, `tier`.

        Of several that want the same check, the run that asked first pays.

        Raises:
            ConfigError: If spend can't be told apart by that.
        """
        from verifier_ladder.spending import spending

        return spending(self.ledger, by, campaign=self.name)

    def forecast(self) -> Forecast:
        """Estimate what will be spent until the horizon, and what twice the budget would buy."""
        from verifier_ladder.forecast import forecast

        return forecast(self.ledger, self.name)

    def shadow_report(self, *, threshold: float | None = None) -> ShadowReport:
        """Compare the rewards of this campaign with those of its shadow, from the ledger.

        Args:
            threshold: Reward at which a sample counts as good; by default 0.5 if all known
                rewards lie between 0 and 1, and none on any other scale.

        Raises:
            ConfigError: If the campaign never had a shadow.
        """
        from verifier_ladder.summary.shadow import compare_shadow

        return compare_shadow(self.ledger, self.name, threshold=threshold)
