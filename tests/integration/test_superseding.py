"""A wrong answer of the world is superseded: every reward that rests on it is revised."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from settling import DAY, World

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckRow, CheckState
from verifier_ladder.ledger.values import dumps
from verifier_ladder.scheduler.candidates import candidate_json
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.scheduler.superseding import supersede
from verifier_ladder.tiers.world.case import WorldVerifier

PROMPTED = vl.Candidate("text", "four", {"prompt": "a number"})


@vl.verifier(name="guess-superseded", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


class Scale(WorldVerifier):
    """A laboratory that weighs, and reads nothing of a task."""

    name, version, kind, isolation, low, high = "scale", "1", "text", "inline", 0.0, 10.0


def opened(place: Any, name: str = "weights", run: str = "r") -> vl.Campaign:
    ladder = vl.Ladder("weights", [guess, Scale()], policy="all_tiers")
    budget: Any = {"world": "unlimited"}
    return vl.Campaign.open(name, ladder=ladder, ledger=place, run=run, budget=budget, workers=1)


def answered(campaign: vl.Campaign, *candidates: Any) -> list[CheckRow]:
    """The cases of candidates that were scored, all answered with 3."""
    campaign.score(candidates)
    assert campaign.drain("300 s")
    campaign.answer_all({case.check_key: 3 for case in campaign.cases()}, source="ada")
    assert campaign.drain("300 s")
    rows = campaign.ledger.checks(verifier="scale")
    return sorted(rows, key=lambda row: str(row.payload["content"]))


def told(campaign: vl.Campaign, after: int) -> list[tuple[Any, ...]]:
    assert campaign.drain("300 s")
    return [
        (r.run, r.step, r.position, r.previous, r.reward.value, r.reward.revision)
        for r in campaign.revisions(after=after)
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger in which the world has answered one case, and is still asked another."""
    place = tmp_path_factory.mktemp("answered") / "l.db"
    with opened(place) as campaign:
        answered(campaign, PROMPTED)
        campaign.score(["seven"])
        assert campaign.drain("300 s")
    return place


@pytest.fixture
def known(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(made, tmp_path))


def case_in(ledger: Ledger) -> CheckRow:
    """The case that is answered."""
    (row,) = ledger.checks(verifier="scale", states=[CheckState.DONE])
    return row


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    places: dict[str, Callable[[], Any]] = {
        "memory": lambda: "memory://", "sqlite": lambda: tmp_path / "l.db",
        "postgresql": lambda: request.getfixturevalue("postgresql"),
    }  # fmt: skip
    return places[request.param]()


def test_all_samples_that_rest_on_it_are_revised_also_those_that_came_later(place: Any) -> None:
    with opened(place) as campaign:
        case, _ = answered(campaign, PROMPTED, PROMPTED, "seven")
        (later,) = campaign.score([PROMPTED])
        before = campaign.cursor

        assert campaign.supersede(case.check_key, 8, source="bob", why="the scale stood askew")

        assert 3.0 == later.value
        assert [
            ("r", 0, 0, 3.0, 8.0, 2), ("r", 0, 1, 3.0, 8.0, 2), ("r", 1, 0, 3.0, 8.0, 1)
        ] == told(campaign, before)  # fmt: skip
        assert 8.0 == campaign.score([PROMPTED])[0].value
        assert 3.0 == campaign.score(["seven"])[0].value
        (row,) = campaign.ledger.campaigns()
        report = replay(campaign.ledger, row)
        assert report.is_same, report.differences
        *_, entry = campaign.ledger.entries(kind="review")
        facts = dict(campaign.ledger.read(entry).facts)
        assert {
            "source": "bob", "why": "the scale stood askew", "supersedes": "accept 3"
        } == facts  # fmt: skip


def test_every_campaign_of_the_ledger_hears_of_it_and_learns_nothing(known: Path) -> None:
    with opened(known) as one, opened(known, "others") as other:
        assert 3.0 == other.score([PROMPTED])[0].value
        before = other.cursor
        learnt = [entry.id for entry in one.ledger.entries(kind="belief")]

        one.supersede(case_in(one.ledger).check_key, 8, source="bob")

        assert [("r", 0, 0, 3.0, 8.0, 1)] == told(other, before)
        assert 8.0 == other.score([PROMPTED])[0].value
        assert learnt == [entry.id for entry in one.ledger.entries(kind="belief")]


