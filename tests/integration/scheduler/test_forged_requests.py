"""Rows of table `request` that no campaign has written bring about nothing, and change nothing."""

# ruff: noqa: S608 - our own tables

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.values import dumps, loads
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay

pytestmark = pytest.mark.usefixtures("forked_workers")

TEXTS = ["one", "three", "fifteen"]
COLUMNS = ("id", "check_key", "campaign", "run", "step", "position", "content_key", "state")
Row = dict[str, Any]


@vl.verifier(tier="fast", version="1", isolation="inline", deviation=2.0, same_quantity=True)
def cheap(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="middle", version="1", tier="simulation", isolation="inline")
def middle(candidate: vl.Candidate) -> float:
    return len(candidate.content) + 2.0


class Laboratory(vl.Verifier):
    """The world, which answers when it is asked to."""

    name, version, tier, kind, waits = "laboratory", "1", "world", "text", True
    domain = "laboratories"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def opened(place: Path, *, between: Sequence[vl.Verifier] = (), **settings: Any) -> vl.Campaign:
    ladder = vl.Ladder(
        "l", [cheap, *between, Laboratory()], reward=vl.RewardRule(estimator="unbiased"),
        prior=(20.0, 10.0), **{"policy": "all_tiers", **settings},
    )  # fmt: skip
    return vl.Campaign.open(
        "c", ladder=ladder, ledger=place, run="r", workers=1, budget={"world": "unlimited"}
    )


def asked(place: Path) -> None:
    with opened(place) as campaign:
        campaign.score(TEXTS, groups=["a", "a", "b"])
        campaign.drain("300 s")


def answered(campaign: vl.Campaign) -> list[tuple[Any, ...]]:
    """The revisions after all cases were answered."""
    values = {c.check_key: len(str(c.candidate.content)) + 3.0 for c in campaign.cases()}
    campaign.answer_all(values, source="laboratory")
    campaign.drain("300 s")
    return [
        (r.run, r.step, r.position, r.reward.value, r.reward.revision)
        for r in campaign.revisions()
    ]


def edited(place: Path, edit: Callable[[list[Row]], None]) -> None:
    """Change the rows of the table; the edit may add some, without an id."""
    with closing(sqlite3.connect(place, timeout=300)) as file, file:
        file.execute("PRAGMA foreign_keys = OFF")
        told = file.execute(f"SELECT {', '.join(COLUMNS)} FROM request ORDER BY position")
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in told]
        edit(rows)
        file.execute("DELETE FROM request")
        for row in rows:
            marks = ", ".join("?" * len(row))
            file.execute(
                f"INSERT INTO request ({', '.join(row)}) VALUES ({marks})", [*row.values()]
            )


def copy(row: Row, **changes: Any) -> Row:
    return {name: value for name, value in {**row, **changes}.items() if name != "id"}


def stated(row: Row, **changes: Any) -> bytes:
    return dumps({**loads(row["state"]), **changes})


