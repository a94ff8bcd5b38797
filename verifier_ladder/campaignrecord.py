"""Campaign records: what the ledger tells of a campaign, at work or not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from verifier_ladder.arguments import checked
from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Entry
from verifier_ladder.rangewatch import RangeWatch
from verifier_ladder.reward import Advantage, Revision
from verifier_ladder.run import Run
from verifier_ladder.scheduler.drift import Alarm
from verifier_ladder.scheduler.late import RevisionReader, step_advantages
from verifier_ladder.status import CampaignStatus, campaign_status
from verifier_ladder.unanswered import UnansweredWatch

if TYPE_CHECKING:
    from verifier_ladder.forecast import Forecast
    from verifier_ladder.notebook.plots import CampaignPlots
    from verifier_ladder.spending import Spending
    from verifier_ladder.summary.shadow import ShadowReport
    from verifier_ladder.tracking import Tracker

_LOG = logging.getLogger("verifier_ladder")
_POLL = 0.05
_LOOK = 1.0
"""Seconds between two looks for new alarms while samples are scored."""


class AlarmWatch:
    """Tells this process's log of drift alarms, whichever process has raised them.

    **Threads.** Any number may look at once; each alarm is told once.
    """

    def __init__(self, ledger: Ledger, campaign: str) -> None:
        """Begin with what comes from now on."""
        self.gaming = 0
        """How many times audits have found a verifier to be gamed since then."""
        self._ledger, self._campaign = ledger, campaign
        self._cursor, self._next = ledger.newest(), 0.0
        self._lock = Lock()

    def look(self, *, at_once: bool = False) -> None:
        """Tell of new alarms; unless `at_once`, only if the last look was a while ago.

        A ledger that is away is asked again the next time.
        """
        if monotonic() < self._next and not at_once:
            return
        with self._lock:
            self._next = monotonic() + _LOOK
            try:
                newest = self._ledger.newest()
                for entry in self._ledger.entries(
                    after=self._cursor, kind="alarm", campaign=self._campaign
                ):
                    self._cursor = entry.id
                    self._tell(entry)
            except LedgerError:
                return
            self._cursor = max(self._cursor, newest)

    def _tell(self, entry: Entry) -> None:
        try:
            alarm = Alarm.from_json(self._ledger.read(entry).facts)
        except LedgerError as error:  # It may not keep others from being told.
            _LOG.warning("an alarm of campaign %s can't be told: %s", self._campaign, error)
            return
        self.gaming += alarm.is_gamed
        _LOG.warning(
            "ALARM in campaign %s: %s. `vladder campaign show %s` tells more",
            self._campaign, alarm.text, self._campaign,
        )  # fmt: skip


class CampaignRecord:
    """**Abstract:** the part of a campaign that only reads its ledger."""

    name: str
    ledger: Ledger
    run: Run
    _is_closed: bool
    _alarms: AlarmWatch
    _ranges: RangeWatch
    _unanswered: UnansweredWatch
    _tracker: Tracker | None

    @checked(after=0, wait=0)
    def revisions(
        self, *, after: int = 0, wait: float | None = None, evaluation: bool | None = False
    ) -> Iterator[Revision]:
        """Rewards that were replaced because a higher tier answered, oldest first.

        Args:
            after: Cursor of the last revision already read; 0 for all.
            wait: Seconds to go on waiting for more once the known ones are given; None gives
                only those that are known.
            evaluation: Those of training, which is the default, or True for those of evaluations,
                or None for both; each says in `evaluation` which it is.
        """
        until = None if wait is None else monotonic() + wait
        reader = RevisionReader(self.ledger, self.name, evaluation=evaluation)
        while True:
            for revision in reader.read(max(after, reader.cursor)):
                self._ranges.look([revision.reward])
                yield revision
            if until is None or monotonic() >= until or self._is_closed:
                return
            sleep(_POLL)

    @checked(run=1, step=0, since=0)
    def advantages(self, run: str, step: int, *, since: int | None = None) -> list[Advantage]:
        """All samples of a step with their advantages as they stand now, by position.

        A revision of one sample changes the advantages of its whole group.

        Args:
            run: The run.
            step: The step.
            since: Cursor of what the learner has used; `change` is what has been added since.
        """
        return step_advantages(self.ledger, self.name, run, step, since)

    @checked(after=0)
    def alarms(self, *, after: int = 0) -> list[Alarm]:
        """Verifiers that audits have found to be gamed or to have changed, oldest first.

        Args:
            after: Cursor of what was seen before; 0 for all.
        """
        return [
            Alarm.from_json(self.ledger.read(entry).facts)
            for entry in self.ledger.entries(after=after, kind="alarm", campaign=self.name)
        ]

    @property
    def gaming_alarms(self) -> int:
        """How many times audits have found a verifier to be gamed since the campaign was opened.

        For learners' metrics; the log has the sentences. New alarms are looked for once a second
        while samples are scored, and whenever `drain` returns.
        """
        return self._alarms.gaming

    @property
    def unanswered_alarms(self) -> int:
        """How many times too large a share of samples has ended without a reward.

        Of those that were scored here since the campaign was opened; for learners' metrics. What
        is too large, the rules for alerts say.
        """
        return self._unanswered.told

    @property
    def cursor(self) -> int:
        """Id of the newest entry of the ledger: `revisions(after=…)` gives what comes later."""
        return self.ledger.newest()

    @checked(path=1)
    def report(self, path: str | Path = "report.html") -> Path:
        """Write the campaign's report: one HTML file that opens without a network or a script.

        Funnel, costs, the best candidates, how well the tiers agree, rejects and failures, while
        the campaign is at work or after it; `vladder campaign report` writes the same.

        Args:
            path: Where to; missing folders are made, and a file that stands there is replaced.

        Returns:
            The path.

        Raises:
            ConfigError: If Jinja2 is not installed.
            LedgerError: If the file can't be written.
        """
        from verifier_ladder.report import write_report

        return write_report(self.ledger, self.name, path)

    @checked()
    def track(self, writer: Any = None) -> None:
        """Send curves to the trackers in which this process has a run, beside the learner's own.

        They are W&B (`wandb.run`), MLflow (`mlflow.active_run()`) and TensorBoard. Sent are, by
        the learner's own steps, the mean reward, what audits say of it, shares without a reward,
        what was spent by tier, and alarms as text: numbers of all processes of the run, under
        `vladder/` and the campaign's name. A thread does it, until the campaign is closed; no
        call waits for it or fails by it. A run that begins later is found at the next call of
        `score`.

        Args:
            writer: A `SummaryWriter` of TensorBoard, which the other two don't need.

        Raises:
            ConfigError: If that is none, or the campaign is closed.
            LedgerError: If the ledger can't be read.
        """
        from verifier_ladder.tracking import Tracker

        if self._is_closed:
            raise ConfigError(f"campaign {self.name!r} is closed; open it again")
        if self._tracker is None:
            self._tracker = Tracker(self.ledger, self.name, self.run.name)
        self._tracker.note(writer)

    @cached_property
    def plot(self) -> CampaignPlots:
        """Plots for notebooks and papers: `plot.funnel()`, `reward`, `agreement` and `cost`.

        They need matplotlib; `plot.summary` and `plot.steps()` give the numbers behind them.
        """
        from verifier_ladder.notebook.plots import CampaignPlots

        return CampaignPlots(self.ledger, self.name)

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from verifier_ladder.notebook.cards import campaign_card

        return campaign_card(self.ledger, self.name)

    def status(self) -> CampaignStatus:
        """Where every check stands right now, tier by tier."""
        return campaign_status(self.ledger, self.name)

    @checked(by=1)
    def spending(self, by: str = "run") -> list[Spending]:
        """Tell apart who has spent what: by `run`, `project`, `user`, `label`, `verifier`, `tier`.

        Of several that want the same check, the run that asked first pays.

        Raises:
            ConfigError: If spend can't be told apart by that.
        """
        from verifier_ladder.spending import spending

        return spending(self.ledger, by, campaign=self.name)

    @checked(samples=1)
    def forecast(self, samples: int | None = None) -> Forecast:
        """Estimate what will be spent until the horizon, and what twice the budget would buy.

        Args:
            samples: How many samples there will have been in all; by default the horizon.

        Raises:
            ConfigError: If that is no whole number of at least 1.
        """
        from verifier_ladder.forecast import forecast

        return forecast(self.ledger, self.name, samples)

    @checked()
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
