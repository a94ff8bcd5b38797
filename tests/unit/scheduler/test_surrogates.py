"""Surrogates: what counts as a label, and when a version may speak."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import nan
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wordsurrogates import InThisProcess, Letters, Quick, model, publish, surrogate

import verifier_ladder as vl
from verifier_ladder.candidate import SampleId
from verifier_ladder.keys import content_key
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, VerdictRow
from verifier_ladder.scheduler import surrogates
from verifier_ladder.scheduler.audits import Audit
from verifier_ladder.scheduler.beliefs import Seen, create_model
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.engines.pool import PoolClosed
from verifier_ladder.scheduler.lessons import Lessons
from verifier_ladder.scheduler.surrogates import (
    KIND,
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
from verifier_ladder.tiers.fast.surrogate import Model, Surrogate, Training


def judge(candidate: vl.Candidate) -> float:
    return float(str(candidate.content).count("a"))


def made(name: str, tier: str, **attributes: Any) -> vl.Verifier:
    return vl.verifier(
        name=name, tier=tier, kind="text", version="1", isolation="inline", **attributes
    )(judge)


DEAR = made("dear", "high_fidelity")
OWN = surrogate(first=32, held_out=0.5)
LADDER = vl.Ladder("l", [OWN, DEAR])


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


def test_what_an_evaluation_asks_that_begins_while_it_is_read_is_no_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ladder = vl.Ladder("l", [DEAR])
    with (
        open_ledger(None) as ledger,
        vl.Campaign.open("one", ladder=ladder, ledger=ledger) as campaign,
    ):
        campaign.score(["a"])
        entries = ledger.entries

        def late(**given: Any) -> Any:
            monkeypatch.undo()
            campaign.score(["aaa"], evaluation=True)
            campaign.drain("300 s")
            return entries(**given)

        campaign.drain("300 s")
        monkeypatch.setattr(ledger, "entries", late)

        assert labels(ledger, ladder) == of(a=1.0)


def test_nothing_more_is_read_once_nobody_wants_to_know() -> None:
    with labelled(2) as ledger:
        history = History("one", LADDER, ledger)
        history.read_on()
        assert len(history.labels()) == 2
        history.is_over = True
        unread = History("one", LADDER, ledger, is_over=True)

        for work in (unread.read_on, history.labels, lambda: list(history)):
            with pytest.raises(PoolClosed):
                work()


@pytest.mark.parametrize("where", ["queue", "entries"])
def test_a_labels_candidate_is_found_in_the_queue_or_else_in_the_entries(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with labelled(2) as ledger:
        history = History("one", LADDER, ledger)
        history.read_on()
        keys = [label.content for label in history.labels()]
        if where == "queue":
            monkeypatch.setattr(ledger, "find_contents", lambda *_: [])
        else:
            monkeypatch.setattr(ledger, "checks", lambda **_: [])

        found = history.candidates(keys)

    assert {key: one.content for key, one in found.items()} == {
        content_key("text", text): text for text in words(2)
    }


# ---- Looks


def words(count: int) -> list[str]:
    """Words with 0 to 3 a's, none of them an anagram of another."""
    return ["a" * (number % 4) + "x" * number for number in range(1, count + 1)]


def labelled(count: int) -> Ledger:
    """A ledger with a campaign that has so many labels, and never had a surrogate."""
    ledger = open_ledger(None)
    ladder = vl.Ladder("l", [made("flat", "fast"), DEAR], policy="all_tiers")
    with vl.Campaign.open("one", ladder=ladder, ledger=ledger, workers=1) as campaign:
        for begin in range(0, count, 10):
            campaign.score(words(count)[begin : begin + 10])
            assert campaign.drain("300 s")
    return ledger


def looked(ledger: Ledger, ladder: vl.Ladder | None = None) -> list[Block]:
    """What stands in the ledger after one look."""
    found = Surrogates.of("one", ladder or LADDER, ledger)
    assert found is not None
    found.heard(100)
    for thread in threading.enumerate():
        if thread.name == "vl-surrogate":
            thread.join(300.0)
    found.close()
    return [ledger.read(entry) for entry in ledger.entries(kind=KIND, campaign="one")]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    Quick.begun.clear()
    monkeypatch.setattr(surrogates, "WorkerPool", InThisProcess)
    monkeypatch.setattr(surrogates, "Training", Quick)


