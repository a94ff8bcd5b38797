"""A prompt's samples often share their error, which is no reason for an alarm."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.engines.home import agreed_seed

SIZE, GROUP, STEPS = 64, 8, 14


def ladder(scores: list[float], truths: list[float]) -> vl.Ladder:
    @vl.verifier(tier="fast", version="1", isolation="inline")
    def cheap(candidate: vl.Candidate) -> float:
        return scores[int(candidate.content)]

    @vl.verifier(tier="high_fidelity", version="1", isolation="inline", cost=vl.Cost(money=1.0))
    def dear(candidate: vl.Candidate) -> float:
        return truths[int(candidate.content)]

    return vl.Ladder("shared", [cheap, dear])


@pytest.fixture
def alarms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Gives the alarms of a run in which the cheap tier errs alike on each prompt."""

    def raised(seed: int, gamed_from: int = STEPS) -> list[Any]:
        random = np.random.default_rng(seed)
        size = SIZE * STEPS
        truths = random.normal(size=size)
        shared = np.repeat(random.normal(size=size // GROUP), GROUP)
        scores = truths + 0.7 * shared + 0.3 * random.normal(size=size)
        scores[gamed_from * SIZE :] += 2.0
        of = ladder(scores.tolist(), truths.tolist())
        with open_ledger(tmp_path / f"{seed}.db") as ledger:
            with monkeypatch.context() as patched:
                patched.setattr(os, "urandom", lambda size: bytes([seed] * size))
                agreed_seed(ledger, "one", of)
            budget = {"high_fidelity": {"money": 0.3 * size}}
            with vl.Campaign.open(
                "one", ladder=of, ledger=ledger, run="r", budget=budget, horizon=size, workers=1
            ) as campaign:
                groups = [f"prompt {place // GROUP}" for place in range(SIZE)]
                for step in range(STEPS):
                    texts = [str(place) for place in range(step * SIZE, (step + 1) * SIZE)]
                    campaign.score(texts, step=step, groups=groups)
                    campaign.drain("300 s")
                return list(campaign.alarms())

    return raised


def test_errors_that_a_prompt_shares_raise_hardly_any_alarm(alarms) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    assert sum(len(alarms(seed)) for seed in range(10)) <= 6


def test_a_gamed_tier_is_noticed_although_prompts_share_their_errors(alarms) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    for seed in range(10, 14):
        assert any(alarm.is_gamed and alarm.last.step >= 8 for alarm in alarms(seed, gamed_from=8))
