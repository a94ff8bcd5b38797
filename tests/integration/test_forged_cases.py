"""Open cases whose row was changed are neither shown nor answered; forged entries are named."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.casework.opencases import open_cases
from verifier_ladder.errors import LedgerError
from verifier_ladder.keys import content_key
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.values import dumps
from verifier_ladder.plates import Batches
from verifier_ladder.reviews import Reviews
from verifier_ladder.scheduler.cancellations import Cancellations
from verifier_ladder.scheduler.withdrawal import Withdrawn
from verifier_ladder.tiers.world.expert import ExpertCase


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def case_guess(_: vl.Candidate) -> float:
    return 1.0


FORGED: dict[str, dict[str, Any]] = {
    "another text": {"payload": dumps({"kind": "text", "content": "something worse"})},
    "nothing": {"payload": b"nothing"},
    "another candidate": {"content_key": content_key("text", "something worse")},
    "another verifier": {"digest": bytes(32)},
    "a verifier that nobody has": {
        "verifier": "nobody",
        "payload": dumps({"kind": "text", "content": "something worse"}),
    },
}


@pytest.mark.parametrize("change", FORGED.values(), ids=list(FORGED))
def test_a_person_is_neither_asked_nor_heard_about_a_changed_row(
    tmp_path: Path, change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "ledger.db"
    ladder = vl.Ladder("l", [case_guess, ExpertCase(kind="text")], policy="all_tiers")
    budget: Any = {"world": "unlimited"}
    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1, budget=budget) as campaign:
        campaign.score(["changed", "honest"])
        assert campaign.drain("300 s")
        (forged,) = (case for case in campaign.cases() if case.candidate.content == "changed")
        with closing(sqlite3.connect(place, timeout=300)) as connection, connection:
            for name, value in change.items():
                connection.execute(
                    f"UPDATE check_queue SET {name} = ? WHERE check_key = ?",  # noqa: S608
                    (value, forged.check_key),
                )

        with caplog.at_level(logging.WARNING):
            shown = [case.candidate.content for case in campaign.cases()]
        listed = [case.candidate.content for case in open_cases(campaign.ledger, "c", ladder)]
        without = [case.candidate.content for case in open_cases(campaign.ledger, "c", None)]
        with pytest.raises(vl.ConfigError, match=r"can't be answered|has no verifier"):
            campaign.answer(forged.check_key, 5.0, source="expert")
        (honest,) = campaign.cases()
        assert campaign.answer(honest.check_key, 5.0, source="expert")

        assert (["honest"], ["honest"]) == (shown, listed)
        if "payload" in change:
            assert ["honest"] == without
        assert f"case {forged.check_key.hex()[:12]} is not shown" in caplog.text
        assert {} == campaign.ledger.verdicts([forged.check_key])


def score(ledger: vl.Ledger, ladder: vl.Ladder) -> None:
    budget: Any = {"world": "unlimited"}
    place = ledger.url
    with vl.Campaign.open("c", ladder=ladder, ledger=place, workers=1, budget=budget) as campaign:
        campaign.score(["a"])


MEETING: dict[str, tuple[dict[str, Any], Callable[[vl.Ledger, vl.Ladder], object]]] = {
    "cancel": (
        {"run": None, "step": None, "positions": 2**62, "at_work": True},
        lambda ledger, _: Cancellations(ledger, "c").take_up(lambda *_: Withdrawn(0, 0)),
    ),
    "limits": ({"accounts": 2**62}, score),
    "belief": ({"keys": [1], "lessons": {}, "costs": []}, score),
    "reading": (
        {"by": "eve", "acts": [{"act": "claim", "case": "no digits"}]},
        lambda ledger, ladder: Reviews(ledger, "c", ladder).claim([], "ada"),
    ),
    "batch": ({"plates": 2**62}, lambda ledger, _: Batches(ledger, "c")),
}
"""Facts that no program writes, by kind of entry, and who meets them."""


@pytest.mark.parametrize("kind", MEETING)
def test_an_entry_that_no_program_writes_is_named_by_who_meets_it_and_by_verify(
    tmp_path: Path, kind: str
) -> None:
    facts, meet = MEETING[kind]
    ladder = vl.Ladder("l", [case_guess, ExpertCase(kind="text", readers=2)], policy="all_tiers")
    with vl.open_ledger(tmp_path / "ledger.db") as ledger:
        score(ledger, ladder)
        forged = ledger.append(Block(kind, "c", facts=facts))

        with pytest.raises(LedgerError, match=f"entry {forged}"):
            meet(ledger, ladder)

        told = [each for each in ledger.verify().problems if f"entry {forged} can't be" in each]  # type: ignore[attr-defined]
    assert len(told) == 1