def test_where_nobody_knows_any_more_the_reward_is_what_is_believed(known: Path) -> None:
    with opened(known) as campaign:
        for value in (None, 9):
            assert campaign.supersede(case_in(campaign.ledger).check_key, value, source="bob")
        values = [value for *_, value, _ in told(campaign, 0)]

    assert [3.0, 4.0, 9.0] == values


def test_a_process_that_dies_before_the_revision_loses_nothing(known: Path) -> None:
    with open_ledger(known) as ledger:  # All that such a process has done.
        case, before = case_in(ledger), ledger.newest()
        supersede(ledger, "weights", case, vl.Verdict.accept(8.0), source="bob", why="")

    with opened(known) as campaign:
        assert [("r", 0, 0, 3.0, 8.0, 2)] == told(campaign, before)
        assert not campaign.ledger.requests(check_keys=[case.check_key])


def test_what_changes_nothing_was_not_answered_or_makes_no_sense_is_not_taken(
    known: Path,
) -> None:
    with opened(known) as campaign:
        case = case_in(campaign.ledger)
        (waiting,) = campaign.cases()
        before = campaign.ledger.newest()

        assert not campaign.supersede(case.check_key, 3, source="bob")
        with pytest.raises(vl.ConfigError, match="has no answer that could be superseded"):
            campaign.supersede(waiting, 8, source="bob")
        with pytest.raises(vl.ConfigError, match="no open case has the key"):
            campaign.supersede(b"x" * 32, 8, source="bob")
        with pytest.raises(vl.VerifierError, match="between 0 and 10"):
            campaign.supersede(case.check_key, 11, source="bob")

        assert before == campaign.ledger.newest()


@pytest.mark.slow
def test_drawn_samples_get_what_they_would_have_got_if_the_right_answer_had_come_first(
    tmp_path: Path,
) -> None:
    texts = ["x" * length for length in range(1, 13)]

    def paid(name: str, *answers: float) -> dict[int, float | None]:
        ladder = vl.Ladder("weights", [guess, Scale()], audit=0.5)
        budget: Any = {"world": "unlimited"}
        with vl.Campaign.open(
            "weights", ladder=ladder, ledger=tmp_path / name, run="r", budget=budget, workers=1
        ) as campaign:
            campaign.score(texts, deadline=0)
            assert campaign.drain("300 s")
            cases = sorted(campaign.cases(), key=lambda case: str(case.candidate.content))
            assert len(cases) > 3
            campaign.cancel(run="r", positions=[len(str(cases.pop().candidate.content)) - 1])
            first, *others = answers
            campaign.answer_all({case.check_key: first for case in cases}, source="ada")
            for case, value in product(cases, others):
                assert campaign.supersede(case, value, source="bob")
            drawn = {len(str(case.candidate.content)) - 1 for case in cases}
            told = {r.position: r.reward.value for r in campaign.revisions(after=0)}
            (row,) = campaign.ledger.campaigns()
            assert replay(campaign.ledger, row).is_same
        return {position: value for position, value in told.items() if position in drawn}

    right = paid("right.db", 7.0)

    assert right == paid("wrong.db", 2.0, 7.0)
    assert {7.0} != set(right.values())  # Draws that were cancelled weigh.


@pytest.mark.slow
def test_a_settlement_is_superseded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.set_clocks(monkeypatch)
    with world.campaign() as campaign:
        campaign.score(world.samples("3", "5"), deadline=0)
        assert campaign.drain("300 s")
        case = next(case for case in campaign.cases() if case.candidate.content == "5")
    world.feed.write_text("4.5")
    world.ahead = DAY + 1
    assert [-1.5, -0.5] == world.settled()

    with world.campaign() as campaign:
        assert campaign.supersede(case, -3.0, source="bob", why="the feed was wrong")

    assert [-1.5, -3.0] == world.settled()


def test_a_row_for_an_answer_that_stands_is_left_out(
    known: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_ledger(known) as ledger:
        case, before = case_in(ledger), ledger.newest()
    state = dumps({"candidate": candidate_json(PROMPTED)})
    with closing(sqlite3.connect(known, timeout=300)) as file, file:
        file.execute("PRAGMA foreign_keys = OFF")
        file.execute(
            "INSERT INTO request (check_key, campaign, run, step, position, content_key, state) "
            "VALUES (?, 'weights', 'r', 0, 0, ?, ?)",
            (case.check_key, case.content_key, state),
        )

    with opened(known) as campaign:
        assert [] == told(campaign, before)

    assert "does not wait for this check" in caplog.text
