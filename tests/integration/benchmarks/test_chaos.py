"""One blow of each kind against a campaign of three processes; `make chaos` strikes for longer."""

from pathlib import Path

import pytest
from chaos.__main__ import strike, table
from chaos.faults import FAULTS
from chaos.place import Place


@pytest.mark.timeout(400)
def test_nothing_is_lost_or_paid_twice_whoever_dies(tmp_path: Path) -> None:
    recovered, found = strike(
        Place(str(tmp_path / "ledger.db"), tmp_path),
        seconds=200,
        blows=len(FAULTS),
        seed=7,
        ranks=3,
    )

    assert found.is_clean, table(recovered, found)
    assert set(FAULTS) == set(recovered)
    assert min(found.samples, found.checks) > 0  # Whether one was begun twice is chance.
