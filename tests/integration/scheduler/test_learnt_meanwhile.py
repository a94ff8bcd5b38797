"""What a middle tier says of samples that wait for the top tier, which has several checks.

They were sent past the middle tier, by a policy for certain or by a draw, and what it says becomes
known while the first check of the top tier is at work.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.decision import Action, Decisions, Situation
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.retrying import retry
from verifier_ladder.runs.reading import read_run
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay

pytestmark = pytest.mark.usefixtures("forked_workers")

BELIEVED, TRUTH, REJECT = 9.0, 3.0, 0.0
TEXTS = ["a", "b"]
NEVER = Thresholds(thresholds={"high_fidelity": 1e9})
Answer = float | bool | None


class Straight:
    """Asks the top tier for certain, past all others."""

    name, version, is_sequential = "straight", "1", False

    def decide(self, situation: Situation) -> Decisions:
        count = len(situation)
        return Decisions(
            action=np.full(count, Action.ESCALATE), to=np.full(count, len(situation.tiers) - 1),
            reason=np.zeros(count, dtype=int), reasons=("the top tier knows",),
            verify=np.zeros(count), benefit=np.ones(count),
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version}


@vl.verifier(name="cheap", version="1", tier="fast", kind="text", isolation="inline")
def cheap(candidate: vl.Candidate) -> float:
    del candidate
    return BELIEVED


class Slow(vl.Verifier):
    """The world, which answers when the test says so."""

    version, kind, waits, domain = "1", "text", True, "laboratories"

    def __init__(self, name: str, tier: str, role: str = "primary", **more: Any) -> None:
        self.name, self.tier, self.role = name, tier, role  # type: ignore[assignment]
        self.definitive = bool(more.pop("definitive", False))
        self.replicates = int(more.pop("replicates", 1))
        super().__init__(replicates=self.replicates)

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


class Furnace(vl.Verifier):
    """A gate of the top tier, which is broken when the test says so."""

    name, version, tier, kind, role = "furnace", "1", "world", "text", "gate"
    isolation = "inline"
    is_broken = True

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[bool]:
        if self.is_broken:
            raise vl.VerifierError("the furnace is broken")
        return [True] * len(candidates)


class Course:
    """A campaign whose samples all wait for the top tier, drawn by chance or for certain."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.is_certain = True
        self.definitive = False
        self.replicates = 1
        self.texts = TEXTS
        self.gate: vl.Verifier = Slow("proof", "world", "gate")

    @property
    def middle(self) -> vl.Verifier:
        return Slow("relax", "high_fidelity", "gate", definitive=self.definitive)

    def open(self) -> vl.Campaign:
        ladder = vl.Ladder(
            "three",
            [
                cheap, self.middle, self.gate,
                Slow("assay", "world", replicates=self.replicates),
            ],
            policy=Straight() if self.is_certain else NEVER,
            audit=0.0 if self.is_certain else 0.5, prior=(5.0, 5.0),
            reward=vl.RewardRule(reject=REJECT, estimator="unbiased"),
            budget={"world": "unlimited", "high_fidelity": "unlimited"},
        )  # fmt: skip
        campaign = vl.Campaign.open("one", ladder=ladder, ledger=self.ledger, run="r", workers=1)
        if not self.ledger.recorded("one", "r", 0):
            if isinstance(self.gate, Furnace):
                campaign.pause("world")
            campaign.score(self.texts, step=0)
            assert campaign.drain("300 s")
        return campaign

    def answer(self, campaign: vl.Campaign, **answers: Answer) -> list[str]:
        """Answer the open cases of these verifiers; gives who was asked."""
        asked = sorted({case.verifier for case in campaign.cases()})
        for case in campaign.cases():
            if case.verifier in answers:
                campaign.answer(case, answers[case.verifier], source="laboratory")
        assert campaign.drain("300 s")
        return asked

    def rejected(self, campaign: vl.Campaign, *texts: str) -> None:
        rows = [{"content": text, "relax": False} for text in texts]
        assert campaign.import_verdicts(rows, source="elsewhere").verdicts == len(texts)

    def declined(self) -> None:
        """Another campaign hears from the middle tier that it can't judge these."""
        ladder = vl.Ladder(
            "two", [cheap, self.middle], policy="all_tiers", budget={"high_fidelity": "unlimited"}
        )
        with vl.Campaign.open("two", ladder=ladder, ledger=self.ledger, workers=1) as other:
            other.score(self.texts)
            assert other.drain("300 s")
            assert other.answer_all({c.check_key: None for c in other.cases()}, source="x")

    def rewards(self) -> list[float | None]:
        rows = self.ledger.recorded("one", "r", 0)
        return [rows[position].reward.value for position in sorted(rows)]

    def waiting(self) -> list[int]:
        return sorted(request.position for request in self.ledger.requests())

    def drawn(self) -> set[int]:
        samples = read_run(self.ledger, "r").samples
        return {sample.position for sample in samples if sample.is_drawn or sample.is_certain}


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Course]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield Course(store)
        (row,) = (row for row in store.campaigns() if row.name == "one")
        assert replay(store, row).differences == []