class Torchless(Training):
    def verify(self, _: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        raise vl.ToolError("there is no torch")


@pytest.mark.usefixtures("in_this_process")
def test_a_version_that_speaks_is_reviewed_although_none_can_be_trained(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(surrogates, "Training", Torchless)
    with labelled(40) as ledger:
        speaks = publish(ledger, "one", OWN, model(), labels=20)
        *_, written = looked(ledger)

    assert written.facts["trained"] == 20
    assert [*written.facts["reviews"]] == [speaks["name"]]
    assert "no version of its surrogate could be trained for 32 labels" in caplog.text
    assert "there is no torch" in caplog.text


class Blind(Letters):
    def numbers(self, _: str | bytes) -> list[float]:
        raise vl.ToolError("RDKit is not installed")


@pytest.mark.usefixtures("in_this_process")
def test_that_labels_can_not_be_described_is_told(caplog: pytest.LogCaptureFixture) -> None:
    blind = Surrogate(kind="text", descriptors=Blind(), first=32)
    with labelled(40) as ledger:
        (written,) = looked(ledger, vl.Ladder("l", [blind, DEAR]))

    assert (written.facts["trained"], written.facts["shadow"]) == (0, None)
    assert "40 of the latest labels could not be described" in caplog.text
    assert "RDKit is not installed" in caplog.text


class Overtaken(Quick):
    """A training during which another process has looked."""

    ledger: ClassVar[Ledger]

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        publish(self.ledger, "one", OWN, model(2.0, "cd" * 32))
        return super().verify(candidates)


@pytest.mark.usefixtures("in_this_process")
def test_of_two_looks_at_once_the_first_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrogates, "Training", Overtaken)
    with labelled(40) as ledger:
        monkeypatch.setattr(Overtaken, "ledger", ledger, raising=False)
        (written,) = looked(ledger)

    assert written.facts["speaks"]["name"] == "cd" * 32


@pytest.mark.usefixtures("in_this_process")
def test_only_the_latest_labels_are_described_and_some_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(surrogates, "_KEPT", 12)
    monkeypatch.setattr(surrogates, "_AT_ONCE", 8)
    with labelled(40) as ledger:
        (written,) = looked(ledger)
        history = History("one", LADDER, ledger)
        history.read_on()
        known = [label.content for label in history.labels()]
        files = written.verdicts[0].verdict.files
        trained = ledger.artifact(files["trained.npy"].digest) or b""
        version = Model.read("x", model().written(), trained)

    assert written.facts["labels"] == 40
    assert sum(InThisProcess.sizes) == 20 + 1  # Labels 21 to 32 and 29 to 40; and the training.
    assert max(InThisProcess.sizes) == 8
    assert {place for place, key in enumerate(known) if version.knows(key)} <= {*range(20, 32)}
    assert sum(map(len, history)) < 12 + 10


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


def test_what_beliefs_have_learnt_of_one_version_holds_for_the_next() -> None:
    then, now = (
        create_model(LADDER.exchanged(OWN, OWN.at(model(name=name), None)))
        for name in ("ab" * 32, "cd" * 32)
    )
    truth = np.random.default_rng(0).normal(size=40)
    none, blank = np.empty((40, 0)), np.full((40, 2), nan)
    drawn = np.ones(40, dtype=bool)
    then.learn(Seen(np.column_stack([truth + 1.0, truth]), blank, none), truth, drawn)
    now.restore(then.snapshot())
    asked = Seen(np.array([[0.5, nan]]), blank[:1], none[:1])

    assert now.predict(asked).mean == then.predict(asked).mean == pytest.approx(-0.5, abs=0.1)
    assert now.predict(asked).deviation == then.predict(asked).deviation


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


def test_a_top_tier_that_judges_spellings_gives_no_labels_and_is_refused() -> None:
    ladder = vl.Ladder("l", [OWN, made("dear", "high_fidelity", reads="raw")])
    with open_ledger(None) as ledger, pytest.raises(vl.ConfigError, match="one spelling only"):
        Surrogates.of("one", ladder, ledger)
