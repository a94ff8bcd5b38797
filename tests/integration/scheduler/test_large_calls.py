"""A large call is one update, decided once and written in one transaction."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay

MANY = 10_000


class Drawn(NamedTuple):
    """What was decided about one sample."""

    number: float
    factor: float
    propensity: float


def ladder() -> vl.Ladder:
    """Everything stops at the first tier, and one candidate in four is drawn for the second."""

    def cheap(_: vl.Candidate) -> float:
        return 0.5

    def top(_: vl.Candidate) -> float:
        return 1.0

    return vl.Ladder(
        "large",
        [
            vl.verifier(name="cheap", version="1", isolation="inline")(cheap),
            vl.verifier(name="top", version="1", tier="high_fidelity", isolation="inline")(top),
        ],
        policy=Thresholds(thresholds={"high_fidelity": 1e9}),
        audit=0.25,
    )


def told(ledger: Any) -> list[Block]:
    """The entries of scored samples."""
    blocks = [ledger.read(entry) for entry in ledger.entries(kind="score", campaign="c")]
    return [block for block in blocks if block.rewards]


def drawn(block: Block) -> dict[int, Drawn]:
    """Every sample's draw."""
    return {
        place: Drawn(columns.draw[row], columns.factor[row], columns.propensity[row])
        for columns in block.decisions
        if columns.draw is not None and columns.factor is not None
        for row, place in enumerate(columns.sample)
    }


def test_candidates_at_both_ends_share_one_draw_and_the_update_is_the_whole_call(
    tmp_path: Path,
) -> None:
    texts = [f"answer {number % (MANY - 500)}" for number in range(MANY)]
    with vl.Campaign.open(
        "c", ladder=ladder(), ledger=tmp_path / "l.db", run="r", workers=1
    ) as campaign:
        campaign.pause("high_fidelity")
        campaign.score(texts, step=0)
        waiting = campaign.ledger.requests(campaign="c")
        blocks = told(campaign.ledger)

    assert len(blocks) == 1
    draws = drawn(blocks[0])
    assert len(draws) == MANY
    alike = {text: set[Drawn]() for text in texts}
    for place, draw in draws.items():
        alike[texts[place]].add(draw)
    assert {1} == {len(found) for found in alike.values()}
    assert {MANY} == {request.state["size"] for request in waiting}
    factor = 1 / (0.25 + 0.75 / (MANY / 2))
    assert {round(factor, 9)} == {round(draw.factor, 9) for draw in draws.values()}
    hit = {place for place, draw in draws.items() if draw.number < draw.propensity}
    assert hit == {request.position for request in waiting}
    with open_ledger(tmp_path / "l.db") as ledger:
        assert replay(ledger, ledger.campaigns()[0]).differences == []


def test_a_large_call_that_broke_off_is_made_again_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a call that could not be written nothing is there, so that nothing is decided twice."""
    texts = [f"answer {number % (MANY - 500)}" for number in range(MANY)]

    def broken(*_: Any) -> None:
        raise LedgerError("the disk is full")

    with vl.Campaign.open(
        "c", ladder=ladder(), ledger=tmp_path / "l.db", run="r", workers=1
    ) as campaign:
        campaign.pause("high_fidelity")
        with monkeypatch.context() as patch:
            # The last that the transaction writes.
            patch.setattr("verifier_ladder.ledger.sql.add_requests", broken)
            with pytest.raises(LedgerError):
                campaign.score(texts, step=0)
        assert [] == told(campaign.ledger)
        campaign.score(texts, step=0)
        blocks, waiting = told(campaign.ledger), campaign.ledger.requests(campaign="c")

    assert len(blocks) == 1
    assert MANY - 500 == len(set(drawn(blocks[0]).values()))
    assert {MANY} == {request.state["size"] for request in waiting}


def test_samples_that_come_again_with_new_ones_leave_the_size_of_the_update(
    tmp_path: Path,
) -> None:
    texts = [f"answer {number}" for number in range(600)]
    with vl.Campaign.open(
        "c", ladder=ladder(), ledger=tmp_path / "l.db", run="r", workers=1
    ) as campaign:
        campaign.pause("high_fidelity")
        campaign.score(texts[:200], step=0)
        campaign.score(texts, step=0)
        waiting = campaign.ledger.requests(campaign="c")

    assert {(r.state["size"], r.position >= 200) for r in waiting} == {(200, False), (600, True)}