TRUE = [("r", 0, 0, 6.0, 1), ("r", 0, 1, 8.0, 1), ("r", 0, 2, 10.0, 1)]
OTHER = {"kind": "text", "content": "of another"}
ADDED: dict[str, Callable[[list[Row]], None]] = {
    "a sample that never was": lambda rows: rows.append(copy(rows[0], position=77)),
    "a step that never was": lambda rows: rows.append(copy(rows[0], step=3)),
    "a run that never was": lambda rows: rows.append(copy(rows[0], run="\x1b[2Jx")),
    "another's check": lambda rows: rows.append(copy(rows[0], check_key=rows[1]["check_key"])),
    "another's check and content": lambda rows: rows.append(
        copy(rows[0], position=1, step=0)
    ),
    "another candidate": lambda rows: rows.append(
        copy(rows[0], position=9, state=stated(rows[0], candidate=OTHER))
    ),
    "no JSON": lambda rows: rows.append(copy(rows[0], position=5, state=b"junk")),
    "no object": lambda rows: rows.append(copy(rows[0], position=5, state=b"[]")),
    "nothing": lambda rows: rows.append(copy(rows[0], position=5, state=b"{}")),
    "odd values": lambda rows: rows.append(
        copy(rows[0], position=5, state=stated(rows[0], candidate=[], given=3, weight="x"))
    ),
    "text for a step": lambda rows: rows.append(copy(rows[0], step="x")),
    "bytes for a run": lambda rows: rows.append(copy(rows[0], run=b"r")),
    "text for a state": lambda rows: rows.append(copy(rows[0], position=6, state="{}")),
    "text for a content key": lambda rows: rows.append(
        copy(rows[0], position=6, content_key="k")
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", ADDED.values(), ids=list(ADDED))
def test_a_row_whose_sample_does_not_wait_for_its_check_is_left_out(
    tmp_path: Path, edit: Callable[[list[Row]], None], caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "ledger.db"
    asked(place)
    edited(place, edit)

    with caplog.at_level(logging.WARNING), opened(place) as campaign:
        told = answered(campaign)

    assert sorted(told) == TRUE
    assert "a row of table request is left out" in caplog.text
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize("is_open", [False, True], ids=["after a restart", "while it is open"])
def test_what_a_changed_row_says_of_its_sample_is_not_believed(
    tmp_path: Path, *, is_open: bool
) -> None:
    def edit(rows: list[Row]) -> None:
        for row in rows:
            row["state"] = stated(
                row, value=99.0, revision=7, weight=50.0, group="of others", size=10**6,
                learner_version="v", draw=[0.01, 0.0, 5.0, 100.0, 1.0, 1.0, ["cheap", True]],
                expected={"laboratory": ["much"]}, until="tomorrow", trace=[1],
            )  # fmt: skip

    place = tmp_path / "ledger.db"
    if is_open:
        with opened(place) as campaign:
            campaign.score(TEXTS, groups=["a", "a", "b"])
            campaign.drain("300 s")
            edited(place, edit)
            told = answered(campaign)
    else:
        asked(place)
        edited(place, edit)
        with opened(place) as campaign:
            told = answered(campaign)

    assert sorted(told) == TRUE
    with open_ledger(place) as ledger:
        blocks = [ledger.read(entry) for entry in ledger.entries(kind="revision")]
    samples = [block.samples for block in blocks if block.samples is not None]
    assert {"a", "b"} == {group for each in samples for group in each.groups or ()}
    assert {1.0} == {weight for each in samples for weight in each.weights or (1.0,)}
    assert {3.0, 5.0, 7.0} == {value for block in blocks for value in block.facts["previous"]}


def test_a_draw_is_taken_from_the_history(tmp_path: Path) -> None:
    texts = ["x" * (number % 40) + str(number) for number in range(40)]
    place = tmp_path / "ledger.db"
    lots: dict[str, Any] = {"policy": Thresholds(thresholds={"world": 1e9}), "audit": 0.5}
    rows: list[Row] = []

    def edit(found: list[Row]) -> None:
        rows.extend(map(dict, found))
        for row in found:
            p, number, _, _, *rest = loads(row["state"])["draw"]
            row["state"] = stated(row, draw=[p / 9, number / 9, -50.0, 9.0, *rest])

    with opened(place, **lots) as campaign:
        campaign.score(texts)
        campaign.drain("300 s")
    edited(place, edit)
    with opened(place, **lots) as campaign:
        told = answered(campaign)

    with open_ledger(place) as ledger:
        (campaign_row,) = ledger.campaigns()
        report = replay(ledger, campaign_row)
    assert {row["position"] for row in rows} == {at for _, _, at, _, _ in told}
    assert len(told) > 5
    assert report.is_same, report.differences


def test_no_row_says_whether_a_sample_speaks_for_one_that_was_cancelled(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"

    def edit(rows: list[Row]) -> None:
        for row in rows:
            state = dict(loads(row["state"]))
            assert state.pop("spoken")
            row["state"] = dumps(state)

    with opened(place, between=[middle]) as campaign:
        campaign.pause("simulation")
        campaign.score(TEXTS, groups=["a", "a", "b"])
        campaign.cancel(step=0, positions=[2])
    edited(place, edit)
    with opened(place, between=[middle]) as campaign:
        campaign.resume("simulation")
        campaign.drain("300 s")
        told = answered(campaign)

    # Each of the two moves one and a half times as far as its own answer: 3 further than before.
    assert {0: 3.0 + 4.5, 1: 5.0 + 4.5, 2: 7.0} == {row[2]: row[3] for row in told}


def left_by_an_entry(place: Path, positions: Sequence[Any]) -> None:
    """Samples wait for a middle tier; an entry says who is left where others were cancelled."""
    with opened(place, between=[middle]) as campaign:
        campaign.pause("simulation")
        campaign.score(TEXTS, groups=["a", "a", "b"])
    with open_ledger(place) as ledger:
        (entry,) = ledger.entries(kind="score")
        facts = {"previous": [3.0, 5.0, 7.0], "louder": [[1.0, 5.0, positions]]}
        told = with_fields(ledger.read(entry), kind="revision", facts=facts)
        ledger.append(with_fields(told, verdicts=[], candidates=[], decisions=[]))


def test_a_forged_range_of_positions_is_not_gone_through(tmp_path: Path) -> None:
    left_by_an_entry(tmp_path / "ledger.db", [[0, 2**62]])

    with opened(tmp_path / "ledger.db", between=[middle]) as campaign:
        assert campaign.cancel(step=0).samples == len(TEXTS)


def test_a_range_that_ends_before_it_begins_is_an_error_that_names_the_entry(
    tmp_path: Path,
) -> None:
    left_by_an_entry(tmp_path / "ledger.db", [[2**62, 0]])

    with pytest.raises(LedgerError, match=r"entry \d+ of the ledger is damaged"):
        opened(tmp_path / "ledger.db", between=[middle])