By = Callable[[Course], None]


def for_certain(course: Course) -> None:
    course.is_certain = True


def by_chance(course: Course) -> None:
    course.is_certain = False
    course.texts = [f"{number}" for number in range(24)]


HOW = pytest.mark.parametrize("how", [for_certain, by_chance])


def expected(course: Course, truth: float) -> list[float]:
    """Rewards once the top tier has said the same of all that it was asked about."""
    weight = 1.0 if course.is_certain else 2.0
    told, drawn = BELIEVED + weight * (truth - BELIEVED), course.drawn()
    assert len(drawn) >= 2
    return [told if p in drawn else BELIEVED for p in range(len(course.texts))]


@HOW
@pytest.mark.parametrize("replicates", [1, 2])
def test_a_reject_is_overruled_by_the_top_tier_that_was_asked(
    course: Course, how: By, replicates: int
) -> None:
    how(course)
    course.replicates = replicates
    with course.open() as campaign:
        course.rejected(campaign, *course.texts)
        assert course.answer(campaign, proof=True) == ["proof"]
        assert course.rewards() == [BELIEVED] * len(course.texts)
    with course.open() as campaign:
        for _ in range(replicates):
            assert course.answer(campaign, assay=TRUTH) == ["assay"]
    assert course.rewards() == expected(course, TRUTH)
    assert course.waiting() == []


@HOW
def test_a_reject_that_is_true_by_definition_ends_the_climb(course: Course, how: By) -> None:
    how(course)
    course.definitive = True
    with course.open() as campaign:
        course.rejected(campaign, *course.texts)
        course.answer(campaign, proof=True)
        assert course.rewards() == expected(course, REJECT)
        assert campaign.cases() == []
    assert course.waiting() == []
    worths = {sample.worth for sample in read_run(course.ledger, "r").samples}
    assert worths == {REJECT} | ({BELIEVED} if how is by_chance else set())


@HOW
def test_what_a_middle_gate_could_not_judge_the_top_tier_may(course: Course, how: By) -> None:
    how(course)
    course.open().close()
    course.declined()
    with course.open() as campaign:
        assert course.answer(campaign, proof=True) == ["proof"]
        assert course.answer(campaign, assay=TRUTH) == ["assay"]
    assert course.rewards() == expected(course, TRUTH)


@HOW
def test_a_top_gate_that_does_not_judge_spares_the_rest(course: Course, how: By) -> None:
    how(course)
    with course.open() as campaign:
        course.answer(campaign, proof=None)
        assert campaign.cases() == []
        assert course.rewards() == [BELIEVED] * len(course.texts)
    assert course.waiting() == []


@pytest.mark.parametrize("silent", ["proof", "assay"])
def test_what_was_due_for_certain_and_has_no_answer_is_worth_what_is_believed_by_now(
    course: Course, silent: str
) -> None:
    answers: dict[str, Answer] = {"proof": True, "assay": TRUTH, silent: None}
    with course.open() as campaign:
        course.rejected(campaign, "a")
        for verifier in ("proof", "assay"):
            course.answer(campaign, **{verifier: answers[verifier]})
        assert course.rewards() == [REJECT, BELIEVED]
    assert course.waiting() == []
    samples = read_run(course.ledger, "r").samples
    assert [(1.0, 1.0)] * 2 == [(sample.propensity, sample.weight) for sample in samples]


