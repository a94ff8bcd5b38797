"""Campaign control: holding tiers back, cancelling what nobody wants, trying again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from verifier_ladder.arguments import checked
from verifier_ladder.campaignrecord import CampaignRecord
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.retrying import Retried, retry
from verifier_ladder.run import Run
from verifier_ladder.scheduler.withdrawal import Wanted, Withdrawn
from verifier_ladder.tier import Tier, tier_of


class CampaignControl(CampaignRecord):
    """**Abstract:** the part of a campaign that steers what is queued."""

    ladder: Ladder
    run: Run

    if TYPE_CHECKING:

        def _call(self, call: Callable[[Any], Any]) -> Any: ...

    @checked(tier=0)
    def pause(self, tier: Tier | str) -> None:
        """Start no more checks of a tier, in whatever process, until `resume`.

        Checks at work finish, open cases stay open, and what is asked for stays queued.

        Raises:
            ConfigError: If the ladder does not have the tier.
        """
        self.ledger.pause(self.name, int(tier_of(self.ladder.tiers, tier)))

    @checked(tier=0)
    def resume(self, tier: Tier | str) -> None:
        """Let a paused tier go on.

        Raises:
            ConfigError: If the ladder does not have the tier.
        """
        self.ledger.resume(self.name, int(tier_of(self.ladder.tiers, tier)))
        self._call(methodcaller("wake"))

    @checked(run=1, step=0)
    def cancel(
        self,
        run: str | None = None,
        *,
        step: int | None = None,
        positions: Collection[int] | None = None,
        at_work: bool = False,
    ) -> Withdrawn:
        """Say that nobody wants the waiting samples of a run any more.

        Each keeps the reward that follows from what is known by now, as one last revision.
        Checks that nobody else waits for are cancelled, open cases too; for others the first who
        waits pays from now on. Checks at work finish, are paid, and their verdicts are kept.

        Args:
            run: The run; the campaign's own by default.
            step: Only samples of this step.
            positions: Only samples at these positions.
            at_work: Whether checks at work that nobody else waits for are abandoned too. Their
                workers are stopped within a heartbeat, 15 seconds; what they have taken so far
                is charged as failed.

        Example:
            >>> import verifier_ladder as vl
            >>> @vl.verifier(kind="text", version="1", isolation="inline")
            ... def length(candidate):
            ...     return float(len(candidate.content))
            >>> with vl.Campaign.open("try", ladder=vl.Ladder("l", [length])) as campaign:
            ...     campaign.cancel()
            Withdrawn(samples=0, checks=0)
        """
        wanted = Wanted(run or self.run.name, step, positions and frozenset(positions))
        done: Withdrawn = self._call(lambda conductor: conductor.withdraw(wanted, at_work))
        return done

    @checked(verifier=1)
    def retry(self, *, verifier: str | None = None) -> Retried:
        """Queue the campaign's dead checks again; rewards hear of what they say.

        Args:
            verifier: Only those of this verifier.
        """
        dead = self.ledger.checks(states=[CheckState.DEAD], campaign=self.name, verifier=verifier)
        done = retry(self.ledger, dead)
        self._call(methodcaller("wake"))
        return done
