"""Reading a run out of a ledger."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordedruns import CHEAP, TRUE, RecordedRun, Told, ladder_spec

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.reward import Reward
from verifier_ladder.runs import read_run
from verifier_ladder.runs.records import SampleRecord
from verifier_ladder.scheduler.draws import Spoken
from verifier_ladder.scheduler.estimator import corrected
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return open_ledger(tmp_path / "ledger.db")


def drawn(content: str, believed: float, factor: float, truth: float | None = None) -> Told:
    """A sample that a draw fell on, before or after the top tier has answered."""
    if truth is None:
        reward = Reward(believed, 0.2, Tier.FAST, pending=True)
        return Told(content, reward, chance=0.25, is_drawn=True, factor=factor)
    value = corrected(believed, truth, factor)
    said = {TRUE: Verdict.accept(truth)}
    return Told(content, Reward(value, 0.0, Tier.WORLD, revision=1), verdicts=said, chance=1.0)


def test_a_revision_replaces_the_reward_and_keeps_the_first(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    book.score([Told("a", 0.5, "g"), Told("b", 0.1, "g", learner_version="v1")])
    book.revise(0, 1, Told("b", Reward(0.9, revision=1), "g"))

    first, second = read_run(ledger).samples

    assert (0.5, 0.5) == (first.first.value, first.reward.value)
    assert (0.1, 0.9, "v1") == (second.first.value, second.reward.value, second.learner_version)


@given(
    believed=st.floats(-5, 5), truth=st.floats(-5, 5), factor=st.sampled_from([0.0, 1.0, 3.7, 8.8])
)
def test_worth_is_the_truth_however_far_the_reward_was_corrected(
    believed: float, truth: float, factor: float
) -> None:
    with open_ledger(":memory:") as ledger:
        book = RecordedRun(ledger)
        book.score([drawn("a", believed, factor)])
        book.revise(0, 0, drawn("a", believed, factor, truth))
        record = read_run(ledger)

    (sample,) = record.samples
    assert truth == pytest.approx(sample.worth, abs=1e-9)
    assert believed == sample.believed
    assert record.has_truth(sample)
    assert 4.0 == sample.weight


def test_an_answer_that_is_awaited_changes_nothing(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    book.score([drawn("a", 0.6, 3.0)])
    record = read_run(ledger)

    assert 0.6 == record.samples[0].worth
    assert not record.has_truth(record.samples[0])


def test_a_draw_that_fell_elsewhere_speaks_for_nobody(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    book.score([Told("a", 0.6, chance=0.1), Told("b", 0.6, chance=1.0), Told("c", 0.6)])

    assert [None, 1.0, None] == [sample.weight for sample in read_run(ledger).samples]


def test_an_earlier_checkpoint_shows_what_was_known_then(ledger: Ledger) -> None:
    book = RecordedRun(ledger)
    book.score([Told("a", 0.5, verdicts={CHEAP: Verdict.accept(0.5)})])
    then = read_run(ledger).moment
    book.revise(0, 0, Told("a", Reward(0.9, revision=1), verdicts={TRUE: Verdict.accept(0.9)}))
    book.score([Told("b", 0.1)])

    now, before = read_run(ledger), read_run(ledger, at=then.size)

    assert [0.9, 0.1] == [sample.worth for sample in now.samples]
    assert [0.5] == [sample.worth for sample in before.samples]
    assert then.root == before.moment.root != now.moment.root
    assert [[CHEAP], [TRUE]] == [
        [said.verifier for said in record.verdicts(record.samples[0])] for record in (before, now)
    ]


def test_a_size_that_nobody_signed_is_refused(ledger: Ledger) -> None:
    RecordedRun(ledger).score([Told("a", 0.5)])

    with pytest.raises(ConfigError, match="no checkpoint of size 99"):
        read_run(ledger, at=99)


def test_a_ledger_in_memory_has_no_earlier_moment() -> None:
    ledger = open_ledger(":memory:")
    RecordedRun(ledger).score([Told("a", 0.5)])

    assert read_run(ledger).moment.size is None
    assert "in memory" in read_run(ledger).moment.text
    with pytest.raises(ConfigError, match="no signed log"):
        read_run(ledger, at=1)


def test_verdicts_of_another_campaign_are_found(ledger: Ledger) -> None:
    said = {CHEAP: Verdict.accept(0.5, feedback="shorter")}
    RecordedRun(ledger, "first").score([Told("a", 0.5, verdicts=said)])
    book = RecordedRun(ledger, "second")
    book.score([Told("a", 0.5, verdicts=said)])
    record = read_run(ledger, campaign="second")
    record.said.clear()

    assert ["shorter"] == [
        said.verdict.feedback
        for said in read_run(ledger, campaign="second").verdicts(record.samples[0])
    ]


@pytest.mark.parametrize(
    ("rewards", "rule", "expected"),
    [
        ([0.0, 1.0], {}, 0.5),
        ([0.0, 3.0], {}, None),
        ([0.0, 3.0], {"low": 2.0, "high": -4.0}, 0.5),
        ([None], {}, 0.5),
    ],
)  # fmt: skip
def test_a_pass_is_assumed_on_a_known_scale_only(
    ledger: Ledger, rewards: list[float | None], rule: dict[str, float], expected: float | None
) -> None:
    spec = ladder_spec()
    ladder = {**spec, "reward": {**spec["reward"], **rule}}
    book = RecordedRun(ledger, ladder=ladder)
    book.score([Told(str(i), reward) for i, reward in enumerate(rewards)])

    assert expected == read_run(ledger).usual_threshold()


def test_tags_are_the_tasks_own_else_the_runs_else_the_verifiers(ledger: Ledger) -> None:
    from verifier_ladder.transcript import Transcript

    spec = ladder_spec()
    spec["verifiers"][0] |= {"capabilities": ["memory"], "domain": "law"}
    labels = {"name": "r", "labels": {"capability": "planning"}}
    book = RecordedRun(ledger, run=labels, ladder=spec)
    book.keep(Transcript(group="own", capability="Tool_Use", domain="chemistry"))
    book.score([Told("a", 1.0, "own"), Told("b", 1.0, "other")])
    record = read_run(ledger)

    own, other = map(record.tags, record.samples)

    assert (("tool use",), "chemistry") == own
    assert (("planning",), "law") == other


@pytest.mark.parametrize(
    ("spoken", "own"),
    [(Spoken(1.0, 2.0), 3.0), (Spoken(1.0, 2.0, -4.0), 5.0), (Spoken(1.0, 1.0, -4.0), 9.0)],
)
def test_a_sample_that_speaks_for_others_is_worth_what_is_known_of_itself(
    spoken: Spoken, own: float
) -> None:
    first, now = Reward(1.0, 0.5, Tier.FAST), Reward(5.0, 0.2, Tier.SIMULATION, revision=1)
    sample = SampleRecord(0, 0, b"", "", "", b"", first, now, spoken=spoken)

    assert sample.worth == own
    assert sample.believed == 1.0