def test_beliefs_that_have_learnt_meanwhile_speak_where_an_answer_is_missing(
    course: Course,
) -> None:
    course.texts = [f"{number}" for number in range(40)]
    with course.open() as campaign:
        course.answer(campaign, proof=True)
        *first, last = campaign.cases()
        for case in first:
            campaign.answer(case, TRUTH, source="laboratory")
        assert campaign.drain("300 s")
        campaign.answer(last, None, source="laboratory")
        assert campaign.drain("300 s")
    (told,) = {value for value in course.rewards() if value != TRUTH}
    assert told is not None
    assert abs(told - TRUTH) < 1.0


@HOW
def test_a_missing_answer_counts_once_it_is_there(course: Course, how: By) -> None:
    how(course)
    course.gate = furnace = Furnace()
    with course.open() as campaign:
        course.rejected(campaign, *course.texts)
        campaign.resume("world")
        assert campaign.drain("300 s")
        missing = BELIEVED if how is by_chance else REJECT
        assert course.rewards() == [missing] * len(course.texts)
        furnace.is_broken = False
        retried = retry(course.ledger, course.ledger.checks(states=[CheckState.DEAD]))
        assert retried.samples == len(course.drawn())
        assert campaign.drain("300 s")
        assert course.answer(campaign, assay=TRUTH) == ["assay"]
    assert course.rewards() == expected(course, TRUTH)


def test_what_was_learnt_of_costs_alone_is_replayed(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answers are a gate's: beliefs learn nothing of them, and a snapshot is due."""
    monkeypatch.setattr("verifier_ladder.scheduler.learning._SNAPSHOT", 1)
    with course.open() as campaign:
        course.answer(campaign, proof=True)
    told = [course.ledger.read(entry).facts for entry in course.ledger.entries(kind="belief")]
    assert any("snapshot" in facts and not facts["lessons"]["keys"] for facts in told)


@HOW
def test_a_score_of_what_is_bad_by_definition_is_not_its_worth(course: Course, how: By) -> None:
    how(course)
    course.definitive = True
    with course.open() as campaign:
        course.answer(campaign, proof=True)
        course.rejected(campaign, *course.texts)
        course.answer(campaign, assay=TRUTH)
    assert course.rewards() == expected(course, REJECT)
    samples = [s for s in read_run(course.ledger, "r").samples if s.position in course.drawn()]
    assert {(sample.worth, sample.is_rejected) for sample in samples} == {(REJECT, True)}


@HOW
def test_an_overruled_reject_is_none(course: Course, how: By) -> None:
    how(course)
    with course.open() as campaign:
        course.rejected(campaign, *course.texts)
        course.answer(campaign, proof=True)
        course.answer(campaign, assay=TRUTH)
    samples = read_run(course.ledger, "r").samples
    assert not any(sample.is_rejected for sample in samples)
    assert {s.worth for s in samples if s.position in course.drawn()} == {TRUTH}


def test_a_reject_that_was_not_overruled_is_what_a_drawn_sample_is_worth(course: Course) -> None:
    by_chance(course)
    with course.open() as campaign:
        course.rejected(campaign, *course.texts)
        course.answer(campaign, proof=True)
        course.answer(campaign, assay=None)
    assert course.rewards() == [BELIEVED] * len(course.texts)
    samples = [s for s in read_run(course.ledger, "r").samples if s.is_drawn]
    assert {(sample.worth, sample.is_rejected) for sample in samples} == {(REJECT, True)}


def test_a_reject_by_definition_speaks_for_what_is_cancelled(course: Course) -> None:
    course.definitive = True
    course.texts = ["a", "b", "c", "d"]
    with course.open() as campaign:
        assert campaign.cancel(step=0, positions=[0, 1]).samples == 2
        course.rejected(campaign, "c", "d")
        course.answer(campaign, proof=True)
    told = BELIEVED + 2.0 * (REJECT - BELIEVED)
    assert course.rewards() == [BELIEVED, BELIEVED, told, told]
