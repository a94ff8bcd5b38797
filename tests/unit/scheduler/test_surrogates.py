"""Surrogates: what counts as a label, and when a version may speak."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wordsurrogates import Letters, surrogate

import verifier_ladder as vl
from verifier_ladder.candidate import SampleId
from verifier_ladder.keys import content_key
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, VerdictRow
from verifier_ladder.scheduler.audits import Audit
from verifier_ladder.scheduler.beliefs import Seen
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.surrogates import (
    History,
    Label,
    Review,
    State,
    Surrogates,
    decided,
    review,
    side,
)
from verifier_ladder.tiers.fast.descriptors import family_key


def judge(candidate: vl.Candidate) -> float:
    return float(str(candidate.content).count("a"))


def made(name: str, tier: str, **attributes: Any) -> vl.Verifier:
    return vl.verifier(
        name=name, tier=tier, kind="text", version="1", isolation="inline", **attributes
    )(judge)


DEAR = made("dear", "high_fidelity")


# ---- Labels


def labels(ledger: Ledger, ladder: vl.Ladder, campaign: str = "one") -> dict[bytes, float]:
    history = History(campaign, ladder, ledger)
    history.read_on()
    return {label.content: label.value for label in history.labels()}


def of(**values: float) -> dict[bytes, float]:
    return {content_key("text", text): value for text, value in values.items()}


def test_labels_are_what_the_top_tier_said_of_the_campaigns_own_training_samples() -> None:
    ladder = vl.Ladder("l", [DEAR])
    with open_ledger(None) as ledger:
        with vl.Campaign.open("one", ladder=ladder, ledger=ledger) as campaign:
            campaign.score(["a", "aab"])
            campaign.score(["aaa"], evaluation=True)
            campaign.drain("300 s")
        with vl.Campaign.open("two", ladder=ladder, ledger=ledger) as campaign:
            campaign.score(["aaaa"])
            campaign.drain("300 s")

        assert labels(ledger, ladder) == of(a=1.0, aab=2.0)


def test_what_supersedes_a_verdict_is_the_label_from_then_on() -> None:
    ladder = vl.Ladder("l", [DEAR])
    with open_ledger(None) as ledger:
        with vl.Campaign.open("one", ladder=ladder, ledger=ledger) as campaign:
            campaign.score(["a", "aa"])
            campaign.drain("300 s")
        (row,) = [
            row for entry in ledger.entries() for row in ledger.read(entry).verdicts
            if row.content_key == content_key("text", "a")
        ]  # fmt: skip
        told: list[VerdictRow] = [row._replace(verdict=vl.Verdict.accept(7.0))]
        ledger.append(Block("review", "one", verdicts=told))

        assert labels(ledger, ladder) == of(a=7.0, aa=2.0)


def test_what_was_said_under_a_task_that_was_read_is_no_label() -> None:
    ladder = vl.Ladder("l", [made("dear", "high_fidelity", task_fields=("goal",))])
    tasked = vl.Candidate("text", "aa", task={"goal": 3})
    with open_ledger(None) as ledger:
        with vl.Campaign.open("one", ladder=ladder, ledger=ledger) as campaign:
            campaign.score(["a", tasked])
            campaign.drain("300 s")

        assert labels(ledger, ladder) == of(a=1.0)


# ---- The split


@given(
    st.lists(st.lists(st.text("abc", max_size=5), max_size=20), max_size=5), st.floats(0.1, 0.5)
)
def test_no_training_ever_takes_what_a_version_is_reviewed_by(
    brought: list[list[str]], share: float
) -> None:
    by, known, trained, reviewed = surrogate(held_out=share), [], set[bytes](), set[bytes]()
    described: dict[bytes, tuple[Any, str] | None] = {}
    for texts in brought:  # Each is a training, with all the labels until then.
        for text in texts:
            key = content_key("text", text)
            described[key] = np.array(Letters().numbers(text)), family_key(Letters(), text)
            known.append(Label(key, key, 0.0))
        trained |= {one.content for one, _ in side(by, known, described, is_held_out=False)}
        reviewed |= {one.content for one, _ in side(by, known, described, is_held_out=True)}

    assert not trained & reviewed
    assert trained | reviewed == {one.content for one in known}


# ---- Reviews

LADDER = vl.Ladder("l", [surrogate(), DEAR])


def learnt(truth: Any, *, drawn: bool = True) -> list[Lessons]:
    """Lessons of ten candidates each, of which no lower tier has said anything."""
    parts = []
    for begin in range(0, len(truth), 10):
        some = truth[begin : begin + 10]
        count = len(some)
        scores = np.column_stack([np.full(count, nan), some])
        audits: list[Audit | None] = [
            Audit(SampleId("r", 0, n), Draw(0.5, 0.1, None, 2.0), None, float(y), is_good=True)
            if drawn else None
            for n, y in enumerate(some)
        ]  # fmt: skip
        seen = Seen(scores, np.full((count, 2), nan), np.empty((count, 0)))
        keys = [bytes([begin + n]) for n in range(count)]
        parts.append(Lessons(keys, seen, some.copy(), np.zeros(count, dtype=bool), audits))
    return parts


def reviewed(truth: Any, said: Any, *, drawn: bool = True) -> Review:
    half = range(0, len(truth), 2)
    scores = {bytes([n]): (float(said[n]), 0.5) for n in half}
    values = {bytes([n]): float(truth[n]) for n in half}
    return review(LADDER, learnt(truth, drawn=drawn), scores, values)


def test_a_version_that_knows_something_beats_what_is_believed_without_it() -> None:
    chance = np.random.default_rng(0)
    truth = chance.normal(size=120)
    found = reviewed(truth, truth + 0.5 * chance.normal(size=120))

    assert found.is_sure
    assert 0.3 < found.gain < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_a_version_that_knows_nothing_is_never_sure(seed: int) -> None:
    chance = np.random.default_rng(seed)

    assert not reviewed(chance.normal(size=120), chance.normal(size=120)).is_sure


def test_labels_that_were_chosen_prove_nothing() -> None:
    truth = np.random.default_rng(0).normal(size=120)

    assert not reviewed(truth, truth, drawn=False).is_sure


# ---- Who speaks

GOOD, BETTER = Review(40.0, 0.4, 0.1), Review(40.0, 0.6, 0.1)
WEAK, WORSE, FEW = Review(40.0, 0.1, 0.1), Review(40.0, -0.1, 0.1), Review(9.0, 0.9, 0.1)
OLD, NEW = {"name": "old"}, {"name": "new"}


@pytest.mark.parametrize(
    ("old", "new", "then"),
    [
        (None, GOOD, (NEW, None)),
        (None, WEAK, (None, NEW)),
        (None, FEW, (None, NEW)),
        (GOOD, BETTER, (NEW, None)),
        (BETTER, GOOD, (OLD, NEW)),
        (WEAK, WEAK, (OLD, NEW)),
        (WORSE, WEAK, (None, NEW)),
        (WORSE, GOOD, (NEW, None)),
        (WORSE, None, (None, OLD)),
        (Review(0.0, nan, nan), None, (None, OLD)),
    ],
)
def test_a_version_speaks_while_it_beats_the_null(
    old: Review | None, new: Review | None, then: tuple[object, object]
) -> None:
    found = decided(State(64, 64, old and OLD, new and NEW), old, new)

    assert (found.speaks, found.shadow) == then


# ---- Its place


@pytest.mark.parametrize(
    "verifiers",
    [
        [surrogate(), made("other", "fast"), DEAR],
        [surrogate()],
        [made("cheap", "fast"), surrogate(), DEAR],
    ],
)
def test_a_ladder_without_a_place_for_it_is_refused(verifiers: list[vl.Verifier]) -> None:
    with open_ledger(None) as ledger, pytest.raises(vl.ConfigError, match="only scoring"):
        Surrogates.of("one", vl.Ladder("l", verifiers), ledger)
