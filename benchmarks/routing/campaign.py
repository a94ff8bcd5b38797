"""The production path as a backend: a real campaign whose verifiers answer from a table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
from routing.backend import Rollouts, Scored
from routing.bill import Bill
from routing.table import Floats, Table
from routing.verifiers import KIND, content_of, ladder_of

import verifier_ladder as vl
from verifier_ladder.reward import Estimation, Reward
from verifier_ladder.scheduler.policies import create_policy


class CampaignBackend:
    """Scores through `Campaign.score`, waits until every climb has ended, and reads revisions.

    Every rollout is a candidate of its own, as two answers of a language model are: a row that
    is proposed again is paid for again.
    """

    def __init__(
        self,
        table: Table,
        *,
        policy: Mapping[str, Any] | None = None,
        audit: float = 0.0,
        estimator: Estimation = "auto",
        budget: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Open a campaign whose ledger is in memory.

        Args:
            table: What the verifiers answer from.
            policy: Name and settings of the policy, as in a ladder's TOML.
            audit: Share of audits.
            estimator: How far a drawn answer corrects a reward.
            budget: Caps, as `Campaign.open` takes them.
            options: Further arguments of `Campaign.open`.
        """
        self.bill = Bill(table)
        settings = dict(policy or {"name": "value_of_information"})
        made = create_policy(settings.pop("name"), settings)
        self._sign = table.manifest.sign
        self._ladder = ladder_of(table, self.bill, policy=made, audit=audit, estimator=estimator)
        self.campaign = vl.Campaign.open(
            "routing", ladder=self._ladder, budget=budget, workers=1, **options
        )
        self._copies = count()

    def score(self, rollouts: Rollouts) -> Scored:
        """Give the final rewards of one call."""
        start = self.campaign.cursor
        weights = np.ones(len(rollouts.rows)) if rollouts.weight is None else rollouts.weight
        samples = [
            vl.Sample(
                vl.Candidate(KIND, content_of(int(row), next(self._copies))),
                group=str(group), weight=float(weight),
            )
            for row, group, weight in zip(rollouts.rows, rollouts.group, weights, strict=True)
        ]  # fmt: skip
        history = [[reward] for reward in self.campaign.score(samples)]
        self.campaign.drain()
        for revision in self.campaign.revisions(after=start):
            history[revision.position].append(revision.reward)
        return self._scored(history)

    def _scored(self, history: list[list[Reward]]) -> Scored:
        top = self._ladder.tiers[-1]
        before = [[r for r in rewards if r.tier != top] or rewards for rewards in history]
        return Scored(
            _numbers([rewards[-1].value for rewards in history]),
            _numbers([rewards[-1].value for rewards in before]),
            _numbers([rewards[-1].uncertainty for rewards in before]),
        )

    def close(self) -> None:
        """Close the campaign."""
        self.campaign.close()


def _numbers(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values])
