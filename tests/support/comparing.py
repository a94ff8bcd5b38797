"""Comparing: a judge that ranks the members of a group, and samples that come in groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import Ledger
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.replay import replay

Asked = list[list[str]]
"""The contents of each group that a judge was asked about."""
SOON = 0.02
"""Seconds of a deadline at which a group is not complete."""
LONG = 300.0
"""Seconds of a deadline that is not reached."""


def ranks(contents: Sequence[Any]) -> list[float]:
    """The share of the group that each is longer than."""
    return [sum(len(one) > len(other) for other in contents) / len(contents) for one in contents]


def ranking(asked: Asked, away: Sequence[Any] = (), **options: Any) -> FunctionVerifier:
    """A judge that ranks by length, and notes what it was asked about; it fails while away."""

    def rank(members: list[vl.Candidate]) -> list[float]:
        if away:
            raise RuntimeError("the judge is away")
        asked.append([str(member.content) for member in members])
        return ranks([member.content for member in members])

    options = {"isolation": "inline", **options}
    return FunctionVerifier(rank, name="rank", version="1", scope="group", **options)


@vl.verifier(name="length", kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> vl.Verdict:
    """The fast tier: a tenth of the length; nothing with a `!` passes."""
    text = str(candidate.content)
    return vl.Verdict.reject("no") if "!" in text else vl.Verdict.accept(len(text) / 10)


def judging(asked: Asked, away: Sequence[Any] = (), **options: Any) -> FunctionVerifier:
    """A judge above the fast tier."""
    return ranking(asked, away, **{"cost": vl.Cost(money=1.0), "tier": "simulation", **options})


@contextmanager
def opened(
    ledger: Ledger, *verifiers: vl.Verifier, policy: Any = "all_tiers", money: Any = "unlimited",
    **options: Any,
) -> Iterator[vl.Campaign]:  # fmt: skip
    ladder = vl.Ladder("compared", list(verifiers), policy=policy)
    budget = {"simulation": money if money == "unlimited" else {"money": money}}
    with vl.Campaign.open(
        "c", ladder=ladder, ledger=ledger, run="r", workers=1, budget=budget, **options
    ) as campaign:
        yield campaign


def sample(text: str, place: int, size: int, **more: Any) -> vl.Sample:
    """A member of a group of that size."""
    fields = {"run": "r", "step": 1, "position": place, "group": "prompt", "group_size": size}
    return vl.Sample(vl.Candidate("text", text), **{**fields, **more})


def latest(ledger: Ledger, step: int = 1) -> list[vl.Reward]:
    """The latest rewards of the samples of a step, by position."""
    rows = ledger.recorded("c", "r", step)
    return [rows[position].reward for position in sorted(rows)]


def values(rewards: Sequence[vl.Reward]) -> list[float | None]:
    return [reward.value for reward in rewards]


def spent(ledger: Ledger) -> float:
    (account,) = [
        one for one in ledger.accounts("c") if one.tier == 1 and one.resource is Resource.MONEY
    ]
    assert account.kept == 0
    return account.spent


def propensities(ledger: Ledger) -> dict[tuple[int, str], set[float]]:
    """The propensities with which members of each group were decided, by step and group."""
    found: dict[tuple[int, str], set[float]] = {}
    for entry in ledger.entries(kind="revision"):
        block = ledger.read(entry)
        if block.samples is None or not block.facts.get("decided"):
            continue
        groups = block.samples.groups or []
        for columns in block.decisions:
            for place, chance in zip(columns.sample, columns.propensity, strict=True):
                found.setdefault((block.samples.step, groups[place]), set()).add(chance)
    return found


def assert_replays(ledger: Ledger) -> None:
    """Check that every reward and decision follows from what is recorded."""
    for row in ledger.campaigns():
        report = replay(ledger, row)
        assert report.rewards
        assert not report.differences
