"""People who claim cases of one ledger at the same time, each at a machine of their own."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import LeaseError
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import open_ledger
from verifier_ladder.reviews import Claim, Reviews
from verifier_ladder.tiers.world.expert import ExpertCase
from verifier_ladder.verdict import Verdict


class Taste(ExpertCase):
    """Asks two people who taste."""

    name, version, isolation = "taste-afar", "1", "inline"


class Case(NamedTuple):
    check_key: bytes
    verifier: str = "expert-case"


CASES = [Case(bytes([number]) * 32) for number in range(3)]
PEOPLE = ("ada", "bob", "cy", "dee")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "l.db")
    found: str = request.getfixturevalue("postgresql")
    return found


def test_of_people_who_claim_at_once_two_have_each_case(place: str) -> None:
    ladder = Ladder("l", [ExpertCase(kind="text", readers=2)])
    begin = Barrier(len(PEOPLE))
    open_ledger(place).close()

    def claims(who: str) -> list[Claim]:
        with open_ledger(place) as ledger:
            reviews = Reviews(ledger, "c", ladder)
            begin.wait(60)
            found = [reviews.claim([case], who) for case in CASES]
            return [each[1] for each in found if each is not None]

    with ThreadPoolExecutor(len(PEOPLE)) as pool:
        held = [claim for each in pool.map(claims, PEOPLE) for claim in each]

    assert {case.check_key: 2 for case in CASES} == Counter(claim.case for claim in held)
    with open_ledger(place) as ledger:
        for claim in held:
            Reviews(ledger, "c", ladder).answer(claim, Verdict.accept(3.0))
        assert not list(Reviews(ledger, "c", ladder).free(CASES, "eve"))


def test_a_campaign_that_is_open_on_another_machine_hands_in_what_readers_say(
    postgresql: str,
) -> None:
    ladder = vl.Ladder("l", [Taste(kind="text", readers=2)], budget={"world": "unlimited"})
    with (
        vl.Campaign.open("c", ladder=ladder, ledger=postgresql, workers=1) as campaign,
        open_ledger(postgresql) as elsewhere,
    ):
        campaign.score(["soup"])
        assert campaign.drain(300)
        reviews = Reviews(elsewhere, "c", ladder)
        for who in ("ada", "bob"):
            found = reviews.claim(elsewhere.checks(), who)
            assert found is not None
            reviews.answer(found[1], Verdict.accept(3.0))

        told = next(campaign.revisions(wait=300.0))

    assert (3.0, None) == (told.reward.value, told.previous)


def test_a_lease_runs_out_by_the_clock_of_the_ledger(place: str) -> None:
    ladder = Ladder("l", [ExpertCase(kind="text")])
    with open_ledger(place) as ledger:
        before = ledger.clock()
        found = Reviews(ledger, "c", ladder).claim(CASES, "ada", lease=1e-6)
        assert found is not None
        assert before <= found[1].until <= ledger.clock() + 1e-6

        with pytest.raises(LeaseError, match="has run out"):
            Reviews(ledger, "c", ladder).answer(found[1], Verdict.accept(3.0))

        assert CASES == list(Reviews(ledger, "c", ladder).free(CASES, "bob"))


class Choosy(Taste):
    """Can't say what it makes of one answer."""

    name = "choosy-afar"

    def answered(self, candidate: vl.Candidate, value: object) -> Verdict:
        said = super().answered(candidate, value)
        if candidate.content == "stew":
            raise ZeroDivisionError("no taste for stew")
        return said


def test_an_answer_that_a_verifier_can_not_take_stops_no_campaign(
    postgresql: str, caplog: pytest.LogCaptureFixture
) -> None:
    ladder = vl.Ladder("l", [Choosy(kind="text", readers=2)], budget={"world": "unlimited"})
    with (
        vl.Campaign.open("c", ladder=ladder, ledger=postgresql, workers=1) as campaign,
        open_ledger(postgresql) as elsewhere,
    ):
        campaign.score(["stew", "soup"])
        assert campaign.drain(300)
        reviews = Reviews(elsewhere, "c", ladder)
        checks = sorted(elsewhere.checks(), key=lambda check: check.payload["content"] == "soup")
        for check in checks:  # The one that can't be taken comes first.
            for who in ("ada", "bob"):
                found = reviews.claim([check], who)
                assert found is not None
                reviews.answer(found[1], Verdict.accept(3.0))

        told = next(campaign.revisions(wait=300.0))
        assert campaign.drain(300)

    assert (1, 3.0) == (told.position, told.reward.value)
    assert "ada and bob say is not taken: ZeroDivisionError: no taste for stew" in caplog.text
