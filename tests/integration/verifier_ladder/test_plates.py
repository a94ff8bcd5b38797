"""Plates that leave at the same time: together they keep to what was approved."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from verifier_ladder import plates
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.plates import Batches, Layout, approve, send

KEYS = [number.to_bytes(32, "big") for number in range(6)]


@pytest.mark.parametrize("approved", [3, 6])
def test_who_began_first_leaves_first_however_late_he_ends(
    postgresql: str, monkeypatch: pytest.MonkeyPatch, approved: int
) -> None:
    waits, wait = Event(), plates._wait_for_earlier

    def told(*arguments: Any) -> None:
        waits.set()
        wait(*arguments)

    layout = Layout(96, 7)
    early = layout.draw(KEYS[:3])
    held = {early[0].plate: {well.well: (well.case or b"").hex() for well in early}}
    facts = {**layout.as_json(), "by": "eve", "again": False, "plates": held}
    with (
        open_ledger(postgresql) as one,
        open_ledger(postgresql) as two,
        ThreadPoolExecutor() as pool,
    ):
        assert isinstance(one, SqlLedger)
        approve(one, "a", approved, by="ada")
        monkeypatch.setattr(plates, "_wait_for_earlier", told)
        with one._writing() as connection:
            write(connection, Draft(Block("batch", "a", facts=facts), one.clock()))
            late = pool.submit(send, two, "a", layout, layout.draw(KEYS[3:]), by="bob")
            assert waits.wait(60)

        if is_enough := approved == len(KEYS):
            late.result()
        else:
            with pytest.raises(ConfigError, match="3 rows would leave, and 0 may"):
                late.result()
        assert set(KEYS if is_enough else KEYS[:3]) == Batches(one, "a").cases
