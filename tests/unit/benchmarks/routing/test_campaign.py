from dataclasses import replace

import numpy as np
from routing.backend import Rollouts
from routing.campaign import CampaignBackend
from routing.onepass import calls
from routing.table import Table


def test_a_ladder_that_climbs_to_the_top_gives_the_truth(small: Table) -> None:
    backend = CampaignBackend(small, policy={"name": "all_tiers"})
    try:
        rollouts = next(calls(small, 0))
        scored = backend.score(rollouts)
    finally:
        backend.close()

    assert np.allclose(small.value[rollouts.rows], scored.rewards)
    assert [72, 72, 72] == [backend.bill.count(column) for column in range(3)]


def test_a_row_that_is_proposed_again_is_paid_for_again(small: Table) -> None:
    backend = CampaignBackend(small, policy={"name": "all_tiers"})
    try:
        backend.score(Rollouts(np.array([3, 3, 3]), np.zeros(3, dtype=np.int64)))
    finally:
        backend.close()

    assert 3 == backend.bill.count(2)


def test_the_ledger_charges_what_the_table_recorded(small: Table) -> None:
    backend = CampaignBackend(
        small, policy={"name": "all_tiers"}, budget={"simulation": 1e6, "world": 1e6}
    )
    try:
        backend.score(next(calls(small, 0)))
        spent = sum(a.spent for a in backend.campaign.ledger.accounts("routing") if a.tier >= 0)
    finally:
        backend.close()

    assert abs(spent - backend.bill.total) < 1e-3


def test_rewards_of_a_target_that_is_minimised_are_turned(small: Table) -> None:
    manifest = small.manifest.model_copy(update={"direction": "minimise"})
    turned = replace(small, manifest=manifest)
    backend = CampaignBackend(turned, policy={"name": "all_tiers"})
    try:
        rollouts = next(calls(turned, 0))
        rewards = backend.score(rollouts).rewards
    finally:
        backend.close()

    assert np.allclose(turned.value[rollouts.rows], rewards)
    assert np.allclose(-turned.truth[rollouts.rows], rewards)


def test_no_more_is_spent_than_allowed_whatever_was_declared(small: Table) -> None:
    wrong = replace(small, costs=small.costs * np.array([0.0, 0.0, 15.0]))
    backend = CampaignBackend(wrong, budget={"total": 200.0}, horizon=len(wrong))
    try:
        for rollouts in calls(wrong, 0):
            backend.score(rollouts)
    finally:
        backend.close()

    assert 100.0 < backend.bill.total <= 200.0
